//! Blocks of a parsed document → one text, and paragraph-sized segments that are exact slices of it.
//!
//! A quote leads back to its source by offsets, so no character may change after its offset is known:
//! white space is normalised first, then the text is joined, then it is split.

use super::sentence::{is_blank, is_cjk, ranges};
use crate::store::model::FragmentType;
use std::ops::Range;

pub use super::sentence::sentences;

/// Maximum length of a segment of running text, in code points.
const LONGEST: usize = 1_200;

/// Minimum length of a segment that was split from a longer paragraph.
const SHORTEST_PIECE: usize = 400;

/// Adjacent blocks shorter than this are merged …
const TINY: usize = 80;

/// … into segments no longer than this.
const LONGEST_MERGED: usize = 400;

/// A heading is repeated with each of its segments, so a wrongly detected one must not be long.
const LONGEST_HEADING: usize = 300;

/// A piece of a parsed document, in reading order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The kind of document part.
    pub kind: FragmentType,
    /// 1 to 6 for headings, else 0.
    pub level: u8,
    /// The text from the parser.
    pub text: String,
}

/// The text of a document and the segments that cover it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentedText {
    /// The text that the offsets point into.
    pub text: String,
    /// In order, not overlapping.
    pub segments: Vec<Segment>,
}

/// A slice of the text of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The kind of document part.
    pub kind: FragmentType,
    /// Exactly `text[char_start..char_end]`, counted in code points.
    pub text: String,
    /// Offset of the first code point.
    pub char_start: usize,
    /// One past the last code point.
    pub char_end: usize,
    /// The nearest heading above; for a heading, the one above it in the hierarchy.
    pub heading_context: Option<String>,
    /// All headings above, outermost first.
    pub heading_hierarchy: Vec<String>,
}

impl Block {
    /// A paragraph of running text.
    pub fn paragraph(text: impl Into<String>) -> Self {
        Self {
            kind: FragmentType::Paragraph,
            level: 0,
            text: text.into(),
        }
    }

    /// A heading; `level` is limited to 1 to 6.
    pub fn heading(level: u8, text: impl Into<String>) -> Self {
        Self {
            kind: FragmentType::Heading,
            level: level.clamp(1, 6),
            text: text.into(),
        }
    }

    /// Whether it is a heading of the level that titles have.
    pub(crate) fn is_top_heading(&self) -> bool {
        self.kind == FragmentType::Heading && self.level == 1
    }

    /// Any other part of a document.
    pub fn new(kind: FragmentType, text: impl Into<String>) -> Self {
        Self {
            kind,
            level: 0,
            text: text.into(),
        }
    }
}

/// Joins blocks to one text, with a blank line between them, and splits it into segments.
///
/// Only white space is changed: runs of it become one space in running text (nothing at a line break
/// between two CJK characters), lines keep their breaks in lists, tables and code, control characters
/// count as white space (SQLite's `substr` stops at a NUL), and empty blocks are removed. A segment has
/// at most 1,200 code points; longer blocks are split at lines, or else at sentences, clauses or words,
/// or else anywhere, into pieces of 400 to 1,200. Adjacent blocks of one kind below 80 code points,
/// under the same heading, share a segment.
///
/// ```
/// use lyra_core::store::text::segment::{Block, assemble, slice_chars};
/// let doc = assemble(&[Block::heading(1, "Results"), Block::paragraph("Glucose  fell.\n")]);
/// assert_eq!(doc.text, "Results\n\nGlucose fell.");
/// let last = &doc.segments[1];
/// assert_eq!(last.heading_context.as_deref(), Some("Results"));
/// assert_eq!(slice_chars(&doc.text, last.char_start, last.char_end), Some("Glucose fell."));
/// ```
pub fn assemble(blocks: &[Block]) -> SegmentedText {
    assemble_under(None, blocks)
}

