//! HTML: main content as blocks, metadata, links.

use super::html_blocks::{Walk, read_blocks};
use super::html_flatten::tame;
use super::html_meta::{canonical_address, metadata};
use super::limits::too_large;
use super::meta::{MAX_REFERENCES, add_reference, reference_to};
use super::title::title_from_heading;
use super::{Block, ParsedDocument, encoding};
use crate::error::{Error, Result};
use crate::store::model::{DocumentMeta, FragmentType};
use trafilatura::dom::Document;
use url::Url;

/// Maximum size of a page, in bytes.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// Nesting beyond this depth is flattened: parsers take quadratic time over it, and the extraction
/// does not look deeper than 500.
const MAX_DEPTH: usize = 450;

/// Parts of a page that are rarely content.
const BOILERPLATE: &str = "nav, aside, footer, dialog, [role=navigation], [role=contentinfo], \
    [role=dialog], [role=alertdialog], [id*=cookie], [class*=cookie], [id*=consent], \
    [class*=consent], [id*=gdpr], [class*=gdpr]";

/// Elements outside the content that hold the title of a page.
const TITLES: &str = "title, meta[property='og:title'], meta[name=citation_title]";

/// If such a part contains one of these, its name is misleading: `<body class="no-cookies">`, or a
/// footer that contains the article.
const CONTENT: &str = "body, main, article, h1";

/// A part with more than this share of the page's text is not boilerplate.
const MOST_BOILERPLATE: f64 = 0.4;

/// For a page with less text than this, in bytes, the extraction may lose the paragraphs.
const FEW_WORDS: usize = 2_000;

/// Parses a page; `name` is its address or a file name.
pub(super) fn parse(bytes: &[u8], charset: Option<&str>, name: &str) -> Result<ParsedDocument> {
    if bytes.len() > MAX_BYTES {
        return Err(too_large(bytes.len(), MAX_BYTES));
    }
    let declared: Vec<&str> = encoding::charset_in_markup(bytes)
        .into_iter()
        .chain(charset)
        .collect();
    let decoded = encoding::decode(bytes, &declared);
    let (html, deep) = tame(decoded.text, MAX_DEPTH)?;
    let address = Url::parse(name)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https"));
    let mut document = read(&html, address);
    if decoded.damaged {
        document.warnings.push(format!(
            "some bytes are not {} and were replaced by U+FFFD",
            decoded.encoding
        ));
    }
    if deep {
        let warning = "markup that is nested too deep or repeated too often was flattened";
        document.warnings.push(warning.to_owned());
    }
    if document.blocks.is_empty() {
        return Err(Error::invalid("the page holds no text")
            .with_hint("it may be drawn by scripts; save the page from a browser"));
    }
    Ok(document)
}

/// All steps that walk the tree.
fn read(html: &str, address: Option<Url>) -> ParsedDocument {
    let mut page = Document::parse(html);
    let mut meta = metadata(&page);
    let is_titled = page.query_selector(page.root(), TITLES).is_some();
    let address = address.or_else(|| canonical_address(&page));
    let mut warnings = Vec::new();
    prune(&mut page);
    keep_captions(&mut page);
    let visible = visible_text(&page, address.as_ref());
    let mut walk = with_structure(main_content(page, address.as_ref()), &visible);
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
    // Not the reverse: the title of a page names it, and is not part of its content.
    if is_titled {
        leave_title_out(&mut document);
    }
    title_from_heading(&mut document);
    document
}

/// Removes a heading before the content that repeats the title.
fn leave_title_out(document: &mut ParsedDocument) {
    let is_heading = |block: &Block| block.kind == FragmentType::Heading;
    let (Some(title), Some(first)) = (&document.meta.title, document.blocks.first()) else {
        return;
    };
    let is_repeated = is_heading(first) && names_page(&first.text, title);
    if is_repeated && !document.blocks.iter().all(is_heading) {
        document.blocks.remove(0);
    }
}

/// Whether a heading equals the title, or the part of the title before the name of the site.
fn names_page(heading: &str, title: &str) -> bool {
    let words = |text: &str| {
        text.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .to_lowercase()
    };
    let (heading, title) = (words(heading), words(title));
    title.strip_prefix(&heading).is_some_and(|rest| {
        let mut parts = rest.split(' ');
        let is_parted = rest.starts_with(' ')
            && parts
                .nth(1)
                .is_some_and(|sign| matches!(sign, "|" | "-" | "–" | "—" | "·" | "»" | ":" | "::"));
        !heading.is_empty() && (rest.is_empty() || is_parted)
    })
}

