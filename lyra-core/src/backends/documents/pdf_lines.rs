//! From the characters of a PDF page to lines.

use super::lines::is_unspaced;
use pdf_extract::{MediaBox, OutputDev, OutputError, Transform};
use std::time::Instant;

/// Most characters that are kept of one file.
const MAX_CHARS: usize = 20_000_000;

/// A line of a page. Lengths are in points; `x` runs along the writing direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Line {
    /// What stands on it.
    pub(super) text: String,
    /// From 1.
    pub(super) page: u32,
    /// Where it starts.
    pub(super) left: f64,
    /// Where it ends.
    pub(super) right: f64,
    /// Height of its baseline on the page, growing upwards.
    pub(super) base: f64,
    /// Size of most of its characters.
    pub(super) size: f64,
}

/// Direction of writing, in quarter turns.
type Turn = u8;

/// Collects characters in the order of the file, which is the reading order of most.
pub(super) struct Collector {
    /// When to stop.
    until: Instant,
    /// The lines of the pages that are finished.
    pub(super) lines: Vec<Line>,
    page: u32,
    chars: usize,
    current: Line,
    turn: Turn,
    /// Characters of each size on the current line.
    sizes: Vec<(f64, usize)>,
    /// Lines of the current page with their direction.
    pending: Vec<(Turn, Line)>,
}

/// One shown character.
struct Glyph<'a> {
    text: &'a str,
    turn: Turn,
    along: f64,
    across: f64,
    advance: f64,
    size: f64,
}

