//! The log: standard error, because standard output belongs to the protocol.

/// Writes one line to the log.
#[allow(clippy::print_stderr, reason = "the one place that writes the log")]
pub(crate) fn line(text: &str) {
    // Fuzzing provokes thousands a second.
    if cfg!(fuzzing) {
        return;
    }
    // A message may quote what was fetched; a terminal must not take it for a command.
    let commands = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    eprintln!("lyra-mcp: {}", text.replace(commands, "\u{FFFD}"));
}
