//! Limits on the size of a document and on the resources that a parser may use in this process.

use crate::error::Error;
#[cfg(any(feature = "html", feature = "pdf"))]
use std::time::Duration;

/// Maximum size of a text document, in bytes; [`parse`](super::parse) names the cap when it refuses
/// a document.
pub(super) const MAX_TEXT_BYTES: usize = 20 * 1024 * 1024;

/// Stack of a thread that parses, in bytes: parsers recurse over trees that are hundreds of levels
/// deep.
pub(super) const STACK: usize = 32 * 1024 * 1024;

/// Time limit in this process for one document of a format with a third-party parser.
#[cfg(any(feature = "html", feature = "pdf"))]
pub(super) const DEADLINE: Duration = Duration::from_secs(10);

pub(super) fn too_large(bytes: usize, cap: usize) -> Error {
    Error::invalid(format!(
        "the document has {bytes} bytes; at most {cap} are read"
    ))
    .with_hint("split it, or save its text alone")
}
