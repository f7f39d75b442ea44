//! `audit`: the recorded calls of agents.

use super::layout::plain;
use super::output::{Output, json};
use clap::{Args, ValueEnum};
use lyra_core::{Engine, RecordedCall, Result};

/// Number of calls that are read at a time.
const PAGE: usize = 1_000;

#[derive(Args)]
pub(super) struct Options {
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// One line per call, with tabs between its fields: time, tool, rows, milliseconds, error,
    /// arguments, caller
    Text,
    /// One JSON object per line
    Json,
}

/// Prints the calls that were recorded, oldest first.
pub(super) fn run(engine: &Engine, options: &Options) -> Result<()> {
    let mut out = Output::new();
    let mut last = 0;
    loop {
        let calls = engine.recorded_calls(last, PAGE)?;
        let Some(end) = calls.last() else {
            return out.finish();
        };
        last = end.id;
        for call in &calls {
            out.line(&match options.format {
                Format::Json => json(call)?,
                Format::Text => text(call),
            })?;
        }
    }
}

fn text(call: &RecordedCall) -> String {
    let field = |name: &str| match &call.details[name] {
        serde_json::Value::Null => "-".to_owned(),
        serde_json::Value::String(text) => plain(text),
        other => plain(&other.to_string()),
    };
    let fields = ["rows", "elapsed_ms", "error_code", "arguments"].map(field);
    let (tool, actor) = (plain(&call.tool), plain(&call.actor));
    format!("{}\t{tool}\t{}\t{actor}", call.at, fields.join("\t"))
}
