//! PDF: text with character positions, assembled into lines and paragraphs.

mod bidi;
mod columns;
mod fonts;
mod layout;
mod limits;
mod line;
mod lines;
mod text;

use super::ParsedDocument;
use super::limits::{DEADLINE, too_large};
use super::lines::{collapse, is_unspaced};
use super::meta::{doi_in, says_retracted};
use crate::error::{Error, Result};
use crate::store::model::DocumentMeta;
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use layout::{Layout, layout};
use line::PdfLine;
use lines::Collector;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;
use text::PageReader;
use text::decode;

/// Maximum size of a file, in bytes.
const MAX_BYTES: usize = 50 * 1024 * 1024;

/// Pages beyond this are left out.
const MAX_PAGES: usize = 2_000;

/// Parses a PDF.
pub(super) fn parse(mut bytes: Vec<u8>) -> Result<ParsedDocument> {
    if bytes.len() > MAX_BYTES {
        return Err(too_large(bytes.len(), MAX_BYTES));
    }
    // Foreign bytes may precede the header; offsets in the file count from the header.
    let start = bytes
        .windows(5)
        .take(1024)
        .position(|w| w == b"%PDF-")
        .unwrap_or(0);
    bytes.drain(..start);
    limits::check_objects(&bytes)?;
    let opened = catch_unwind(AssertUnwindSafe(|| Pdf::new(bytes)));
    match opened.unwrap_or(Err(LoadPdfError::Invalid)) {
        Ok(file) => read(&file),
        Err(LoadPdfError::Decryption(DecryptionError::PasswordProtected)) => {
            Err(Error::invalid("the PDF is locked with a password")
                .with_hint("save a copy without the password"))
        }
        Err(LoadPdfError::Decryption(_)) => Err(Error::invalid(
            "the PDF is encrypted in a way that is not known",
        )
        .with_hint("save a copy without encryption")),
        Err(LoadPdfError::Invalid) => {
            Err(Error::invalid("the PDF is damaged").with_hint("download it again"))
        }
    }
}

fn read(file: &Pdf) -> Result<ParsedDocument> {
    let mut warnings = Vec::new();
    let lines = read_pages(file, &mut warnings);
    let readable = |line: &PdfLine| line.text.chars().any(char::is_alphanumeric);
    if !lines.iter().any(readable) {
        return Err(Error::invalid("the PDF holds no text").with_hint(
            "it may be a scan: run text recognition over it, or give its text as a .txt file",
        ));
    }
    let first_page = lines[0].page;
    let page_one: String = lines
        .iter()
        .filter(|line| line.page == first_page)
        .map(|line| format!("{}\n", line.text))
        .collect();
    let Layout { blocks, title } = layout(lines);
    let info = file.metadata();
    let text =
        |bytes: &Option<Box<[u8]>>| bytes.as_deref().map(decode).filter(|text| !text.is_empty());
    let title = text(&info.title)
        .filter(|title| is_sensible_title(title))
        .or(title);
    let meta = DocumentMeta {
        is_retracted: title.as_deref().is_some_and(says_retracted),
        title,
        authors: text(&info.author)
            .map(|names| authors(&names))
            .unwrap_or_default(),
        doi: doi_in(&page_one),
        ..DocumentMeta::default()
    };
    Ok(ParsedDocument {
        meta,
        blocks,
        page_type: "pdf",
        warnings,
    })
}

/// Reads each page separately, so that a page that breaks the library loses only the rest of that
/// page.
fn read_pages(file: &Pdf, warnings: &mut Vec<String>) -> Vec<PdfLine> {
    let mut collector = Collector::new(Instant::now() + DEADLINE);
    let pages = file.pages();
    let mut broken = Vec::new();
    let mut reader = PageReader::new(file, &mut collector);
    for (page, number) in pages.iter().zip(1..).take(MAX_PAGES) {
        let read = catch_unwind(AssertUnwindSafe(|| reader.page(page, number)));
        reader.finish_page();
        match read {
            Ok(Ok(())) => {}
            Ok(Err(text::Stopped)) => break,
            Err(_) => broken.push(number.to_string()),
        }
    }
    if reader.cut {
        warnings.push("pages with too much content were cut".to_owned());
    }
    if !broken.is_empty() {
        warnings.push(format!("could not read all of page {}", broken.join(", ")));
    }
    if pages.len() > MAX_PAGES {
        warnings.push(format!(
            "only {MAX_PAGES} of {} pages were read",
            pages.len()
        ));
    }
    collector.lines
}

/// Word processors put file names and placeholders into the title field.
fn is_sensible_title(title: &str) -> bool {
    let lower = title.to_lowercase();
    let file_name = [
        ".doc", ".docx", ".tex", ".dvi", ".pdf", ".indd", ".rtf", ".txt", ".ps", ".qxd",
    ]
    .iter()
    .any(|extension| lower.ends_with(extension));
    let placeholder = [
        "untitled",
        "microsoft word",
        "powerpoint",
        "no job name",
        "document",
        "untitled document",
        "slide 1",
    ]
    .iter()
    .any(|start| lower == *start || lower.starts_with(&format!("{start} - ")));
    let letters = title.chars().filter(|c| c.is_alphabetic()).count();
    let words = title.split_whitespace().count();
    let unspaced = title.chars().any(is_unspaced);
    !file_name
        && !placeholder
        && letters * 2 > title.chars().count()
        && !title.contains(['\u{fffd}', '\\'])
        && (unspaced && letters >= 4 || words >= 3 || words == 2 && letters >= 8)
        && title.chars().count() <= 400
}

/// Names separated by `;`, `and`, or by commas if every part has two words (`Smith, John` is one
/// name).
fn authors(text: &str) -> Vec<String> {
    let tidy = |parts: Vec<&str>| -> Vec<String> {
        parts
            .into_iter()
            .map(collapse)
            .filter(|name| name.chars().any(char::is_alphabetic))
            .collect()
    };
    if text.contains('@') || text.contains("://") || text.contains('\u{fffd}') {
        return Vec::new();
    }
    let rough: Vec<&str> = text
        .split([';', '、'])
        .flat_map(|part| part.split(" and "))
        .collect();
    let by_comma: Vec<&str> = rough.iter().flat_map(|part| part.split(',')).collect();
    let whole_names = by_comma
        .iter()
        .all(|part| part.split_whitespace().count() >= 2 || part.trim().is_empty());
    let names = tidy(if whole_names { by_comma } else { rough });
    // A single word is an account name, unless its script has no spaces.
    names
        .into_iter()
        .filter(|name| name.contains([' ', ',']) || name.chars().any(is_unspaced))
        .collect()
}

#[cfg(test)]
mod tests;
