//! A reader cut into lines, and the problems that were found in them.

use super::batch::Batch;
use crate::error::{Error, ErrorKind, Result};
use std::fmt;
use std::io::{BufRead, Read};

/// Longest line in bytes. The longest honest one holds the text of a page.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;

/// How many problems one import lists before it stops reading.
pub(super) const MAX_PROBLEMS: usize = 20;

/// The lines of a reader that are not blank, with their numbers.
pub(super) struct Lines<R> {
    reader: R,
    number: u64,
    /// Nothing is to be read any more.
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

    /// Puts the next lines into an empty batch; none of them at the end. The lines before a failure
    /// of the reader are in the batch.
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
            // Some editors put a mark before the first line.
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

/// What is wrong with a file, by line.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<(u64, String)>);

impl Problems {
    /// Notes a problem. Line 0 stands for the database.
    pub(super) fn add(&mut self, line: u64, reason: String) {
        if !self.full() {
            self.0.push((line, reason));
        }
    }

    pub(super) fn full(&self) -> bool {
        self.0.len() >= MAX_PROBLEMS
    }

    /// An error that lists the problems, if there is any.
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

/// Why nothing was imported, line by line: the source of the error that an import ends with, for
/// who has no file and says it otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportProblems {
    /// The lines, counted from 1, and what is wrong with each. Line 0 stands for the database.
    pub reasons: Vec<(u64, String)>,
    /// Whether there may be more, because the import stopped there.
    pub stopped_early: bool,
}

impl ImportProblems {
    /// One reason a line, each after what `place` calls its line.
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
