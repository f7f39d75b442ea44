//! What crosses the wire: arguments are checked on the way in, replies on the way out.

mod arguments;
mod budget;
mod envelope;
mod known;
mod schema;
mod warnings;

pub(crate) use arguments::accept;
pub(crate) use envelope::{Models, Quality, Reply, failure, success};
pub(crate) use schema::ToolSchema;

/// Cuts a resource's lists to the budget of a reply.
pub(crate) fn fit(
    body: &mut serde_json::Map<String, serde_json::Value>,
    lists: &[&str],
) -> Result<(), crate::error::ToolError> {
    budget::fit(body, lists, None, budget::REPLY_BYTES)
}