/// Removes the parts that are not content.
fn prune(page: &mut Document) {
    let length = |page: &Document, node| page.text_content(node).len() as f64;
    let Some(whole) = page.body().map(|body| length(page, body)) else {
        return;
    };
    for node in page
        .query_selector_all(page.root(), BOILERPLATE)
        .into_iter()
        .rev()
    {
        let named_content = matches!(
            page.tag_name(node),
            "html" | "body" | "main" | "article" | "h1"
        );
        let certain = matches!(page.tag_name(node), "nav" | "dialog");
        if !named_content
            && page.query_selector(node, CONTENT).is_none()
            && (certain || length(page, node) <= MOST_BOILERPLATE * whole)
        {
            page.remove(node, true);
        }
    }
}

fn main_content(page: Document, address: Option<&Url>) -> Walk {
    let mut options = trafilatura::Options::default()
        .with_fallback(true)
        .with_links(true)
        .with_exclude_comments(true);
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

/// For a page with few words the extraction keeps only the words, in one paragraph. The blocks are
/// then taken from the page itself.
fn with_structure(extracted: Walk, visible: &Walk) -> Walk {
    let squashed = |block: &Block| -> String { block.text.split_whitespace().collect() };
    let [only] = extracted.blocks.as_slice() else {
        return extracted;
    };
    let words = squashed(only);
    if words.len() > FEW_WORDS {
        return extracted;
    }
    let blocks: Vec<String> = visible.blocks.iter().map(squashed).collect();
    for start in 0..blocks.len() {
        let mut rest = words.as_str();
        for (end, block) in blocks.iter().enumerate().skip(start) {
            let Some(after) = rest.strip_prefix(block.as_str()) else {
                break;
            };
            rest = after;
            if rest.is_empty() && end > start {
                return Walk {
                    blocks: visible.blocks[start..=end].to_vec(),
                    links: visible.links.clone(),
                };
            }
        }
    }
    extracted
}

/// Turns each table's caption into a row; otherwise the extraction would drop it.
fn keep_captions(page: &mut Document) {
    for caption in page.get_elements_by_tag_name(page.root(), "caption") {
        let text = page.text_content(caption);
        for child in page.child_nodes(caption) {
            page.remove(child, false);
        }
        page.set_tag_name(caption, "tr");
        let cell = page.sub_element(caption, "td");
        page.set_text(cell, &text);
    }
}

/// What a browser would display.
fn visible_text(page: &Document, address: Option<&Url>) -> Walk {
    page.body()
        .map(|body| read_blocks(page, body, address))
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

#[cfg(test)]
mod tests {
    use super::super::tests::{outline, shared_data};
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    /// Parses a page with a deadline, as in production.
    fn parse(bytes: &[u8], charset: Option<&str>, name: &str) -> Result<ParsedDocument> {
        let charset = charset.map(|charset| format!("; charset={charset}"));
        let content_type = format!("text/html{}", charset.unwrap_or_default());
        super::super::any_format::parse(bytes, Some(&content_type), name)
    }

    const PAGE: &str = include_str!("../../../tests/data/documents/page.html");

    #[test]
    fn a_page_is_read() {
        let got = parse(PAGE.as_bytes(), None, "page.html").unwrap();
        let meta = &got.meta;
        assert_eq!(
            meta.title.as_deref(),
            Some("Night work and thirst: a study")
        );
        assert_eq!(meta.authors, ["Smith, Ada", "Lee, Bo"]);
        assert_eq!(
            (
                meta.year,
                meta.published_date.as_deref(),
                meta.doi.as_deref()
            ),
            (Some(2020), Some("2020-03-07"), Some("10.1000/night.10"))
        );
        assert_eq!(
            (
                meta.venue.as_deref(),
                meta.language.as_deref(),
                meta.url.as_deref()
            ),
            (
                Some("Journal of Quiet Nights"),
                Some("en-GB"),
                Some("https://example.org/night/10")
            )
        );
        let references: Vec<_> = meta
            .references
            .iter()
            .map(|r| {
                let target = r.doi.as_deref().or(r.url.as_deref()).unwrap_or_default();
                (target, r.source.as_str(), r.context.as_deref())
            })
            .collect();
        assert_eq!(
            references,
            [
                ("10.1000/a1", "reference_list", None),
                ("10.1000/a2", "reference_list", None),
                (
                    "10.1000/old",
                    "link",
                    Some("It was first described in an older trial, which asked forty nurses.")
                ),
                (
                    "https://example.org/night/3",
                    "link",
                    Some("A later survey of drivers found the same.")
                ),
            ]
        );
        assert_eq!(meta.references[0].title.as_deref(), Some("Thirst at work"));
        let text = outline(&got.blocks);
        let parts: Vec<&str> = text.split("heading2 ").collect();
        assert_eq!(parts.len(), 2, "{text}");
        assert!(
            parts[0].starts_with("heading1 Night work and thirst"),
            "{text}"
        );
        let rest = parts[1];
        assert!(
            rest.starts_with(
                "What we did|paragraph We asked two hundred people in three hospitals"
            ),
            "{rest}"
        );
        for wanted in [
            "|list nurses and midwives\ndoctors\non call|",
            "|table Litres a day\nshift | litres\nday | 1.9\nnight | 1.2|",
            "|quote I was thirsty every single night",
            "|code litres = cups * 0.25\nprint(litres)|",
        ] {
            assert!(rest.contains(wanted), "{wanted}: {rest}");
        }
        for boilerplate in ["cookies", "Home page", "Related", "coffee", "Copyright"] {
            assert!(!text.contains(boilerplate), "{boilerplate}: {text}");
        }
    }

    #[test]
    fn the_encoding_is_found() {
        let page = "<html><head><meta charset=\"CHARSET\"><title>x</title></head><body><article><p>夜勤の人は水を飲む量が少ないことが知られている。その差はどの年齢の人にも見られ、冬に大きい。</p></article></body></html>";
        for (label, encoding) in [
            ("Shift_JIS", encoding_rs::SHIFT_JIS),
            ("EUC-JP", encoding_rs::EUC_JP),
            ("UTF-8", encoding_rs::UTF_8),
        ] {
            for declared in [label, "unknown"] {
                let bytes = encoding
                    .encode(&page.replace("CHARSET", declared))
                    .0
                    .into_owned();
                let got = parse(&bytes, None, "a.html").unwrap();
                assert!(
                    outline(&got.blocks).contains("夜勤の人は水を飲む量が"),
                    "{label} {declared}"
                );
            }
        }
    }

    #[test]
    fn pages_without_an_article_keep_their_visible_text() {
        let got = parse(
            b"<p>Hi.<script>x()</script><div style='display: none'>no</div>",
            None,
            "a.html",
        )
        .unwrap();
        assert!(
            outline(&got.blocks).contains("paragraph Hi."),
            "{:?}",
            got.blocks
        );
        for empty in [
            "",
            "<html></html>",
            "<script>draw()</script>",
            "<body><nav><a href='/'>Home</a></nav>",
        ] {
            let error = parse(empty.as_bytes(), None, "a.html").unwrap_err();
            assert!(error.message().contains("no text"), "{empty}: {error}");
        }
    }

    #[test]
    fn a_title_is_no_part_of_the_text() {
        let page = "<html><head><title>Shift work - The Site</title></head><body><article>\
            <p>People who work at night sleep an hour less than others.</p></article></body></html>";
        let got = parse(page.as_bytes(), None, "a.html").unwrap();
        assert_eq!(got.meta.title.as_deref(), Some("Shift work - The Site"));
        assert_eq!(
            outline(&got.blocks),
            "paragraph People who work at night sleep an hour less than others."
        );
        for heading in ["Shift work", "SHIFT  work - the site"] {
            let page = page.replace("<article>", &format!("<article><h1>{heading}</h1>"));
            let got = parse(page.as_bytes(), None, "a.html").unwrap();
            let rest = "paragraph People who work at night sleep an hour less than others.";
            assert_eq!(outline(&got.blocks), rest, "{heading}");
        }
        for (heading, repeats) in [
            ("Shift work", true),
            ("shift  work - THE site", true),
            ("Shift", false),
            ("Shift work - The", false),
            ("Shift work and sleep", false),
            ("", false),
        ] {
            assert_eq!(
                names_page(heading, "Shift work - The Site"),
                repeats,
                "{heading}"
            );
        }
        let untitled = "<article><h1>Sleep</h1><p>Night work shortens it by an hour.</p></article>";
        let got = parse(untitled.as_bytes(), None, "a.html").unwrap();
        assert_eq!(got.meta.title.as_deref(), Some("Sleep"));
    }

    #[test]
    fn a_page_of_few_words_keeps_its_paragraphs() {
        for (html, expected) in [
            (
                "<article><h1>Sleep</h1><p>Night work shortens it.</p><p>Second paragraph.</p></article>",
                "heading1 Sleep|paragraph Night work shortens it.|paragraph Second paragraph.",
            ),
            (
                "<body><nav>Home</nav><h1>Results</h1><p>Glucose fell.</p><h1>Discussion</h1>\
                 <p>It may help. See <a href='https://x.org/a'>A</a>.</p><footer>Imprint</footer></body>",
                "heading1 Results|paragraph Glucose fell.|heading1 Discussion|\
                 paragraph It may help. See A.",
            ),
            ("<p>Only <b>this</b> one.</p>", "paragraph Only this one."),
        ] {
            let got = parse(html.as_bytes(), None, "a.html").unwrap();
            assert_eq!(outline(&got.blocks), expected, "{html}");
        }
    }

    #[test]
    fn hostile_pages_end_in_time() {
        let start = Instant::now();
        for (open, close) in [
            ("<div>", "</div>"),
            ("<b>", ""),
            ("<div><table>", ""),
            ("<font><p>", ""),
        ] {
            let page = format!(
                "<body>{}deep text{}",
                open.repeat(30_000),
                close.repeat(30_000)
            );
            let got = parse(page.as_bytes(), None, "a.html");
            if let Ok(got) = &got {
                assert!(
                    got.warnings
                        .iter()
                        .any(|warning| warning.contains("flattened")),
                    "{open}"
                );
            }
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{:?}",
            start.elapsed()
        );
        let large = vec![b' '; MAX_BYTES + 1];
        assert!(
            parse(&large, None, "a.html")
                .unwrap_err()
                .message()
                .contains("at most")
        );
    }

    /// Phrases that the main text of real pages must and must not contain.
    #[test]
    fn main_content_of_real_pages_is_found() {
        let Some(folder) = shared_data("extraction-dev") else {
            return;
        };
        let gold = std::fs::read_to_string(folder.join("evaldata.json")).unwrap();
        let gold: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&gold).unwrap();
        let (mut found, mut missed, mut extra) = (0.0, 0.0, 0.0);
        let mut seconds = 0.0;
        for (url, entry) in &gold {
            let bytes =
                std::fs::read(folder.join("html").join(entry["file"].as_str().unwrap())).unwrap();
            let start = Instant::now();
            let text = parse(&bytes, None, url).map(|got| {
                got.blocks
                    .into_iter()
                    .map(|block| block.text)
                    .collect::<Vec<_>>()
                    .join("\n")
            });
            seconds += start.elapsed().as_secs_f64();
            let text = text.unwrap_or_else(|e| {
                eprintln!("{url}: {e}");
                String::new()
            });
            let phrases = |key: &str| entry[key].as_array().cloned().unwrap_or_default();
            let holds =
                |phrase: &serde_json::Value| text.contains(phrase.as_str().unwrap_or_default());
            let hits = |key: &str| {
                let all = phrases(key);
                let held = all.iter().filter(|phrase| holds(phrase)).count();
                (held as f64, (all.len() - held) as f64)
            };
            let (with, without) = (hits("with"), hits("without"));
            found += with.0;
            missed += with.1;
            extra += without.0;
        }
        let precision = found / (found + extra);
        let recall = found / (found + missed);
        let f1 = 2.0 * precision * recall / (precision + recall);
        eprintln!(
            "{} pages: precision {precision:.3}, recall {recall:.3}, F1 {f1:.3}, {:.0} pages/s",
            gold.len(),
            gold.len() as f64 / seconds
        );
        assert!(f1 >= 0.90, "F1 {f1:.3}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn any_bytes_give_a_document_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes, None, "https://example.org/");
        }

        #[test]
        fn any_markup_gives_blocks_with_text(
            html in "(<(p|div|table|tr|td|ul|li|dl|dt|dd|h1|pre|a href='x'|b|br|blockquote|/p|/div|/table|/ul|/a|svg|select)>|[a-c .日]{0,6}){0,25}"
        ) {
            if let Ok(document) = parse(html.as_bytes(), None, "https://example.org/") {
                for block in document.blocks {
                    prop_assert!(!block.text.trim().is_empty());
                }
            }
        }
    }
}
