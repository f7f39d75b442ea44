//! Implements the parser port for the document formats.

use super::any_format::parse;
use super::records::parse_records;
use crate::error::{Error, Result};
use crate::ports::{DocumentParser, ParsedDocument};

/// Reads HTML, PDF, JATS XML, Markdown, plain text and single JSON records.
#[derive(Debug, Clone, Copy, Default)]
pub struct Documents;

impl DocumentParser for Documents {
    fn parse(&self, body: &[u8], content_type: Option<&str>, name: &str) -> Result<ParsedDocument> {
        if is_record(content_type, name) {
            let first = parse_records(body)?.into_iter().next();
            let record = first.ok_or_else(|| Error::invalid(format!("{name}: no record")))??;
            return Ok(record.document);
        }
        parse(body, content_type, name)
    }
}

/// Whether this is one record of a file of records: its address ends in `#` and the record's id.
fn is_record(content_type: Option<&str>, name: &str) -> bool {
    let path = name
        .split(['#', '?'])
        .next()
        .unwrap_or(name)
        .to_ascii_lowercase();
    content_type == Some("application/x-ndjson")
        || path.ends_with(".jsonl")
        || path.ends_with(".ndjson")
}

/// The line of a file of records that holds the record with this id.
pub(super) fn record_line(body: &[u8], id: &str) -> Option<Vec<u8>> {
    let records = parse_records(body).ok()?;
    let record = records
        .into_iter()
        .flatten()
        .find(|record| record.id == id)?;
    body.split(|byte| *byte == b'\n')
        .nth(record.line - 1)
        .map(<[u8]>::to_vec)
}
