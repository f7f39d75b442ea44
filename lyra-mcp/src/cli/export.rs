//! `export`.

use clap::{Args, ValueEnum};
use lyra_core::Engine;
use lyra_core::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct Options {
    /// The format
    #[arg(long, value_enum, default_value = "jsonl")]
    format: Format,
    /// Only this task and what belongs to it
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Where to write; standard output if it is left out
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Jsonl,
    Bibtex,
    Ris,
    CslJson,
    Graphml,
    Html,
}

pub(super) fn run(engine: &Engine, options: &Options) -> Result<()> {
    if options.format != Format::Jsonl {
        let name = options.format.to_possible_value();
        let name = name.as_ref().map_or("", |value| value.get_name());
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("export to {name} is not part of this build yet"),
        )
        .with_hint("--format jsonl holds the whole graph"));
    }
    let task = options.task.as_deref();
    let report = match &options.out {
        None => {
            let mut out = BufWriter::new(stdout().lock());
            let report = engine.export_jsonl(&mut out, task)?;
            out.flush()
                .map_err(|error| unwritable("standard output", &error))?;
            report
        }
        Some(path) => {
            let place = path.display().to_string();
            let file = File::create(path).map_err(|error| unwritable(&place, &error))?;
            let mut out = BufWriter::new(file);
            let report = engine.export_jsonl(&mut out, task)?;
            out.flush().map_err(|error| unwritable(&place, &error))?;
            report
        }
    };
    crate::log::line(&format!("exported {}", super::output::json(&report)?));
    Ok(())
}

fn unwritable(place: &str, error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::Backend,
        format!("{place} cannot be written: {error}"),
    )
}
