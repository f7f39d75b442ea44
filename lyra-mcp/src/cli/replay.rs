//! `replay`.

use super::config::Settings;
use super::output::Output;
use super::{Global, INTERRUPTED};
use crate::server::Signals;
use clap::Args;
use lyra_core::models::{BuiltinClaimExtractor, BuiltinStanceJudge, StaticEmbedder};
use lyra_core::{Engine, EngineConfig, Error, Limits, Record, Result};
use std::path::PathBuf;
use std::sync::Arc;

/// Maximum number of unanswered requests that are listed.
const TOLD: usize = 5;

#[derive(Args)]
pub(super) struct Options {
    /// The folder written by `research --record`; if it contains several runs, the latest is
    /// replayed
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Number of workers; the result does not depend on it [default: as configured]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    workers: Option<u16>,
}

pub(super) fn run(settings: &Settings, flags: &Global, options: &Options) -> Result<u8> {
    if settings.db_is_default {
        return Err(
            Error::invalid("no file is given for the graph of the replay")
                .with_hint("name a new file with --db"),
        );
    }
    let record = Arc::new(Record::open(&Record::latest_place(&options.dir))?);
    for warning in record.warnings() {
        crate::log::warn(&warning);
    }
    let task_id = record.task_id().unwrap_or_default().to_owned();
    let mut config = super::engine_config(settings)?;
    name_builtin(flags, &mut config)?;
    let models: [(&str, bool); 4] = [
        ("the embedder", config.embedder.is_some()),
        ("the claim extractor", config.claim_extractor.is_some()),
        ("the judge", config.stance_judge.is_some()),
        ("the limits", config.limits != Limits::default()),
    ];
    let others: Vec<&str> = models
        .iter()
        .filter(|(_, is_set)| *is_set)
        .map(|(name, _)| *name)
        .collect();
    if !others.is_empty() {
        crate::log::line(&format!(
            "{}: taken from the configuration instead of the record",
            others.join(", ")
        ));
    }
    config.record = Some(Arc::clone(&record));
    record.place(&settings.db)?;
    let engine = Engine::open(config)?;
    let workers = options.workers.map_or(settings.workers, usize::from);
    let runtime = super::runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = Signals::listen()?;
        tokio::select! {
            status = engine.run_in_order(&task_id, workers) => status.map(Some),
            _ = signals.wait() => Ok(None),
        }
    });
    if ended?.is_none() {
        crate::log::line("interrupted: run the same command again to continue");
        return Ok(INTERRUPTED);
    }
    report(&engine, &record, &task_id, others.is_empty())
}

/// A built-in model that a flag names replaces a recorded one.
fn name_builtin(flags: &Global, config: &mut EngineConfig) -> Result<()> {
    let is_named = |flag: &Option<String>| flag.as_deref() == Some("builtin");
    if is_named(&flags.embedder) {
        config.embedder = Some(Arc::new(StaticEmbedder::new()?));
    }
    if is_named(&flags.claim_extractor) {
        config.claim_extractor = Some(Arc::new(BuiltinClaimExtractor));
    }
    if is_named(&flags.judge) || is_named(&flags.stance_judge) {
        config.stance_judge = Some(Arc::new(BuiltinStanceJudge));
    }
    Ok(())
}

/// Compares the result with the recorded one; returns the exit code.
fn report(engine: &Engine, record: &Record, task_id: &str, must_be_equal: bool) -> Result<u8> {
    let missing = record.missing();
    for request in missing.iter().take(TOLD) {
        crate::log::warn(&format!("not in the record: {request}"));
    }
    let hash = engine.canonical_hash(Some(task_id))?;
    let is_equal = record.hash() == Some(hash.as_str());
    let mut out = Output::new();
    out.line(&format!("task     {task_id}"))?;
    out.line(&format!("recorded {}", record.hash().unwrap_or_default()))?;
    out.line(&format!("replayed {hash}"))?;
    out.line(match is_equal {
        true => "equal    yes",
        false => "equal    no",
    })?;
    out.finish()?;
    Ok(u8::from(must_be_equal && !is_equal))
}
