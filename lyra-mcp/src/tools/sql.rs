//! query_sql.

use super::{Call, Outcome};
use crate::wire::Reply;
use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

#[derive(Deserialize)]
struct Query {
    sql: String,
    #[serde(default)]
    params: Value,
    options: Options,
}

#[derive(Deserialize)]
struct Options {
    limit: usize,
    offset: usize,
    timeout_ms: u64,
    max_vm_steps: u64,
    #[serde(default)]
    max_bytes: Option<usize>,
    include_schema: bool,
    #[serde(default)]
    schema_filter: Option<String>,
}

pub(super) async fn query(mut call: Call) -> Outcome {
    let Query {
        sql,
        params,
        options,
    } = call.parse()?;
    let offset = options.offset;
    // Rows beyond the size of a reply would only be discarded, and a row that fits no reply is cut
    // by the guard and refused by the reply's budget: paging would end there.
    let most_bytes = SqlOptions::default().max_bytes;
    let request = SqlRequest {
        sql,
        params: SqlParams::from_json(params)?,
        options: SqlOptions {
            limit: options.limit,
            offset,
            timeout_ms: options.timeout_ms,
            max_vm_steps: options.max_vm_steps,
            max_bytes: options.max_bytes.unwrap_or(most_bytes).min(most_bytes),
            include_schema: options.include_schema,
        },
    };
    let asked_at = call.asked_at;
    let timeout = Duration::from_millis(request.options.timeout_ms);
    // A query that gets no permit in time is late by then, and the guard reports that without
    // running it.
    let left = timeout.saturating_sub(asked_at.elapsed());
    let permit = tokio::time::timeout(left, Arc::clone(&call.queries).acquire_owned()).await;
    let filter = options.schema_filter.unwrap_or_default().to_lowercase();
    let mut reply = call
        .blocking(move |engine| {
            let _permit = permit;
            engine.query_sql_since(asked_at, &request)
        })
        .await?;
    if let Some(schema) = &mut reply.schema {
        schema.tables.retain(|table| table.name.contains(&filter));
    }
    Ok(Reply::of(&reply)?.paged_from(offset as u64))
}
