//! Standard output: data, and nothing else.

use lyra_core::{Error, ErrorKind, Result};
use std::io::{self, IsTerminal, Write};

/// Writes data to standard output. A reader that goes away early (`| head`) is no failure.
pub(super) struct Output {
    out: io::BufWriter<io::Stdout>,
    gone: bool,
}

impl Output {
    pub(super) fn new() -> Self {
        Self {
            out: io::BufWriter::new(io::stdout()),
            gone: false,
        }
    }

    pub(super) fn line(&mut self, text: &str) -> Result<()> {
        let result = writeln!(self.out, "{text}");
        self.settle(result)
    }

    pub(super) fn finish(mut self) -> Result<()> {
        let result = self.out.flush();
        self.settle(result)
    }

    fn settle(&mut self, result: io::Result<()>) -> Result<()> {
        match result {
            Ok(()) => Ok(()),
            Err(error) if self.gone || error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            Err(error) => Err(Error::new(
                ErrorKind::Backend,
                format!("standard output cannot be written: {error}"),
            )),
        }
    }
}

/// Standard output for an export. What was fetched may hold characters that command a terminal; on
/// one they are replaced. A file or another program gets every byte as it is stored.
pub(super) fn for_export() -> Box<dyn Write> {
    let out = UntilGone {
        out: io::BufWriter::new(io::stdout()),
        gone: false,
    };
    if io::stdout().is_terminal() {
        Box::new(Harmless::new(out))
    } else {
        Box::new(out)
    }
}

/// Writes until nobody reads any more (`| head`), which is no failure.
struct UntilGone<W> {
    out: W,
    gone: bool,
}

impl<W> UntilGone<W> {
    fn settle<T>(&mut self, result: io::Result<T>, otherwise: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(otherwise)
            }
            result => result,
        }
    }
}

impl<W: Write> Write for UntilGone<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gone {
            return Ok(bytes.len());
        }
        let result = self.out.write(bytes);
        self.settle(result, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        let result = self.out.flush();
        self.settle(result, ())
    }
}

/// Replaces control characters other than tabs and line ends.
struct Harmless<W> {
    out: W,
    /// Whether the last byte was the first of a two-byte character that may be a control character.
    is_begun: bool,
}

/// The first byte of U+0080 to U+00BF in UTF-8; those below U+00A0 are control characters.
const FIRST_BYTE: u8 = 0xC2;

impl<W: Write> Harmless<W> {
    fn new(out: W) -> Self {
        Self {
            out,
            is_begun: false,
        }
    }

    fn finish_begun(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_begun) {
            self.out.write_all(&[FIRST_BYTE])?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for &byte in bytes {
            let is_control = match byte {
                b'\n' | b'\t' | b'\r' => false,
                0x80..=0x9F if self.is_begun => {
                    self.is_begun = false;
                    true
                }
                _ => byte.is_ascii_control(),
            };
            self.finish_begun()?;
            match byte {
                _ if is_control => self.out.write_all("\u{FFFD}".as_bytes())?,
                FIRST_BYTE => self.is_begun = true,
                _ => self.out.write_all(&[byte])?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.finish_begun()?;
        self.out.flush()
    }
}

/// Progress on standard error: one line that is written over on a terminal, plain lines elsewhere.
pub(super) struct ProgressLine {
    terminal: bool,
    last: String,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        Self {
            terminal: io::stderr().is_terminal(),
            last: String::new(),
        }
    }

    /// Shows `text`, with a bar for `share` (0 to 1) on a terminal.
    pub(super) fn show(&mut self, share: f64, text: &str) {
        if text == self.last {
            return;
        }
        text.clone_into(&mut self.last);
        if !self.terminal {
            return crate::log::line(text);
        }
        let full = (share.clamp(0.0, 1.0) * 20.0).round() as usize;
        let bar = format!("[{}{}]", "#".repeat(full), ".".repeat(20 - full));
        // Names of files from elsewhere stand in it.
        let text = super::layout::plain(text);
        let _ = write!(io::stderr(), "\r\x1b[2K{bar} {text}");
    }

    /// Ends the line that is written over.
    pub(super) fn end(&mut self) {
        if self.terminal && !self.last.is_empty() {
            let _ = writeln!(io::stderr());
        }
        self.last.clear();
    }
}

/// A report as one line of JSON.
pub(super) fn json(report: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(report)
        .map_err(|error| Error::internal("a report does not serialise").with_source(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_that_commands_a_terminal_gets_there() {
        let text = "a\u{1b}[31mb\u{9b}2Jc\u{7f}\u{7}\td é © 日本語\r\n\u{85}";
        let expected = "a\u{FFFD}[31mb\u{FFFD}2Jc\u{FFFD}\u{FFFD}\td é © 日本語\r\n\u{FFFD}";
        for size in [1, 2, 3, 100] {
            let mut shown = Vec::new();
            let mut harmless = Harmless::new(&mut shown);
            for piece in text.as_bytes().chunks(size) {
                harmless.write_all(piece).expect("a vector takes all");
            }
            harmless.flush().expect("a vector takes all");
            assert_eq!(String::from_utf8_lossy(&shown), expected, "{size}");
        }
    }
}
