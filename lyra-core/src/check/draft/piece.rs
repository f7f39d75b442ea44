//! A run of prose with the place of each of its characters in the draft.

use std::ops::Range;

/// What a run of prose is in its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) enum PieceKind {
    /// A heading with its level, 1 to 6.
    Heading(u8),
    /// Running text.
    Paragraph,
    /// An item of a list, with its number in a numbered one.
    Item(Option<u64>),
    /// A row of a table.
    Row,
    /// The text of a footnote, with its label.
    Note(String),
}

/// A part of a piece that leads somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) struct Link {
    /// Code points of the piece's text.
    pub(in crate::check) span: Range<usize>,
    /// Where it leads.
    pub(in crate::check) url: String,
}

/// A mark without text of its own that names entries of the bibliography: `[^1]`, `\cite{a,b}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) struct Mark {
    /// Where it stands: before this code point of the piece's text.
    pub(in crate::check) at: usize,
    /// Labels of notes or keys of entries.
    pub(in crate::check) keys: Vec<String>,
    /// Code points of the draft.
    pub(in crate::check) span: Range<usize>,
}

/// A run of prose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) struct Piece {
    pub(in crate::check) kind: PieceKind,
    pub(in crate::check) text: String,
    /// For each code point of the text its place in the draft, in code points.
    pub(in crate::check) places: Vec<usize>,
    pub(in crate::check) links: Vec<Link>,
    pub(in crate::check) marks: Vec<Mark>,
}

impl Piece {
    pub(in crate::check) fn new(kind: PieceKind) -> Self {
        Self {
            kind,
            text: String::new(),
            places: Vec::new(),
            links: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// Code points so far.
    pub(in crate::check) fn len(&self) -> usize {
        self.places.len()
    }

    /// Adds one character that stands at `place`. White space is one space, and none at the start.
    pub(in crate::check) fn push(&mut self, c: char, place: usize) {
        if c.is_whitespace() {
            if !self.text.is_empty() && !self.text.ends_with(' ') {
                self.text.push(' ');
                self.places.push(place);
            }
            return;
        }
        self.text.push(c);
        self.places.push(place);
    }

    /// Adds text that begins at `place`; one character for each of the draft where `exact`.
    pub(in crate::check) fn push_text(&mut self, text: &str, place: usize, exact: bool) {
        for (at, c) in text.chars().enumerate() {
            self.push(c, if exact { place + at } else { place });
        }
    }

    /// The place in the draft of a range of the text.
    pub(in crate::check) fn place(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.places.get(span.start).copied();
        let start = start.or(self.places.last().map(|last| last + 1));
        let end = span.end.checked_sub(1).and_then(|at| self.places.get(at));
        let start = start.unwrap_or_default();
        start..end.map_or(start, |end| end + 1).max(start)
    }
}
