//! The log: standard error, because standard output belongs to the protocol.

use lyra_core::security::display::harmless;

/// Writes one line to the log.
#[allow(clippy::print_stderr, reason = "the one place that writes the log")]
pub(crate) fn line(text: &str) {
    // Fuzzing provokes thousands a second.
    if cfg!(fuzzing) {
        return;
    }
    // A message may quote what was fetched; a terminal must not take it for a command.
    eprintln!("lyra-mcp: {}", harmless(text));
}
