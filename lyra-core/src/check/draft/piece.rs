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

/// A mark of the format that names entries of the bibliography: `[^1]`, `\cite{a,b}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) struct Mark {
    /// Where it stands: before this code point of the piece's text.
    pub(in crate::check) at: usize,
    /// The code points from there on that are its words in the sentence; none for a mere mark.
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
    /// For each code point of the text its place in the draft, in code points.
    pub(in crate::check) places: Vec<usize>,
    pub(in crate::check) links: Vec<Link>,
    pub(in crate::check) marks: Vec<Mark>,
    /// The code points that begin a line of the draft, after the first line.
    pub(in crate::check) breaks: Vec<usize>,
    /// Code, in code points of the text: its brackets cite nothing.
    pub(in crate::check) code: Vec<Range<usize>>,
}

/// Digits raised as a mark is, from 0 to 9.
pub(in crate::check) const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// A digit, or what stands between raised ones, as Unicode raises it.
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

    /// Adds text that stands above the line: numbers as raised digits, other text as it is.
    pub(in crate::check) fn push_raised(&mut self, text: &str, place: usize, exact: bool) {
        let mapped: Option<Vec<char>> = text.chars().map(raised).collect();
        let Some(mapped) = mapped.filter(|_| text.contains(|c: char| c.is_ascii_digit())) else {
            return self.push_text(text, place, exact);
        };
        for (at, c) in mapped.into_iter().enumerate().filter(|(_, c)| *c != ' ') {
            self.push(c, if exact { place + at } else { place });
        }
    }

    /// Adds text that stands for all of `span` of the draft, so that what is cut there is whole.
    pub(in crate::check) fn push_instead(&mut self, text: &str, span: Range<usize>) {
        let before = self.len();
        self.push_text(text, span.start, false);
        if self.len() > before + 1
            && let Some(last) = self.places.last_mut()
        {
            *last = span.end.saturating_sub(1).max(span.start);
        }
    }

    /// Puts it further back in the draft.
    pub(super) fn move_by(&mut self, points: usize) {
        self.places.iter_mut().for_each(|place| *place += points);
        for mark in &mut self.marks {
            mark.span = mark.span.start + points..mark.span.end + points;
        }
    }

    /// Ends a line of the draft, which is a space of the text.
    pub(in crate::check) fn end_line(&mut self, place: usize) {
        self.push(' ', place);
        self.breaks.push(self.len());
    }

    /// The lines of the draft that it stands on, in code points of the text.
    pub(in crate::check) fn lines(&self) -> Vec<Range<usize>> {
        let starts = std::iter::once(0).chain(self.breaks.iter().copied());
        let ends = self.breaks.iter().copied().chain([self.len()]);
        let lines = starts.zip(ends).map(|(start, end)| start..end);
        lines.filter(|line| !line.is_empty()).collect()
    }

    /// A part of it as a paragraph of its own.
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
                .map(|mark| Mark {
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

/// A draft that was read.
#[derive(Debug)]
pub(in crate::check) struct Draft {
    /// What offsets count in.
    pub(in crate::check) text: String,
    pub(in crate::check) pieces: Vec<Piece>,
}
