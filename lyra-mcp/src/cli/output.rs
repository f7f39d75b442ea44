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
