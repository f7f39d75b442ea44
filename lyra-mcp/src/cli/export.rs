//! `export`: to a file or standard output, or as Parquet to a folder.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use lyra_core::store::graph::ExportReport;
use lyra_core::{Engine, Error, ErrorKind, ExportFormat, Result, WholeFile};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct Options {
    /// The format
    #[arg(long, value_parser = formats(), default_value = "jsonl")]
    format: Format,
    /// Only this task and what belongs to it
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// The output file [default: standard output]; for parquet, the output folder
    #[arg(long, value_name = "FILE", required_if_eq("format", PARQUET))]
    out: Option<PathBuf>,
    /// For parquet: one folder per task in the tables whose rows belong to a task
    #[arg(long, value_enum, value_name = "BY")]
    partition_by: Option<Partition>,
}

/// What an export to Parquet may be split by.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Partition {
    /// The task
    Task,
}

/// The name of the format that writes a folder.
const PARQUET: &str = "parquet";

#[derive(Clone, Copy)]
enum Format {
    /// A single stream of bytes.
    File(ExportFormat),
    Parquet,
}

pub(super) fn run(engine: &Engine, options: &Options) -> Result<()> {
    let task = options.task.as_deref();
    let report = match (options.format, &options.out) {
        (Format::Parquet, Some(dir)) => to_folder(engine, options, dir)?,
        (Format::Parquet, None) => {
            return Err(Error::invalid("parquet is a folder").with_hint("name it with --out DIR"));
        }
        (Format::File(_), _) if options.partition_by.is_some() => {
            return Err(Error::invalid("only parquet is split by task")
                .with_hint("leave --partition-by out, or add --format parquet"));
        }
        (Format::File(format), None) => {
            let mut out = super::output::for_export();
            let report = engine.export(&mut out, format, task)?;
            out.flush()
                .map_err(|error| unwritable(Path::new("standard output"), &error))?;
            report
        }
        (Format::File(format), Some(path)) => to_file(engine, format, task, path)?,
    };
    crate::log::line(&format!("exported {}", super::output::json(&report)?));
    Ok(())
}

/// The file appears only when it is complete: after a failure an old one is unchanged.
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

#[cfg(feature = "parquet")]
fn to_folder(engine: &Engine, options: &Options, dir: &Path) -> Result<ExportReport> {
    let options = lyra_core::ParquetOptions {
        task_id: options.task.clone(),
        by_task: options.partition_by == Some(Partition::Task),
    };
    engine.export_parquet(dir, &options)
}

#[cfg(not(feature = "parquet"))]
fn to_folder(_: &Engine, _: &Options, _: &Path) -> Result<ExportReport> {
    Err(super::without_parquet())
}

/// A format by its name; clap lists the names.
fn formats() -> impl TypedValueParser<Value = Format> {
    let names = ExportFormat::ALL.map(|(name, _)| name);
    PossibleValuesParser::new(names.into_iter().chain([PARQUET])).try_map(|name| {
        match name.as_str() {
            PARQUET => Ok(Format::Parquet),
            name => name.parse().map(Format::File),
        }
    })
}

fn unwritable(place: &Path, error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::Backend,
        format!("{} cannot be written: {error}", place.display()),
    )
}
