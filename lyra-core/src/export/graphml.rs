//! Claims, fragments and pages with their edges, as GraphML (Brandes et al. 2002).

use super::written::{report_of, unwritten};
use crate::error::Result;
use crate::security::display::is_harmful;
use crate::store::graph::{ExportReport, Part, Row};
use serde_json::Value;
use std::io::Write;

/// Attributes: element, name, type. The order is that of the queries below.
const NODE_KEYS: [(&str, &str); 9] = [
    ("kind", "string"),
    ("text", "string"),
    ("url", "string"),
    ("domain", "string"),
    ("year", "long"),
    ("doi", "string"),
    ("is_retracted", "boolean"),
    ("confidence", "double"),
    ("adoption", "string"),
];
const EDGE_KEYS: [(&str, &str); 5] = [
    ("relation", "string"),
    ("confidence", "double"),
    ("judge", "string"),
    ("human_corrected", "boolean"),
    ("quote", "string"),
];

/// The cells of [`NODE_KEYS`], then the id.
const NODES: [&str; 3] = [
    "SELECT 'claim', claim_text, NULL, NULL, NULL, NULL, NULL, llm_claim_confidence,
       claim_adoption_status, id FROM claims WHERE id {claims} ORDER BY id",
    "SELECT 'fragment', text_content, NULL, NULL, NULL, NULL, NULL, NULL, NULL, id
     FROM fragments WHERE id {fragments} ORDER BY id",
    "SELECT 'page', coalesce(w.title, p.title), p.url, p.domain, w.year, w.doi, coalesce(w.is_retracted, 0),
       NULL, NULL, p.id
     FROM pages p LEFT JOIN works w ON w.canonical_id = p.canonical_id WHERE p.id {pages} ORDER BY p.id",
];
/// The cells of [`EDGE_KEYS`], then both ends (type, id) and the id.
const EDGES: [&str; 3] = [
    "SELECT e.relation, e.nli_edge_confidence, e.judge_id, e.edge_human_corrected,
       CASE WHEN e.quote_end IS NOT NULL THEN
         substr(f.text_content, e.quote_start - f.char_start + 1, e.quote_end - e.quote_start) END,
       e.source_type, e.source_id, e.target_type, e.target_id, e.id
     FROM edges e LEFT JOIN fragments f ON f.id = e.source_id AND e.source_type = 'fragment'
     WHERE e.id {edges} AND e.relation <> 'cites'
       AND e.source_id IN (SELECT id FROM fragments) AND e.target_id IN (SELECT id FROM claims)
     ORDER BY e.id",
    "SELECT e.relation, NULL, NULL, 0, e.citation_context, e.source_type, e.source_id, e.target_type, e.target_id, e.id
     FROM edges e WHERE e.id {citations} AND e.relation = 'cites'
       AND e.source_id IN (SELECT id FROM pages) AND e.target_id IN (SELECT id FROM pages)
     ORDER BY e.id",
    "SELECT 'part_of', NULL, NULL, 0, NULL, 'fragment', id, 'page', page_id, 'part:' || id
     FROM fragments WHERE id {fragments} ORDER BY id",
];

pub(super) fn write(part: &Part<'_>, writer: &mut impl Write) -> Result<ExportReport> {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
    );
    for (of, keys) in [("node", &NODE_KEYS[..]), ("edge", &EDGE_KEYS[..])] {
        for (name, kind) in keys {
            let letter = &of[..1];
            out.push_str(&format!(
                "<key id=\"{letter}_{name}\" for=\"{of}\" attr.name=\"{name}\" attr.type=\"{kind}\"/>\n"
            ));
        }
    }
    out.push_str("<graph id=\"evidence\" edgedefault=\"directed\">\n");
    writer.write_all(out.as_bytes()).map_err(unwritten)?;
    let nodes = write_nodes(part, writer)?;
    let edges = write_edges(part, writer)?;
    writer
        .write_all(b"</graph>\n</graphml>\n")
        .map_err(unwritten)?;
    Ok(report_of(&[("node", nodes), ("edge", edges)]))
}

fn write_nodes(part: &Part<'_>, writer: &mut impl Write) -> Result<usize> {
    let mut nodes = 0;
    for sql in NODES {
        part.each(sql, |row| {
            let id = escaped(&row.get::<String>(NODE_KEYS.len())?);
            let kind: String = row.get(0)?;
            nodes += 1;
            let open = format!("<node id=\"{kind}:{id}\">");
            element(writer, &open, "n", &NODE_KEYS, row, "</node>\n")
        })?;
    }
    Ok(nodes)
}

fn write_edges(part: &Part<'_>, writer: &mut impl Write) -> Result<usize> {
    let mut edges = 0;
    for sql in EDGES {
        part.each(sql, |row| {
            let cell = |at: usize| -> Result<String> {
                Ok(escaped(&row.get::<String>(EDGE_KEYS.len() + at)?))
            };
            let open = format!(
                "<edge id=\"{}\" source=\"{}:{}\" target=\"{}:{}\">",
                cell(4)?,
                cell(0)?,
                cell(1)?,
                cell(2)?,
                cell(3)?
            );
            edges += 1;
            element(writer, &open, "e", &EDGE_KEYS, row, "</edge>\n")
        })?;
    }
    Ok(edges)
}

/// An element with the first cells of the row as its data; a cell without a value is left out.
fn element(
    writer: &mut impl Write,
    open: &str,
    letter: &str,
    keys: &[(&str, &str)],
    row: &Row<'_>,
    close: &str,
) -> Result<()> {
    let mut text = open.to_owned();
    for (at, (name, kind)) in keys.iter().enumerate() {
        let value = match row.value(at)? {
            Value::String(text) => escaped(&text),
            Value::Number(n) if *kind == "boolean" => (n.as_i64() != Some(0)).to_string(),
            Value::Number(n) if *kind == "double" => n.as_f64().unwrap_or_default().to_string(),
            Value::Number(n) => n.to_string(),
            _ => continue,
        };
        text.push_str(&format!("<data key=\"{letter}_{name}\">{value}</data>"));
    }
    text.push_str(close);
    writer.write_all(text.as_bytes()).map_err(unwritten)
}

/// Escapes text for XML 1.0. Control characters are not allowed there, even escaped, and characters
/// that reverse text do not belong in a drawing of the graph.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            '\r' => escaped.push_str("&#13;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c if is_harmful(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
