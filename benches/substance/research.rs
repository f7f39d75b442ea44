//! Runs one task from the hypothesis to the sides of its sources.

use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::{Engine, EngineConfig, Error, Limits, Result, TaskConfig};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::Path;

/// A claim with its stance, as stored in the graph.
pub(super) struct Told {
    pub(super) doc_id: String,
    pub(super) claim: String,
    pub(super) relation: String,
    pub(super) confidence: f64,
}

/// The result for a hypothesis.
pub(super) struct Outcome {
    /// The documents that were read.
    pub(super) read: Vec<String>,
    pub(super) told: Vec<Told>,
}

impl Outcome {
    /// The most confident side of each document.
    pub(super) fn sides(&self) -> HashMap<&str, &Told> {
        let mut sides: HashMap<&str, &Told> = HashMap::new();
        for told in self.told.iter().filter(|told| told.relation != "neutral") {
            let known = sides.entry(&told.doc_id).or_insert(told);
            if told.confidence > known.confidence {
                *known = told;
            }
        }
        sides
    }

    /// The side with more sources, weighted by confidence; neutral if no source takes a side.
    pub(super) fn verdict(&self) -> &'static str {
        let mut balance = 0.0;
        for told in self.sides().values() {
            balance += match told.relation.as_str() {
                "supports" => told.confidence,
                _ => -told.confidence,
            };
        }
        match balance {
            b if b > 0.0 => "supports",
            b if b < 0.0 => "refutes",
            _ => "neutral",
        }
    }
}

/// An engine over SciFact's abstracts. The claims are not compared with one another, because these
/// figures do not need it.
pub(super) async fn engine(data: &str, folder: &Path) -> Result<Engine> {
    let corpus = folder.join("corpus");
    std::fs::create_dir(&corpus).map_err(|e| Error::internal(e.to_string()))?;
    let from = Path::new(data).join("corpus.jsonl");
    std::fs::copy(&from, corpus.join("scifact.jsonl"))
        .map_err(|e| Error::invalid(format!("{}: {e}", from.display())))?;
    let mut config = EngineConfig::new(folder.join("scifact.db"));
    config.corpus.push(corpus);
    config.limits = Limits {
        verify_pairs: 0,
        ..Limits::default()
    };
    let engine = Engine::open(config)?;
    engine.sync_corpus(&|_| ()).await?;
    Ok(engine)
}

pub(super) async fn research(engine: &Engine, hypothesis: &str) -> Result<Outcome> {
    outcome(engine, &task(engine, hypothesis).await?)
}

/// Creates and runs a task; returns its id.
pub(super) async fn task(engine: &Engine, hypothesis: &str) -> Result<String> {
    let task = engine.create_task(hypothesis, TaskConfig::default())?;
    engine.queue_targets(&task.id, &[hypothesis.into()], &Default::default())?;
    engine.run(&task.id, None).await?;
    Ok(task.id)
}

pub(super) fn outcome(engine: &Engine, task_id: &str) -> Result<Outcome> {
    let text =
        |row: &Map<String, Value>, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let read = rows(
        engine,
        task_id,
        "SELECT p.url FROM task_pages t JOIN pages p ON p.id = t.page_id WHERE t.task_id = :task",
    )?;
    let told = rows(
        engine,
        task_id,
        "SELECT p.url, c.claim_text, s.relation, s.confidence FROM hypothesis_stances s
           JOIN claims c ON c.id = s.claim_id
           JOIN edges e ON e.target_id = c.id AND e.relation = 'origin'
           JOIN fragments f ON f.id = e.source_id
           JOIN pages p ON p.id = f.page_id
         WHERE s.task_id = :task ORDER BY s.confidence DESC, c.id",
    )?;
    Ok(Outcome {
        read: read.iter().map(|row| doc_id(&text(row, "url"))).collect(),
        told: told
            .iter()
            .map(|row| Told {
                doc_id: doc_id(&text(row, "url")),
                claim: text(row, "claim_text"),
                relation: text(row, "relation"),
                confidence: row["confidence"].as_f64().unwrap_or_default(),
            })
            .collect(),
    })
}

/// The part of a page's address that names the record in the file.
fn doc_id(url: &str) -> String {
    url.rsplit('#').next().unwrap_or_default().to_owned()
}

fn rows(engine: &Engine, task_id: &str, sql: &str) -> Result<Vec<Map<String, Value>>> {
    let params: Map<String, Value> = [("task".to_owned(), task_id.into())].into_iter().collect();
    let options = SqlOptions {
        limit: 200,
        timeout_ms: 2_000,
        max_vm_steps: 50_000_000,
        max_bytes: 1 << 20,
        ..SqlOptions::default()
    };
    let request = SqlRequest {
        sql: sql.to_owned(),
        params: SqlParams::Named(params),
        options,
    };
    Ok(engine.query_sql(&request)?.rows)
}
