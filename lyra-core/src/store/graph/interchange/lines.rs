//! Splits a reader into lines, and collects the problems found in them.

use super::batch::Batch;
use crate::error::{Error, ErrorKind, Result};
use std::fmt;
use std::io::{BufRead, Read};

/// Longest line in bytes. The longest legitimate line holds the text of a page.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;

/// Number of problems that one import lists before it stops reading.
pub(super) const MAX_PROBLEMS: usize = 20;

/// The non-blank lines of a reader, with their numbers.
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
    /// Whether reading has ended.
    over: bool,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            number: 0,
            over: false,
        }
    }

    /// Fills an empty batch with the next lines; the batch stays empty at the end. If the reader fails,
    /// the lines before the failure are in the batch.
    pub(super) fn fill(&mut self, batch: &mut Batch) -> Result<()> {
        while !self.over && !batch.is_full() {
            let start = batch.bytes().len();
            let length = self.read(batch.bytes())?;
            if length == 0 {
                self.over = true;
                break;
            }
            self.number += 1;
            if length > MAX_LINE_BYTES {
                self.over = true;
                let reason = format!("longer than {} MiB", MAX_LINE_BYTES >> 20);
                batch.push(self.number, Err(reason));
                break;
            }
            let bytes = &batch.bytes()[start..];
            // Some editors write a byte order mark before the first line.
            let is_marked = self.number == 1 && bytes.starts_with(b"\xEF\xBB\xBF");
            let start = if is_marked { start + 3 } else { start };
            let bytes = &batch.bytes()[start..];
            if !bytes.iter().all(u8::is_ascii_whitespace) {
                let end = start + bytes.len();
                batch.push(self.number, Ok(start..end));
            }
        }
        Ok(())
    }

    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<usize> {
        let limit = MAX_LINE_BYTES as u64 + 1;
        let mut limited = self.reader.by_ref().take(limit);
        limited.read_until(b'\n', buffer).map_err(|e| {
            self.over = true;
            let line = self.number + 1;
            Error::new(ErrorKind::Backend, format!("reading line {line}: {e}")).with_source(e)
        })
    }
}

/// The problems of a file, by line.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<(u64, String)>);

impl Problems {
    /// Adds a problem. Line 0 stands for the database.
    pub(super) fn add(&mut self, line: u64, reason: String) {
        if !self.full() {
            self.0.push((line, reason));
        }
    }

    pub(super) fn full(&self) -> bool {
        self.0.len() >= MAX_PROBLEMS
    }

    /// An error that lists the problems, if there are any.
    pub(super) fn into_result(mut self) -> Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.0.sort();
        let problems = ImportProblems {
            stopped_early: self.full(),
            reasons: self.0,
        };
        Err(Error::invalid(problems.to_string())
            .with_hint("nothing was written; mend the lines that are named and import again")
            .with_source(problems))
    }
}

/// Why nothing was imported, line by line: the source of an import's error, for callers without a file
/// that report it in another form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportProblems {
    /// The lines, counted from 1, with the problem of each. Line 0 stands for the database.
    pub reasons: Vec<(u64, String)>,
    /// Whether there may be more problems, because the import stopped early.
    pub stopped_early: bool,
}

impl ImportProblems {
    /// One reason per line, each after the name that `place` gives to its line.
    pub fn described(&self, place: impl Fn(u64) -> String) -> String {
        let reasons = self.reasons.iter().map(|(line, reason)| match line {
            0 => reason.clone(),
            line => format!("{}{reason}", place(*line)),
        });
        let mut all: Vec<String> = reasons.collect();
        if self.stopped_early {
            all.push(format!("stopped after {MAX_PROBLEMS} problems"));
        }
        all.join("\n")
    }
}

impl fmt::Display for ImportProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.described(|line| format!("line {line}: ")))
    }
}

impl std::error::Error for ImportProblems {}
