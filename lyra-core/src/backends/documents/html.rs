//! HTML: main content as blocks, metadata, links.

use super::deadline::within;
use super::html_blocks::{Walk, read_blocks};
use super::html_flatten::flatten;
use super::html_meta::{canonical_address, metadata};
use super::meta::{MAX_REFERENCES, add_reference, reference_to};
use super::{ParsedDocument, encoding, lead_with_title, too_large};
use crate::error::{Error, Result};
use crate::model::{DocumentMeta, FragmentType};
use std::time::Duration;
use trafilatura::dom::Document;
use url::Url;

/// Largest page that is read, in bytes.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// Elements inside one another beyond this are flattened: parsers take quadratic time over them,
/// and the extraction does not look deeper than 500.
const MAX_DEPTH: usize = 450;

/// How long one page may take.
const DEADLINE: Duration = Duration::from_secs(10);

/// Parts of a page that are never its content.
const BOILERPLATE: &str = "nav, aside, footer:not(article footer), dialog, [role=navigation], \
    [role=contentinfo], [role=dialog], [role=alertdialog], [id*=cookie], [class*=cookie], \
    [id*=consent], [class*=consent], [id*=gdpr], [class*=gdpr]";

/// Reads a page; `name` is its address or a file name.
pub(super) fn parse(bytes: &[u8], charset: Option<&str>, name: &str) -> Result<ParsedDocument> {
    if bytes.len() > MAX_BYTES {
        return Err(too_large(bytes.len(), MAX_BYTES));
    }
    let declared: Vec<&str> = encoding::charset_in_markup(bytes)
        .into_iter()
        .chain(charset)
        .collect();
    let decoded = encoding::decode(bytes, &declared);
    let (html, deep) = flatten(decoded.text, MAX_DEPTH);
    let address = Url::parse(name)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    let mut document = within(DEADLINE, "HTML", move || Ok(read(&html, address)))?;
    if decoded.damaged {
        document.warnings.push(format!(
            "some bytes are not {} and were replaced by U+FFFD",
            decoded.encoding
        ));
    }
    if deep {
        document.warnings.push(format!(
            "elements nested deeper than {MAX_DEPTH} were flattened"
        ));
    }
    if document.blocks.is_empty() {
        return Err(Error::invalid("the page holds no text")
            .with_hint("it may be drawn by scripts; save the page from a browser"));
    }
    Ok(document)
}

/// Everything that walks the tree; runs on the parser's thread.
fn read(html: &str, address: Option<Url>) -> ParsedDocument {
    let page = Document::parse(html);
    let mut meta = metadata(&page);
    let address = address.or_else(|| canonical_address(&page));
    let mut warnings = Vec::new();
    let visible = visible_text(&page, address.as_ref());
    let mut walk = main_content(page, address.as_ref());
    if walk
        .blocks
        .iter()
        .all(|block| block.kind == FragmentType::Heading)
    {
        walk = visible;
        if !walk.blocks.is_empty() {
            warnings.push("no main content was found; the visible text is kept".to_owned());
        }
    }
    add_links(&mut meta, &walk, address.as_ref());
    let mut document = ParsedDocument {
        meta,
        blocks: walk.blocks,
        page_type: "html",
        warnings,
    };
    if !document.blocks.is_empty() {
        lead_with_title(&mut document);
    }
    document
}

fn main_content(page: Document, address: Option<&Url>) -> Walk {
    let mut options = trafilatura::Options::default()
        .with_fallback(true)
        .with_links(true)
        .with_exclude_comments(true)
        .with_prune_selector(BOILERPLATE);
    if let Some(address) = address {
        options = options.with_url(address.clone());
    }
    let Ok(extracted) = trafilatura::extract_document(page, &options) else {
        return Walk::default();
    };
    let content = Document::parse(&extracted.content_html);
    content
        .body()
        .map(|body| read_blocks(&content, body, address))
        .unwrap_or_default()
}

/// What a browser would show, without the parts that are never content.
fn visible_text(page: &Document, address: Option<&Url>) -> Walk {
    let mut page = page.clone_document();
    for node in page
        .query_selector_all(page.root(), BOILERPLATE)
        .into_iter()
        .rev()
    {
        page.remove(node, true);
    }
    page.body()
        .map(|body| read_blocks(&page, body, address))
        .unwrap_or_default()
}

fn add_links(meta: &mut DocumentMeta, walk: &Walk, address: Option<&Url>) {
    let own = address.map(|address| {
        let mut own = address.clone();
        own.set_fragment(None);
        own.to_string()
    });
    for link in walk.links.iter().take(MAX_REFERENCES) {
        let Some(mut reference) = reference_to(&link.target, "link") else {
            continue;
        };
        if reference.url.is_some() && reference.url == own {
            continue;
        }
        reference.context = Some(link.context.clone()).filter(|context| !context.is_empty());
        add_reference(&mut meta.references, reference);
    }
}
