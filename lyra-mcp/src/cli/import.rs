//! `import`.

use super::output::Output;
use lyra_core::Engine;
use lyra_core::{Error, Result};
use std::fs::File;
use std::io::{BufReader, stdin};
use std::path::Path;

pub(super) fn run(engine: &Engine, file: &Path) -> Result<()> {
    let report = if file == Path::new("-") {
        engine.import_jsonl(stdin().lock())?
    } else {
        let opened = File::open(file).map_err(|error| {
            Error::invalid(format!("{} cannot be read: {error}", file.display()))
        })?;
        engine.import_jsonl(BufReader::new(opened))?
    };
    let mut out = Output::new();
    out.line(&super::output::json(&report)?)?;
    out.finish()
}
