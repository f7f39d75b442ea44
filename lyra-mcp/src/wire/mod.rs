//! The wire format: checks arguments on the way in and replies on the way out.

mod arguments;
mod budget;
mod envelope;
mod known;
mod listing;
mod schema;
mod warnings;

pub(crate) use arguments::accept;
pub(crate) use budget::json_size;
pub(crate) use envelope::{Models, Quality, Reply, failure, success};
pub(crate) use schema::ToolSchema;

/// Cuts a resource's lists to the budget of a reply, and names the texts in it that read like
/// instructions.
pub(crate) fn fit(
    body: &mut serde_json::Map<String, serde_json::Value>,
    lists: &[&str],
) -> Result<(), crate::error::ToolError> {
    budget::fit(
        body,
        lists,
        None,
        budget::REPLY_BYTES - envelope::META_BYTES,
    )?;
    let found = warnings::in_body(body);
    if !found.is_empty() {
        let meta = serde_json::json!({ "security_warnings": found.named });
        body.insert("_lyra_meta".into(), meta);
    }
    Ok(())
}

/// Whether a text reads like instructions to a model.
pub(crate) fn is_suspicious(text: &str) -> bool {
    !lyra_core::security::injection::scan(text).is_empty()
}
