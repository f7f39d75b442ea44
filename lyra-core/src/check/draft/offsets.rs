//! Converts byte offsets of a draft to code points.

use std::ops::Range;

/// Converts byte offsets to code points.
pub(super) struct Offsets {
    /// Number of code points before every [`STEP`]th byte.
    marks: Vec<usize>,
    /// Which bytes begin a code point; none if the text is ASCII.
    starts: Option<Vec<bool>>,
}

const STEP: usize = 256;

impl Offsets {
    pub(super) fn of(text: &str) -> Self {
        if text.is_ascii() {
            return Self {
                marks: Vec::new(),
                starts: None,
            };
        }
        let starts: Vec<bool> = (0..=text.len())
            .map(|at| text.is_char_boundary(at))
            .collect();
        let mut marks = Vec::with_capacity(starts.len() / STEP + 1);
        let mut count = 0;
        for (at, start) in starts.iter().enumerate() {
            if at % STEP == 0 {
                marks.push(count);
            }
            count += usize::from(*start);
        }
        Self {
            marks,
            starts: Some(starts),
        }
    }

    pub(super) fn at(&self, byte: usize) -> usize {
        let Some(starts) = &self.starts else {
            return byte;
        };
        let byte = byte.min(starts.len() - 1);
        let mark = byte / STEP;
        let after = starts[mark * STEP..byte].iter().filter(|start| **start);
        self.marks[mark] + after.count()
    }

    pub(super) fn span(&self, bytes: &Range<usize>) -> Range<usize> {
        self.at(bytes.start)..self.at(bytes.end)
    }
}
