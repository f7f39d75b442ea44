//! Drafts in Word format: the paragraphs of the document and its footnotes.

use super::piece::{CitationMark, Draft, Piece, PieceKind};
use crate::error::{Error, Result};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::HashMap;
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// Maximum unpacked size of a part of the file, in bytes; larger ones are refused.
const MAX_PART: u64 = 32 * 1024 * 1024;
/// Maximum number of elements of a part; parts with more are refused.
const MAX_NODES: u32 = 2_000_000;
/// Maximum depth of elements between a footnote and its paragraphs.
const DEEPEST_IN_NOTE: usize = 16;

/// Reads the prose of a Word file. The text of the draft is its paragraphs, one per line.
pub(super) fn read(bytes: &[u8]) -> Result<Draft> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| {
        Error::invalid(format!("the draft is no Word file: {e}")).with_hint(
            "Word files end in .docx and are zip archives; save other drafts as Markdown",
        )
    })?;
    let mut reader = DocxReader {
        draft: Draft {
            text: String::new(),
            pieces: Vec::new(),
        },
        at: 0,
        notes: HashMap::new(),
        lists: HashMap::new(),
    };
    reader.paragraphs(&part(&mut archive, "word/document.xml")?)?;
    for name in ["word/footnotes.xml", "word/endnotes.xml"] {
        if archive.index_for_name(name).is_some() {
            let notes = part(&mut archive, name)?;
            reader.paragraphs(&notes)?;
        }
    }
    Ok(reader.draft)
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

struct DocxReader {
    draft: Draft,
    /// Code points of the draft so far.
    at: usize,
    /// The labels of notes, by kind and id: their numbers as a reader sees them. A label includes
    /// the kind, so that footnote 2 is not entry 2 of the list.
    notes: HashMap<&'static str, HashMap<String, String>>,
    /// The last number of each list.
    lists: HashMap<String, u64>,
}

impl DocxReader {
    fn paragraphs(&mut self, xml: &str) -> Result<()> {
        let options = ParsingOptions {
            nodes_limit: MAX_NODES,
            ..ParsingOptions::default()
        };
        let document = Document::parse_with_options(xml, options)
            .map_err(|e| Error::invalid(format!("the Word file's text is no XML: {e}")))?;
        // A paragraph in a text box is read with the paragraph that contains the box.
        let mut read_to = 0;
        for paragraph in document.descendants().filter(|n| n.has_tag_name_local("p")) {
            if paragraph.id().get() <= read_to {
                continue;
            }
            read_to = paragraph
                .descendants()
                .next_back()
                .map_or(0, |node| node.id().get());
            self.paragraph(paragraph);
        }
        Ok(())
    }

    fn paragraph(&mut self, paragraph: Node<'_, '_>) {
        let kind = match self.note_around(paragraph) {
            Some(label) => PieceKind::Note(label),
            None => self.kind_of(paragraph),
        };
        let mut piece = Piece::new(kind);
        for node in paragraph.descendants() {
            match node.tag_name().name() {
                "t" => {
                    let text = node.text().unwrap_or_default();
                    match is_raised(node) {
                        true => piece.push_raised(text, self.at, true),
                        false => piece.push_text(text, self.at, true),
                    }
                    self.draft.text.push_str(text);
                    self.at += text.chars().count();
                }
                "tab" | "br" => {
                    match node.tag_name().name() {
                        "br" => piece.end_line(self.at),
                        _ => piece.push(' ', self.at),
                    }
                    self.draft.text.push(' ');
                    self.at += 1;
                }
                "footnoteReference" => self.cite_note("footnote", node, &mut piece),
                "endnoteReference" => self.cite_note("endnote", node, &mut piece),
                _ => {}
            }
        }
        self.draft.text.push('\n');
        self.at += 1;
        if !piece.text.is_empty() {
            self.draft.pieces.push(piece);
        }
    }

    fn cite_note(&mut self, kind: &'static str, mark: Node<'_, '_>, piece: &mut Piece) {
        let Some(id) = mark.attribute_local("id") else {
            return;
        };
        let notes = self.notes.entry(kind).or_default();
        let number = notes.len() + 1;
        let label = notes.entry(id.to_owned());
        let label = label.or_insert_with(|| format!("{kind} {number}"));
        piece.marks.push(CitationMark {
            at: piece.len(),
            words: 0,
            keys: vec![label.clone()],
            span: self.at..self.at,
        });
    }

    /// The label of the note that contains a paragraph.
    fn note_around(&self, paragraph: Node<'_, '_>) -> Option<String> {
        let mut around = paragraph.ancestors().take(DEEPEST_IN_NOTE);
        let (kind, note) = around.find_map(|node| {
            let mut kinds = ["footnote", "endnote"].into_iter();
            let kind = kinds.find(|kind| node.has_tag_name_local(kind))?;
            Some((kind, node))
        })?;
        let id = note.attribute_local("id")?;
        let label = self
            .notes
            .get(kind)
            .and_then(|notes| notes.get(id))
            .cloned();
        Some(label.unwrap_or_else(|| format!("{kind} id {id}")))
    }

    fn kind_of(&mut self, paragraph: Node<'_, '_>) -> PieceKind {
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
            _ => self.item(paragraph).unwrap_or(PieceKind::Paragraph),
        }
    }

    /// An item of a list, with its number unless it is part of another item.
    fn item(&mut self, paragraph: Node<'_, '_>) -> Option<PieceKind> {
        let list = child(child(paragraph, "pPr")?, "numPr")?;
        let value = |name: &str| child(list, name)?.attribute_local("val");
        let id = value("numId").filter(|id| *id != "0")?;
        if value("ilvl").is_some_and(|level| level != "0") {
            return Some(PieceKind::Item(None));
        }
        let number = self.lists.entry(id.to_owned()).or_default();
        *number += 1;
        Some(PieceKind::Item(Some(*number)))
    }
}

fn child<'a, 'x>(node: Node<'a, 'x>, name: &str) -> Option<Node<'a, 'x>> {
    node.children().find(|n| n.has_tag_name_local(name))
}

/// Whether the run that contains a text is superscript.
fn is_raised(text: Node<'_, '_>) -> bool {
    let properties = text.parent().and_then(|run| child(run, "rPr"));
    let place = properties.and_then(|all| child(all, "vertAlign"));
    place.and_then(|place| place.attribute_local("val")) == Some("superscript")
}

/// Names without their namespaces: the same elements occur in two namespaces.
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
