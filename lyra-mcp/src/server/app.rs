//! The evidence page as an MCP App: what the extension `io.modelcontextprotocol/ui` requires of a
//! server.

use lyra_core::{Engine, Result};
use rmcp::model::{
    ExtensionCapabilities, MetaObject, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::{Map, Value, json};

/// The extension.
const EXTENSION: &str = "io.modelcontextprotocol/ui";

const MIME: &str = "text/html;profile=mcp-app";

/// The tool whose results the page shows.
pub(super) const TOOL: &str = "show_evidence";

/// The page that takes the task from the tool's arguments.
pub(super) const URI: &str = "ui://lyra/evidence";

const TITLE: &str = "Evidence page";
const DESCRIPTION: &str =
    "Claims, quotes and sources of a task, with buttons that correct verdicts";

/// What the server declares.
pub(super) fn extensions() -> ExtensionCapabilities {
    let settings = object(json!({ "mimeTypes": [MIME] }));
    ExtensionCapabilities::from([(EXTENSION.to_owned(), settings)])
}

/// The additional metadata in the listing of the tool.
pub(super) fn tool_meta() -> MetaObject {
    MetaObject(object(json!({ "ui": { "resourceUri": URI } })))
}

/// The page needs no network access and no devices.
fn page_meta() -> MetaObject {
    MetaObject(object(json!({ "ui": {
        "csp": { "connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": [] },
        "prefersBorder": true,
    } })))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

pub(super) fn resource() -> Resource {
    Resource::new(URI, "evidence")
        .with_title(TITLE)
        .with_description(DESCRIPTION)
        .with_mime_type(MIME)
        .with_meta(page_meta())
}

pub(super) fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{URI}/{{task}}"), "evidence of a task")
        .with_title(TITLE)
        .with_description(DESCRIPTION)
        .with_mime_type(MIME)
        .with_meta(page_meta())
}

/// The task in the address of a page; `None` if the address is not that of a page.
pub(super) fn task_of(uri: &str) -> Option<Option<&str>> {
    let rest = uri.strip_prefix(URI)?;
    match rest.strip_prefix('/') {
        Some(task) => Some(Some(task)),
        None => rest.is_empty().then_some(None),
    }
}

/// The page.
pub(super) fn read(engine: &Engine, uri: &str, task: Option<&str>) -> Result<ResourceContents> {
    let html = engine.evidence_app(task)?;
    Ok(ResourceContents::text(html, uri)
        .with_mime_type(MIME)
        .with_meta(page_meta()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_pages_are_told_from_others() {
        assert_eq!(task_of("ui://lyra/evidence"), Some(None));
        assert_eq!(task_of("ui://lyra/evidence/task_1"), Some(Some("task_1")));
        assert_eq!(task_of("ui://lyra/evidence2"), None);
        assert_eq!(task_of("lyra://tasks"), None);
    }
}
