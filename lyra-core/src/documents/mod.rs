//! Reads documents of every kind that a corpus or the web contains into blocks and metadata.
//!
//! [`parse`] takes the bytes of one document and detects its format by content type, name and
//! content: HTML, PDF, JATS XML, Markdown, plain text. [`parse_records`] takes a `.jsonl` file with
//! one document per line. These functions open no file and no connection. Bytes are treated as
//! hostile: every parser has caps on size, depth and time, and a broken document fails alone, with
//! its reason.

mod any_format;
mod context;
mod corpus;
mod dates;
#[cfg(any(feature = "html", feature = "pdf"))]
mod deadline;
mod encoding;
pub(crate) mod entities;
mod file_fetch;
mod format;
mod front_matter;
mod hostile_documents;
#[cfg(feature = "html")]
mod html;
#[cfg(feature = "html")]
mod html_blocks;
#[cfg(feature = "html")]
mod html_flatten;
#[cfg(feature = "html")]
mod html_meta;
mod jats;
mod jats_body;
mod light_markup;
mod limits;
mod lines;
mod local_file;
mod markdown;
mod meta;
mod parser;
mod parser_process;
#[cfg(feature = "pdf")]
mod pdf;
mod plain;
mod records;
mod title;

pub use crate::ports::ParsedDocument;
pub use crate::store::text::segment::Block;
pub use any_format::parse;
pub(crate) use corpus::record_url;
pub use corpus::{CorpusProvider, CorpusReport, FileNote, FolderReport, SyncReport};
pub(crate) use file_fetch::CorpusFile;
pub use file_fetch::FileFetcher;
pub(crate) use hostile_documents::HostileDocuments;
pub use meta::apply_sidecar;
pub use parser::Documents;
pub use parser_process::{ParserLimits, ParserProcess, serve_parser};
pub use records::{RecordDocument, parse_records};
pub(crate) use records::{is_record_file, record_lines};

#[cfg(test)]
mod tests;
