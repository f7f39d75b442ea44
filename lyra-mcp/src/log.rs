//! The log: written to standard error, because standard output is used by the protocol.

use lyra_core::security::display::harmless;
use lyra_core::{Error, Result};
use std::fmt;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, SubscriberBuilder};
use tracing_subscriber::registry::LookupSpan;

/// What a line of the log looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// The name of the program and the message
    Plain,
    /// Time, level, target and message
    Text,
    /// One JSON object a line
    Json,
}

/// Sends the log to standard error. `filter` is a level, or a list such as `info,lyra_core=debug`.
/// If the process already has a logger, it is kept.
///
/// # Errors
/// `InvalidInput` if `filter` cannot be parsed.
pub(crate) fn start(format: Format, filter: &str) -> Result<()> {
    let directives = EnvFilter::builder().parse(filter).map_err(|error| {
        Error::invalid(format!("the log filter {filter:?} cannot be read: {error}")).with_hint(
            "write off, error, warn, info, debug or trace, or a list such as info,lyra_core=debug",
        )
    })?;
    let lines = SubscriberBuilder::default()
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .with_env_filter(directives);
    // An embedding program may have installed its own logger.
    let _ = match format {
        Format::Plain => {
            tracing::subscriber::set_global_default(lines.event_format(Plain).finish())
        }
        Format::Text => tracing::subscriber::set_global_default(lines.finish()),
        Format::Json => {
            let lines = lines.json().flatten_event(true).with_current_span(false);
            tracing::subscriber::set_global_default(lines.with_span_list(false).finish())
        }
    };
    Ok(())
}

/// The log lines of a command, for users at a terminal.
struct Plain;

impl<S, N> FormatEvent<S, N> for Plain
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = match *event.metadata().level() {
            Level::ERROR => "error: ",
            Level::WARN => "warning: ",
            _ => "",
        };
        write!(writer, "lyra-mcp: {level}")?;
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

/// Writes one line to the log. A message may quote fetched text, which must not control the
/// terminal.
pub(crate) fn line(text: &str) {
    tracing::info!("{}", harmless(text));
}

/// Writes a warning.
pub(crate) fn warn(text: &str) {
    tracing::warn!("{}", harmless(text));
}

/// Writes the reason of a failure.
pub(crate) fn error(text: &str) {
    tracing::error!("{}", harmless(text));
}
