//! Blocks of a parsed document → one text, and paragraph-sized segments that are exact slices of it.
//!
//! A quote leads back to its source by offsets, so nothing here may change a character after its
//! offset is known: white space is put in order first, then the text is joined, then it is cut.

use super::sentence::{is_blank, is_cjk, ranges};
use crate::model::FragmentType;
use std::ops::Range;

pub use super::sentence::sentences;

/// A segment of running text is at most this long, in code points.
const LONGEST: usize = 1_200;

/// A segment that was cut from a longer paragraph is at least this long.
const SHORTEST_PIECE: usize = 400;

/// Neighbours shorter than this are merged …
const TINY: usize = 80;

/// … into segments no longer than this.
const LONGEST_MERGED: usize = 400;

/// A heading is repeated with each of its segments, so a mistaken one must not be long.
const LONGEST_HEADING: usize = 300;

/// A piece of a parsed document, in reading order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// What part of the document it is.
    pub kind: FragmentType,
    /// 1 to 6 for headings, else 0.
    pub level: u8,
    /// The text as the parser found it.
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
    /// What part of the document it is.
    pub kind: FragmentType,
    /// Exactly `text[char_start..char_end]`, counted in code points.
    pub text: String,
    /// First code point.
    pub char_start: usize,
    /// One past the last code point.
    pub char_end: usize,
    /// The nearest heading above; for a heading, the one that it stands under.
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

    /// A heading; `level` is put into 1 to 6.
    pub fn heading(level: u8, text: impl Into<String>) -> Self {
        Self {
            kind: FragmentType::Heading,
            level: level.clamp(1, 6),
            text: text.into(),
        }
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

/// Joins blocks to one text, with a blank line between them, and cuts it into segments.
///
/// Only blank space is changed: runs of it become one space in running text (nothing at a line
/// break between two CJK characters), lines keep their breaks in lists, tables and code, control
/// characters count as blank (SQLite's `substr` stops at a NUL), empty blocks disappear. A segment
/// has at most 1,200 code points; longer blocks are cut at lines, else at sentences, else at
/// clauses, else at words, else anywhere, into pieces of 400 to 1,200. Neighbours of one kind
/// below 80 code points, under the same heading, share a segment.
///
/// ```
/// use lyra_core::text::segment::{Block, assemble, slice_chars};
/// let doc = assemble(&[Block::heading(1, "Results"), Block::paragraph("Glucose  fell.\n")]);
/// assert_eq!(doc.text, "Results\n\nGlucose fell.");
/// let last = &doc.segments[1];
/// assert_eq!(last.heading_context.as_deref(), Some("Results"));
/// assert_eq!(slice_chars(&doc.text, last.char_start, last.char_end), Some("Glucose fell."));
/// ```
pub fn assemble(blocks: &[Block]) -> SegmentedText {
    let mut assembler = Assembler::default();
    for block in blocks {
        for text in tidy(block.kind, &block.text) {
            assembler.add(block.kind, block.level, &text);
        }
    }
    assembler.out
}

/// The slice of `text` from code point `start` to before code point `end`.
///
/// `None` where the range is reversed or reaches past the end.
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
    /// Whether the last segment is one or more whole tiny blocks.
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

    /// Puts a tiny block into the segment of the tiny block before it.
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

/// The block's text with its blank space in order; several where blank lines part it.
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

/// Ranges of at most [`LONGEST`] characters that cover the block, without the blanks at the cuts.
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

/// Where the piece that begins at `start` ends: near an even share, at the best kind of boundary.
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
    // Nothing to cut at: anywhere, but not between a letter and what is drawn on it.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn assert_sound(blocks: &[Block], doc: &SegmentedText) {
        let chars: Vec<char> = doc.text.chars().collect();
        let mut covered = vec![false; chars.len()];
        let mut reached = 0;
        for segment in &doc.segments {
            assert!(
                segment.char_start >= reached,
                "segments overlap or are out of order"
            );
            assert!(segment.char_start < segment.char_end);
            assert!(
                segment.char_end - segment.char_start <= LONGEST,
                "segment too long"
            );
            let slice = slice_chars(&doc.text, segment.char_start, segment.char_end);
            assert_eq!(slice, Some(segment.text.as_str()));
            assert!(!segment.text.contains('\0'));
            covered[segment.char_start..segment.char_end].fill(true);
            reached = segment.char_end;
        }
        for (c, covered) in chars.iter().zip(covered) {
            assert!(covered || is_blank(*c), "{c:?} lies in no segment");
        }
        let visible = |text: &str| text.chars().filter(|c| !is_blank(*c)).collect::<String>();
        let before: String = blocks.iter().map(|b| visible(&b.text)).collect();
        assert_eq!(visible(&doc.text), before, "visible characters changed");
    }

    #[test]
    fn blank_space_is_put_in_order() {
        for (kind, text, expected) in [
            (FragmentType::Paragraph, "  a\u{a0} b\n  c \t\n", "a b c"),
            (
                FragmentType::Paragraph,
                "血糖\n値が 下がる",
                "血糖値が 下がる",
            ),
            (
                FragmentType::Paragraph,
                "one\n\ntwo\n \nthree",
                "one\n\ntwo\n\nthree",
            ),
            (FragmentType::Paragraph, "nul\0byte\u{7}", "nul byte"),
            (FragmentType::List, " - a  b\n\n - c\n", "- a b\n- c"),
            (FragmentType::Table, "x | 1\r\n\r\ny | 2", "x | 1\ny | 2"),
            (
                FragmentType::Code,
                "\n\nif x:\n    y()  \n\n",
                "if x:\n    y()",
            ),
            (FragmentType::Quote, " \n\t\u{feff}", ""),
        ] {
            assert_eq!(
                assemble(&[Block::new(kind, text)]).text,
                expected,
                "{kind}: {text:?}"
            );
        }
    }

    #[test]
    fn segments_know_the_headings_above_them() {
        let doc = assemble(&[
            Block::paragraph("Before."),
            Block::heading(1, "Title"),
            Block::heading(2, "Methods"),
            Block::paragraph("We did."),
            Block::heading(2, "Results"),
            Block::heading(4, "Deep"),
            Block::paragraph("It rose."),
            Block::heading(9, "Deeper"),
            Block::heading(0, "Second title"),
        ]);
        let found: Vec<(&str, Vec<&str>)> = doc
            .segments
            .iter()
            .map(|s| {
                (
                    s.text.as_str(),
                    s.heading_hierarchy.iter().map(String::as_str).collect(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("Before.", vec![]),
                ("Title", vec![]),
                ("Methods", vec!["Title"]),
                ("We did.", vec!["Title", "Methods"]),
                ("Results", vec!["Title"]),
                ("Deep", vec!["Title", "Results"]),
                ("It rose.", vec!["Title", "Results", "Deep"]),
                ("Deeper", vec!["Title", "Results", "Deep"]),
                ("Second title", vec![]),
            ]
        );
        for segment in &doc.segments {
            assert_eq!(
                segment.heading_context.as_ref(),
                segment.heading_hierarchy.last()
            );
        }
    }

    #[test]
    fn tiny_neighbours_of_one_kind_share_a_segment() {
        let long = "This paragraph is long enough to stand on its own, because it has more than eighty characters.";
        let item = |text: &str| Block::new(FragmentType::List, text);
        let doc = assemble(&[
            Block::heading(1, "H"),
            item("one"),
            item("two"),
            Block::paragraph("three"),
            Block::paragraph(long),
            Block::paragraph("four"),
            Block::heading(1, "I"),
            Block::paragraph("five"),
        ]);
        let texts: Vec<&str> = doc.segments.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(
            texts,
            ["H", "one\n\ntwo", "three", long, "four", "I", "five"]
        );
        let many: Vec<Block> = (0..100)
            .map(|i| item(&format!("item number {i}")))
            .collect();
        let doc = assemble(&many);
        assert!(doc.segments.len() > 3);
        assert!(
            doc.segments
                .iter()
                .all(|s| s.char_end - s.char_start <= LONGEST_MERGED)
        );
    }

    #[test]
    fn long_blocks_are_cut_where_it_hurts_least() {
        let sentence =
            "The mean reduction was 1.27 points (95% CI 1.07-1.51) in the treated group. ";
        let doc = assemble(&[Block::paragraph(sentence.repeat(60))]);
        for segment in &doc.segments {
            assert!((SHORTEST_PIECE..=LONGEST).contains(&segment.text.chars().count()));
            assert!(segment.text.starts_with("The") && segment.text.ends_with("group."));
        }
        let row = "a | b | c. D | 5\n";
        let doc = assemble(&[Block::new(FragmentType::Table, row.repeat(300))]);
        assert!(
            doc.segments
                .iter()
                .all(|s| s.text.starts_with("a |") && s.text.ends_with("| 5"))
        );
        let doc = assemble(&[Block::paragraph("血糖値が下がったことを、".repeat(400))]);
        assert!(doc.segments.iter().all(|s| s.text.ends_with('、')));
        let doc = assemble(&[Block::paragraph("word ".repeat(1000))]);
        assert!(doc.segments.iter().all(|s| s.text.ends_with("word")));
        for unit in ["x", "e\u{301}", "👩🏽"] {
            let blocks = [
                Block::paragraph(unit.repeat(20_000)),
                Block::heading(1, unit.repeat(5_000)),
            ];
            let doc = assemble(&blocks);
            assert_sound(&blocks, &doc);
            for segment in &doc.segments {
                assert!(
                    !segment.text.starts_with(is_joined_to_previous),
                    "{unit:?} is torn"
                );
            }
        }
    }

    #[test]
    fn slices_count_code_points() {
        for (start, end, expected) in [
            (0, 0, Some("")),
            (0, 4, Some("a血𝄞b")),
            (1, 3, Some("血𝄞")),
            (4, 4, Some("")),
            (3, 5, None),
            (5, 5, None),
            (3, 2, None),
            (0, usize::MAX, None),
        ] {
            assert_eq!(slice_chars("a血𝄞b", start, end), expected, "{start}..{end}");
        }
    }

    fn any_block() -> impl Strategy<Value = Block> {
        let unit = prop_oneof![
            4 => "[a-zA-Z .,\n]{0,60}",
            2 => "[ぁ-ん一-三。、「」\n]{0,60}",
            1 => any::<String>(),
        ];
        (
            0..FragmentType::ALL.len(),
            any::<u8>(),
            proptest::collection::vec(unit, 0..4),
            1_usize..60,
        )
            .prop_map(|(kind, level, units, times)| Block {
                kind: FragmentType::ALL[kind],
                level,
                text: units.concat().repeat(times),
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn segments_are_exact_slices_that_cover_the_text(
            blocks in proptest::collection::vec(any_block(), 0..12)
        ) {
            assert_sound(&blocks, &assemble(&blocks));
        }
    }
}
