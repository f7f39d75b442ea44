//! `feedback`: corrections by a human, with the ids that a report or a page shows.

use super::output::Output;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use lyra_core::store::graph::Feedback;
use lyra_core::store::model::Relation;
use lyra_core::{Engine, Result};

#[derive(Args)]
pub(super) struct Options {
    #[command(subcommand)]
    action: Action,
    /// The reason, which is kept in the log
    #[arg(long, global = true, value_name = "TEXT")]
    reason: Option<String>,
    /// Who makes the correction, for the log
    #[arg(long, global = true, value_name = "NAME", default_value = "user")]
    actor: String,
}

#[derive(Subcommand)]
#[command(rename_all = "snake_case")]
enum Action {
    /// Correct or confirm the judge's verdict on a passage and a claim
    EdgeCorrect {
        /// The verdict's id
        edge_id: String,
        /// The correct relation of the passage to the claim
        #[arg(value_parser = relations())]
        correct_relation: Relation,
    },
    /// Remove a claim from views, search and counts; requires a --reason
    ClaimReject {
        /// The claim's id
        claim_id: String,
    },
    /// Restore a removed claim
    ClaimRestore {
        /// The claim's id
        claim_id: String,
    },
    /// Block a domain: its pages are neither read nor used; requires a --reason
    DomainBlock {
        /// example.org, *.example.org or an IP address
        domain_pattern: String,
    },
    /// Allow a domain again, regardless of older rules; requires a --reason
    DomainUnblock {
        /// example.org, *.example.org or an IP address
        domain_pattern: String,
    },
    /// Remove the rule with exactly this pattern; requires a --reason
    DomainClearOverride {
        /// example.org, *.example.org or an IP address
        domain_pattern: String,
    },
}

fn relations() -> impl TypedValueParser<Value = Relation> {
    PossibleValuesParser::new(["supports", "refutes", "neutral"])
        .try_map(|name| name.parse::<Relation>())
}

pub(super) fn run(engine: &Engine, options: Options) -> Result<()> {
    let reason = options.reason;
    // The library decides about an empty reason.
    let stated = reason.clone().unwrap_or_default();
    let feedback = match options.action {
        Action::EdgeCorrect {
            edge_id,
            correct_relation,
        } => Feedback::EdgeCorrect {
            edge_id,
            correct_relation,
            reason,
        },
        Action::ClaimReject { claim_id } => Feedback::ClaimReject {
            claim_id,
            reason: stated,
        },
        Action::ClaimRestore { claim_id } => Feedback::ClaimRestore { claim_id, reason },
        Action::DomainBlock { domain_pattern } => Feedback::DomainBlock {
            domain_pattern,
            reason: stated,
        },
        Action::DomainUnblock { domain_pattern } => Feedback::DomainUnblock {
            domain_pattern,
            reason: stated,
        },
        Action::DomainClearOverride { domain_pattern } => Feedback::DomainClearOverride {
            domain_pattern,
            reason: stated,
        },
    };
    let report = engine.feedback(&feedback, &options.actor)?;
    let mut out = Output::new();
    out.line(&super::output::json(&report)?)?;
    out.finish()
}
