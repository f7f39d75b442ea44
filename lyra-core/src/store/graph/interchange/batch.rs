//! Batches of lines: one thread reads and stores while another parses the next batch.

use super::checks;
use super::fields::LineType;
use super::line::{LineRow, RefusedLine, parse};
use crate::store::database::{Tokens, run_in_parallel};
use std::ops::Range;

/// Size in bytes at which a batch is full. A longer line is a batch by itself.
const BATCH_BYTES: usize = 512 << 10;

/// Batches smaller than this are not parsed on a separate thread.
const FEW_BYTES: usize = 32 << 10;

/// Non-blank lines that were read together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    lines: Vec<(u64, Result<Range<usize>, String>)>,
}

/// A line with its number: its row, or the reason why it has none.
#[derive(Debug)]
pub(super) struct ParsedLine<'a> {
    pub(super) number: u64,
    pub(super) line: &'a str,
    pub(super) row: Result<LineRow<'a>, RefusedLine>,
    /// The tokens for the full-text index.
    pub(super) words: Vec<Tokens>,
}

impl Batch {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.lines.clear();
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES
    }

    /// The buffer for the next line.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Adds a line: the position of its bytes, or why it is not a valid line.
    pub(super) fn push(&mut self, number: u64, line: Result<Range<usize>, String>) {
        self.lines.push((number, line));
    }

    /// The rows of the lines. `now` replaces missing times.
    fn parse<'a>(&'a self, now: &'a str) -> Vec<ParsedLine<'a>> {
        let parsed = |(number, line): &'a (u64, Result<Range<usize>, String>)| {
            let text = line.as_ref().map_err(Clone::clone).and_then(|range| {
                std::str::from_utf8(&self.bytes[range.clone()])
                    .map_err(|e| format!("byte {} is not UTF-8", e.valid_up_to() + 1))
            });
            let (line, row) = match text {
                Ok(line) => (line, prepare(line, now)),
                Err(reason) => ("", Err(RefusedLine::unnamed(reason))),
            };
            let words = row.as_ref().map(words_of).unwrap_or_default();
            ParsedLine {
                number: *number,
                line,
                row,
                words,
            }
        };
        self.lines.iter().map(parsed).collect()
    }
}

/// Parses a line into a row, and computes everything that depends on the line alone.
pub(super) fn prepare<'a>(line: &'a str, now: &'a str) -> Result<LineRow<'a>, RefusedLine> {
    let mut row = parse(line, now)?;
    match checks::complete(&mut row) {
        Ok(()) => Ok(row),
        Err(reason) => Err(RefusedLine {
            reason,
            names: row.single_key(),
        }),
    }
}

fn words_of(row: &LineRow<'_>) -> Vec<Tokens> {
    let columns: &[&str] = match row.table.record {
        LineType::Fragment => &["text_content", "heading_context"],
        LineType::Claim => &["claim_text"],
        _ => &[],
    };
    let texts = columns
        .iter()
        .filter_map(|column| row.get(column).as_text());
    texts.map(Tokens::of).collect()
}

/// Parses `batch` while `work` runs; a small batch is parsed on this thread beforehand.
pub(super) fn parse_during<'a, T>(
    batch: &'a Batch,
    now: &'a str,
    work: impl FnOnce() -> T,
) -> (Vec<ParsedLine<'a>>, T) {
    if batch.bytes.len() <= FEW_BYTES {
        return (batch.parse(now), work());
    }
    run_in_parallel(|| batch.parse(now), work)
}
