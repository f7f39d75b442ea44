//! PDF: text with the places of its characters, put together into lines and paragraphs.

use super::lines::collapse;
use super::meta::{doi_in, says_retracted};
use super::pdf_bombs::{defuse, defuse_objects};
use super::pdf_content::Contents;
use super::pdf_fonts::prepare;
use super::pdf_layout::{Layout, layout};
use super::pdf_lines::{Collector, Line};
use super::{DEADLINE, ParsedDocument, encoding, too_large};
use crate::error::{Error, Result};
use crate::model::DocumentMeta;
use pdf_extract::{Dictionary, Document, Object, ObjectId};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// Largest file that is read, in bytes.
const MAX_BYTES: usize = 50 * 1024 * 1024;

/// Pages beyond this are left out.
const MAX_PAGES: usize = 2_000;

/// Reads a PDF.
pub(super) fn parse(mut bytes: Vec<u8>) -> Result<ParsedDocument> {
    if bytes.len() > MAX_BYTES {
        return Err(too_large(bytes.len(), MAX_BYTES));
    }
    // A header may stand behind some foreign bytes; offsets in the file count from it.
    let start = bytes
        .windows(5)
        .take(1024)
        .position(|w| w == b"%PDF-")
        .unwrap_or(0);
    bytes.drain(..start);
    let spoiled = defuse(&mut bytes)?;
    read(bytes, spoiled)
}

