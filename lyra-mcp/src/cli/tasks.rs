//! `tasks`: lists the tasks.

use super::layout::plain;
use super::output::{Output, json};
use clap::{Args, ValueEnum};
use lyra_core::store::model::TaskStatus;
use lyra_core::{Engine, Result, StatusDetail};
use serde::Serialize;

#[derive(Args)]
pub(super) struct Options {
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// One line per task, with tabs between its fields
    Text,
    /// One JSON object per line
    Json,
}

#[derive(Serialize)]
struct Line {
    task_id: String,
    /// As in the database, or `finished` if an exploring task has nothing left to do.
    status: String,
    created_at: Option<String>,
    documents: usize,
    claims: usize,
    /// Number of queued or running jobs.
    unfinished: usize,
    hypothesis: String,
}

/// Lists the tasks, newest first.
pub(super) fn run(engine: &Engine, options: &Options) -> Result<()> {
    let mut out = Output::new();
    for task in engine.tasks()? {
        let status = engine.status(&task.id, StatusDetail::Summary)?;
        let phases = &status.progress.jobs_by_phase;
        let unfinished = [&phases.exploration, &phases.verification, &phases.citation]
            .iter()
            .map(|phase| phase.queued + phase.running)
            .sum();
        let line = Line {
            status: match (status.status, unfinished) {
                (TaskStatus::Exploring, 0) => "finished".to_owned(),
                (status, _) => status.as_str().to_owned(),
            },
            documents: status.metrics.total_pages,
            claims: status.metrics.total_claims,
            unfinished,
            created_at: task.created_at,
            hypothesis: task.hypothesis,
            task_id: task.id,
        };
        out.line(&match options.format {
            Format::Json => json(&line)?,
            Format::Text => text(&line),
        })?;
    }
    out.finish()
}

fn text(line: &Line) -> String {
    let day = line.created_at.as_deref().and_then(|at| at.get(..10));
    format!(
        "{}\t{}\t{}\t{} documents\t{} claims\t{}",
        line.task_id,
        match line.unfinished {
            0 => line.status.clone(),
            n => format!("{}, {n} jobs to do", line.status),
        },
        day.unwrap_or(""),
        line.documents,
        line.claims,
        plain(&line.hypothesis)
    )
}
