//! `diff`.

use super::config::Settings;
use super::open;
use super::output::{Output, json};
use clap::{Args, ValueEnum};
use lyra_core::GraphDiff;
use lyra_core::Result;
use std::path::PathBuf;

#[derive(Args)]
pub(super) struct Options {
    /// The older database; with --since, the database to examine
    #[arg(value_name = "A", required_unless_present = "since")]
    first: Option<PathBuf>,
    /// The newer database [default: that of --db]
    #[arg(value_name = "B", conflicts_with = "since")]
    second: Option<PathBuf>,
    /// Show changes within one database since this day (2026-11-01) or time
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only this task and what belongs to it
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// The output format, for reading or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(super) fn run(settings: &Settings, options: &Options) -> Result<()> {
    let mut settings = settings.clone();
    let now = match options.since {
        Some(_) => &options.first,
        None => &options.second,
    };
    if let Some(now) = now {
        settings.db.clone_from(now);
    }
    let engine = open(&settings)?;
    let task = options.task.as_deref();
    let diff = match (&options.since, &options.first) {
        (None, Some(before)) => engine.diff(before, task)?,
        (since, _) => engine.changes_since(since.as_deref().unwrap_or_default(), task)?,
    };
    let mut out = Output::new();
    match options.format {
        Format::Json => out.line(&json(&diff)?)?,
        Format::Text => print(&diff, &mut out)?,
    }
    out.finish()
}

fn print(diff: &GraphDiff, out: &mut Output) -> Result<()> {
    out.line(&format!(
        "{} -> {}: {} changes",
        diff.before,
        diff.after,
        diff.total()
    ))?;
    for section in diff.sections() {
        out.line(&format!("\n{} ({})", section.title, section.entries.len()))?;
        for entry in section.entries {
            out.line(&format!("  {}", entry.line))?;
            for line in entry.below {
                out.line(&format!("    {line}"))?;
            }
        }
    }
    Ok(())
}