impl Collector {
    /// Nothing yet; what comes after `until` is refused, so that a thread that was given up ends.
    pub(super) fn new(until: Instant) -> Self {
        Self {
            until,
            lines: Vec::new(),
            page: 0,
            chars: 0,
            current: Line::default(),
            turn: 0,
            sizes: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Whether the time is over.
    pub(super) fn is_late(&self) -> bool {
        Instant::now() > self.until
    }

    /// One more character; an error if nobody waits for it any more.
    fn count(&mut self) -> Result<(), OutputError> {
        self.chars += 1;
        if self.chars.is_multiple_of(1024) && self.is_late() {
            return Err(OutputError::FormatError(std::fmt::Error));
        }
        Ok(())
    }

    /// A page starts.
    pub(super) fn begin(&mut self, page: u32) {
        self.page = page;
    }

    /// A page ends, or broke off.
    pub(super) fn finish_page(&mut self) {
        self.end_current();
        let pending = std::mem::take(&mut self.pending);
        let mut counts = [0usize; 4];
        for (turn, line) in &pending {
            counts[usize::from(*turn)] += line.text.len();
        }
        let main = (0..4u8)
            .max_by_key(|turn| (counts[usize::from(*turn)], 4 - turn))
            .unwrap_or(0);
        // A stamp along the margin runs in another direction than the text.
        let few = |turn: Turn| counts[usize::from(turn)] * 5 < counts[usize::from(main)];
        self.lines.extend(
            pending
                .into_iter()
                .filter(|(turn, _)| !few(*turn))
                .map(|(_, line)| line),
        );
    }

    fn end_current(&mut self) {
        let mut line = std::mem::take(&mut self.current);
        let sizes = std::mem::take(&mut self.sizes);
        line.text.truncate(line.text.trim_end().len());
        if line.text.is_empty() {
            return;
        }
        line.page = self.page;
        line.size = sizes
            .into_iter()
            .max_by_key(|(_, count)| *count)
            .map_or(0.0, |(size, _)| size);
        self.pending.push((self.turn, line));
    }

    fn add(&mut self, glyph: &Glyph<'_>) {
        let line = &self.current;
        let height = glyph.size.max(line.size);
        let gap = glyph.along - line.right;
        let same_line = !line.text.is_empty()
            && self.turn == glyph.turn
            && (glyph.across - line.base).abs() < 0.5 * height
            && gap > -0.6 * height;
        if !same_line {
            self.end_current();
            self.turn = glyph.turn;
            self.current.left = glyph.along;
            self.current.base = glyph.across;
            self.current.size = glyph.size;
        }
        let blank = glyph.text.chars().all(char::is_whitespace);
        let line = &mut self.current;
        if let (true, Some(left), Some(right)) = (
            same_line,
            line.text.chars().next_back(),
            glyph.text.chars().next(),
        ) {
            let wide = if is_unspaced(left) && is_unspaced(right) {
                0.9
            } else {
                0.16
            };
            if left != ' ' && (blank || gap > wide * height) {
                line.text.push(' ');
            }
        }
        line.right = if same_line {
            line.right.max(glyph.along + glyph.advance)
        } else {
            glyph.along + glyph.advance
        };
        if blank {
            return;
        }
        // A raised number is smaller than the text: the baseline is that of the larger characters.
        if glyph.size > 1.05 * line.size {
            line.base = glyph.across;
            line.size = glyph.size;
        }
        push_text(&mut line.text, glyph.text);
        match self
            .sizes
            .iter_mut()
            .find(|(size, _)| (size - glyph.size).abs() < 0.05)
        {
            Some((_, count)) => *count += 1,
            None => self.sizes.push((glyph.size, 1)),
        }
    }
}

/// Width of a character of unknown width, in sizes of its font.
fn usual_width(text: &str) -> f64 {
    match text.chars().next() {
        Some('m' | 'w' | 'M' | 'W') => 0.85,
        Some(c) if is_unspaced(c) => 1.0,
        Some(c) if c.is_uppercase() => 0.72,
        _ => 0.5,
    }
}

/// Writes ligatures as letters, and leaves out what no font outside the file can show.
fn push_text(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            'ﬀ' => out.push_str("ff"),
            'ﬁ' => out.push_str("fi"),
            'ﬂ' => out.push_str("fl"),
            'ﬃ' => out.push_str("ffi"),
            'ﬄ' => out.push_str("ffl"),
            'ﬅ' | 'ﬆ' => out.push_str("st"),
            '\u{ad}' => out.push('-'),
            '\u{e000}'..='\u{f8ff}' | '\u{f0000}'.. | '\u{200b}' | '\u{feff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
}

impl OutputDev for Collector {
    fn begin_page(
        &mut self,
        _: u32,
        _: &MediaBox,
        _: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        place: &Transform,
        width: f64,
        spacing: f64,
        font_size: f64,
        text: &str,
    ) -> Result<(), OutputError> {
        self.count()?;
        let stretch = place.m11.hypot(place.m12);
        let size = place.m21.hypot(place.m22) * font_size.abs();
        let finite = [place.m31, place.m32, stretch, size, width, spacing]
            .iter()
            .all(|v| v.is_finite());
        if self.chars > MAX_CHARS || text.is_empty() || !finite || size <= 0.0 {
            return Ok(());
        }
        // Without a width the next character would seem to stand far away.
        let width = if width > 0.0 {
            width
        } else {
            usual_width(text)
        };
        let advance = (width * font_size.abs() + spacing.min(0.0)) * stretch;
        let turn = match (
            place.m11 * font_size.signum(),
            place.m12 * font_size.signum(),
        ) {
            (x, y) if x.abs() >= y.abs() => {
                if x >= 0.0 {
                    0
                } else {
                    2
                }
            }
            (_, y) => {
                if y >= 0.0 {
                    1
                } else {
                    3
                }
            }
        };
        let (x, y) = (place.m31, place.m32);
        let (along, across) = match turn {
            0 => (x, y),
            1 => (y, -x),
            2 => (-x, -y),
            _ => (-y, x),
        };
        self.add(&Glyph {
            text,
            turn,
            along,
            across,
            advance,
            size,
        });
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_reading_that_nobody_waits_for_ends() {
        for (left, ends) in [(Duration::ZERO, true), (Duration::from_secs(600), false)] {
            let mut collector = Collector::new(Instant::now() + left);
            let mut shown = (0..5_000)
                .map(|_| collector.output_character(&Transform::identity(), 0.5, 0.0, 10.0, "x"));
            assert_eq!(shown.any(|shown| shown.is_err()), ends, "{left:?}");
        }
    }
}
