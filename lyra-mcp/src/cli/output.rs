//! Standard output: only data.

use lyra_core::security::display::{harmless, harmless_json};
use lyra_core::{Error, ErrorKind, Result};
use std::io::{self, IsTerminal, Write};

/// The style of a part of a line on a terminal. It is represented by markers in the line until the
/// line is written, because all other terminal control characters are replaced.
#[derive(Clone, Copy)]
pub(super) enum Style {
    /// Headings.
    Strong,
    /// Definite faults.
    Fault,
    /// Possible faults.
    Doubt,
}

/// The start and end markers of styles. Unicode reserves these characters for internal use in
/// programs.
const STYLES: [(char, &str); 4] = [
    ('\u{FDD0}', "\x1b[1m"),
    ('\u{FDD1}', "\x1b[1;31m"),
    ('\u{FDD2}', "\x1b[33m"),
    ('\u{FDD3}', "\x1b[0m"),
];

impl Style {
    /// Applies the style to `text`.
    pub(super) fn of(self, text: &str) -> String {
        let (begin, _) = STYLES[self as usize];
        let (end, _) = STYLES[STYLES.len() - 1];
        format!("{begin}{text}{end}")
    }
}

/// Replaces style markers by terminal control sequences, or removes them.
pub(super) fn with_styles(text: &str, styled: bool) -> String {
    let each = STYLES.iter();
    each.fold(text.to_owned(), |text, (mark, command)| {
        text.replace(*mark, if styled { command } else { "" })
    })
}

/// Whether standard output is a terminal that supports styles and the user wants them.
#[allow(
    clippy::disallowed_methods,
    reason = "NO_COLOR and TERM are for binaries to read"
)]
fn shows_styles() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let asked_not_to = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    io::stdout().is_terminal() && !dumb && !asked_not_to
}

/// Writes data to standard output. A reader that stops early (`| head`) is not a failure.
pub(super) struct Output {
    out: io::BufWriter<io::Stdout>,
    styled: bool,
    gone: bool,
}

impl Output {
    pub(super) fn new() -> Self {
        Self {
            out: io::BufWriter::new(io::stdout()),
            styled: shows_styles(),
            gone: false,
        }
    }

    /// Writes a line; characters in stored text that control a terminal are replaced.
    pub(super) fn line(&mut self, text: &str) -> Result<()> {
        let text = with_styles(&harmless(text), self.styled);
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

/// Standard output for an export. Fetched text may contain characters that control a terminal; on a
/// terminal they are replaced. A file or another program gets every byte as it is stored.
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

/// Writes until the reader stops reading (`| head`), which is not a failure.
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

/// Replaces characters that control a terminal or change the display order.
struct Harmless<W: Write> {
    out: W,
    /// The bytes of an incomplete character, or a carriage return that may be part of a line end.
    begun: Vec<u8>,
}

impl<W: Write> Harmless<W> {
    fn new(out: W) -> Self {
        Self {
            out,
            begun: Vec::new(),
        }
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.extend_from_slice(bytes);
        let mut whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.begun.len(),
        };
        if self.begun[..whole].last() == Some(&b'\r') {
            whole -= 1;
        }
        let rest = self.begun.split_off(whole);
        let text = std::mem::replace(&mut self.begun, rest);
        let text = String::from_utf8_lossy(&text);
        self.out.write_all(harmless(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.begun);
        let text = String::from_utf8_lossy(&text);
        self.out.write_all(harmless(&text).as_bytes())?;
        self.out.flush()
    }
}

/// Progress on standard error: one line that is overwritten on a terminal, plain lines elsewhere.
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
        // It may contain file names from untrusted sources.
        let text = super::layout::plain(text);
        let _ = write!(io::stderr(), "\r\x1b[2K{bar} {text}");
    }

    /// Ends the overwritten line.
    pub(super) fn end(&mut self) {
        if self.terminal && !self.last.is_empty() {
            let _ = writeln!(io::stderr());
        }
        self.last.clear();
    }
}

/// A report as one line of JSON, with harmful characters escaped.
pub(super) fn json(report: &impl serde::Serialize) -> Result<String> {
    let json = serde_json::to_string(report)
        .map_err(|error| Error::internal("a report does not serialise").with_source(error))?;
    Ok(harmless_json(&json).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_marks_become_styles() {
        let line = format!("{} a\u{1b}[31mb", Style::Fault.of("wrong"));
        let shown = |styled| with_styles(&harmless(&line), styled);
        assert_eq!(shown(true), "\u{1b}[1;31mwrong\u{1b}[0m a\u{FFFD}[31mb");
        assert_eq!(shown(false), "wrong a\u{FFFD}[31mb");
    }

    #[test]
    fn json_keeps_what_is_harmful_as_escapes() {
        let text = "a\u{202e}b\u{9b}\u{e0041}\u{1b}";
        let json = json(&[text]).expect("serialises");
        assert_eq!(json, r#"["a\u202eb\u009b\udb40\udc41\u001b"]"#);
        assert_eq!(
            serde_json::from_str::<[String; 1]>(&json).expect("JSON"),
            [text]
        );
    }

    #[test]
    fn no_character_that_commands_a_terminal_gets_there() {
        let text = "a\u{1b}[31mb\u{9b}2Jc\u{7f}\u{7}\td é © 日本語\r\n\u{85}\u{202e}x\ry\r";
        let expected = "a\u{FFFD}[31mb\u{FFFD}2Jc\u{FFFD}\u{FFFD}\td é © 日本語\r\n\u{FFFD}\u{FFFD}x\u{FFFD}y\u{FFFD}";
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
