//! JSON lines: one object per line, each a document.

use super::limits::{MAX_TEXT_BYTES, too_large};
use super::lines::{collapse, push_line};
use super::meta::apply_object;
use super::title::lead_with_title;
use super::{Block, ParsedDocument, encoding, plain};
use crate::error::{Error, Result};
use crate::store::model::{DocumentMeta, FragmentType};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;

/// Maximum size of a `.jsonl` file, in bytes.
pub(crate) const MAX_RECORDS_BYTES: usize = 256 * 1024 * 1024;

/// Maximum number of values in a record: in memory each takes many times its bytes.
const MAX_VALUES: usize = 100_000;

/// A document from a file of records.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordDocument {
    /// The record's `id`, `_id` or `doc_id`; `line-N` if it has none.
    pub id: String,
    /// Line of the file, from 1.
    pub line: usize,
    /// The document.
    pub document: ParsedDocument,
}

/// Reads a file of records, one JSON object per line; blank lines are skipped.
///
/// Keys: `id`, `_id` or `doc_id`; `title`; `abstract` (a string, or a list of sentences); `text`;
/// and those of front matter (`authors`, `year`, `venue` or `journal`, `doi`, `pmid`, `url`,
/// `language`, `references`, `is_retracted` …). A record has a title, an abstract or a text.
/// The result has one entry per record, in order. A line that cannot be read gives an error that
/// names it, and does not stop the others. A key of the wrong type is a warning of its document.
///
/// # Errors
///
/// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the file exceeds 256 MiB.
///
/// ```
/// use lyra_core::documents::parse_records;
/// let file = br#"{"_id": "7", "title": "Sleep", "text": "Night work shortens sleep."}
/// {"title": 3"#;
/// let records = parse_records(file)?;
/// assert_eq!(records[0].as_ref().unwrap().id, "7");
/// assert!(records[1].as_ref().unwrap_err().message().starts_with("line 2: "));
/// # Ok::<(), lyra_core::Error>(())
/// ```
pub fn parse_records(bytes: &[u8]) -> Result<Vec<Result<RecordDocument>>> {
    if bytes.len() > MAX_RECORDS_BYTES {
        return Err(too_large(bytes.len(), MAX_RECORDS_BYTES));
    }
    let text = encoding::decode(bytes, &[]).text;
    let records = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    Ok(records
        .map(|(at, line)| record(line, at + 1).map_err(|e| e.context(format!("line {}", at + 1))))
        .collect())
}

fn record(line: &str, number: usize) -> Result<RecordDocument> {
    if line.len() > MAX_TEXT_BYTES {
        return Err(too_large(line.len(), MAX_TEXT_BYTES));
    }
    if values(line) > MAX_VALUES {
        return Err(Error::invalid(format!(
            "the record has more than {MAX_VALUES} values"
        )));
    }
    let object: Map<String, Value> = serde_json::from_str(line)
        .map_err(|e| Error::invalid(format!("not one JSON object: {e}")))?;
    let mut meta = DocumentMeta::default();
    let warnings = apply_object(&mut meta, &object);
    let mut blocks = Vec::new();
    if let Some(text) = sentences(&object, "abstract")? {
        blocks.push(Block::new(FragmentType::Abstract, text));
    }
    if let Some(value) = object.get("text").filter(|value| !value.is_null()) {
        let text = value
            .as_str()
            .ok_or_else(|| Error::invalid("text: expected a string"))?;
        blocks.extend(body(text));
    }
    if blocks.is_empty() && meta.title.is_none() {
        return Err(Error::invalid("the record has no title, abstract or text"));
    }
    let id = first_id(["id", "_id", "doc_id"].map(|key| object.get(key)));
    let mut document = ParsedDocument {
        meta,
        blocks,
        page_type: "jsonl",
        warnings,
    };
    lead_with_title(&mut document);
    Ok(RecordDocument {
        id: id.unwrap_or_else(|| format!("line-{number}")),
        line: number,
        document,
    })
}

