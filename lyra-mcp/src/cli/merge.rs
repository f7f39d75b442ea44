//! `merge`.

use super::config::Settings;
use super::output::{Output, json};
use clap::Args;
use lyra_core::{Error, Result};
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct Options {
    /// The graph into which the others are merged; it is created if it does not exist
    target: PathBuf,
    /// The graphs to merge into it; they are only read
    #[arg(required = true)]
    sources: Vec<PathBuf>,
    /// Also report the rows that differed, and which of them were kept
    #[arg(long)]
    report: bool,
}

/// Checks the sources before it opens the target, so that a misspelled name does not create an
/// empty graph.
pub(super) fn run(settings: &Settings, options: &Options) -> Result<()> {
    for source in &options.sources {
        if !source.is_file() {
            let message = format!("there is no graph at {}", source.display());
            return Err(
                Error::not_found(message).with_hint("give the path of a file that Lyra made")
            );
        }
    }
    let mut settings = settings.clone();
    settings.db.clone_from(&options.target);
    let engine = super::open_or_make(&settings)?;
    let report = super::runtime()?.block_on(engine.merge(&options.sources, options.report))?;
    let mut out = Output::new();
    out.line(&json(&report)?)?;
    out.finish()
}
