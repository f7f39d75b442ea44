//! Reads one document of any format.

#[cfg(any(feature = "html", feature = "pdf"))]
use super::deadline;
use super::encoding;
use super::format::{Format, sniff};
#[cfg(feature = "html")]
use super::html;
use super::jats;
use super::light_markup;
#[cfg(any(feature = "html", feature = "pdf"))]
use super::limits::DEADLINE;
use super::limits::{MAX_TEXT_BYTES, too_large};
use super::markdown;
#[cfg(feature = "pdf")]
use super::pdf;
use super::plain;
use super::records::parse_records;
use crate::error::{Error, Result};
use crate::ports::ParsedDocument;
use crate::store::model::FragmentType;
use crate::store::text::segment::Block;

#[cfg(feature = "html")]
static HTML: deadline::Foreign = deadline::Foreign::new("HTML");

#[cfg(feature = "pdf")]
static PDF: deadline::Foreign = deadline::Foreign::new("PDF");

/// Reads one document.
///
/// `content_type` is an HTTP content type, with its charset if it has one. `name` is a file name or
/// an address; it supplies the extension and, for HTML, the base for relative links. Content with
/// an unambiguous signature (`%PDF-`, an XML or HTML start) takes precedence over both.
///
/// # Errors
///
/// `InvalidInput` if the bytes are not in the expected format, are not text, or exceed a cap;
/// `HostileDocument` if a parser does not end in time; `Unsupported` if this build has no parser
/// for the format (see [`ErrorKind`](crate::ErrorKind)).
///
/// The document is parsed in this process: a parser that exceeds its time limit continues in the
/// background and uses its resources. For untrusted documents, use a
/// [`ParserProcess`](super::ParserProcess), which parses them in a child process.
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

/// Like [`parse`], but on the calling thread, which needs [`STACK`](super::limits::STACK), and
/// without a time limit. May panic.
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

/// Turns the paragraphs under the heading "Abstract" into abstracts.
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
