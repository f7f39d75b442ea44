//! Measures how well a judge distinguishes support from refutation, on claims that people labelled.
//!
//! `cargo run --release -p lyra-core --example eval_stance -- PATH/TO/scifact [--judge builtin|onnx:FOLDER|openai:MODEL|ollama:MODEL] [--claims N]`
//!
//! PATH holds `corpus.jsonl` and `claims_train.jsonl` as the authors of SciFact publish them. Each
//! claim comes with the abstracts that it cites; an abstract without evidence is neutral.
//!
//! - *given*: the judge gets the premise chosen from the cited abstract.
//! - *found*: the claims are in one graph with all 5,183 abstracts, the pipeline verifies them like
//!   any claim, and the strongest edge from the cited abstract counts; an abstract that was not
//!   among the candidates counts as neutral.
//!
//! The built-in judge was trained on nine tenths of these claims: `lyra-core/judge/MODEL.md` has its
//! figures on the rest, and on claims of sources that were left out of the training.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use lyra_core::models::{BuiltinStanceJudge, JudgeSettings, choose_premise};
use lyra_core::ports::{StanceJudge, StancePair};
use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::store::model::{
    AdoptionStatus, ClaimRecord, ClaimType, Relation, TaskPageReason, TaskPageRecord,
};
use lyra_core::{Engine, EngineConfig, Error, Result, TaskConfig};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const CLASSES: [Relation; 3] = [Relation::Supports, Relation::Refutes, Relation::Neutral];

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::from_args()?;
    let claims = labelled_claims(&options.data, options.claims)?;
    let pairs: usize = claims.iter().map(|claim| claim.labels.len()).sum();
    println!(
        "{} claims, {pairs} pairs of a claim and an abstract that it cites; judge {}",
        claims.len(),
        options.judge.judge_id()
    );
    majority(&claims);
    given(&options, &claims).await?;
    found(&options, &claims).await
}

struct Options {
    data: String,
    judge: Arc<dyn StanceJudge>,
    claims: usize,
}

impl Options {
    fn from_args() -> Result<Self> {
        let mut options = Self {
            data: String::new(),
            judge: Arc::new(BuiltinStanceJudge),
            claims: usize::MAX,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value = || {
                let missing = || Error::invalid(format!("{word} needs a value"));
                words.next().ok_or_else(missing)
            };
            match word.as_str() {
                "--judge" => options.judge = judge(&value()?)?,
                "--claims" => {
                    options.claims = value()?
                        .parse()
                        .map_err(|_| Error::invalid("--claims needs a number"))?;
                }
                _ => options.data = word,
            }
        }
        if options.data.is_empty() {
            return Err(Error::invalid("expected the path of the SciFact folder"));
        }
        Ok(options)
    }
}

/// The judge with that name, in the notation of the settings.
fn judge(name: &str) -> Result<Arc<dyn StanceJudge>> {
    let settings = JudgeSettings {
        choice: name.parse()?,
        onnx_runtime: std::env::var_os("ORT_DYLIB_PATH").map(Into::into),
        ..JudgeSettings::default()
    };
    let opened = settings.open()?;
    Ok(opened.unwrap_or_else(|| Arc::new(BuiltinStanceJudge)))
}

/// A claim, and the stance of each abstract that it cites.
struct LabelledClaim {
    id: String,
    text: String,
    labels: BTreeMap<String, Relation>,
}

fn labelled_claims(data: &str, wanted: usize) -> Result<Vec<LabelledClaim>> {
    let read = lines(&Path::new(data).join("claims_train.jsonl"))?;
    let claims = read.into_iter().filter_map(|value| {
        let cited = value["cited_doc_ids"].as_array()?;
        let labels = cited.iter().map(|document| {
            let document = document.to_string();
            let label = match value["evidence"][&document][0]["label"].as_str() {
                Some("SUPPORT") => Relation::Supports,
                Some("CONTRADICT") => Relation::Refutes,
                _ => Relation::Neutral,
            };
            (document, label)
        });
        Some(LabelledClaim {
            id: format!("scifact-{}", value["id"]),
            text: value["claim"].as_str()?.to_owned(),
            labels: labels.collect(),
        })
    });
    Ok(claims.take(wanted).collect())
}

