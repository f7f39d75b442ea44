//! Drafts in Word's format: the paragraphs of the document and its footnotes.

use super::Draft;
use super::piece::{Mark, Piece, PieceKind};
use crate::error::{Error, Result};
use roxmltree::{Document, Node, ParsingOptions};
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// A part of the file that unpacks to more is refused, in bytes.
const MAX_PART: u64 = 32 * 1024 * 1024;
/// Elements of a part beyond these are refused.
const MAX_NODES: u32 = 2_000_000;
/// Elements between a footnote and its paragraphs, at most.
const DEEPEST_IN_NOTE: usize = 16;

/// Reads the prose of a Word file. The text of the draft is its paragraphs, one a line.
pub(super) fn read(bytes: &[u8]) -> Result<Draft> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| {
        Error::invalid(format!("the draft is no Word file: {e}")).with_hint(
            "Word files end in .docx and are zip archives; save other drafts as Markdown",
        )
    })?;
    let body = part(&mut archive, "word/document.xml")?;
    let mut draft = Draft {
        text: String::new(),
        pieces: Vec::new(),
    };
    paragraphs(&body, &mut draft, &|_| None)?;
    if archive.index_for_name("word/footnotes.xml").is_some() {
        let notes = part(&mut archive, "word/footnotes.xml")?;
        paragraphs(&notes, &mut draft, &note_of)?;
    }
    Ok(draft)
}

fn part(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<String> {
    let unreadable = |reason: &dyn std::fmt::Display| {
        Error::invalid(format!(
            "the Word file's part {name} cannot be read: {reason}"
        ))
        .with_hint("open the file in Word and save it again")
    };
    let file = archive.by_name(name).map_err(|e| unreadable(&e))?;
    let mut text = String::new();
    let read = file.take(MAX_PART + 1).read_to_string(&mut text);
    read.map_err(|e| unreadable(&e))?;
    if text.len() as u64 > MAX_PART {
        return Err(unreadable(&format!(
            "it unpacks to more than {MAX_PART} bytes"
        )));
    }
    Ok(text)
}

/// The label of the footnote around a paragraph.
fn note_of(paragraph: Node<'_, '_>) -> Option<String> {
    let mut around = paragraph.ancestors().take(DEEPEST_IN_NOTE);
    let note = around.find(|n| n.has_tag_name_local("footnote"))?;
    note.attribute_local("id").map(str::to_owned)
}

fn paragraphs(
    xml: &str,
    draft: &mut Draft,
    note: &dyn Fn(Node<'_, '_>) -> Option<String>,
) -> Result<()> {
    let options = ParsingOptions {
        nodes_limit: MAX_NODES,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(xml, options)
        .map_err(|e| Error::invalid(format!("the Word file's text is no XML: {e}")))?;
    let mut at = draft.text.chars().count();
    // A paragraph in a text box is read with the one that the box stands in.
    let mut read_to = 0;
    for paragraph in document.descendants().filter(|n| n.has_tag_name_local("p")) {
        if paragraph.id().get() <= read_to {
            continue;
        }
        read_to = paragraph
            .descendants()
            .next_back()
            .map_or(0, |node| node.id().get());
        let kind = match note(paragraph) {
            Some(label) => PieceKind::Note(label),
            None => kind_of(paragraph),
        };
        let mut piece = Piece::new(kind);
        for node in paragraph.descendants() {
            match node.tag_name().name() {
                "t" => {
                    let text = node.text().unwrap_or_default();
                    piece.push_text(text, at, true);
                    draft.text.push_str(text);
                    at += text.chars().count();
                }
                "tab" | "br" => {
                    piece.push(' ', at);
                    draft.text.push(' ');
                    at += 1;
                }
                "footnoteReference" => piece.marks.push(Mark {
                    at: piece.len(),
                    keys: node
                        .attribute_local("id")
                        .map(str::to_owned)
                        .into_iter()
                        .collect(),
                    span: at..at,
                }),
                _ => {}
            }
        }
        draft.text.push('\n');
        at += 1;
        if !piece.text.is_empty() {
            draft.pieces.push(piece);
        }
    }
    Ok(())
}

fn kind_of(paragraph: Node<'_, '_>) -> PieceKind {
    let style = paragraph
        .descendants()
        .find(|n| n.has_tag_name_local("pStyle"));
    let style = style
        .and_then(|style| style.attribute_local("val"))
        .unwrap_or_default();
    let level = style
        .strip_prefix("Heading")
        .and_then(|level| level.parse().ok());
    match (style, level) {
        (_, Some(level)) => PieceKind::Heading(level),
        ("Title", None) => PieceKind::Heading(1),
        _ => PieceKind::Paragraph,
    }
}

/// Names without their namespaces: two of them are in use for the same elements.
trait LocalNames<'a> {
    fn has_tag_name_local(&self, name: &str) -> bool;
    fn attribute_local(&self, name: &str) -> Option<&'a str>;
}

impl<'a> LocalNames<'a> for Node<'a, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }

    fn attribute_local(&self, name: &str) -> Option<&'a str> {
        let mut all = self.attributes();
        all.find(|a| a.name() == name).map(|a| a.value())
    }
}
