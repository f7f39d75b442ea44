//! A draft as runs of prose, in which each character has its position in the draft.

mod docx;
mod html;
mod latex;
mod markdown;
mod offsets;
mod piece;

pub(super) use piece::Draft;
#[cfg(test)]
pub(super) use piece::Link;
pub(super) use piece::{Piece, PieceKind, RAISED};

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Maximum size of a draft, in bytes; larger ones are refused.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The format of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum DraftFormat {
    /// Markdown, and plain text.
    #[default]
    Markdown,
    /// HTML.
    Html,
    /// LaTeX.
    Latex,
    /// Word. Offsets refer to the text extracted from the file.
    Docx,
}

impl DraftFormat {
    /// The format for the extension of a file name; Markdown for unknown extensions.
    ///
    /// ```
    /// use lyra_core::check::DraftFormat;
    /// assert_eq!(DraftFormat::of_name("report.tex"), DraftFormat::Latex);
    /// assert_eq!(DraftFormat::of_name("notes.txt"), DraftFormat::Markdown);
    /// ```
    pub fn of_name(name: &str) -> Self {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        match extension.map(str::to_lowercase).as_deref() {
            Some("html" | "htm" | "xhtml") => Self::Html,
            Some("tex" | "latex") => Self::Latex,
            Some("docx") => Self::Docx,
            _ => Self::Markdown,
        }
    }
}

impl Draft {
    /// Reads the bytes of a draft.
    pub(super) fn read(bytes: &[u8], format: DraftFormat) -> Result<Self> {
        if bytes.len() > MAX_BYTES {
            let message = format!(
                "the draft has {} bytes; at most {MAX_BYTES} are read",
                bytes.len()
            );
            return Err(Error::invalid(message).with_hint("check its chapters one by one"));
        }
        if format == DraftFormat::Docx {
            return docx::read(bytes);
        }
        let text = std::str::from_utf8(bytes).map_err(|e| {
            Error::invalid(format!("the draft is not UTF-8 text: {e}"))
                .with_hint("save it as UTF-8; Word files need the extension .docx")
        })?;
        let read = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut pieces = match format {
            DraftFormat::Html => html::read(read),
            DraftFormat::Latex => latex::read(read),
            DraftFormat::Markdown | DraftFormat::Docx => markdown::read(read),
        };
        if read.len() < text.len() {
            // The byte order mark is not prose, but it is a code point of the draft.
            pieces.iter_mut().for_each(|piece| piece.move_by(1));
        }
        Ok(Self {
            text: text.to_owned(),
            pieces,
        })
    }
}

#[cfg(test)]
mod tests;
