//! Checks of a document parser.

use crate::error::Result;
use crate::ports::{DocumentParser, ParsedDocument};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A longer time, on a slow machine and without optimisation, is not considered bounded.
const PATIENCE: Duration = Duration::from_secs(120);

const PAGE_TYPES: &[&str] = &["html", "pdf", "jats", "markdown", "text", "jsonl"];

/// Runs every check of a document parser.
pub fn check_document_parser(parser: &dyn DocumentParser) {
    parser_never_panics(parser);
    parser_is_deterministic(parser);
    parser_says_what_a_document_is(parser);
    parser_gives_blocks_with_text(parser);
}

/// Any bytes give a document or an error with the reason, in bounded time.
pub fn parser_never_panics(parser: &dyn DocumentParser) {
    for case in cases() {
        let begun = Instant::now();
        let answer = catch_unwind(AssertUnwindSafe(|| case.parse(parser)));
        let taken = begun.elapsed();
        let Ok(answer) = answer else {
            panic!("{parser:?}: panics on {case}");
        };
        assert!(taken <= PATIENCE, "{parser:?}: {taken:?} for {case}");
        if let Err(error) = answer {
            assert!(
                !error.message().trim().is_empty(),
                "{parser:?}: the error on {case} says nothing"
            );
        }
    }
}

/// The same bytes give the same document, or the same error.
pub fn parser_is_deterministic(parser: &dyn DocumentParser) {
    for case in cases() {
        let same = match (case.parse(parser), case.parse(parser)) {
            (Ok(first), Ok(second)) => first == second,
            (Err(first), Err(second)) => first.to_string() == second.to_string(),
            _ => false,
        };
        assert!(same, "{parser:?}: two answers on {case}");
    }
}

/// Every document has one of the known page types.
pub fn parser_says_what_a_document_is(parser: &dyn DocumentParser) {
    for case in cases() {
        if let Ok(document) = case.parse(parser) {
            assert!(
                PAGE_TYPES.contains(&document.page_type),
                "{parser:?}: {:?} is no page type, on {case}",
                document.page_type
            );
        }
    }
}

/// Plain prose is parsed, and no block is blank.
pub fn parser_gives_blocks_with_text(parser: &dyn DocumentParser) {
    for case in cases() {
        if let Ok(document) = case.parse(parser) {
            let blank = document.blocks.iter().find(|b| b.text.trim().is_empty());
            assert!(blank.is_none(), "{parser:?}: a blank block in {case}");
        }
    }
    let prose = b"Drug X increased the risk of falls.\n";
    match parser.parse(prose, Some("text/plain"), "a.txt") {
        Ok(document) => assert!(
            document.blocks.iter().any(|b| b.text.contains("Drug X")),
            "{parser:?}: the words of a plain text are lost: {document:?}"
        ),
        Err(error) => panic!("{parser:?}: cannot read plain text: {error}"),
    }
}

/// A document as a fetcher may deliver it.
struct Case {
    what: &'static str,
    body: Vec<u8>,
    content_type: Option<&'static str>,
    name: &'static str,
}

impl Case {
    fn parse(&self, parser: &dyn DocumentParser) -> Result<ParsedDocument> {
        parser.parse(&self.body, self.content_type, self.name)
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            what,
            content_type,
            name,
            ..
        } = self;
        write!(f, "{what} ({content_type:?}, {name:?})")
    }
}

/// Every body under every name: servers and file names may be wrong.
fn cases() -> Vec<Case> {
    let names = [
        (None, "a.html"),
        (None, "a.md"),
        (None, "a.pdf"),
        (None, "a.xml"),
        (None, "a.jsonl#1"),
        (Some("text/html; charset=shift_jis"), "https://example.org/"),
        (Some("application/pdf"), ""),
        (Some(";;=\u{0}"), "../../\u{202e}.\u{0}"),
    ];
    let mut cases = Vec::new();
    for (what, body) in bodies() {
        for (content_type, name) in names {
            cases.push(Case {
                what,
                body: body.clone(),
                content_type,
                name,
            });
        }
    }
    cases
}

fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let every_byte: Vec<u8> = (0..=255).cycle().take(2_000).collect();
    vec![
        ("nothing", Vec::new()),
        ("one NUL", vec![0]),
        ("every byte", every_byte),
        ("invalid UTF-8", b"caf\xe9 \xff\xfe \xc3\x28 \xed\xa0\x80".to_vec()),
        ("half a UTF-16 mark", vec![0xff, 0xfe, 0x41]),
        ("prose", "# Title\n\nDrug X increased falls. 転倒が増えた。\n".into()),
        ("a page", b"<!doctype html><title>T</title><body><article><h1>T</h1><p>Drug X increased the risk of falls.</article>".to_vec()),
        ("a torn page", b"<!doctype html><html><body><table><tr><td><p>Drug X <b>incr".to_vec()),
        ("deep HTML", "<div>".repeat(3_000).into_bytes()),
        ("deep Markdown", [">".repeat(3_000), "[".repeat(3_000), "*a".repeat(3_000)].join("\n").into_bytes()),
        ("an article", b"<?xml version='1.0'?><article><front><article-meta><title-group><article-title>T</article-title></title-group></article-meta></front><body><p>Drug X increased falls.</p></body></article>".to_vec()),
        ("an entity bomb", b"<?xml version='1.0'?><!DOCTYPE article [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;'><!ENTITY d '&c;&c;&c;&c;&c;&c;&c;&c;'><!ENTITY e '&d;&d;&d;&d;&d;&d;&d;&d;'>]><article><body><p>&e;&e;&e;&e;&e;&e;&e;&e;</p></body></article>".to_vec()),
        ("a PDF's first line", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog /Pages 1 0 R >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF".to_vec()),
        ("records", b"{\"id\": 1, \"title\": \"T\", \"text\": \"Drug X.\"}\n{\"id\": 2}\nnot json\n".to_vec()),
        ("a deep record", [b"{\"text\": ".to_vec(), b"[".repeat(3_000)].concat()),
        ("a picture", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR".to_vec()),
    ]
}