/// The same for a document with a title. Text before the first heading gets the title as its heading
/// (lexical search includes the heading of a segment), whether the text repeats the title or not: the
/// title of a web page is often not part of its content.
///
/// ```
/// use lyra_core::store::text::segment::{Block, assemble_under};
/// let doc = assemble_under(Some("On sleep"), &[Block::paragraph("It shortens.")]);
/// assert_eq!(doc.text, "It shortens.");
/// assert_eq!(doc.segments[0].heading_context.as_deref(), Some("On sleep"));
/// ```
pub fn assemble_under(title: Option<&str>, blocks: &[Block]) -> SegmentedText {
    let mut assembler = Assembler::default();
    if !blocks.first().is_some_and(Block::is_top_heading) {
        let title = title.map(tidy_prose).filter(|title| !title.is_empty());
        let title = title.map(|title| shorten(&title.chars().collect::<Vec<_>>()));
        assembler.headings.extend(title.map(|title| (1, title)));
    }
    for block in blocks {
        for text in tidy(block.kind, &block.text) {
            assembler.add(block.kind, block.level, &text);
        }
    }
    assembler.out
}

/// The slice of `text` from code point `start` to before code point `end`.
///
/// `None` if the range is reversed or exceeds the text.
pub fn slice_chars(text: &str, start: usize, end: usize) -> Option<&str> {
    let mut offsets = text.char_indices().map(|(i, _)| i).chain([text.len()]);
    let from = offsets.nth(start)?;
    match end.checked_sub(start)? {
        0 => Some(&text[from..from]),
        length => Some(&text[from..offsets.nth(length - 1)?]),
    }
}

#[derive(Default)]
struct Assembler {
    out: SegmentedText,
    /// Code points in `out.text`.
    length: usize,
    headings: Vec<(u8, String)>,
    /// Whether the last segment consists of one or more whole tiny blocks.
    last_is_tiny: bool,
}

impl Assembler {
    fn add(&mut self, kind: FragmentType, level: u8, text: &str) {
        let chars: Vec<char> = text.chars().collect();
        if !self.out.text.is_empty() {
            self.out.text.push_str("\n\n");
            self.length += 2;
        }
        let start = self.length;
        self.out.text.push_str(text);
        self.length += chars.len();

        if kind == FragmentType::Heading {
            let level = level.clamp(1, 6);
            while self
                .headings
                .last()
                .is_some_and(|(above, _)| *above >= level)
            {
                self.headings.pop();
            }
            self.push_pieces(kind, start, &chars);
            self.headings.push((level, shorten(&chars)));
            self.last_is_tiny = false;
            return;
        }
        let tiny = chars.len() < TINY && kind != FragmentType::Code;
        if !(tiny && self.merge_into_last(kind, text)) {
            self.push_pieces(kind, start, &chars);
        }
        self.last_is_tiny = tiny;
    }

    /// Merges a tiny block into the segment of the preceding tiny block.
    fn merge_into_last(&mut self, kind: FragmentType, text: &str) -> bool {
        let Some(last) = self.out.segments.last_mut() else {
            return false;
        };
        if !self.last_is_tiny || last.kind != kind || self.length - last.char_start > LONGEST_MERGED
        {
            return false;
        }
        last.text.push_str("\n\n");
        last.text.push_str(text);
        last.char_end = self.length;
        true
    }

    fn push_pieces(&mut self, kind: FragmentType, start: usize, chars: &[char]) {
        for piece in cut(kind, chars) {
            self.out.segments.push(Segment {
                kind,
                text: chars[piece.clone()].iter().collect(),
                char_start: start + piece.start,
                char_end: start + piece.end,
                heading_context: self.headings.last().map(|(_, text)| text.clone()),
                heading_hierarchy: self.headings.iter().map(|(_, text)| text.clone()).collect(),
            });
        }
    }
}

fn shorten(heading: &[char]) -> String {
    if heading.len() <= LONGEST_HEADING {
        return heading.iter().collect();
    }
    heading[..LONGEST_HEADING].iter().chain(&['…']).collect()
}

/// The block's text with normalised white space; several texts if blank lines separate them.
fn tidy(kind: FragmentType, text: &str) -> Vec<String> {
    match kind {
        FragmentType::Code => {
            let lines: Vec<String> = text.lines().map(tidy_code_line).collect();
            let first = lines.iter().position(|l| !l.trim().is_empty());
            let last = lines.iter().rposition(|l| !l.trim().is_empty());
            match (first, last) {
                (Some(first), Some(last)) => vec![lines[first..=last].join("\n")],
                _ => Vec::new(),
            }
        }
        FragmentType::List | FragmentType::Table => {
            let lines: Vec<String> = text
                .lines()
                .map(tidy_prose)
                .filter(|line| !line.is_empty())
                .collect();
            if lines.is_empty() {
                Vec::new()
            } else {
                vec![lines.join("\n")]
            }
        }
        _ => split_at_blank_lines(text)
            .iter()
            .map(|part| tidy_prose(part))
            .filter(|part| !part.is_empty())
            .collect(),
    }
}

