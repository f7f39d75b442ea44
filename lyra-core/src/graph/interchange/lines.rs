//! A reader cut into lines, and the problems that were found in them.

use crate::error::{Error, ErrorKind, Result};
use std::io::{BufRead, Read};

/// Longest line in bytes. The longest honest one holds the text of a page.
pub(super) const MAX_LINE_BYTES: usize = 16 << 20;

/// How many problems one import lists before it stops reading.
pub(super) const MAX_PROBLEMS: usize = 20;

/// The lines of a reader that are not blank, with their numbers.
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
    over: bool,
}

/// A line with its number, or what is wrong with it.
pub(super) type NumberedLine<'a> = std::result::Result<(u64, &'a str), (u64, String)>;

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            number: 0,
            over: false,
        }
    }

    /// The next line that is not blank; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<NumberedLine<'_>>> {
        loop {
            self.buffer.clear();
            if self.over || self.read()? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.buffer.len() > MAX_LINE_BYTES {
                self.over = true;
                let reason = format!("longer than {} MiB", MAX_LINE_BYTES >> 20);
                return Ok(Some(Err((self.number, reason))));
            }
            if !self.bytes().iter().all(u8::is_ascii_whitespace) {
                break;
            }
        }
        let bytes = self.bytes();
        Ok(Some(match std::str::from_utf8(bytes) {
            Ok(line) => Ok((self.number, line)),
            Err(e) => Err((
                self.number,
                format!("byte {} is not UTF-8", e.valid_up_to() + 1),
            )),
        }))
    }

    fn read(&mut self) -> Result<usize> {
        let limit = MAX_LINE_BYTES as u64 + 1;
        let mut limited = self.reader.by_ref().take(limit);
        limited.read_until(b'\n', &mut self.buffer).map_err(|e| {
            let line = self.number + 1;
            Error::new(ErrorKind::Backend, format!("reading line {line}: {e}")).with_source(e)
        })
    }

    /// The line without the mark that some editors put before the first one.
    fn bytes(&self) -> &[u8] {
        let bytes = &self.buffer;
        match bytes.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if self.number == 1 => rest,
            _ => bytes,
        }
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
        let full = self.full();
        let lines = self.0.into_iter().map(|(line, reason)| match line {
            0 => reason,
            _ => format!("line {line}: {reason}"),
        });
        let mut message = lines.collect::<Vec<_>>().join("\n");
        if full {
            message.push_str(&format!("\nstopped after {MAX_PROBLEMS} problems"));
        }
        Err(Error::invalid(message)
            .with_hint("nothing was written; mend the lines that are named and import again"))
    }
}
