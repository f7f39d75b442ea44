//! Documents of every kind that a corpus or the web holds, read into blocks and metadata.
//!
//! [`parse`] takes the bytes of one document and tells by content type, name and content what it
//! is: HTML, PDF, JATS XML, Markdown, plain text. [`parse_records`] takes a `.jsonl` file with a
//! document a line. Nothing here opens a file or a connection. Bytes are hostile: every parser has
//! caps on size, depth and time, and a broken document fails alone, with its reason.

mod corpus;
mod dates;
#[cfg(any(feature = "html", feature = "pdf"))]
mod deadline;
mod encoding;
pub(crate) mod entities;
mod file_fetch;
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

pub use crate::store::text::segment::Block;
pub(crate) use corpus::record_url;
pub use corpus::{CorpusProvider, CorpusReport, FileNote, FolderReport, SyncReport};
pub(crate) use file_fetch::CorpusFile;
pub use file_fetch::FileFetcher;
pub(crate) use hostile_documents::HostileDocuments;
pub use meta::apply_sidecar;
pub use parser::Documents;
pub use parser_process::{ParserLimits, ParserProcess, serve_parser};
use records::MAX_RECORDS_BYTES;
pub use records::{RecordDocument, parse_records};
pub(crate) use records::{is_record_file, record_lines};

use crate::error::{Error, Result};
use crate::store::model::FragmentType;
use std::ops::Range;
#[cfg(any(feature = "html", feature = "pdf"))]
use std::time::Duration;

/// Largest text document that is read, in bytes; [`parse`] names the cap when it refuses.
const MAX_TEXT_BYTES: usize = 20 * 1024 * 1024;

/// Stack of a thread that parses, in bytes: parsers recurse over trees that are hundreds of levels
/// deep.
pub(super) const STACK: usize = 32 * 1024 * 1024;

/// How long one document of a format with a parser that is not ours may take in this process.
#[cfg(any(feature = "html", feature = "pdf"))]
const DEADLINE: Duration = Duration::from_secs(10);

#[cfg(feature = "html")]
static HTML: deadline::Foreign = deadline::Foreign::new("HTML");
#[cfg(feature = "pdf")]
static PDF: deadline::Foreign = deadline::Foreign::new("PDF");

pub use crate::ports::ParsedDocument;

/// How warnings begin that concern what a document says about itself.
pub(super) const FRONT_MATTER: &str = "front matter, ";

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Html,
    Pdf,
    Jats,
    Markdown,
    Rst,
    Org,
    Plain,
    Records,
}

/// Reads one document.
///
/// `content_type` is an HTTP content type, with its charset if it has one; `name` is a file name
/// or an address, for its extension and, for HTML, to resolve relative links. Content that says
/// clearly what it is (`%PDF-`, an XML or HTML start) wins over both.
///
/// # Errors
///
/// `InvalidInput` if the bytes are not what they seem to be, are no text, or exceed a cap;
/// `HostileDocument` if a parser does not end in time; `Unsupported` if this build has no parser for
/// the format (see [`ErrorKind`](crate::ErrorKind)).
///
/// The document is read in this process, which it can burden: a parser that does not end in time
/// goes on in the background. A [`ParserProcess`] reads untrusted
/// documents elsewhere.
///
/// ```
/// use lyra_core::{documents::parse, store::model::FragmentType};
/// let document = parse(b"# Sleep\n\nNight work *shortens* sleep.\n", None, "sleep.md")?;
/// assert_eq!(document.meta.title.as_deref(), Some("Sleep"));
/// assert_eq!(document.blocks[1].kind, FragmentType::Paragraph);
/// assert_eq!(document.blocks[1].text, "Night work shortens sleep.");
/// # Ok::<(), lyra_core::Error>(())
/// ```
pub fn parse(bytes: &[u8], content_type: Option<&str>, name: &str) -> Result<ParsedDocument> {
    match sniff(bytes, content_type, name)? {
        #[cfg(feature = "html")]
        Format::Html => within(&HTML, bytes, content_type, name),
        #[cfg(feature = "pdf")]
        Format::Pdf => within(&PDF, bytes, content_type, name),
        format => parse_as(format, bytes.to_vec(), content_type, name),
    }
}