/// The first of these values that can identify a record.
fn first_id(values: [Option<&Value>; 3]) -> Option<String> {
    values.into_iter().find_map(|value| match value? {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// The keys of a record that may identify it; the others are skipped.
#[derive(Deserialize)]
struct Named {
    id: Option<Value>,
    _id: Option<Value>,
    doc_id: Option<Value>,
}

/// A line of a file of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordLine {
    /// From 1.
    pub(crate) number: usize,
    /// As [`RecordDocument::id`].
    pub(crate) id: String,
    /// Whether an earlier line of the file, inside or before this part, has the same id.
    pub(crate) is_repeated: bool,
    /// The line, without its end.
    pub(crate) text: String,
}

/// The lines of a file of records in the range `part`, counted from 0, without blank lines. A line
/// that is not one JSON object is named by its number, and parsing it later reports the error.
pub(crate) fn record_lines(bytes: &[u8], part: &Range<usize>) -> Result<Vec<RecordLine>> {
    if bytes.len() > MAX_RECORDS_BYTES {
        return Err(too_large(bytes.len(), MAX_RECORDS_BYTES));
    }
    let text = encoding::decode(bytes, &[]).text;
    let mut known = HashSet::new();
    let mut lines = Vec::new();
    for (at, line) in text.split('\n').enumerate().take(part.end) {
        if line.trim().is_empty() {
            continue;
        }
        let named = serde_json::from_str::<Named>(line).ok();
        let id = named
            .and_then(|named| first_id([&named.id, &named._id, &named.doc_id].map(Option::as_ref)));
        let number = at + 1;
        let id = id.unwrap_or_else(|| format!("line-{number}"));
        let is_repeated = !known.insert(id.clone());
        if at >= part.start {
            lines.push(RecordLine {
                number,
                id,
                is_repeated,
                text: line.to_owned(),
            });
        }
    }
    Ok(lines)
}

/// Upper bound on the number of values in a line of JSON: the commas and brackets outside its
/// strings.
fn values(line: &str) -> usize {
    let (mut count, mut in_string, mut escaped) = (0, false, false);
    for byte in line.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// A string, or a list of sentences as one paragraph.
fn sentences(object: &Map<String, Value>, key: &str) -> Result<Option<String>> {
    let expected = || Error::invalid(format!("{key}: expected a string or a list of sentences"));
    let text = match object.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) => collapse(text),
        Some(Value::Array(items)) => {
            let mut text = String::new();
            for item in items {
                push_line(&mut text, &collapse(item.as_str().ok_or_else(expected)?));
            }
            text
        }
        Some(_) => return Err(expected()),
    };
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// The blocks of a text; the first line is not a title, since records have a key for that.
fn body(text: &str) -> Vec<Block> {
    let mut blocks = plain::parse(&text.replace("\r\n", "\n")).blocks;
    if let Some(first) = blocks.first_mut()
        && first.kind == FragmentType::Heading
    {
        *first = Block::paragraph(std::mem::take(&mut first.text));
    }
    blocks
}

/// Whether a file has one document per line, judging by its name.
pub(crate) fn is_record_file(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e == "jsonl" || e == "ndjson")
}

#[cfg(test)]
mod tests {
    use super::super::tests::outline;
    use super::*;

    #[test]
    fn values_are_counted_outside_of_strings() {
        assert_eq!(values(r#"{"a,[\",": [1, 2], "b": "x, y"}"#), 4);
        let line = format!("{{\"text\": \"a\", \"x\": [{}]}}", "[],".repeat(MAX_VALUES));
        let error = record(&line, 1).unwrap_err();
        assert!(error.message().contains("values"), "{error}");
    }

    #[test]
    fn records_become_documents() {
        let cases = [
            (
                r#"{"doc_id": 12, "title": "T", "abstract": ["One.", "Two."], "text": "Body."}"#,
                "12",
                "heading1 T|abstract One. Two.|paragraph Body.",
            ),
            (
                r#"{"id": "a", "abstract": "血糖\n値。"}"#,
                "a",
                "abstract 血糖値。",
            ),
            (
                r#"{"text": "First line\n\nSecond\nwrapped\n\n- item"}"#,
                "line-1",
                "paragraph First line|paragraph Second wrapped|list item",
            ),
            (r#"{"_id": "", "title": "Only"}"#, "line-1", "heading1 Only"),
        ];
        for (line, id, want) in cases {
            let records = parse_records(line.as_bytes()).unwrap();
            let got = records[0].as_ref().unwrap();
            assert_eq!(
                (got.id.as_str(), outline(&got.document.blocks).as_str()),
                (id, want),
                "{line}"
            );
        }
    }

    #[test]
    fn metadata_and_warnings_are_kept() {
        let line = r#"{"title": "T", "authors": [{"name": "Ada Smith"}, "Bo Lee"], "year": 2020,
            "journal": "J", "doi": "https://doi.org/10.1000/X", "pmid": 123, "language": "en",
            "references": ["10.1000/y"], "is_retracted": true, "url": 7, "published_date": "soon"}"#
            .replace('\n', " ");
        let records = parse_records(line.as_bytes()).unwrap();
        let document = &records[0].as_ref().unwrap().document;
        let meta = &document.meta;
        assert_eq!(meta.authors, ["Ada Smith", "Bo Lee"]);
        assert_eq!(
            (meta.year, meta.venue.as_deref(), meta.doi.as_deref()),
            (Some(2020), Some("J"), Some("10.1000/x"))
        );
        assert_eq!(
            (
                meta.pmid.as_deref(),
                meta.references.len(),
                meta.is_retracted
            ),
            (Some("123"), 1, true)
        );
        assert_eq!(document.warnings.len(), 1);
        assert!(
            document.warnings[0].starts_with("published_date: "),
            "{:?}",
            document.warnings
        );
    }

    #[test]
    fn a_part_of_a_file_has_the_ids_of_the_whole() {
        let file =
            b"{\"id\": \"a\"}\n\n{\"_id\": 7, \"text\": \"x\"}\nno json\n{\"doc_id\": \"a\"}\r\n";
        let whole = record_lines(file, &(0..usize::MAX)).unwrap();
        let ids: Vec<(usize, &str, bool)> = whole
            .iter()
            .map(|line| (line.number, line.id.as_str(), line.is_repeated))
            .collect();
        let want = [
            (1, "a", false),
            (3, "7", false),
            (4, "line-4", false),
            (5, "a", true),
        ];
        assert_eq!(ids, want);
        let parts = [0..2, 2..4, 4..9].map(|part| record_lines(file, &part).unwrap());
        assert_eq!(parts.concat(), whole);
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_are_read() {
        let file = "{\"text\": \"a\"}\n\n[1]\n{\"year\": 2000}\n{\"text\": 5}\n{\"abstract\": [1]}\n{\"text\": \"b\"}\r\n";
        let records = parse_records(file.as_bytes()).unwrap();
        let seen: Vec<String> = records
            .iter()
            .map(|record| match record {
                Ok(record) => format!("ok {}", record.line),
                Err(error) => error.message().to_owned(),
            })
            .collect();
        assert_eq!(seen[0], "ok 1");
        assert!(
            seen[1].starts_with("line 3: not one JSON object"),
            "{seen:?}"
        );
        assert_eq!(seen[2], "line 4: the record has no title, abstract or text");
        assert_eq!(seen[3], "line 5: text: expected a string");
        assert!(
            seen[4].starts_with("line 6: abstract: expected"),
            "{seen:?}"
        );
        assert_eq!(seen[5], "ok 7");
    }
}
