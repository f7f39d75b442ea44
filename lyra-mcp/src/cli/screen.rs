//! `screen`: people include or exclude the sources of a task, with reasons.

use super::layout::{cut, plain};
use super::output::{Output, json};
use clap::{Args, Subcommand, ValueEnum};
use lyra_core::store::graph::{ScreenedSource, Screening, ScreeningList};
use lyra_core::store::model::ScreeningDecision;
use lyra_core::{Engine, Error, Result};

/// Maximum number of columns of a title on its line.
const TITLE: usize = 80;

#[derive(Args)]
pub(super) struct Options {
    /// The task
    #[arg(long, global = true, value_name = "ID")]
    task: Option<String>,
    /// Who decides [default: user]; with list: show only this reviewer's decisions, for blind
    /// screening
    #[arg(long, global = true, value_name = "NAME")]
    by: Option<String>,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Include a source in the evidence
    Include(Decision),
    /// Exclude a source: its verdicts and claims are no longer counted; requires a --reason
    Exclude(Decision),
    /// List the sources with the decisions, the disputes, and the agreement between reviewers
    List {
        /// The output format, for reading or for programs
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
        /// Only undecided sources; without --by: those on which nobody has decided
        #[arg(long)]
        open: bool,
    },
}

#[derive(Args)]
struct Decision {
    /// The address or id of a page, a DOI, or the id of a publication
    source: String,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Make this decision final, regardless of earlier or later decisions of others
    #[arg(long = "final")]
    is_final: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(super) fn run(engine: &Engine, options: Options) -> Result<()> {
    // A flag shared by the command and its subcommands cannot be required.
    let task = options.task.ok_or_else(|| {
        Error::invalid("no task is given").with_hint("name it with --task ID; `tasks` lists them")
    })?;
    let (decision, said) = match options.action {
        Action::Include(said) => (ScreeningDecision::Include, said),
        Action::Exclude(said) => (ScreeningDecision::Exclude, said),
        Action::List { format, open } => {
            let mut list = engine.screening(&task, options.by.as_deref())?;
            list.sources
                .retain(|source| !open || source.decisions.is_empty());
            return print(&list, format);
        }
    };
    let screening = Screening {
        source: said.source,
        decision,
        reason: said.reason,
        is_final: said.is_final,
    };
    let by = options.by.as_deref().unwrap_or("user");
    let report = engine.screen(&task, &screening, by)?;
    let mut out = Output::new();
    out.line(&json(&report)?)?;
    out.finish()
}

fn print(list: &ScreeningList, format: Format) -> Result<()> {
    let mut out = Output::new();
    if matches!(format, Format::Json) {
        out.line(&json(list)?)?;
        return out.finish();
    }
    for source in &list.sources {
        out.line(&told(source))?;
    }
    let disputed = list
        .sources
        .iter()
        .filter(|source| source.is_disputed)
        .count();
    let open = list
        .sources
        .iter()
        .filter(|source| source.decisions.is_empty())
        .count();
    out.line(&format!(
        "\n{} sources, {open} undecided, {disputed} disputed",
        list.sources.len()
    ))?;
    for one in &list.agreement {
        let kappa = one
            .kappa
            .map_or("not defined".to_owned(), |k| format!("{k:.2}"));
        out.line(&format!(
            "{} and {}: {} of {} sources alike, Cohen's kappa {kappa}",
            plain(&one.reviewer_a),
            plain(&one.reviewer_b),
            one.agreement_count,
            one.source_count
        ))?;
    }
    out.finish()
}

fn told(source: &ScreenedSource) -> String {
    let state = match (source.is_disputed, source.state) {
        (true, _) => "disputed",
        (false, Some(state)) => state.as_str(),
        (false, None) => match source.decisions.first() {
            Some(own) => own.decision.as_str(),
            None => "-",
        },
    };
    let title = cut(&plain(source.title.as_deref().unwrap_or("")), TITLE);
    let mut text = format!("{state:<9} {}  {title}", plain(&source.url));
    for vote in &source.decisions {
        let last_word = if vote.is_final { ", final" } else { "" };
        let reason = vote.reason.as_deref().map(|r| format!(": {}", plain(r)));
        text.push_str(&format!(
            "\n          {} by {}{last_word}{}",
            vote.decision.as_str(),
            plain(&vote.reviewer),
            reason.unwrap_or_default()
        ));
    }
    text
}