#[cfg(any(feature = "html", feature = "pdf"))]
fn within(
    foreign: &'static deadline::Foreign,
    bytes: &[u8],
    content_type: Option<&str>,
    name: &str,
) -> Result<ParsedDocument> {
    let (bytes, name) = (bytes.to_vec(), name.to_owned());
    let content_type = content_type.map(str::to_owned);
    deadline::within(DEADLINE, foreign, move || {
        parse_unbounded(bytes, content_type.as_deref(), &name)
    })
}

/// The same as [`parse`] on this thread, which needs [`STACK`], for as long as it takes. Panics.
pub(super) fn parse_unbounded(
    bytes: Vec<u8>,
    content_type: Option<&str>,
    name: &str,
) -> Result<ParsedDocument> {
    let format = sniff(&bytes, content_type, name)?;
    parse_as(format, bytes, content_type, name)
}

fn parse_as(
    format: Format,
    bytes: Vec<u8>,
    content_type: Option<&str>,
    name: &str,
) -> Result<ParsedDocument> {
    let charset = content_type.and_then(encoding::charset_of_content_type);
    let mut document = match format {
        Format::Html => read_html(&bytes, charset, name)?,
        Format::Pdf => read_pdf(bytes)?,
        Format::Jats => jats::parse(&text_of(&bytes, charset, true)?.text)?,
        Format::Records => return only_record(&bytes),
        Format::Markdown | Format::Rst | Format::Org | Format::Plain => {
            let decoded = text_of(&bytes, charset, false)?;
            let read = match format {
                Format::Markdown => markdown::parse,
                Format::Rst => light_markup::parse_rst,
                Format::Org => light_markup::parse_org,
                _ => plain::parse,
            };
            let mut document = read(&decoded.text);
            if decoded.damaged {
                document.warnings.push(format!(
                    "some bytes are not {} and were replaced by U+FFFD",
                    decoded.encoding
                ));
            }
            document
        }
    };
    mark_abstract(&mut document.blocks);
    Ok(document)
}

fn text_of(bytes: &[u8], charset: Option<&str>, markup: bool) -> Result<encoding::Decoded> {
    if bytes.len() > MAX_TEXT_BYTES {
        return Err(too_large(bytes.len(), MAX_TEXT_BYTES));
    }
    let inner = if markup {
        encoding::charset_in_markup(bytes)
    } else {
        None
    };
    let declared: Vec<&str> = inner.into_iter().chain(charset).collect();
    Ok(encoding::decode(bytes, &declared))
}

fn too_large(bytes: usize, cap: usize) -> Error {
    Error::invalid(format!(
        "the document has {bytes} bytes; at most {cap} are read"
    ))
    .with_hint("split it, or save its text alone")
}

#[cfg(feature = "html")]
fn read_html(bytes: &[u8], charset: Option<&str>, name: &str) -> Result<ParsedDocument> {
    html::parse(bytes, charset, name)
}

#[cfg(not(feature = "html"))]
fn read_html(_: &[u8], _: Option<&str>, _: &str) -> Result<ParsedDocument> {
    Err(unsupported("HTML", "html"))
}

#[cfg(feature = "pdf")]
fn read_pdf(bytes: Vec<u8>) -> Result<ParsedDocument> {
    pdf::parse(bytes)
}

#[cfg(not(feature = "pdf"))]
fn read_pdf(_: Vec<u8>) -> Result<ParsedDocument> {
    Err(unsupported("PDF", "pdf"))
}

#[cfg(not(all(feature = "html", feature = "pdf")))]
fn unsupported(format: &str, feature: &str) -> Error {
    Error::new(
        crate::ErrorKind::Unsupported,
        format!("this build does not read {format}"),
    )
    .with_hint(format!("build with the feature `{feature}`"))
}