/// Everything that the library does with the file.
fn read(bytes: Vec<u8>, mut spoiled: usize) -> Result<ParsedDocument> {
    let mut file = Document::load_mem(&bytes).map_err(|e| {
        Error::invalid(format!("the PDF is damaged: {e}")).with_hint("download it again")
    })?;
    drop(bytes);
    if file.is_encrypted() && file.decrypt("").is_err() {
        return Err(Error::invalid("the PDF is locked with a password")
            .with_hint("save a copy without the password"));
    }
    if file.is_encrypted() {
        spoiled += defuse_objects(&mut file)?;
    }
    prepare(&mut file);
    let mut warnings = Vec::new();
    if spoiled > 0 {
        warnings.push(format!(
            "{spoiled} parts that unpack without end were left out"
        ));
    }
    let lines = read_pages(&mut file, &mut warnings);
    let readable = |line: &Line| line.text.chars().any(char::is_alphanumeric);
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
    let info = information(&file);
    let text = |key: &[u8]| {
        info.and_then(|info| info.get(key).ok())
            .and_then(|value| string(&file, value))
    };
    let title = text(b"Title")
        .filter(|title| is_sensible_title(title))
        .or(title);
    let meta = DocumentMeta {
        is_retracted: title.as_deref().is_some_and(says_retracted),
        title,
        authors: text(b"Author")
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

/// Each page by itself, so that one that breaks the parser costs no more than what follows on it.
fn read_pages(file: &mut Document, warnings: &mut Vec<String>) -> Vec<Line> {
    let mut collector = Collector::new(Instant::now() + DEADLINE);
    let pages: Vec<(u32, ObjectId)> = file.get_pages().into_iter().collect();
    let mut contents = Contents::default();
    let mut broken = Vec::new();
    for (page, id) in pages.iter().take(MAX_PAGES) {
        // Nobody waits for the rest any more.
        if collector.is_late() {
            break;
        }
        collector.begin(*page);
        let whole = contents.lighten(file, *id);
        let read = catch_unwind(AssertUnwindSafe(|| {
            pdf_extract::output_doc_page(file, &mut collector, *page)
        }));
        collector.finish_page();
        if let Some(whole) = whole {
            Contents::restore(file, *id, whole);
        }
        if !matches!(read, Ok(Ok(()))) {
            broken.push(page.to_string());
        }
    }
    if contents.cut {
        warnings.push("pages that draw without end were cut".to_owned());
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

fn information(file: &Document) -> Option<&Dictionary> {
    match file.trailer.get(b"Info").ok()? {
        Object::Reference(id) => file.get_object(*id).ok()?.as_dict().ok(),
        Object::Dictionary(info) => Some(info),
        _ => None,
    }
}

/// A text string: UTF-16 or UTF-8 with a mark, else a Latin encoding.
fn string(file: &Document, value: &Object) -> Option<String> {
    let value = match value {
        Object::Reference(id) => file.get_object(*id).ok()?,
        direct => direct,
    };
    let bytes = value.as_str().ok()?;
    let text = collapse(&encoding::decode(bytes, &["windows-1252"]).text);
    Some(text).filter(|text| !text.is_empty())
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
    let unspaced = title.chars().any(super::lines::is_unspaced);
    !file_name
        && !placeholder
        && letters * 2 > title.chars().count()
        && !title.contains(['\u{fffd}', '\\'])
        && (unspaced && letters >= 4 || words >= 3 || words == 2 && letters >= 8)
        && title.chars().count() <= 400
}

/// Names between `;`, `and`, or commas if every part has two words (`Smith, John` is one name).
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
    // One word is an account name, unless it is written without spaces.
    names
        .into_iter()
        .filter(|name| name.contains([' ', ',']) || name.chars().any(super::lines::is_unspaced))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{outline, shared_data};
    use super::*;
    use proptest::prelude::*;

    /// As a document is read: by its bytes, with a deadline.
    fn parse(bytes: &[u8]) -> Result<ParsedDocument> {
        super::super::parse(bytes, None, "a.pdf")
    }

    const PAPER: &[u8] = include_bytes!("../../../../tests/data/documents/paper.pdf");

    #[test]
    fn a_paper_is_read() {
        let got = parse(PAPER).unwrap();
        assert_eq!(got.meta.title.as_deref(), Some("Night work and thirst"));
        assert_eq!(got.meta.authors, ["Ada Smith", "Bo Lee"]);
        assert_eq!(got.meta.doi.as_deref(), Some("10.1000/night.9"));
        assert_eq!(outline(&got.blocks), [
            "heading1 Night work and thirst",
            "paragraph Ada Smith and Bo Lee, doi:10.1000/NIGHT.9",
            "heading2 1 Introduction",
            "paragraph People who work at night drink less water than others, and the difference is seen in every age group that we looked at here.",
            "paragraph A second paragraph begins with an indent and says that evidence-based rules help, in a text that is evidence-based.",
            "heading2 2 Methods",
            "paragraph We asked forty people. This sentence goes on over the end of the page and ends there.",
            "list one litre in the morning\ntwo litres at night",
        ].join("|"));
        assert_eq!(got.warnings, Vec::<String>::new());
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        for cut in (0..PAPER.len()).step_by(97) {
            let _ = parse(&PAPER[..cut]);
        }
        let mut damaged = PAPER.to_vec();
        for at in (0..damaged.len()).step_by(61) {
            let before = damaged[at];
            damaged[at] ^= 0x15;
            let _ = parse(&damaged);
            damaged[at] = before;
        }
        let error = parse(b"%PDF-1.4\nnothing else").unwrap_err();
        assert!(error.message().contains("damaged"), "{error}");
    }

    #[test]
    fn titles_and_names_of_word_processors_are_not_believed() {
        for title in ["Night work and thirst", "夜勤と口渇", "Sleep disorders"] {
            assert!(is_sensible_title(title), "{title}");
        }
        for title in [
            "Microsoft Word - paper",
            "paper.dvi",
            "untitled",
            "untitled document",
            "12-345-67",
            "x",
            "C:\\a b c",
        ] {
            assert!(!is_sensible_title(title), "{title}");
        }
        let cases: &[(&str, &[&str])] = &[
            (
                "Ada Smith, Bo Lee and Cy Day",
                &["Ada Smith", "Bo Lee", "Cy Day"],
            ),
            ("Smith, Ada; Lee, Bo", &["Smith, Ada", "Lee, Bo"]),
            ("asmith", &[]),
            ("山田太郎、佐藤花子", &["山田太郎", "佐藤花子"]),
            ("a@example.org", &[]),
        ];
        for (text, want) in cases {
            assert_eq!(authors(text), *want, "{text}");
        }
    }

    #[test]
    fn real_files_give_text_or_a_reason() {
        let Some(folder) = shared_data("pdf/grobid/test") else {
            return;
        };
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let got = super::super::parse(&std::fs::read(&path).unwrap(), None, "a.pdf");
            let got = got.unwrap_or_else(|e| panic!("{path:?}: {e}"));
            let words: usize = got
                .blocks
                .iter()
                .map(|block| block.text.split_whitespace().count())
                .sum();
            assert!(words > 200, "{path:?}: {words} words");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn any_bytes_give_a_document_or_an_error(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            at in 0..PAPER.len(),
        ) {
            let _ = parse(&[b"%PDF-1.4\n", &bytes[..]].concat());
            let _ = parse(&[&PAPER[..at], &bytes[..], &PAPER[at..]].concat());
        }
    }
}
