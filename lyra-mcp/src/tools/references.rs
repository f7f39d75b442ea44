//! queue_reference_candidates.

use super::{Call, Outcome};
use crate::error::ToolError;
use crate::wire::Reply;
use lyra_core::store::model::Priority;
use lyra_core::{CandidateChoice, CandidateRequest};
use serde::Deserialize;

#[derive(Deserialize)]
struct Queue {
    task_id: String,
    #[serde(default)]
    include_ids: Option<Vec<String>>,
    #[serde(default)]
    exclude_ids: Option<Vec<String>>,
    limit: usize,
    dry_run: bool,
    options: Options,
}

#[derive(Deserialize)]
struct Options {
    priority: Priority,
}

pub(super) async fn queue(mut call: Call) -> Outcome {
    let Queue {
        task_id,
        include_ids,
        exclude_ids,
        limit,
        dry_run,
        options,
    } = call.parse()?;
    let choice = match (include_ids, exclude_ids) {
        (Some(_), Some(_)) => {
            return Err(ToolError::invalid(
                "include_ids and exclude_ids are both given; expected at most one of them",
            )
            .with_hint("include_ids names what to queue, exclude_ids what to leave out"));
        }
        (Some(ids), None) => CandidateChoice::Include(ids),
        (None, Some(ids)) => CandidateChoice::Exclude(ids),
        (None, None) => CandidateChoice::All,
    };
    let request = CandidateRequest {
        choice,
        limit,
        dry_run,
        priority: options.priority,
    };
    let report = call
        .blocking(move |engine| engine.queue_reference_candidates(&task_id, &request))
        .await?;
    Reply::of(&report)
}
