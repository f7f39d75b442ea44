//! feedback.

use super::{Call, Outcome};
use crate::error::ToolError;
use crate::wire::Reply;
use lyra_core::security::sanitize::sanitize;
use lyra_core::store::graph::{AGENT_PREFIX, Feedback, Screening};
use lyra_core::store::model::{Relation, ScreeningDecision};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Arguments {
    action: Action,
    #[serde(default)]
    edge_id: Option<String>,
    #[serde(default)]
    correct_relation: Option<Relation>,
    #[serde(default)]
    claim_id: Option<String>,
    #[serde(default)]
    domain_pattern: Option<String>,
    #[serde(default)]
    task_id: Option<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    reason: Option<String>,
    #[serde(default)]
    by: By,
}

#[derive(Deserialize, Debug, Clone, Copy, Default)]
#[serde(rename_all = "snake_case")]
enum By {
    #[default]
    User,
    Agent,
}

impl By {
    /// The actor in the log. An agent is identified by its client.
    fn actor(self, call: &Call) -> String {
        match self {
            Self::User => call.user().to_owned(),
            Self::Agent => format!("{AGENT_PREFIX}{}", sanitize(&call.client, 80).text),
        }
    }
}

#[derive(Deserialize, Debug, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Action {
    EdgeCorrect,
    ClaimReject,
    ClaimRestore,
    DomainBlock,
    DomainUnblock,
    DomainClearOverride,
    SourceInclude,
    SourceExclude,
}

/// The requested action.
#[derive(Debug)]
enum Asked {
    Correction(Feedback),
    /// The task, and the decision on one of its sources.
    Screening(String, Screening),
}

impl Arguments {
    /// The requested action. Each action has its own arguments and refuses others.
    fn asked(self) -> Result<Asked, ToolError> {
        let action = self.action;
        self.refuse_strangers()?;
        let decision = match action {
            Action::SourceInclude => ScreeningDecision::Include,
            Action::SourceExclude => ScreeningDecision::Exclude,
            _ => return self.feedback().map(Asked::Correction),
        };
        let screening = Screening {
            source: needed("source", self.source)?,
            decision,
            reason: match decision {
                ScreeningDecision::Exclude => Some(stated(self.reason)?),
                ScreeningDecision::Include => self.reason,
            },
            is_final: false,
        };
        Ok(Asked::Screening(
            needed("task_id", self.task_id)?,
            screening,
        ))
    }

    fn feedback(self) -> Result<Feedback, ToolError> {
        Ok(match self.action {
            Action::EdgeCorrect => Feedback::EdgeCorrect {
                edge_id: needed("edge_id", self.edge_id)?,
                correct_relation: needed("correct_relation", self.correct_relation)?,
                reason: self.reason,
            },
            Action::ClaimReject => Feedback::ClaimReject {
                claim_id: needed("claim_id", self.claim_id)?,
                reason: stated(self.reason)?,
            },
            Action::ClaimRestore => Feedback::ClaimRestore {
                claim_id: needed("claim_id", self.claim_id)?,
                reason: self.reason,
            },
            Action::DomainBlock => Feedback::DomainBlock {
                domain_pattern: needed("domain_pattern", self.domain_pattern)?,
                reason: stated(self.reason)?,
            },
            Action::DomainUnblock => Feedback::DomainUnblock {
                domain_pattern: needed("domain_pattern", self.domain_pattern)?,
                reason: stated(self.reason)?,
            },
            // The two actions on sources were handled above.
            _ => Feedback::DomainClearOverride {
                domain_pattern: needed("domain_pattern", self.domain_pattern)?,
                reason: stated(self.reason)?,
            },
        })
    }

    /// An argument of another action shows that the call is a mistake.
    fn refuse_strangers(&self) -> Result<(), ToolError> {
        let own: &[&str] = match self.action {
            Action::EdgeCorrect => &["edge_id", "correct_relation"],
            Action::ClaimReject | Action::ClaimRestore => &["claim_id"],
            Action::SourceInclude | Action::SourceExclude => &["task_id", "source"],
            _ => &["domain_pattern"],
        };
        let given = [
            ("edge_id", self.edge_id.is_some()),
            ("correct_relation", self.correct_relation.is_some()),
            ("claim_id", self.claim_id.is_some()),
            ("domain_pattern", self.domain_pattern.is_some()),
            ("task_id", self.task_id.is_some()),
            ("source", self.source.is_some()),
        ];
        let stranger = given
            .into_iter()
            .find(|(name, is_given)| *is_given && !own.contains(name));
        match stranger {
            None => Ok(()),
            Some((name, _)) => Err(wrong(
                name,
                &format!("argument {name:?} does not belong to this action"),
            )),
        }
    }
}

