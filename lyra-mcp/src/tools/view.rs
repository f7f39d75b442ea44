//! query_view, list_views.

use super::{Call, Outcome};
use crate::wire::Reply;
use lyra_core::ViewRequest;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
struct Query {
    view_name: String,
    #[serde(default)]
    task_id: Option<String>,
    #[serde(default)]
    params: Map<String, Value>,
    limit: usize,
    offset: usize,
}

pub(super) async fn query(mut call: Call) -> Outcome {
    let Query {
        view_name,
        task_id,
        params,
        limit,
        offset,
    } = call.parse()?;
    let request = ViewRequest {
        view_name,
        task_id,
        params,
        limit,
        offset,
    };
    let reply = call
        .blocking(move |engine| engine.query_view(&request))
        .await?;
    Ok(Reply::of(&reply)?.paged_from(offset as u64))
}

pub(super) async fn list(call: Call) -> Outcome {
    let views = call.engine.list_views();
    Reply::of(&json!({ "count": views.len(), "views": views }))
}
