//! Converts the characters of a PDF page to lines.

use super::super::lines::is_unspaced;
use super::bidi::{is_mark, is_rtl, logical};
use super::columns::in_reading_order;
use super::line::PdfLine;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;
use std::time::Instant;

/// Maximum number of characters that are kept per file.
const MAX_CHARS: usize = 20_000_000;

/// Direction of writing, in degrees.
type WritingAngle = i32;

/// A displayed character, in page coordinates.
pub(super) struct Glyph {
    pub(super) text: Rc<str>,
    pub(super) from: (f64, f64),
    pub(super) to: (f64, f64),
    /// The direction of the line.
    pub(super) along: (f64, f64),
    pub(super) size: f64,
}

/// A character on its line.
#[derive(Debug, Clone)]
pub(super) struct LineCharacter {
    pub(super) text: String,
    left: f64,
    right: f64,
    size: f64,
}

/// Collects characters in file order, which is usually the reading order.
pub(super) struct Collector {
    /// Deadline.
    until: Instant,
    /// The lines of the finished pages.
    pub(super) lines: Vec<PdfLine>,
    page: u32,
    chars: usize,
    current: PdfLine,
    units: Vec<LineCharacter>,
    turn: WritingAngle,
    is_rtl: bool,
    /// Lines of the current page with their direction.
    pending: Vec<(WritingAngle, PdfLine)>,
    /// The positions of the characters of the page shown so far.
    shown: HashSet<(Rc<str>, i64, i64)>,
    /// Whether the last character was shown before at the same place.
    is_repeating: bool,
}

impl Collector {
    /// An empty collector; characters after `until` are refused, so that an abandoned thread ends.
    pub(super) fn new(until: Instant) -> Self {
        Self {
            until,
            lines: Vec::new(),
            page: 0,
            chars: 0,
            current: PdfLine::default(),
            units: Vec::new(),
            turn: 0,
            is_rtl: false,
            pending: Vec::new(),
            shown: HashSet::new(),
            is_repeating: false,
        }
    }

    /// Whether the deadline has passed.
    pub(super) fn is_late(&self) -> bool {
        Instant::now() > self.until
    }

    /// Starts a page.
    pub(super) fn begin(&mut self, page: u32) {
        self.page = page;
    }

    /// Ends a page, complete or not.
    pub(super) fn finish_page(&mut self) {
        self.end_line();
        self.shown.clear();
        let pending = std::mem::take(&mut self.pending);
        let mut counts: BTreeMap<WritingAngle, usize> = BTreeMap::new();
        for (turn, line) in &pending {
            *counts.entry(*turn).or_default() += line.text.len();
        }
        let most = counts.values().max().copied().unwrap_or(0);
        // A stamp along the margin has a different direction from the text.
        let few = |turn: WritingAngle| counts[&turn] * 5 < most;
        let lines = pending
            .into_iter()
            .filter(|(turn, _)| !few(*turn))
            .map(|(_, line)| line)
            .collect();
        self.lines.extend(in_reading_order(lines));
    }

    /// Adds a character.
    pub(super) fn show(&mut self, glyph: &Glyph) {
        self.chars += 1;
        let numbers = [
            glyph.from.0,
            glyph.from.1,
            glyph.to.0,
            glyph.to.1,
            glyph.size,
        ];
        let is_placed = numbers.iter().all(|v| v.is_finite() && v.abs() < 1e9);
        if self.chars > MAX_CHARS || !is_placed || glyph.size <= 0.0 || glyph.text.is_empty() {
            return;
        }
        let turn = turn_of(glyph.along);
        let (sin, cos) = f64::from(turn).to_radians().sin_cos();
        let turned = |(x, y): (f64, f64)| (x * cos + y * sin, y * cos - x * sin);
        let ((start, base), (end, _)) = (turned(glyph.from), turned(glyph.to));
        let mut unit = LineCharacter {
            text: plain(&glyph.text),
            left: start.min(end),
            right: start.max(end),
            size: glyph.size,
        };
        // Without a width the next character would seem far away.
        if unit.right - unit.left < 0.01 * unit.size && !unit.text.chars().all(is_mark) {
            unit.right = unit.left + usual_width(&unit.text) * unit.size;
        }
        if unit.text.trim().is_empty() || !self.is_again(&unit, &glyph.text, base) {
            self.add(unit, turn, base);
        }
    }

    fn add(&mut self, unit: LineCharacter, turn: WritingAngle, base: f64) {
        let is_blank = unit.text.chars().all(char::is_whitespace);
        let rtl = unit.text.chars().any(is_rtl);
        if !self.goes_on(&unit, turn, base, rtl || self.is_rtl) {
            self.end_line();
            if unit.text.is_empty() || is_blank {
                return;
            }
            self.turn = turn;
            self.current = PdfLine {
                left: unit.left,
                right: unit.right,
                base,
                size: unit.size,
                ..PdfLine::default()
            };
        }
        self.is_rtl |= rtl;
        let line = &mut self.current;
        line.left = line.left.min(unit.left);
        line.right = line.right.max(unit.right);
        // A superscript is smaller than the text: the baseline is that of the larger characters.
        if unit.size > 1.05 * line.size && !is_blank {
            line.base = base;
            line.size = unit.size;
        }
        match self.units.last_mut() {
            Some(last) if !unit.text.is_empty() && unit.text.chars().all(is_mark) => {
                last.text.push_str(&unit.text);
            }
            Some(last) if unit.text.is_empty() => last.right = last.right.max(unit.right),
            _ => self.units.push(unit),
        }
    }

