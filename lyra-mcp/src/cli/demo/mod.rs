//! `demo`: research a hypothesis over the example documents, through the same engine that serves
//! assistants, and print what came of it.

mod findings;
mod report;

use super::config::Settings;
use super::output::{Output, ProgressLine};
use super::{Global, engine_config, runtime};
use clap::Args;
use findings::Findings;
use lyra_core::model::{Priority, TaskConfig, random_id};
use lyra_core::{Engine, QueueOptions, StatusReport};
use lyra_core::{Error, Result};
use report::{Place, Style};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// What the example documents are about; the literature really disagrees on it.
const HYPOTHESIS: &str = "DPP-4 inhibitors increase the risk of hospitalization for heart failure \
                          in patients with type 2 diabetes.";

/// Queries for the hypothesis above: both sides, the evidence that sums up, and another language.
const QUERIES: [&str; 5] = [
    "DPP-4 inhibitors hospitalization for heart failure type 2 diabetes",
    "saxagliptin alogliptin increased risk of heart failure",
    "sitagliptin linagliptin no increase in heart failure hospitalization",
    "meta-analysis dipeptidyl peptidase-4 inhibitors heart failure cohort study",
    "DPP-4阻害薬 心不全 入院",
];

#[derive(Args)]
pub(super) struct Options {
    /// The hypothesis to research, in place of the example's
    #[arg(long, value_name = "TEXT")]
    hypothesis: Option<String>,
}

pub(super) fn run(settings: &Settings, flags: &Global, options: &Options) -> Result<()> {
    let mut settings = settings.clone();
    // The demo shows what works without a network.
    settings.providers = super::providers::Resolved::default();
    settings.corpus = match flags.corpus.is_empty() {
        true => vec![example_corpus()?],
        false => flags.corpus.clone(),
    };
    settings.db = match &flags.db {
        Some(path) => path.clone(),
        None => std::env::temp_dir().join(format!("{}.db", random_id("lyra-demo-", 8))),
    };
    crate::log::line(&format!("graph: {}", settings.db.display()));
    let engine = Engine::open(engine_config(&settings)?)?;
    let hypothesis = options.hypothesis.as_deref().unwrap_or(HYPOTHESIS);
    let task_id = runtime()?.block_on(research(&engine, hypothesis))?;
    let findings = Findings::collect(&engine, &task_id, hypothesis)?;
    let place = Place {
        db: absolute(&settings.db),
        corpus: absolute_all(&settings.corpus),
    };
    let mut out = Output::new();
    report::print(&findings, &place, &Style::of_terminal(), &mut |line| {
        out.line(line)
    })?;
    out.finish()
}

/// The documents that ship with the project: in the working folder, or where this was built.
fn example_corpus() -> Result<PathBuf> {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/corpus");
    ["examples/corpus", built]
        .into_iter()
        .map(PathBuf::from)
        .find(|folder| folder.is_dir())
        .ok_or_else(|| {
            Error::not_found("the example documents are not here")
                .with_hint("start the demo in the project's folder, or give --corpus DIR")
        })
}

async fn research(engine: &Engine, hypothesis: &str) -> Result<String> {
    let task = engine.create_task(hypothesis, TaskConfig::default())?;
    let options = QueueOptions {
        priority: Priority::Medium,
        budget_pages: None,
        providers: Vec::new(),
    };
    let queued = engine.queue_targets(&task.id, &targets(hypothesis), &options)?;
    crate::log::line(&format!(
        "task {}: {} queries queued",
        task.id, queued.queued_count
    ));
    let line = Mutex::new(ProgressLine::new());
    let show = |status: &StatusReport| {
        if let Ok(mut line) = line.lock() {
            let (share, text) = progress(status);
            line.show(share, &text);
        }
    };
    engine.run(&task.id, Some(&show)).await?;
    if let Ok(mut line) = line.lock() {
        line.end();
    }
    Ok(task.id)
}

fn targets(hypothesis: &str) -> Vec<Value> {
    if hypothesis == HYPOTHESIS {
        return QUERIES.into_iter().map(Value::from).collect();
    }
    let bare = hypothesis.trim_end_matches('.');
    vec![
        bare.into(),
        format!("{bare} evidence against").into(),
        format!("{bare} no effect").into(),
        format!("{bare} review").into(),
    ]
}

/// How far along the task is, and in words.
fn progress(status: &StatusReport) -> (f64, String) {
    let phases = &status.progress.jobs_by_phase;
    let (mut done, mut all) = (0, 0);
    for phase in [&phases.exploration, &phases.verification, &phases.citation] {
        done += phase.completed + phase.failed;
        all += phase.completed + phase.failed + phase.queued + phase.running;
    }
    let share = if all == 0 {
        0.0
    } else {
        done as f64 / all as f64
    };
    let metrics = &status.metrics;
    let text = format!(
        "{done}/{all} jobs, {} documents, {} fragments, {} claims",
        metrics.total_pages, metrics.total_fragments, metrics.total_claims
    );
    (share, text)
}

fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn absolute_all(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().map(|path| absolute(path)).collect()
}
