//! `export`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lyra_core::store::graph::ExportReport;
use lyra_core::{Engine, Error, ErrorKind, ExportFormat, Result, WholeFile};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

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
            let mut out = super::output::for_export();
            let report = engine.export(&mut out, options.format, task)?;
            out.flush()
                .map_err(|error| unwritable(Path::new("standard output"), &error))?;
            report
        }
        Some(path) => to_file(engine, options.format, task, path)?,
    };
    crate::log::line(&format!("exported {}", super::output::json(&report)?));
    Ok(())
}

/// The file appears when it is whole: a failure leaves an old one as it was.
pub(super) fn to_file(
    engine: &Engine,
    format: ExportFormat,
    task: Option<&str>,
    path: &Path,
) -> Result<ExportReport> {
    let mut out = BufWriter::new(WholeFile::create(path)?);
    let report = engine.export(&mut out, format, task)?;
    out.into_inner()
        .map_err(|error| unwritable(path, error.error()))?
        .finish()?;
    Ok(report)
}

/// A format by its name; clap lists the names.
fn formats() -> impl TypedValueParser<Value = ExportFormat> {
    PossibleValuesParser::new(ExportFormat::ALL.map(|(name, _)| name))
        .try_map(|name| name.parse::<ExportFormat>())
}

fn unwritable(place: &Path, error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::Backend,
        format!("{} cannot be written: {error}", place.display()),
    )
}
