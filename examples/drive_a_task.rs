//! A program that drives a task: it is called after every finished job, follows citations, stops the
//! task when it has enough evidence, and reads the audit log.
//!
//! `cargo run --release -p lyra-core --example drive_a_task -- examples/corpus "your hypothesis"`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::{
    CandidateRequest, Engine, EngineConfig, Result, StatusReport, StopRequest, TaskConfig,
};
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::main]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().unwrap_or_else(|| "examples/corpus".to_owned());
    let hypothesis = words.next().unwrap_or_else(|| {
        "Sitagliptin does not increase hospitalization for heart failure".to_owned()
    });

    let mut config = EngineConfig::new(std::env::temp_dir().join("drive_a_task.db"));
    config.corpus.push(folder.into());
    let engine = Engine::open(config)?;
    let task = engine.create_task(&hypothesis, TaskConfig::default())?;
    engine.queue_targets(&task.id, &[hypothesis.into()], &Default::default())?;

    // Called after every job, on the worker thread: it should return quickly.
    let jobs = AtomicUsize::new(0);
    let progress = |status: &StatusReport| {
        let waits_for: Vec<&str> = status.waiting_for.iter().map(|w| w.kind.as_str()).collect();
        println!(
            "{:2} jobs done: {} pages, {} claims, {} % of the budget left; still to come: {}",
            jobs.fetch_add(1, Ordering::Relaxed) + 1,
            status.metrics.total_pages,
            status.metrics.total_claims,
            status.budget.remaining_percent,
            if waits_for.is_empty() {
                "nothing".to_owned()
            } else {
                waits_for.join(", ")
            },
        );
    };
    let status = engine.run(&task.id, Some(&progress)).await?;
    for warning in &status.warnings {
        println!("warning: {warning}");
    }

    // The cited documents could be read next. A dry run only lists them.
    let wish = CandidateRequest {
        limit: 5,
        dry_run: true,
        ..CandidateRequest::default()
    };
    let cited = engine.queue_reference_candidates(&task.id, &wish)?;
    for candidate in &cited.candidates {
        println!("cited: {}", candidate.candidate_url);
    }

    let stopped = engine.stop_task(&task.id, &StopRequest::default()).await?;
    println!("{}", stopped.summary);

    let log = engine.query_sql(&SqlRequest {
        sql: "SELECT at, actor, action FROM event_log WHERE task_id = :task ORDER BY id".to_owned(),
        params: SqlParams::Named([("task".to_owned(), task.id.into())].into_iter().collect()),
        options: SqlOptions::default(),
    })?;
    for row in &log.rows {
        println!("{}  {:7}  {}", row["at"], row["actor"], row["action"]);
    }
    Ok(())
}
