//! queue_reference_candidates.

use super::{Call, Outcome};
use crate::error::{Code, ToolError};
use serde::Deserialize;

#[derive(Deserialize)]
struct Queue {
    task_id: String,
    #[serde(default)]
    include_ids: Option<Vec<String>>,
    #[serde(default)]
    exclude_ids: Option<Vec<String>>,
}

pub(super) async fn queue(mut call: Call) -> Outcome {
    let Queue {
        task_id,
        include_ids,
        exclude_ids,
    } = call.parse()?;
    if include_ids.is_some() && exclude_ids.is_some() {
        return Err(ToolError::invalid(
            "include_ids and exclude_ids are both given; expected at most one of them",
        )
        .with_hint("include_ids names what to queue, exclude_ids what to leave out"));
    }
    call.known_task(&task_id).await?;
    Err(ToolError::new(
        Code::PipelineError,
        "queueing cited documents is not part of this build yet",
    )
    .with_hint(
        "query_view(v_reference_candidates, task_id) lists them; give their URLs or DOIs to \
         queue_targets",
    ))
}