    /// Whether a character is on the current line.
    fn goes_on(&self, unit: &LineCharacter, turn: WritingAngle, base: f64, rtl: bool) -> bool {
        let line = &self.current;
        let height = unit.size.max(line.size);
        let Some(last) = self.units.last() else {
            return false;
        };
        if self.turn != turn || (base - line.base).abs() >= 0.5 * height {
            return false;
        }
        let gap = unit.left - last.right;
        if gap > -0.6 * height && gap < PIECE * height {
            return true;
        }
        // Where the direction changes, the next word starts at its far end.
        let near = WORD * height;
        rtl && unit.right > line.left - near && unit.left < line.right + near
    }

    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.current);
        let mut units = std::mem::take(&mut self.units);
        let rtl = std::mem::take(&mut self.is_rtl);
        if rtl {
            units.sort_by(|a, b| a.left.total_cmp(&b.left));
        }
        let mut spaced: Vec<String> = Vec::with_capacity(units.len());
        let mut sizes: Vec<(f64, usize)> = Vec::new();
        let mut before: Option<&LineCharacter> = None;
        for unit in &units {
            let is_blank = unit.text.chars().all(char::is_whitespace);
            let open = spaced.last().is_some_and(|text| text != " ");
            if open && (is_blank || before.is_some_and(|before| is_gap(before, unit))) {
                spaced.push(" ".to_owned());
            }
            before = Some(unit);
            if is_blank {
                continue;
            }
            spaced.push(unit.text.clone());
            match sizes
                .iter_mut()
                .find(|(size, _)| (size - unit.size).abs() < 0.05)
            {
                Some((_, count)) => *count += 1,
                None => sizes.push((unit.size, 1)),
            }
        }
        line.text = if rtl {
            logical(spaced)
        } else {
            spaced.concat()
        };
        line.text.truncate(line.text.trim_end().len());
        let most = sizes.into_iter().max_by_key(|(_, count)| *count);
        line.size = most.map_or(0.0, |(size, _)| size);
        line.page = self.page;
        if !line.text.is_empty() {
            self.pending.push((self.turn, line));
        }
    }

    /// Whether a character was already shown at this place: some programs make text bold this way.
    fn is_again(&mut self, unit: &LineCharacter, text: &Rc<str>, base: f64) -> bool {
        let step = (0.08 * unit.size).max(0.01);
        let (x, y) = ((unit.left / step) as i64, (base / step) as i64);
        let steps_back = self
            .units
            .last()
            .is_none_or(|last| unit.left < last.left + 0.15 * unit.size);
        let near = [0, -1, 1];
        let is_there = |dx, dy| self.shown.contains(&(Rc::clone(text), x + dx, y + dy));
        let again = (steps_back || self.is_repeating)
            && near
                .iter()
                .any(|dx| near.iter().any(|dy| is_there(*dx, *dy)));
        self.shown.insert((Rc::clone(text), x, y));
        self.is_repeating = again;
        again
    }
}

/// A gap of this many font sizes ends a piece of a line; pieces of one line are joined again unless
/// they belong to different columns.
const PIECE: f64 = 1.2;

/// Length of a long word, in font sizes.
const WORD: f64 = 8.0;

/// Whether there is a space between two characters.
fn is_gap(before: &LineCharacter, after: &LineCharacter) -> bool {
    let height = before.size.max(after.size);
    let unspaced = |c: Option<char>| c.is_some_and(is_unspaced);
    let wide = if unspaced(before.text.chars().next_back()) && unspaced(after.text.chars().next()) {
        0.9
    } else {
        0.16
    };
    after.left - before.right > wide * height
}

/// The angle of a direction; slightly skewed lines are treated as straight.
fn turn_of((x, y): (f64, f64)) -> WritingAngle {
    let degrees = y.atan2(x).to_degrees().round() as WritingAngle;
    let straight = (degrees + 360 + 45) / 90 * 90;
    let turn = if (degrees + 360 - straight).abs() <= 5 {
        straight
    } else {
        degrees
    };
    turn.rem_euclid(360)
}

/// Assumed width of a character of unknown width, in font sizes.
fn usual_width(text: &str) -> f64 {
    match text.chars().next() {
        Some('m' | 'w' | 'M' | 'W') => 0.85,
        Some(c) if is_unspaced(c) => 1.0,
        Some(c) if c.is_uppercase() => 0.72,
        Some(_) => 0.5,
        None => 0.0,
    }
}

/// Expands ligatures to letters, and drops characters that only a font in the file can show.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            'ﬀ' => out.push_str("ff"),
            'ﬁ' => out.push_str("fi"),
            'ﬂ' => out.push_str("fl"),
            'ﬃ' => out.push_str("ffi"),
            'ﬄ' => out.push_str("ffl"),
            'ﬅ' | 'ﬆ' => out.push_str("st"),
            '\u{ad}' => out.push('-'),
            '\u{a0}' | '\t' | '\n' | '\r' => out.push(' '),
            '\u{e000}'..='\u{f8ff}' | '\u{f0000}'.. | '\u{200b}' | '\u{feff}' => {}
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}
