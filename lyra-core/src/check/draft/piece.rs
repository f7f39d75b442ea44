//! A run of prose with the position of each of its characters in the draft.

use std::ops::Range;

/// The role of a run of prose in its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) enum PieceKind {
    /// A heading with its level, 1 to 6.
    Heading(u8),
    /// Running text.
    Paragraph,
    /// A list item, with its number if the list is numbered.
    Item(Option<u64>),
    /// A row of a table.
    Row,
    /// The text of a footnote, with its label.
    Note(String),
}

/// A link in a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) struct Link {
    /// Code points of the piece's text.
    pub(in crate::check) span: Range<usize>,
    /// The target of the link.
    pub(in crate::check) url: String,
}

/// A citation mark of the format that names entries of the bibliography: `[^1]`, `\cite{a,b}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) struct CitationMark {
    /// Its position: before this code point of the piece's text.
    pub(in crate::check) at: usize,
    /// The number of code points from there on that are part of the sentence; 0 for a bare mark.
    pub(in crate::check) words: usize,
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
    /// The position in the draft of each code point of the text, in code points.
    pub(in crate::check) places: Vec<usize>,
    pub(in crate::check) links: Vec<Link>,
    pub(in crate::check) marks: Vec<CitationMark>,
    /// The code points that begin a line of the draft, except the first line.
    pub(in crate::check) breaks: Vec<usize>,
    /// Code, in code points of the text. Brackets in code are not citations.
    pub(in crate::check) code: Vec<Range<usize>>,
}

/// Superscript digits from 0 to 9.
pub(in crate::check) const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// A digit, or a separator between superscript digits, as a Unicode superscript.
fn raised(c: char) -> Option<char> {
    match c {
        '-' | '–' | '−' => Some('⁻'),
        ',' | ';' => Some('˒'),
        ' ' => Some(' '),
        _ => RAISED.get(c.to_digit(10)? as usize).copied(),
    }
}

impl Piece {
    pub(in crate::check) fn new(kind: PieceKind) -> Self {
        Self {
            kind,
            text: String::new(),
            places: Vec::new(),
            links: Vec::new(),
            marks: Vec::new(),
            breaks: Vec::new(),
            code: Vec::new(),
        }
    }

    /// The number of code points so far.
    pub(in crate::check) fn len(&self) -> usize {
        self.places.len()
    }

    /// Adds a character located at `place`. White space is collapsed to one space, and dropped at the start.
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

    /// Adds text that begins at `place`. If `exact`, each character is one character of the draft.
    pub(in crate::check) fn push_text(&mut self, text: &str, place: usize, exact: bool) {
        for (at, c) in text.chars().enumerate() {
            self.push(c, if exact { place + at } else { place });
        }
    }

    /// Adds superscript text: numbers as superscript digits, other text unchanged.
    pub(in crate::check) fn push_raised(&mut self, text: &str, place: usize, exact: bool) {
        let mapped: Option<Vec<char>> = text.chars().map(raised).collect();
        let Some(mapped) = mapped.filter(|_| text.contains(|c: char| c.is_ascii_digit())) else {
            return self.push_text(text, place, exact);
        };
        for (at, c) in mapped.into_iter().enumerate().filter(|(_, c)| *c != ' ') {
            self.push(c, if exact { place + at } else { place });
        }
    }

    /// Adds text that represents all of `span` of the draft, so that a cut there includes the whole span.
    pub(in crate::check) fn push_instead(&mut self, text: &str, span: Range<usize>) {
        let before = self.len();
        self.push_text(text, span.start, false);
        if self.len() > before + 1
            && let Some(last) = self.places.last_mut()
        {
            *last = span.end.saturating_sub(1).max(span.start);
        }
    }

    /// Moves its positions forward by a number of code points.
    pub(super) fn move_by(&mut self, points: usize) {
        self.places.iter_mut().for_each(|place| *place += points);
        for mark in &mut self.marks {
            mark.span = mark.span.start + points..mark.span.end + points;
        }
    }

    /// Ends a line of the draft, which is a space in the text.
    pub(in crate::check) fn end_line(&mut self, place: usize) {
        self.push(' ', place);
        self.breaks.push(self.len());
    }

    /// The lines of the draft that it covers, in code points of the text.
    pub(in crate::check) fn lines(&self) -> Vec<Range<usize>> {
        let starts = std::iter::once(0).chain(self.breaks.iter().copied());
        let ends = self.breaks.iter().copied().chain([self.len()]);
        let lines = starts.zip(ends).map(|(start, end)| start..end);
        lines.filter(|line| !line.is_empty()).collect()
    }

    /// A part of the piece as a separate paragraph.
    pub(in crate::check) fn part(&self, span: Range<usize>) -> Self {
        let within = |of: &Range<usize>| span.start <= of.start && of.end <= span.end;
        let moved = |of: &Range<usize>| of.start - span.start..of.end - span.start;
        let marks = self.marks.iter().filter(|m| within(&(m.at..m.at)));
        let links = self.links.iter().filter(|link| within(&link.span));
        Self {
            kind: PieceKind::Paragraph,
            text: self
                .text
                .chars()
                .skip(span.start)
                .take(span.len())
                .collect(),
            places: self.places.get(span.clone()).unwrap_or_default().to_vec(),
            links: links
                .map(|link| Link {
                    span: moved(&link.span),
                    url: link.url.clone(),
                })
                .collect(),
            marks: marks
                .map(|mark| CitationMark {
                    at: mark.at - span.start,
                    ..mark.clone()
                })
                .collect(),
            breaks: self
                .breaks
                .iter()
                .filter(|at| span.start < **at && **at < span.end)
                .map(|at| at - span.start)
                .collect(),
            code: self
                .code
                .iter()
                .filter(|of| within(of))
                .map(moved)
                .collect(),
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

/// A draft after parsing.
#[derive(Debug)]
pub(in crate::check) struct Draft {
    /// The text that offsets refer to.
    pub(in crate::check) text: String,
    pub(in crate::check) pieces: Vec<Piece>,
}
