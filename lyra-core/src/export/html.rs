//! The evidence page: one file that a browser can show offline.
//!
//! The page is a template with a placeholder for the data. The data are JSON without any `<`, so
//! that nothing in them can end the enclosing element.

use super::evidence::data;
use super::review::diagram;
use super::written::{report_of, unwritten};
use crate::error::{Error, Result};
use crate::security::display::is_harmful;
use crate::store::graph::{ExportReport, Part};
use std::collections::HashMap;
use std::io::Write;

const PAGE: &str = include_str!("page/page.html");
/// The placeholder for the data.
const DATA: &str = "{{DATA}}";

/// The flow diagram as an image with separate styles.
fn flow_section(svg: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b" -._~:;/=(){},.".contains(&b);
    let written = svg.bytes().map(|b| match is_plain(b) {
        true => char::from(b).to_string(),
        false => format!("%{b:02X}"),
    });
    format!(
        "<section id=\"flow\" aria-labelledby=\"flow-title\"><h2 id=\"flow-title\">Flow of the review</h2>\
         <img alt=\"The numbers of records in each box of a PRISMA flow diagram; the Markdown report lists them\" \
         style=\"max-width:100%;height:auto\" src=\"data:image/svg+xml,{}\"></section>\n",
        written.collect::<String>()
    )
}

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let task_id = task_of(part)?;
    let data = data(part.reader, &task_id)?;
    let flow = diagram(part.reader, &task_id)?;
    let json = serde_json::to_string(&data)
        .map_err(|e| Error::internal("the page's data are not JSON").with_source(e))?;
    writer
        .write_all(page_with(&json, flow.as_deref())?.as_bytes())
        .map_err(unwritten)?;
    Ok(report_of(&[
        ("claim", data.claims.len()),
        ("source", data.sources.len()),
        ("evidence", data.evidence.len()),
        ("citation", data.citations.len()),
    ]))
}

/// The page without evidence, for a host that shows it in a chat: the page then requests the
/// evidence of this task from the host, or of the task that the host names.
pub(crate) fn app(task_id: Option<&str>) -> Result<String> {
    let task = task_id.map(|task_id| HashMap::from([("task_id", task_id)]));
    let json = serde_json::to_string(&task)
        .map_err(|e| Error::internal("the task's id is not JSON").with_source(e))?;
    page_with(&json, None)
}

/// The page with its data and the flow diagram.
fn page_with(json: &str, flow: Option<&str>) -> Result<String> {
    let (before, after) = PAGE
        .split_once(DATA)
        .ok_or_else(|| Error::internal("the page has no place for its data"))?;
    let json: String = json.chars().filter(|c| !is_harmful(*c)).collect();
    let flow = flow.map(flow_section).unwrap_or_default();
    let before = before.replacen("</main>", &format!("{flow}</main>"), 1);
    Ok([&before, &json.replace('<', "\\u003c"), after].concat())
}

/// The task of the page: the one asked for, or the only one.
fn task_of(part: &Part<'_>) -> Result<String> {
    if let Some(id) = part.task_id {
        return Ok(id.to_owned());
    }
    match part.reader.tasks()?.as_slice() {
        [only] => Ok(only.id.clone()),
        tasks => Err(Error::invalid(format!(
            "the page shows one task, but the graph has {}",
            tasks.len()
        ))
        .with_hint(
            "give the id of the task (--task on the command line); `lyra-mcp tasks` and \
             the resource lyra://tasks list them",
        )),
    }
}
