//! SciFact as a corpus: time and memory to read and embed 5,183 abstracts, then training claims as
//! hypotheses: is the abstract that decides the claim among the sources, and which stance does the
//! graph give it?
//!
//! `cargo run --release -p lyra-core --example scifact -- PATH/TO/scifact [CLAIMS]`
//!
//! PATH holds `corpus.jsonl` and `claims_train.jsonl` as the SciFact authors publish them.
//! Measured: wall time of the calls named, peak resident memory of this process (Linux). Not
//! measured: the quality of the verdicts against SciFact's labels sentence by sentence.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::{Engine, EngineConfig, Error, Result, TaskConfig};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

#[tokio::main]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let data = words
        .next()
        .ok_or_else(|| Error::invalid("expected the path of the SciFact folder"))?;
    let wanted: usize = words.next().and_then(|n| n.parse().ok()).unwrap_or(20);
    let folder = tempfile::tempdir().map_err(|e| Error::internal(e.to_string()))?;
    let corpus = folder.path().join("corpus");
    std::fs::create_dir(&corpus).map_err(|e| Error::internal(e.to_string()))?;
    std::fs::copy(
        Path::new(&data).join("corpus.jsonl"),
        corpus.join("scifact.jsonl"),
    )
    .map_err(|e| Error::invalid(format!("{data}/corpus.jsonl: {e}")))?;

    let db = folder.path().join("scifact.db");
    let mut config = EngineConfig::new(&db);
    config.corpus.push(corpus);
    let engine = Engine::open(config)?;
    ingest(&engine, &db).await?;
    let claims = training_claims(Path::new(&data), wanted)?;
    let started = Instant::now();
    let mut totals = Totals::default();
    for claim in &claims {
        research(&engine, claim, &mut totals).await?;
    }
    println!(
        "\n{} hypotheses in {:.1} s: gold abstract among the sources {}/{}, {} claims, {} supports, {} refutes, {} neutral",
        claims.len(),
        started.elapsed().as_secs_f64(),
        totals.gold_found,
        totals.gold,
        totals.claims,
        totals.supports,
        totals.refutes,
        totals.neutral
    );
    println!("peak resident memory {} MB", peak_memory_mb());
    let report = engine.verify()?;
    println!("verify: {} violations", report.violations.len());
    Ok(())
}

async fn ingest(engine: &Engine, db: &Path) -> Result<()> {
    let before = peak_memory_mb();
    let started = Instant::now();
    let report = engine.sync_corpus(&|_| ()).await?.unwrap_or_default();
    let seconds = started.elapsed().as_secs_f64();
    let rows = count(engine, "SELECT count(*) AS n FROM fragments")?;
    let size = std::fs::metadata(db).map_or(0, |m| m.len()) / 1_000_000;
    println!(
        "{} documents, {rows} fragments read and embedded in {seconds:.1} s ({:.0} documents/s), {} failed",
        report.read,
        report.read as f64 / seconds,
        report.failed.len()
    );
    println!(
        "memory {before} MB before, {} MB peak; database {size} MB",
        peak_memory_mb()
    );
    let started = Instant::now();
    engine.sync_corpus(&|_| ()).await?;
    println!(
        "a second pass over unchanged documents: {:.2} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

struct TrainingClaim {
    text: String,
    gold: Vec<String>,
}

#[derive(Default)]
struct Totals {
    gold: usize,
    gold_found: usize,
    claims: i64,
    supports: i64,
    refutes: i64,
    neutral: i64,
}

/// The first claims that have evidence.
fn training_claims(data: &Path, wanted: usize) -> Result<Vec<TrainingClaim>> {
    let text = std::fs::read_to_string(data.join("claims_train.jsonl"))
        .map_err(|e| Error::invalid(format!("claims_train.jsonl: {e}")))?;
    let claims = text.lines().filter_map(|line| {
        let value: Value = serde_json::from_str(line).ok()?;
        let evidence = value["evidence"].as_object().filter(|e| !e.is_empty())?;
        let gold = evidence.keys().cloned().collect();
        Some(TrainingClaim {
            text: value["claim"].as_str()?.to_owned(),
            gold,
        })
    });
    Ok(claims.take(wanted).collect())
}

async fn research(engine: &Engine, claim: &TrainingClaim, totals: &mut Totals) -> Result<()> {
    let task = engine.create_task(&claim.text, TaskConfig::default())?;
    engine.queue_targets(&task.id, &[claim.text.clone().into()], &Default::default())?;
    let status = engine.run(&task.id, None).await?;
    let summary = status.evidence_summary.unwrap_or_default();
    let mut found = 0;
    for gold in &claim.gold {
        let sql = format!(
            "SELECT count(*) AS n FROM task_pages tp JOIN pages p ON p.id = tp.page_id
             WHERE tp.task_id = '{}' AND p.url LIKE '%#{gold}'",
            task.id
        );
        found += usize::from(count(engine, &sql)? > 0);
    }
    let sql = format!(
        "SELECT relation, count(*) AS n FROM hypothesis_stances WHERE task_id = '{}' GROUP BY relation",
        task.id
    );
    let stances: BTreeMap<String, i64> = rows(engine, &sql)?
        .into_iter()
        .filter_map(|row| Some((row["relation"].as_str()?.to_owned(), row["n"].as_i64()?)))
        .collect();
    println!(
        "{found}/{} gold, {:>3} claims, stances {stances:?}: {}",
        claim.gold.len(),
        summary.total_claims,
        claim.text
    );
    totals.gold += claim.gold.len();
    totals.gold_found += found;
    totals.claims += to_i64(summary.total_claims);
    totals.supports += to_i64(summary.supporting_edges);
    totals.refutes += to_i64(summary.refuting_edges);
    totals.neutral += to_i64(summary.neutral_edges);
    Ok(())
}

fn rows(engine: &Engine, sql: &str) -> Result<Vec<serde_json::Map<String, Value>>> {
    let options = SqlOptions {
        timeout_ms: 2_000,
        max_vm_steps: 50_000_000,
        ..SqlOptions::default()
    };
    Ok(engine
        .query_sql(&SqlRequest {
            sql: sql.to_owned(),
            params: SqlParams::None,
            options,
        })?
        .rows)
}

fn count(engine: &Engine, sql: &str) -> Result<i64> {
    Ok(rows(engine, sql)?
        .first()
        .and_then(|row| row["n"].as_i64())
        .unwrap_or(0))
}

fn to_i64(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Peak resident memory of this process in megabytes; 0 if the system does not report it.
fn peak_memory_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kilobytes = line
        .and_then(|l| l.split_whitespace().nth(1))
        .and_then(|n| n.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}
