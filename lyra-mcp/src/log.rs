//! The log: standard error, because standard output belongs to the protocol.

/// Writes one line to the log.
#[allow(clippy::print_stderr, reason = "the one place that writes the log")]
pub(crate) fn line(text: &str) {
    eprintln!("lyra-mcp: {text}");
}