fn lines(path: &Path) -> Result<Vec<Value>> {
    let wrong = |why: String| Error::invalid(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let values = text.lines().map(serde_json::from_str);
    values
        .collect::<Result<_, _>>()
        .map_err(|e| wrong(e.to_string()))
}

/// How often each verdict was given for each label.
#[derive(Default)]
struct Confusion([[u32; 3]; 3]);

impl Confusion {
    fn add(&mut self, label: Relation, answer: Relation) {
        let place = |r: Relation| CLASSES.iter().position(|c| *c == r).unwrap_or(2);
        self.0[place(label)][place(answer)] += 1;
    }

    fn print(&self, name: &str) {
        let cell = |a: usize, b: usize| f64::from(self.0[a][b]);
        let all: f64 = self.0.as_flattened().iter().copied().map(f64::from).sum();
        let right: f64 = (0..3).map(|i| cell(i, i)).sum();
        let f1 = |i: usize| {
            let answered: f64 = (0..3).map(|j| cell(j, i)).sum();
            let labelled: f64 = (0..3).map(|j| cell(i, j)).sum();
            2.0 * cell(i, i) / (answered + labelled).max(1.0)
        };
        println!(
            "{name:<28} accuracy {:.3}  macro-F1 {:.3}  (F1 supports {:.3}, refutes {:.3}, neutral {:.3})",
            right / all.max(1.0),
            (f1(0) + f1(1) + f1(2)) / 3.0,
            f1(0),
            f1(1),
            f1(2)
        );
    }
}

fn majority(claims: &[LabelledClaim]) {
    let mut confusion = Confusion::default();
    for label in claims.iter().flat_map(|claim| claim.labels.values()) {
        confusion.add(*label, Relation::Supports);
    }
    confusion.print("always \"supports\"");
}

async fn given(options: &Options, claims: &[LabelledClaim]) -> Result<()> {
    let mut abstracts = HashMap::new();
    for value in lines(&Path::new(&options.data).join("corpus.jsonl"))? {
        let sentences = value["abstract"].as_array().cloned().unwrap_or_default();
        let sentences: Vec<&str> = sentences.iter().filter_map(Value::as_str).collect();
        abstracts.insert(value["doc_id"].to_string(), sentences.join(" "));
    }
    let mut pairs = Vec::new();
    let mut labels = Vec::new();
    for claim in claims {
        for (document, label) in &claim.labels {
            let Some(text) = abstracts.get(document) else {
                continue;
            };
            let characters: Vec<char> = text.chars().collect();
            let mut spans = choose_premise(text, &claim.text, 2);
            spans.sort_by_key(|span| span.start);
            let sentences = spans.into_iter().map(|s| characters[s].iter().collect());
            pairs.push(StancePair::new(
                sentences.collect::<Vec<String>>().join(" "),
                claim.text.clone(),
            ));
            labels.push(*label);
        }
    }
    let started = Instant::now();
    let verdicts = options.judge.judge(&pairs).await?;
    let seconds = started.elapsed().as_secs_f64();
    let mut confusion = Confusion::default();
    for (label, verdict) in labels.iter().zip(&verdicts) {
        confusion.add(*label, verdict.relation);
    }
    confusion.print("abstract given");
    println!(
        "{:.0} pairs/s, the judge alone",
        pairs.len() as f64 / seconds
    );
    Ok(())
}

async fn found(options: &Options, claims: &[LabelledClaim]) -> Result<()> {
    let folder = tempfile::tempdir().map_err(|e| Error::internal(e.to_string()))?;
    let corpus = folder.path().join("corpus");
    std::fs::create_dir(&corpus).map_err(|e| Error::internal(e.to_string()))?;
    let source = Path::new(&options.data).join("corpus.jsonl");
    std::fs::copy(&source, corpus.join("scifact.jsonl"))
        .map_err(|e| Error::invalid(format!("{}: {e}", source.display())))?;
    let mut config = EngineConfig::new(folder.path().join("scifact.db"));
    config.corpus.push(corpus);
    config.stance_judge = Some(Arc::clone(&options.judge));
    let engine = Engine::open(config)?;
    engine.sync_corpus(&|_| ()).await?;
    let task = fill(&engine, claims)?;
    engine.pipeline().embed_missing().await?;
    for run in ["first", "second"] {
        let started = Instant::now();
        let outcome = engine.pipeline().verify(&task, None).await?;
        let seconds = started.elapsed().as_secs_f64();
        let pairs = outcome.output["pairs_judged"].as_f64().unwrap_or(0.0);
        println!(
            "{run} verification: {pairs} pairs judged in {seconds:.1} s, {:.0} pairs/s",
            pairs / seconds
        );
    }
    score(&engine, claims)
}

/// The claims and all pages of the corpus, in one task.
fn fill(engine: &Engine, claims: &[LabelledClaim]) -> Result<String> {
    let task = engine.create_task("What SciFact's claims say", TaskConfig::default())?;
    let pages = rows(engine, "SELECT id FROM pages")?;
    engine.graph().write(|w| {
        for page in &pages {
            let page_id = page["id"].as_str().unwrap_or_default();
            w.add_task_page(&TaskPageRecord {
                task_id: task.id.clone(),
                page_id: page_id.to_owned(),
                reason: TaskPageReason::Manual,
                depth: 0,
                source_page_id: None,
            })?;
        }
        for claim in claims {
            w.add_claim(&ClaimRecord {
                id: claim.id.clone(),
                task_id: task.id.clone(),
                claim_text: claim.text.clone(),
                claim_type: ClaimType::Fact,
                granularity: None,
                llm_claim_confidence: None,
                extractor_id: None,
                claim_adoption_status: AdoptionStatus::Adopted,
                claim_rejection_reason: None,
                details_json: None,
                claim_rejected_at: None,
                created_at: None,
                cause_id: None,
            })?;
        }
        Ok(())
    })?;
    Ok(task.id)
}

fn score(engine: &Engine, claims: &[LabelledClaim]) -> Result<()> {
    let judged = rows(
        engine,
        "SELECT v.claim_id AS claim, p.url AS url, v.relation AS relation, v.confidence AS confidence
         FROM nli_verdicts v JOIN fragments f ON f.id = v.fragment_id JOIN pages p ON p.id = f.page_id",
    )?;
    let mut neutral = 0;
    let mut answers: HashMap<(String, String), (Relation, f64)> = HashMap::new();
    for row in &judged {
        let relation = row["relation"].as_str().unwrap_or_default().parse()?;
        neutral += usize::from(relation == Relation::Neutral);
        let document = row["url"].as_str().and_then(|url| url.rsplit_once('#'));
        let claim = row["claim"].as_str().unwrap_or_default();
        let key = (
            claim.to_owned(),
            document.map_or_else(String::new, |(_, id)| id.to_owned()),
        );
        let new = (relation, row["confidence"].as_f64().unwrap_or(0.0));
        let old = answers.entry(key).or_insert(new);
        // A fragment that takes a side goes before a neutral one.
        let weight = |(r, c): (Relation, f64)| (r != Relation::Neutral, c);
        if weight(new) > weight(*old) {
            *old = new;
        }
    }
    let (mut confusion, mut candidates, mut pairs) = (Confusion::default(), 0, 0);
    for claim in claims {
        for (document, label) in &claim.labels {
            let answer = answers.get(&(claim.id.clone(), document.clone()));
            pairs += 1;
            candidates += usize::from(answer.is_some());
            confusion.add(*label, answer.map_or(Relation::Neutral, |a| a.0));
        }
    }
    confusion.print("abstract to be found");
    println!(
        "cited abstract among the candidates {candidates}/{pairs}; {neutral} of {} verdicts neutral ({:.0} %)",
        judged.len(),
        100.0 * neutral as f64 / judged.len().max(1) as f64
    );
    Ok(())
}

fn rows(engine: &Engine, sql: &str) -> Result<Vec<serde_json::Map<String, Value>>> {
    let mut all = Vec::new();
    loop {
        let reply = engine.query_sql(&SqlRequest {
            sql: sql.to_owned(),
            params: SqlParams::None,
            options: SqlOptions {
                timeout_ms: 2_000,
                max_vm_steps: 50_000_000,
                limit: 200,
                offset: all.len(),
                ..SqlOptions::default()
            },
        })?;
        let more = reply.rows.len();
        all.extend(reply.rows);
        if more == 0 {
            return Ok(all);
        }
    }
}