fn only_record(bytes: &[u8]) -> Result<ParsedDocument> {
    let mut records = parse_records(bytes)?;
    match (records.pop(), records.is_empty()) {
        (Some(record), true) => record.map(|record| record.document),
        (None, _) => Err(Error::invalid("the file holds no record")),
        (Some(_), false) => Err(Error::invalid(format!(
            "the file holds {} documents, one a line",
            records.len() + 1
        ))
        .with_hint("read it with parse_records")),
    }
}

/// Tells what the bytes are: by what only one format starts with, then by the content type, then
/// by the extension, then by what the text looks like.
fn sniff(bytes: &[u8], content_type: Option<&str>, name: &str) -> Result<Format> {
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
    // `text/plain` is what servers say of any file they do not know.
    let claimed = match by_type {
        Some(Format::Plain) | None => by_name.or(by_type),
        known => known,
    };
    // HTML has an element of the same name as the root of JATS.
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

/// NUL bytes stand in UTF-16 and in binary files; ZIP, images and the like have known starts.
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

/// Puts the title first as a heading, unless the text has a heading of that rank; or takes the
/// title from that heading.
fn lead_with_title(document: &mut ParsedDocument) {
    title_from_heading(document);
    if let Some(title) = &document.meta.title
        && !document.blocks.iter().any(Block::is_top_heading)
    {
        let heading = Block::heading(1, title.clone());
        document.blocks.insert(0, heading);
    }
}

/// Takes the title from the first heading of the highest rank, where nothing else tells it.
fn title_from_heading(document: &mut ParsedDocument) {
    if document.meta.title.is_none() {
        let heading = document.blocks.iter().find(|block| block.is_top_heading());
        document.meta.title = heading.map(|heading| heading.text.clone());
    }
}

/// Makes the paragraphs under a heading that says "Abstract" abstracts.
fn mark_abstract(blocks: &mut [Block]) {
    let names = ["abstract", "要旨", "抄録", "要約"];
    let mut inside = false;
    for block in blocks {
        match block.kind {
            FragmentType::Heading => {
                let name = block
                    .text
                    .trim_end_matches([':', '：', '.'])
                    .trim()
                    .to_lowercase();
                inside = names.contains(&name.as_str());
            }
            FragmentType::Paragraph if inside => block.kind = FragmentType::Abstract,
            _ => {}
        }
    }
}

/// Most characters of a citation's context.
const MAX_CONTEXT: usize = 200;

/// The sentence around a place in `text` (bytes), at most 200 characters of it.
fn context_of(text: &str, place: Range<usize>) -> String {
    let ends = |c: char| matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '\n');
    // Twice the length is looked through, so that the cost does not grow with the text.
    let first = text.floor_char_boundary(place.start.saturating_sub(4 * MAX_CONTEXT));
    let last = text.floor_char_boundary((place.end + 4 * MAX_CONTEXT).min(text.len()));
    let is_end = |at: usize, c: char| {
        let after = text[at + c.len_utf8()..].chars().next();
        ends(c) && (!c.is_ascii() || after.is_none_or(char::is_whitespace))
    };
    let start = text[first..place.start]
        .char_indices()
        .rev()
        .find(|(at, c)| is_end(first + at, *c))
        .map_or(first, |(at, c)| first + at + c.len_utf8());
    let end = text[place.end..last]
        .char_indices()
        .find(|(at, c)| is_end(place.end + at, *c))
        .map_or(last, |(at, c)| place.end + at + c.len_utf8());
    let sentence = text[start..end].trim();
    if sentence.chars().count() <= MAX_CONTEXT {
        return sentence.to_owned();
    }
    let words = text[place.clone()].chars().count();
    let before = text[start..place.start].chars().count();
    let skip = before.saturating_sub((MAX_CONTEXT.saturating_sub(words)) / 2);
    text[start..end]
        .chars()
        .skip(skip)
        .take(MAX_CONTEXT)
        .collect::<String>()
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests;
