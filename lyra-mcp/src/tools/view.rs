//! query_view, list_views.

use super::{Call, Outcome};
use crate::wire::Reply;
use lyra_core::store::guard::SqlOptions;
use lyra_core::{ViewColumns, ViewRequest};
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
    columns: Columns,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Columns {
    Main,
    All,
}

#[derive(Deserialize)]
struct List {
    #[serde(default)]
    filter: Option<String>,
}

pub(super) async fn query(mut call: Call) -> Outcome {
    let Query {
        view_name,
        task_id,
        params,
        limit,
        offset,
        columns,
    } = call.parse()?;
    let request = ViewRequest {
        view_name,
        task_id,
        params,
        limit,
        offset,
        columns: match columns {
            Columns::Main => ViewColumns::Main,
            Columns::All => ViewColumns::All,
        },
        // Rows beyond the size of a reply would only be discarded.
        max_bytes: SqlOptions::default().max_bytes,
    };
    let reply = call
        .blocking(move |engine| engine.query_view(&request))
        .await?;
    Ok(Reply::of(&reply)?.paged_from(offset as u64))
}

pub(super) async fn list(mut call: Call) -> Outcome {
    let List { filter } = call.parse()?;
    let filter = filter.unwrap_or_default().to_lowercase();
    let mut views = call.engine.list_views();
    views.retain(|view| {
        view.name.contains(&filter) || view.description.to_lowercase().contains(&filter)
    });
    Reply::of(&json!({ "count": views.len(), "views": views }))
}
