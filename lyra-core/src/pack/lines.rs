//! Filters the lines of the task for a pack: texts that may not be redistributed are removed, and
//! what is needed to check the quotes is recorded.

use super::licence::{KnownLicence, PackTexts, StatedLicence, licence_of};
use crate::error::{Error, Result};
use crate::store::graph::PageText;
use crate::store::text::hash::sha256_hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

/// A text of a page, included in the pack or not: a line of `texts.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextLine {
    pub(super) page_id: String,
    pub(super) version: i64,
    pub(super) url: String,
    /// In code points.
    pub(super) length: usize,
    /// SHA-256 of the text in UTF-8.
    pub(super) sha256: String,
    pub(super) included: bool,
    pub(super) licence: Option<String>,
    pub(super) licence_known_by: Option<String>,
}

/// A quote that a claim or verdict is based on: a line of `quotes.jsonl`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QuoteLine {
    pub(super) edge_id: String,
    pub(super) fragment_id: String,
    pub(super) page_id: String,
    pub(super) version: i64,
    /// In code points of the page's text.
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) quote: String,
}

/// What is known about a fragment.
#[derive(Debug)]
struct KnownFragment {
    page_id: String,
    version: i64,
    start: i64,
    text: String,
}

/// Reads the lines that are written to it, and passes on those that may be in a pack.
pub(super) struct Filter<'a> {
    pub(super) inner: &'a mut dyn Write,
    pub(super) texts: PackTexts,
    pub(super) licences: &'a [StatedLicence],
    pub(super) found: PackContents,
    line: Vec<u8>,
    urls: HashMap<String, String>,
    passages: HashMap<String, KnownFragment>,
}

/// Information collected from the lines.
#[derive(Debug, Default)]
pub(super) struct PackContents {
    pub(super) texts: Vec<TextLine>,
    pub(super) quotes: Vec<QuoteLine>,
    pub(super) hypothesis: String,
    /// The latest time at which anything was created.
    pub(super) latest: String,
    /// Number of lines by type.
    pub(super) counts: BTreeMap<String, usize>,
}

impl<'a> Filter<'a> {
    pub(super) fn new(
        inner: &'a mut dyn Write,
        texts: PackTexts,
        licences: &'a [StatedLicence],
    ) -> Self {
        Self {
            inner,
            texts,
            licences,
            found: PackContents::default(),
            line: Vec::new(),
            urls: HashMap::new(),
            passages: HashMap::new(),
        }
    }

    fn take(&mut self) -> Result<()> {
        let row: Value = serde_json::from_slice(&self.line)
            .map_err(|e| Error::internal(format!("a line of the export: {e}")))?;
        let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
        let kind = text("type");
        let made = text("created_at").max(text("fetched_at"));
        if made > self.found.latest {
            self.found.latest = made;
        }
        let is_passed_on = match kind.as_str() {
            "task" => {
                self.found.hypothesis = text("hypothesis");
                true
            }
            "page" => {
                self.urls.insert(text("id"), text("url"));
                true
            }
            "page_text" => self.take_text(&row),
            "fragment" => {
                let passage = KnownFragment {
                    page_id: text("page_id"),
                    version: row["page_version"].as_i64().unwrap_or(1),
                    start: row["char_start"].as_i64().unwrap_or(0),
                    text: text("text_content"),
                };
                self.passages.insert(text("id"), passage);
                true
            }
            "edge" => {
                self.take_edge(&row)?;
                true
            }
            _ => true,
        };
        if is_passed_on {
            *self.found.counts.entry(kind).or_default() += 1;
            let passed = self.inner.write_all(&self.line);
            passed.map_err(super::archive::unwritable)?;
        }
        self.line.clear();
        Ok(())
    }

    /// Whether the text may be included.
    fn take_text(&mut self, row: &Value) -> bool {
        let page_id = row["page_id"].as_str().unwrap_or_default();
        let text = row["text"].as_str().unwrap_or_default();
        let url = self.urls.get(page_id).cloned().unwrap_or_default();
        let known = licence_of(&url, text, self.licences);
        let included = match self.texts {
            PackTexts::All => true,
            PackTexts::Licensed => known.is_some(),
            PackTexts::None => false,
        };
        let (licence, by) = match known {
            Some(KnownLicence { licence, by }) => (Some(licence), Some(by.to_owned())),
            None => (None, None),
        };
        self.found.texts.push(TextLine {
            page_id: page_id.to_owned(),
            version: row["version"].as_i64().unwrap_or(1),
            url,
            length: text.chars().count(),
            sha256: sha256_hex(text.as_bytes()),
            included,
            licence,
            licence_known_by: by,
        });
        included
    }

    fn take_edge(&mut self, row: &Value) -> Result<()> {
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        if text("source_type") != "fragment" {
            return Ok(());
        }
        let Some(passage) = self.passages.get(text("source_id")) else {
            return Ok(());
        };
        let length = i64::try_from(passage.text.chars().count()).unwrap_or(i64::MAX);
        let start = row["quote_start"].as_i64().unwrap_or(passage.start);
        let end = row["quote_end"].as_i64().unwrap_or(passage.start + length);
        let inside = |place: i64| usize::try_from(place - passage.start).ok();
        let span = inside(start)
            .zip(inside(end))
            .map(|(start, end)| start..end);
        let quote =
            span.and_then(|span| PageText::new(&passage.text).slice(span).map(str::to_owned));
        let quote = quote.ok_or_else(|| {
            Error::invalid(format!(
                "the quote of edge {} is not in its passage",
                text("id")
            ))
            .with_hint("`verify` names what was damaged in the graph")
        })?;
        self.found.quotes.push(QuoteLine {
            edge_id: text("id").to_owned(),
            fragment_id: text("source_id").to_owned(),
            page_id: passage.page_id.clone(),
            version: passage.version,
            start,
            end,
            quote,
        });
        Ok(())
    }
}

impl Write for Filter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.take().map_err(io::Error::other)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
