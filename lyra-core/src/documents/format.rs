//! Detects the format of a document.

use super::encoding;
use crate::error::{Error, Result};

/// The format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Html,
    Pdf,
    Jats,
    Markdown,
    Rst,
    Org,
    Plain,
    Records,
}

/// Detects the format of the bytes: by unambiguous signatures, then by the content type, then by
/// the extension, then by the look of the text.
pub(super) fn sniff(bytes: &[u8], content_type: Option<&str>, name: &str) -> Result<Format> {
    let head = &bytes[..bytes.len().min(1024)];
    if head.windows(5).any(|window| window == b"%PDF-") {
        return Ok(Format::Pdf);
    }
    let start = String::from_utf8_lossy(head)
        .trim_start_matches('\u{feff}')
        .trim_start()
        .to_lowercase();
    let declared = content_type.map(|text| {
        text.split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
    });
    let by_type = declared
        .as_deref()
        .and_then(|text| format_of_type(text, &start));
    let by_name = format_of_name(name);
    // Servers send `text/plain` for any file that they do not know.
    let claimed = match by_type {
        Some(Format::Plain) | None => by_name.or(by_type),
        known => known,
    };
    // HTML has an element with the same name as the root of JATS.
    let jats_marks = [
        "<front",
        "<body",
        "<sec",
        "article-type=",
        "dtd-version=",
        "xmlns",
    ];
    let html_article =
        start.starts_with("<article") && !jats_marks.iter().any(|mark| start.contains(mark));
    let xml = start.starts_with("<?xml")
        || (start.starts_with("<article") && !html_article)
        || start.starts_with("<!doctype article");
    let html = start.starts_with("<!doctype html") || start.starts_with("<html");
    let format = match claimed {
        Some(Format::Html | Format::Jats) | None if html || (xml && start.contains("<html")) => {
            Format::Html
        }
        Some(Format::Html) | None if xml && start.contains("<article") => Format::Jats,
        Some(Format::Pdf) => {
            return Err(Error::invalid(
                "the document is said to be a PDF but does not start like one",
            )
            .with_hint("it may be a login or error page that was saved under that name"));
        }
        Some(format) => format,
        None if html_article || (start.starts_with('<') && start.contains("<body")) => Format::Html,
        None if start.starts_with("{\"") => Format::Records,
        None if start.starts_with("---\n") || start.starts_with("# ") => Format::Markdown,
        None => Format::Plain,
    };
    let utf16 = head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]);
    if !utf16 && is_binary(bytes, head) {
        return Err(Error::invalid("the document is binary, not text")
            .with_hint("readable are HTML, PDF, JATS XML, Markdown, reStructuredText, Org, plain text and JSON lines"));
    }
    Ok(format)
}

fn format_of_type(content_type: &str, start: &str) -> Option<Format> {
    Some(match content_type {
        "text/html" | "application/xhtml+xml" => Format::Html,
        "application/pdf" | "application/x-pdf" => Format::Pdf,
        "text/markdown" | "text/x-markdown" => Format::Markdown,
        "text/x-rst" | "text/prs.fallenstein.rst" => Format::Rst,
        "text/org" | "text/x-org" => Format::Org,
        "text/plain" => Format::Plain,
        "application/jats+xml" | "application/vnd.jats+xml" => Format::Jats,
        "text/xml" | "application/xml" if start.contains("<html") => Format::Html,
        "text/xml" | "application/xml" => Format::Jats,
        "application/jsonl" | "application/x-ndjson" | "application/x-jsonlines" => Format::Records,
        _ => return None,
    })
}

fn format_of_name(name: &str) -> Option<Format> {
    let path = name.split(['?', '#']).next().unwrap_or(name);
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let (_, extension) = file.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" | "xhtml" | "shtml" => Format::Html,
        "pdf" => Format::Pdf,
        "xml" | "nxml" | "jats" => Format::Jats,
        "md" | "markdown" | "mdown" | "mkd" => Format::Markdown,
        "rst" => Format::Rst,
        "org" => Format::Org,
        "txt" | "text" => Format::Plain,
        "jsonl" | "ndjson" => Format::Records,
        _ => return None,
    })
}

/// NUL bytes occur in UTF-16 and in binary files; ZIP, images and similar formats have known
/// signatures.
fn is_binary(bytes: &[u8], head: &[u8]) -> bool {
    let magic: [&[u8]; 6] = [
        b"PK\x03\x04",
        b"\x89PNG",
        b"GIF8",
        b"\xff\xd8\xff",
        b"\x1f\x8b",
        b"\x7fELF",
    ];
    magic.iter().any(|magic| bytes.starts_with(magic))
        || (head.contains(&0) && !encoding::decode(head, &[]).encoding.starts_with("UTF-16"))
}
