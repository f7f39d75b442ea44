//! Drafts in Markdown or plain text, which is read as Markdown without markup.

use super::offsets::Offsets;
use super::piece::{CitationMark, Link, Piece, PieceKind};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Pandoc's syntax for superscript numbers.
static RAISED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\^([0-9]{1,3}(?:[,–-][0-9]{1,3})*)\^").expect("the pattern is sound")
});

/// Reads the prose of a Markdown text.
pub(super) fn read(text: &str) -> Vec<Piece> {
    let options = Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_GFM;
    let mut reader = MarkdownReader {
        text,
        offsets: Offsets::of(text),
        pieces: Vec::new(),
        open: None,
        links: Vec::new(),
        lists: Vec::new(),
        note: None,
        silent: 0,
        is_raised: false,
    };
    for (event, span) in Parser::new_ext(text, options).into_offset_iter() {
        reader.take(event, span);
    }
    reader.close();
    reader.pieces
}

struct MarkdownReader<'t> {
    text: &'t str,
    offsets: Offsets,
    pieces: Vec<Piece>,
    open: Option<Piece>,
    /// Open links: their start and their target.
    links: Vec<(usize, String)>,
    /// The next number of each enclosing list.
    lists: Vec<Option<u64>>,
    /// The enclosing footnote.
    note: Option<String>,
    /// Number of enclosing elements without prose.
    silent: usize,
    /// Whether the text is between `<sup>` and `</sup>`.
    is_raised: bool,
}

impl MarkdownReader<'_> {
    fn take(&mut self, event: Event<'_>, span: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::InlineMath(text) => self.words(&text, &span),
            Event::Code(code) => {
                // The span includes the backticks.
                let inside = self.text[span.clone()].find(&*code).unwrap_or(0);
                self.code(&code, &(span.start + inside..span.end));
            }
            Event::SoftBreak | Event::HardBreak => {
                let place = self.offsets.at(span.start);
                if let Some(piece) = self.open.as_mut().filter(|_| self.silent == 0) {
                    piece.end_line(place);
                }
            }
            Event::InlineHtml(tag) => match tag.to_ascii_lowercase().as_str() {
                "<sup>" => self.is_raised = true,
                "</sup>" => self.is_raised = false,
                _ => {}
            },
            Event::FootnoteReference(label) => {
                let place = self.offsets.span(&span);
                if let Some(piece) = self.open.as_mut().filter(|_| self.silent == 0) {
                    piece.marks.push(CitationMark {
                        at: piece.len(),
                        words: 0,
                        keys: vec![label.to_string()],
                        span: place,
                    });
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.begin(PieceKind::Heading(depth(level))),
            Tag::Paragraph => {
                // The paragraph inside an item or a footnote continues it.
                let goes_on = self.open.as_ref().is_some_and(|open| open.text.is_empty());
                if !goes_on {
                    let kind = self.note.clone().map(PieceKind::Note);
                    self.begin(kind.unwrap_or(PieceKind::Paragraph));
                }
            }
            Tag::List(first) => {
                self.close();
                self.lists.push(first);
            }
            Tag::Item => {
                let number = self.lists.last().copied().flatten();
                if let Some(Some(next)) = self.lists.last_mut() {
                    *next += 1;
                }
                self.begin(PieceKind::Item(number));
            }
            Tag::FootnoteDefinition(label) => {
                self.note = Some(label.to_string());
                self.begin(PieceKind::Note(label.to_string()));
            }
            Tag::TableRow | Tag::TableHead => self.begin(PieceKind::Row),
            Tag::TableCell => self.between_cells(),
            Tag::CodeBlock(_) | Tag::MetadataBlock(_) | Tag::HtmlBlock | Tag::Image { .. } => {
                self.silent += 1;
            }
            Tag::Link { dest_url, .. } => {
                let at = self.open.as_ref().map_or(0, Piece::len);
                self.links.push((at, dest_url.to_string()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) | TagEnd::Paragraph | TagEnd::Item => self.close(),
            TagEnd::TableRow | TagEnd::TableHead => self.close(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::FootnoteDefinition => {
                self.close();
                self.note = None;
            }
            TagEnd::CodeBlock | TagEnd::MetadataBlock(_) | TagEnd::HtmlBlock | TagEnd::Image => {
                self.silent = self.silent.saturating_sub(1)
            }
            TagEnd::Link => {
                if let Some((start, url)) = self.links.pop()
                    && let Some(piece) = &mut self.open
                {
                    let span = start..piece.len();
                    piece.links.push(Link { span, url });
                }
            }
            _ => {}
        }
    }

    fn words(&mut self, text: &str, span: &Range<usize>) {
        if self.silent > 0 {
            return;
        }
        let piece = self
            .open
            .get_or_insert_with(|| Piece::new(PieceKind::Paragraph));
        // An entity is one character written as several.
        let exact = self.text.get(span.start..span.start + text.len()) == Some(text);
        let place = self.offsets.at(span.start);
        if self.is_raised {
            return piece.push_raised(text, place, exact);
        }
        let mut read_to = 0;
        for hit in RAISED.captures_iter(text).filter(|_| exact) {
            let (all, number) = (hit.get(0), hit.get(1));
            let (Some(all), Some(number)) = (all, number) else {
                continue;
            };
            let at = |byte: usize| self.offsets.at(span.start + byte);
            piece.push_text(&text[read_to..all.start()], at(read_to), true);
            piece.push_raised(number.as_str(), at(number.start()), true);
            read_to = all.end();
        }
        let place = match read_to {
            0 => place,
            _ => self.offsets.at(span.start + read_to),
        };
        piece.push_text(&text[read_to..], place, exact);
    }

    fn code(&mut self, text: &str, span: &Range<usize>) {
        let start = self.open.as_ref().map_or(0, Piece::len);
        self.words(text, span);
        if let Some(piece) = &mut self.open {
            piece.code.push(start..piece.len());
        }
    }

    fn between_cells(&mut self) {
        if let Some(row) = self.open.as_mut().filter(|row| !row.text.is_empty()) {
            let place = row.places.last().copied().unwrap_or_default();
            row.push_text(" | ", place, false);
        }
    }

    fn begin(&mut self, kind: PieceKind) {
        self.close();
        self.is_raised = false;
        self.open = Some(Piece::new(kind));
    }

    fn close(&mut self) {
        self.links.clear();
        self.pieces
            .extend(self.open.take().filter(|piece| !piece.text.is_empty()));
    }
}

fn depth(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
