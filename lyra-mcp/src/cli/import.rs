//! `import`.

use super::config::Settings;
use super::output::Output;
use lyra_core::store::graph::ImportReport;
use lyra_core::{Engine, Error, Result};
use std::fs::File;
use std::io::{BufReader, stdin};
use std::path::Path;

/// Opens the file before the database, so that a misspelled name does not create an empty database.
pub(super) fn run(settings: &Settings, file: &Path) -> Result<()> {
    let report = if file == Path::new("-") {
        let engine = super::open_or_make(settings)?;
        super::runtime()?.block_on(engine.import_jsonl(stdin().lock()))?
    } else if file.is_dir() {
        let engine = super::open_or_make(settings)?;
        from_folder(&engine, file)?
    } else {
        let opened = File::open(file).map_err(|error| {
            Error::invalid(format!("{} cannot be read: {error}", file.display()))
        })?;
        let engine = super::open_or_make(settings)?;
        super::runtime()?.block_on(engine.import_jsonl(BufReader::new(opened)))?
    };
    let mut out = Output::new();
    out.line(&super::output::json(&report)?)?;
    out.finish()
}

#[cfg(feature = "parquet")]
fn from_folder(engine: &Engine, dir: &Path) -> Result<ImportReport> {
    super::runtime()?.block_on(engine.import_parquet(dir))
}

#[cfg(not(feature = "parquet"))]
fn from_folder(_: &Engine, _: &Path) -> Result<ImportReport> {
    Err(super::without_parquet())
}
