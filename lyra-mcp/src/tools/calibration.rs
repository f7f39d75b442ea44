//! calibration_metrics, calibration_rollback.

use super::{Call, Outcome};
use crate::wire::Reply;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Metrics {
    action: Action,
    #[serde(default)]
    source: Option<String>,
    limit: u32,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Action {
    GetStats,
    GetEvaluations,
}

pub(super) async fn metrics(mut call: Call) -> Outcome {
    let Metrics {
        action,
        source,
        limit,
    } = call.parse()?;
    match action {
        Action::GetStats => {
            let sources = call
                .blocking(move |engine| engine.calibration_stats(source.as_deref()))
                .await?;
            Reply::of(&json!({ "action": "get_stats", "sources": sources }))
        }
        Action::GetEvaluations => {
            // One more than requested is read, to find out whether there are more.
            let mut evaluations = call
                .blocking(move |engine| {
                    engine.calibration_evaluations(source.as_deref(), limit.saturating_add(1))
                })
                .await?;
            let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
            let truncated = evaluations.len() > wanted;
            evaluations.truncate(wanted);
            let reply =
                Reply::of(&json!({ "action": "get_evaluations", "evaluations": evaluations }))?;
            Ok(reply.with("truncated", truncated))
        }
    }
}

#[derive(Deserialize)]
struct Rollback {
    source: String,
    #[serde(default)]
    version: Option<i64>,
    reason: String,
}

pub(super) async fn rollback(mut call: Call) -> Outcome {
    let Rollback {
        source,
        version,
        reason,
    } = call.parse()?;
    let actor = call.user().to_owned();
    let report = call
        .blocking(move |engine| engine.rollback_calibration(&source, version, &reason, &actor))
        .await?;
    Reply::of(&report)
}
