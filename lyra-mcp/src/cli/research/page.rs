//! The evidence page next to the database.

use super::super::export;
use clap::Args;
use lyra_core::{Engine, Error, ExportFormat, Result};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A marker near the beginning of every page that Lyra writes.
const MARK: &[u8] = b"<meta name=\"generator\" content=\"Lyra\">";

/// How many bytes of a file are searched for the marker.
const BEGINNING: u64 = 4096;

#[derive(Args, Debug)]
pub(in crate::cli) struct PageOptions {
    /// The file of the evidence page, in HTML [default: beside the database]
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Do not write an evidence page
    #[arg(long, conflicts_with = "page")]
    no_page: bool,
}

impl PageOptions {
    /// Refuses a named location that contains something else, before any work is done.
    pub(in crate::cli) fn refuse_foreign(&self) -> Result<()> {
        self.page.as_deref().map_or(Ok(()), refuse_foreign)
    }
}

/// Writes the task's page; returns its location. `usual` is the default location: errors there only
/// affect the page. Only an older page written by Lyra is overwritten, in any location.
pub(super) fn write(
    engine: &Engine,
    task_id: &str,
    usual: PathBuf,
    options: &PageOptions,
) -> Result<Option<PathBuf>> {
    if options.no_page {
        return Ok(None);
    }
    let (path, written) = match &options.page {
        Some(path) => {
            refuse_foreign(path)?;
            export::to_file(engine, ExportFormat::Html, Some(task_id), path)?;
            (path.clone(), Ok(()))
        }
        None => {
            let written = refuse_foreign(&usual).and_then(|()| {
                export::to_file(engine, ExportFormat::Html, Some(task_id), &usual).map(drop)
            });
            (usual, written)
        }
    };
    if let Err(error) = written {
        crate::log::warn(&format!("no evidence page: {}", error.message()));
        crate::log::line("hint: give another place with --page FILE");
        return Ok(None);
    }
    crate::log::line(&format!("evidence page: {}", path.display()));
    Ok(Some(std::fs::canonicalize(&path).unwrap_or(path)))
}

fn refuse_foreign(path: &Path) -> Result<()> {
    // Anything but a regular file is refused on writing; opening a pipe here would block.
    if !path.is_file() {
        return Ok(());
    }
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    let mut beginning = Vec::new();
    let read = file.take(BEGINNING).read_to_end(&mut beginning);
    if read.is_ok() && beginning.windows(MARK.len()).any(|part| part == MARK) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{} is there already and is no evidence page",
        path.display()
    ))
    .with_hint("give another place with --page FILE"))
}
