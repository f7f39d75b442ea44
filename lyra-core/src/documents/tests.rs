use super::context::{MAX_CONTEXT, context_of};
use super::format::{Format, sniff};
use super::*;
use crate::store::model::FragmentType;
use proptest::prelude::*;

/// Blocks as `kind text|kind text`; for a heading the level follows the kind.
pub(super) fn outline(blocks: &[Block]) -> String {
    let one = |block: &Block| match block.level {
        0 => format!("{} {}", block.kind, block.text),
        level => format!("{}{level} {}", block.kind, block.text),
    };
    blocks.iter().map(one).collect::<Vec<_>>().join("|")
}

/// A folder of evaluation data that may be missing in a checkout; tests that need it are then
/// skipped.
pub(super) fn shared_data(name: &str) -> Option<std::path::PathBuf> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/data")
        .join(name);
    if !path.exists() {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

#[test]
fn formats_are_told_apart() {
    use Format::{Html, Jats, Markdown, Pdf, Plain, Records};
    let cases: &[(&[u8], Option<&str>, &str, Format)] = &[
        (b"%PDF-1.4", Some("text/html"), "x.html", Pdf),
        (b"\xef\xbb\xbf\n<!DOCTYPE html><p>", None, "x", Html),
        (
            b"<p>x",
            Some("text/html; charset=utf-8"),
            "https://example.org/a",
            Html,
        ),
        (b"<article><p>x</p></article>", Some("text/html"), "", Html),
        (b"<article class='post'><h1>x</h1>", None, "", Html),
        (
            b"<article xmlns:xlink='x'><front>",
            Some("text/html"),
            "",
            Jats,
        ),
        (
            b"<?xml version='1.0'?><!DOCTYPE article><article>",
            None,
            "a.xml",
            Jats,
        ),
        (
            b"<?xml version='1.0'?><article>",
            Some("application/xml"),
            "",
            Jats,
        ),
        (
            b"<?xml version='1.0'?><html xmlns='x'>",
            Some("text/xml"),
            "a.xml",
            Html,
        ),
        (b"<!doctype html>", Some("application/xml"), "a.xml", Html),
        (
            b"text",
            Some("text/plain"),
            "https://example.org/README.md?raw=1#top",
            Markdown,
        ),
        (
            b"text",
            Some("text/plain"),
            "https://example.org/notes",
            Plain,
        ),
        (b"text", None, "x.TXT", Plain),
        (b"{\"id\": 1}", None, "corpus.jsonl", Records),
        (b"{\"id\": 1}", None, "", Records),
        (b"---\ntitle: a\n---\n", None, "", Markdown),
        (b"words", None, "https://example.org/10.1000", Plain),
        (b"", None, "", Plain),
    ];
    for (bytes, content_type, name, want) in cases {
        let got = sniff(bytes, *content_type, name).unwrap();
        assert_eq!(
            got,
            *want,
            "{} {content_type:?} {name}",
            String::from_utf8_lossy(bytes)
        );
    }
    for (bytes, name, reason) in [
        (&b"<html>login"[..], "paper.pdf", "does not start like one"),
        (b"PK\x03\x04rest", "a.txt", "binary"),
        (b"ab\x00\x01\x02\x03cdefgh", "a.txt", "binary"),
    ] {
        let error = parse(bytes, None, name).unwrap_err();
        assert!(error.message().contains(reason), "{name}: {error}");
    }
}

#[test]
fn a_context_is_the_sentence_around_a_place() {
    let text = "First one. See 3.5 of the trial here! Last.";
    let place = text.find("trial").unwrap();
    assert_eq!(
        context_of(text, place..place + 5),
        "See 3.5 of the trial here!"
    );
    let text = "前の文。この試験を見よ。後の文。";
    let place = text.find("試験").unwrap();
    assert_eq!(context_of(text, place..place + 6), "この試験を見よ。");
    let text = format!("{} target {}", "é".repeat(3000), "z ".repeat(3000));
    let place = text.find("target").unwrap();
    let context = context_of(&text, place..place + 6);
    assert!(context.contains("target") && context.chars().count() <= MAX_CONTEXT);
}

#[test]
fn paragraphs_under_an_abstract_heading_are_abstracts() {
    let got = parse(
        "# T\n\n## Abstract\n\nShort.\n\n## Methods\n\nLong.".as_bytes(),
        None,
        "a.md",
    );
    assert_eq!(
        outline(&got.unwrap().blocks),
        "heading1 T|heading2 Abstract|abstract Short.|heading2 Methods|paragraph Long."
    );
}

#[test]
fn a_file_of_one_record_is_a_document() {
    let one = parse(b"{\"id\": 1, \"text\": \"a b\"}\n", None, "x.jsonl").unwrap();
    assert_eq!(one.page_type, "jsonl");
    let error = parse(b"{\"text\": \"a\"}\n{\"text\": \"b\"}\n", None, "x.jsonl").unwrap_err();
    assert!(error.message().contains("2 documents"));
}

#[test]
fn the_cost_of_hostile_text_is_linear() {
    let start = std::time::Instant::now();
    let pieces = [
        "[",
        "![a](",
        "[a](b)",
        "*a ",
        "*a _b ",
        "**a*",
        "`",
        "`a``",
        "<",
        "<a ",
        "&",
        "> ",
        "> a\n",
        "- a\n",
        "  - ",
        "| a ",
        "|-|\n",
        "# ",
        "a\n---\n",
        "```\n",
        "[a]: b\n",
        "<!--",
        "h",
        "http://a ",
        "\u{3000}a\n",
        "<article>",
        "<p>",
        "<!DOCTYPE ",
        "<![CDATA[",
        "{\"a\":",
        "---\na: [",
        "- \"",
    ];
    for piece in pieces {
        let text = piece.repeat(200_000 / piece.len());
        for name in ["a.md", "a.txt", "a.xml", "a.jsonl"] {
            let before = start.elapsed();
            let _ = parse(text.as_bytes(), None, name);
            let took = start.elapsed() - before;
            assert!(took.as_secs() < 10, "{piece:?} as {name} took {took:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_bytes_give_a_document_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        name in prop::sample::select(vec!["a.md", "a.txt", "a.xml", "a.jsonl", "a"]),
    ) {
        let _ = parse(&bytes, None, name);
    }

    #[test]
    fn any_markdown_gives_blocks_with_text(text in "[-#>|*_`~=\\[\\]()<!:a1 \\n\t日]{0,200}") {
        for name in ["a.md", "a.txt"] {
            let document = parse(text.as_bytes(), Some("text/plain"), name).unwrap();
            for block in document.blocks {
                prop_assert!(!block.text.trim().is_empty());
                prop_assert_eq!(block.level > 0, block.kind == FragmentType::Heading);
            }
        }
    }
}
