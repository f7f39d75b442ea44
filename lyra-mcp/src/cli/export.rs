//! `export`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lyra_core::{Engine, Error, ErrorKind, ExportFormat, Result};
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct Options {
    /// The format
    #[arg(long, value_parser = formats(), default_value = "jsonl")]
    format: ExportFormat,
    /// Only this task and what belongs to it
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Where to write; standard output if it is left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(engine: &Engine, options: &Options) -> Result<()> {
    let task = options.task.as_deref();
    let report = match &options.out {
        None => {
            let mut out = BufWriter::new(stdout().lock());
            let report = engine.export(&mut out, options.format, task)?;
            out.flush()
                .map_err(|error| unwritable("standard output", &error))?;
            report
        }
        Some(path) => {
            let place = path.display().to_string();
            let file = File::create(path).map_err(|error| unwritable(&place, &error))?;
            let mut out = BufWriter::new(file);
            let report = engine.export(&mut out, options.format, task)?;
            out.flush().map_err(|error| unwritable(&place, &error))?;
            report
        }
    };
    crate::log::line(&format!("exported {}", super::output::json(&report)?));
    Ok(())
}

/// A format by its name; clap lists the names.
fn formats() -> impl TypedValueParser<Value = ExportFormat> {
    PossibleValuesParser::new(ExportFormat::ALL.map(|(name, _)| name))
        .try_map(|name| name.parse::<ExportFormat>())
}

fn unwritable(place: &str, error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::Backend,
        format!("{place} cannot be written: {error}"),
    )
}