fn split_at_blank_lines(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if line.chars().all(is_blank) {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts
}

fn tidy_code_line(line: &str) -> String {
    let visible: String = line
        .chars()
        .map(|c| if c == '\t' || !is_blank(c) { c } else { ' ' })
        .collect();
    visible.trim_end().to_owned()
}

fn tidy_prose(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut gap = None;
    let mut before = None;
    for c in text.chars() {
        if is_blank(c) {
            let broken = gap.unwrap_or(false) || c == '\n' || c == '\r';
            gap = Some(broken);
            continue;
        }
        if let (Some(broken), Some(before)) = (gap, before)
            && !(broken && is_cjk(before) && is_cjk(c))
        {
            tidy.push(' ');
        }
        tidy.push(c);
        before = Some(c);
        gap = None;
    }
    tidy
}

/// Ranges of at most [`LONGEST`] characters that cover the block, without white space at the cuts.
fn cut(kind: FragmentType, chars: &[char]) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    if chars.len() <= LONGEST {
        pieces.push(0..chars.len());
        return pieces;
    }
    let lines = ends_where(chars, |c, _| c == '\n');
    let sentences = match kind {
        FragmentType::Code => Vec::new(),
        _ => ranges(chars)
            .into_iter()
            .map(|sentence| sentence.end)
            .collect(),
    };
    let clauses = ends_where(chars, |c, next| {
        matches!(c, '、' | '，' | '；') || (matches!(c, ',' | ';' | ':') && is_blank(next))
    });
    let words = ends_where(chars, |c, _| is_blank(c));
    let tiers = [lines, sentences, clauses, words];
    let mut start = 0;
    while chars.len() - start > LONGEST {
        let end = next_cut(chars, start, &tiers);
        push_without_blanks(&mut pieces, chars, start..end);
        start = end;
    }
    push_without_blanks(&mut pieces, chars, start..chars.len());
    pieces
}

/// Positions one past each character for which `ends` holds, given it and its successor.
fn ends_where(chars: &[char], ends: impl Fn(char, char) -> bool) -> Vec<usize> {
    chars
        .windows(2)
        .enumerate()
        .filter(|(_, w)| ends(w[0], w[1]))
        .map(|(i, _)| i + 1)
        .collect()
}

/// The end of the piece that begins at `start`: near an equal share of the rest, at the best kind of
/// boundary.
fn next_cut(chars: &[char], start: usize, tiers: &[Vec<usize>]) -> usize {
    let rest = chars.len() - start;
    let target = start + rest / rest.div_ceil(LONGEST);
    let window = start + SHORTEST_PIECE..=start + LONGEST.min(rest - SHORTEST_PIECE);
    for tier in tiers {
        let from = tier.partition_point(|&end| end < *window.start());
        let to = tier.partition_point(|&end| end <= *window.end());
        if let Some(&end) = tier[from..to].iter().min_by_key(|end| end.abs_diff(target)) {
            return end;
        }
    }
    // There is no boundary: cut anywhere, but not between a letter and its combining marks.
    (*window.start()..target)
        .rev()
        .take(16)
        .map(|before| before + 1)
        .find(|&end| !is_joined_to_previous(chars[end]))
        .unwrap_or(target)
}

/// Combining marks, variation selectors, joiners and emoji modifiers.
fn is_joined_to_previous(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36F}' | '\u{200C}' | '\u{200D}' | '\u{20D0}'..='\u{20FF}' | '\u{3099}' | '\u{309A}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{FE20}'..='\u{FE2F}' | '\u{1F3FB}'..='\u{1F3FF}' | '\u{E0100}'..='\u{E01EF}')
}

fn push_without_blanks(pieces: &mut Vec<Range<usize>>, chars: &[char], range: Range<usize>) {
    let inside = &chars[range.clone()];
    let Some(first) = inside.iter().position(|c| !is_blank(*c)) else {
        return;
    };
    let last = inside.iter().rposition(|c| !is_blank(*c)).unwrap_or(first);
    pieces.push(range.start + first..range.start + last + 1);
}

#[cfg(test)]
mod tests;