fn needed<T>(field: &str, value: Option<T>) -> Result<T, ToolError> {
    value.ok_or_else(|| {
        let expected = match field {
            "correct_relation" => ": \"supports\", \"refutes\" or \"neutral\"",
            _ => "",
        };
        wrong(
            field,
            &format!("argument {field:?} is missing; this action needs it{expected}"),
        )
    })
}

fn stated(reason: Option<String>) -> Result<String, ToolError> {
    let reason = needed("reason", reason)?;
    if reason.trim().is_empty() {
        return Err(wrong("reason", "argument \"reason\" is blank; say why"));
    }
    Ok(reason)
}

fn wrong(field: &str, message: &str) -> ToolError {
    ToolError::invalid(message).with_details(json!({ "field": field }))
}

pub(super) async fn apply(mut call: Call) -> Outcome {
    let arguments = call.parse::<Arguments>()?;
    let actor = arguments.by.actor(&call);
    let (task_id, screening) = match arguments.asked()? {
        Asked::Screening(task_id, screening) => (task_id, screening),
        Asked::Correction(feedback) => {
            let report = call
                .blocking(move |engine| engine.feedback(&feedback, &actor))
                .await
                .map_err(name_pattern)?;
            return Reply::of(&report);
        }
    };
    let action = match screening.decision {
        ScreeningDecision::Include => "source_include",
        ScreeningDecision::Exclude => "source_exclude",
    };
    let report = call
        .blocking(move |engine| engine.screen(&task_id, &screening, &actor))
        .await
        .map_err(name_pattern)?;
    Reply::of(&json!({
        "action": action, "source": report.url, "previous": report.previous,
        "current": report.decision, "affected_count": report.verdicts_moved, "message": report.message,
    }))
}

/// Adds the invalid pattern to the details, for programs; the library's error contains it only as
/// text.
fn name_pattern(error: ToolError) -> ToolError {
    let is_about = |name: &str| error.message.starts_with(name);
    let fields = ["domain_pattern", "edge_id", "claim_id", "source"];
    match fields.into_iter().find(|name| is_about(name)) {
        Some(field) => error.with_details(json!({ "field": field })),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_needs_its_own_arguments_and_takes_no_others() {
        for (given, field) in [
            (json!({"action": "edge_correct"}), Some("edge_id")),
            (
                json!({"action": "edge_correct", "edge_id": "e"}),
                Some("correct_relation"),
            ),
            (
                json!({"action": "edge_correct", "edge_id": "e", "correct_relation": "neutral"}),
                None,
            ),
            (
                json!({"action": "claim_reject", "claim_id": "c"}),
                Some("reason"),
            ),
            (
                json!({"action": "claim_reject", "claim_id": "c", "reason": " "}),
                Some("reason"),
            ),
            (
                json!({"action": "claim_reject", "claim_id": "c", "edge_id": "e", "reason": "r"}),
                Some("edge_id"),
            ),
            (json!({"action": "claim_restore", "claim_id": "c"}), None),
            (
                json!({"action": "domain_block", "reason": "r"}),
                Some("domain_pattern"),
            ),
            (
                json!({"action": "domain_unblock", "domain_pattern": "x.org", "reason": "r"}),
                None,
            ),
            (
                json!({"action": "domain_clear_override", "domain_pattern": "x.org"}),
                Some("reason"),
            ),
            (
                json!({"action": "source_include", "task_id": "t", "source": "s"}),
                None,
            ),
            (
                json!({"action": "source_exclude", "task_id": "t", "source": "s"}),
                Some("reason"),
            ),
            (
                json!({"action": "source_include", "source": "s"}),
                Some("task_id"),
            ),
            (
                json!({"action": "claim_restore", "claim_id": "c", "source": "s"}),
                Some("source"),
            ),
        ] {
            let arguments: Arguments = serde_json::from_value(given.clone()).expect("readable");
            let refused = arguments.asked().err().and_then(|error| error.details);
            assert_eq!(
                refused.as_deref(),
                field.map(|field| json!({ "field": field })).as_ref(),
                "{given}"
            );
        }
    }
}
