//! feedback.

use super::{Call, Outcome};
use crate::error::{Code, ToolError};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Feedback {
    action: Action,
    #[serde(default)]
    edge_id: Option<String>,
    #[serde(default)]
    correct_relation: Option<String>,
    #[serde(default)]
    claim_id: Option<String>,
    #[serde(default)]
    domain_pattern: Option<String>,
    #[serde(default)]
    reason: Option<String>,
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
}

impl Feedback {
    /// The first argument that the action needs and does not have.
    fn missing(&self) -> Option<&'static str> {
        let edge = ("edge_id", self.edge_id.is_some());
        let relation = ("correct_relation", self.correct_relation.is_some());
        let claim = ("claim_id", self.claim_id.is_some());
        let domain = ("domain_pattern", self.domain_pattern.is_some());
        let reason = ("reason", self.reason.is_some());
        let needed = match self.action {
            Action::EdgeCorrect => vec![edge, relation],
            Action::ClaimReject => vec![claim, reason],
            Action::ClaimRestore => vec![claim],
            Action::DomainBlock | Action::DomainUnblock | Action::DomainClearOverride => {
                vec![domain, reason]
            }
        };
        needed
            .into_iter()
            .find(|(_, given)| !given)
            .map(|(name, _)| name)
    }
}

pub(super) async fn apply(mut call: Call) -> Outcome {
    let feedback: Feedback = call.parse()?;
    if let Some(field) = feedback.missing() {
        return Err(ToolError::invalid(format!(
            "argument {field:?} is missing; this action needs it"
        ))
        .with_details(json!({ "field": field })));
    }
    Err(ToolError::new(
        Code::PipelineError,
        "corrections are not part of this build yet",
    )
    .with_hint("note the ids and the reason for the user; nothing in the graph was changed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_needs_its_own_arguments() {
        for (given, missing) in [
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
            (json!({"action": "claim_restore", "claim_id": "c"}), None),
            (
                json!({"action": "domain_block", "reason": "r"}),
                Some("domain_pattern"),
            ),
            (
                json!({"action": "domain_unblock", "domain_pattern": "x.org", "reason": "r"}),
                None,
            ),
        ] {
            let feedback: Feedback = serde_json::from_value(given.clone()).expect("readable");
            assert_eq!(feedback.missing(), missing, "{given}");
        }
    }
}
