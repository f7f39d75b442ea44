//! The port that parses bytes into documents.

use crate::error::Result;
use crate::store::model::DocumentMeta;
use crate::store::text::segment::Block;
use std::fmt::Debug;

/// A parsed document: its metadata, and its parts in reading order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedDocument {
    /// Bibliographic data and references.
    pub meta: DocumentMeta,
    /// Headings, paragraphs, lists, tables …
    pub blocks: Vec<Block>,
    /// `html`, `pdf`, `jats`, `markdown`, `text` or `jsonl`.
    pub page_type: &'static str,
    /// What was left out or guessed, for the log.
    pub warnings: Vec<String>,
}

/// Parses documents.
pub trait DocumentParser: Debug + Send + Sync + 'static {
    /// Parses one document. `name` is its file name or address, for the extension.
    ///
    /// Any bytes give a document or an error with the reason, within bounded time and memory; never
    /// a panic. The same bytes give the same document.
    fn parse(&self, body: &[u8], content_type: Option<&str>, name: &str) -> Result<ParsedDocument>;

    /// Where documents are parsed and within which limits, for `doctor`. A document that a parser
    /// did not survive is tried again when this changes.
    fn setup(&self) -> String {
        concat!("in this process (version ", env!("CARGO_PKG_VERSION"), ")").to_owned()
    }
}
