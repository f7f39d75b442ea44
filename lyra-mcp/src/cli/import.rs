//! `import`.

use super::config::Settings;
use super::output::Output;
use lyra_core::{Error, Result};
use std::fs::File;
use std::io::{BufReader, stdin};
use std::path::Path;

/// Opens the file before the database, so that a slip in its name makes no empty database.
pub(super) fn run(settings: &Settings, file: &Path) -> Result<()> {
    let report = if file == Path::new("-") {
        let engine = super::open_or_make(settings)?;
        super::runtime()?.block_on(engine.import_jsonl(stdin().lock()))?
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
