//! query_sql.

use super::{Call, Outcome};
use crate::wire::Reply;
use lyra_core::guard::{SqlOptions, SqlParams, SqlRequest};
use serde::Deserialize;
use serde_json::Value;

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
}

pub(super) async fn query(mut call: Call) -> Outcome {
    let Query {
        sql,
        params,
        options,
    } = call.parse()?;
    let offset = options.offset;
    // More than a reply may hold would only be thrown away again, and a row that no reply can
    // hold is cut by the guard and refused by the reply's budget: paging would end there.
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
    let reply = call
        .blocking(move |engine| engine.query_sql(&request))
        .await?;
    Ok(Reply::of(&reply)?.paged_from(offset as u64))
}
