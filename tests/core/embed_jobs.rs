//! A graph that is opened with another embedder: what has no vector of it gets one, bit by bit,
//! and vectors of two models are never compared.

use lyra_core::ports::{Embedder, EmbedderInfo, ManualClock, TextRole};
use lyra_core::store::model::TaskConfig;
use lyra_core::{
    Engine, EngineConfig, ErrorKind, Result, StatusDetail, StatusReport, VectorRequest,
};
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// When the tests begin, in milliseconds since 1970.
const START: i64 = 1_700_000_000_000;

/// Documents of the corpus, each with a few fragments.
const DOCUMENTS: usize = 120;

/// Letters counted into boxes: a model of its own, with as many dimensions as it is told.
#[derive(Debug)]
struct Letters {
    info: EmbedderInfo,
    /// For one batch.
    pause: Duration,
    /// After so many texts it does not answer any more.
    stop_after: usize,
    texts: AtomicUsize,
}

impl Letters {
    fn new(dimension: usize) -> Self {
        Self {
            info: EmbedderInfo {
                model_id: format!("letters-{dimension}"),
                dimension,
                builtin: false,
                fusion_weight: 0.5,
                fusion_weight_cjk: 0.5,
                related_threshold: 0.3,
            },
            pause: Duration::ZERO,
            stop_after: usize::MAX,
            texts: AtomicUsize::new(0),
        }
    }

    fn texts(&self) -> usize {
        self.texts.load(Ordering::SeqCst)
    }
}

#[async_trait::async_trait]
impl Embedder for Letters {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    async fn embed(&self, texts: &[&str], _role: TextRole) -> Result<Vec<Vec<f32>>> {
        if self.texts() >= self.stop_after {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(self.pause).await;
        self.texts.fetch_add(texts.len(), Ordering::SeqCst);
        let vector = |text: &&str| {
            let mut boxes = vec![0.0_f32; self.info.dimension];
            for c in text.chars().filter(|c| c.is_alphabetic()) {
                boxes[u32::from(c) as usize % self.info.dimension] += 1.0;
            }
            let length = boxes.iter().map(|v| v * v).sum::<f32>().sqrt();
            boxes
                .iter()
                .map(|v| if length > 0.0 { v / length } else { 0.0 })
                .collect()
        };
        Ok(texts.iter().map(vector).collect())
    }
}

fn corpus(folder: &Path) -> std::path::PathBuf {
    let subjects = ["coffee", "tea", "night work", "noise", "exercise", "salt"];
    let mut lines = String::new();
    for n in 0..DOCUMENTS {
        let subject = subjects[n % subjects.len()];
        let text = format!(
            "Cohort {n} followed {} adults for {} years. In this cohort {subject} increased blood pressure \
             (hazard ratio 1.{:02}). The result was the same in men and in women.",
            300 + n,
            1 + n % 9,
            n % 100
        );
        let record =
            json!({ "id": n.to_string(), "title": format!("Cohort {n}"), "abstract": text });
        writeln!(lines, "{record}").unwrap();
    }
    let path = folder.join("corpus");
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("cohorts.jsonl"), lines).unwrap();
    path
}

fn open(folder: &Path, clock: &Arc<ManualClock>, embedder: Option<Arc<Letters>>) -> Engine {
    let mut config = EngineConfig::new(folder.join("graph.db"));
    config.clock = Arc::clone(clock) as _;
    config.embedder = embedder.map(|e| e as Arc<dyn Embedder>);
    Engine::open(config).unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// A graph with two tasks that were researched with the built-in table, and their ids. Reading the corpus
/// takes most of the time of a test, so all of them begin with a copy.
static RESEARCHED: LazyLock<(Vec<u8>, [String; 2])> = LazyLock::new(|| {
    let work = || {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(START));
        let ids = runtime().block_on(research_anew(folder.path(), &clock));
        (std::fs::read(folder.path().join("graph.db")).unwrap(), ids)
    };
    // A test may be inside of a runtime of its own.
    std::thread::spawn(work).join().unwrap()
});

/// Writes the researched graph into a folder and moves the clock to its end; answers the ids of its tasks.
fn research(folder: &Path, clock: &ManualClock) -> [String; 2] {
    let (graph, ids) = &*RESEARCHED;
    std::fs::write(folder.join("graph.db"), graph).unwrap();
    clock.advance(2_000);
    ids.clone()
}

async fn research_anew(folder: &Path, clock: &Arc<ManualClock>) -> [String; 2] {
    let mut config = EngineConfig::new(folder.join("graph.db"));
    config.clock = Arc::clone(clock) as _;
    config.corpus.push(corpus(folder));
    let engine = Engine::open(config).unwrap();
    let mut ids = Vec::new();
    for subject in ["Coffee", "Noise"] {
        let hypothesis = format!("{subject} increases blood pressure");
        let task = engine
            .create_task(&hypothesis, TaskConfig::default())
            .unwrap();
        let query = format!("{subject} blood pressure");
        engine
            .queue_targets(&task.id, &[query.into()], &Default::default())
            .unwrap();
        let status = engine.run(&task.id, None).await.unwrap();
        assert!(
            status.metrics.total_claims > 0 && status.waiting_for.is_empty(),
            "{status:?}"
        );
        clock.advance(1_000);
        ids.push(task.id);
    }
    ids.try_into().unwrap()
}

/// Fragments and claims that are there.
fn texts(engine: &Engine) -> usize {
    let none =
        |r: &lyra_core::store::graph::Reader<'_>| r.count_missing_embeddings("no such model", None);
    engine.graph().read(none).unwrap()
}

fn missing(engine: &Engine, model: &str) -> usize {
    engine
        .graph()
        .read(|r| r.count_missing_embeddings(model, None))
        .unwrap()
}

fn embed_jobs(status: &StatusReport) -> Option<(usize, usize)> {
    let entry = status
        .waiting_for
        .iter()
        .find(|entry| entry.kind == "embed")?;
    Some((entry.queued, entry.running))
}

fn full(engine: &Engine, task: &str) -> StatusReport {
    engine.status(task, StatusDetail::Full).unwrap()
}

#[tokio::test]
async fn another_embedder_gets_its_vectors_by_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let [coffee, noise] = research(folder.path(), &clock);

    let embedder = Arc::new(Letters::new(32));
    let engine = open(folder.path(), &clock, Some(Arc::clone(&embedder)));
    let search = VectorRequest {
        task_id: Some(coffee.clone()),
        ..VectorRequest::new("coffee and blood pressure")
    };
    let error = engine.vector_search(&search).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(
        error.hint().is_some_and(|hint| hint.contains("embed jobs")),
        "{error:?}"
    );

    assert_eq!(engine.queue_missing_embeddings().unwrap(), 2, "one a task");
    assert_eq!(
        engine.queue_missing_embeddings().unwrap(),
        0,
        "once an engine"
    );
    let again = open(folder.path(), &clock, Some(Arc::clone(&embedder)));
    assert_eq!(
        again.queue_missing_embeddings().unwrap(),
        0,
        "and not twice"
    );
    let status = full(&engine, &coffee);
    assert_eq!(embed_jobs(&status), Some((1, 0)));
    assert_eq!(status.jobs_by_kind.as_ref().unwrap()["embed"]["queued"], 1);
    let told = status
        .warnings
        .iter()
        .find(|w| w.contains("letters-32"))
        .unwrap();
    assert!(told.starts_with("0 of "), "{told}");
    assert!(
        status.milestones.nli_verification_done,
        "no milestone waits for it"
    );

    let status = engine.run(&coffee, None).await.unwrap();
    assert_eq!(embed_jobs(&status), None);
    let found = engine.vector_search(&search).await.unwrap();
    assert_eq!((found.model_id.as_str(), found.missing), ("letters-32", 0));
    assert_eq!(
        found.skipped, found.total_searched,
        "the vectors of the table are still there"
    );
    assert!(found.results[0].text_preview.contains("offee"), "{found:?}");
    assert!(missing(&engine, "letters-32") > 0, "the other task waits");
    engine.run(&noise, None).await.unwrap();
    assert_eq!(
        missing(&engine, "letters-32"),
        0,
        "and what belongs to no task is done with it"
    );

    // The vectors of the table are still there, and nobody does anything twice.
    let builtin = open(folder.path(), &clock, None);
    assert_eq!(builtin.queue_missing_embeddings().unwrap(), 0);
    let before = embedder.texts();
    let engine = open(folder.path(), &clock, Some(Arc::clone(&embedder)));
    engine.run(&coffee, None).await.unwrap();
    assert_eq!(embedder.texts(), before);
}

#[tokio::test]
async fn rows_of_another_model_are_counted_and_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let [coffee, _] = research(folder.path(), &clock);
    let engine = open(folder.path(), &clock, Some(Arc::new(Letters::new(32))));
    let claims = engine
        .graph()
        .read(|r| {
            r.missing_embeddings(
                lyra_core::store::model::EmbeddingTarget::Claim,
                "letters-32",
                Some(&coffee),
                -1,
                1000,
            )
        })
        .unwrap();
    assert!(claims.len() > 2);
    let text = claims[0].text.clone();
    let vector = Letters::new(32)
        .embed(&[&text], TextRole::Document)
        .await
        .unwrap();
    // One claim has a vector of the model in use; the others have those of the table, which is longer,
    // and one has a vector under this model's name that is too short.
    engine
        .graph()
        .write(|w| {
            let target = lyra_core::store::model::EmbeddingTarget::Claim;
            w.put_embedding(target, &claims[0].id, "letters-32", &vector[0])?;
            w.put_embedding(target, &claims[1].id, "letters-32", &[1.0, 0.0])
        })
        .unwrap();
    let request = VectorRequest {
        task_id: Some(coffee),
        min_similarity: Some(0.0),
        mode: lyra_core::SearchMode::Semantic,
        ..VectorRequest::new(text)
    };
    let found = engine.vector_search(&request).await.unwrap();
    assert_eq!((found.total_searched, found.missing), (1, claims.len() - 1));
    assert_eq!(
        found.skipped,
        claims.len(),
        "all of the table, the first claim's as well"
    );
    assert_eq!(found.results.len(), 1);
    assert!((found.results[0].similarity - 1.0).abs() < 1e-5);
}

#[test]
fn a_killed_job_goes_on_where_it_stood() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let [_, noise] = research(folder.path(), &clock);

    // A process that hangs after its second batch and is killed.
    let slow = Arc::new(Letters {
        stop_after: 200,
        pause: Duration::from_millis(5),
        ..Letters::new(32)
    });
    let engine = open(folder.path(), &clock, Some(Arc::clone(&slow)));
    let total = texts(&engine);
    let first = runtime();
    let workers = first.block_on(async {
        let workers = engine.start_workers(Arc::new(|error| panic!("{error}")));
        for _ in 0..2_000 {
            if slow.texts() >= 200 && missing(&engine, "letters-32") + slow.texts() <= total {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        workers
    });
    let done = total - missing(&engine, "letters-32");
    assert!((200..total).contains(&done), "{done} of {total}");
    let status = full(&engine, &noise);
    let told = status
        .warnings
        .iter()
        .find(|w| w.contains("letters-32"))
        .cloned();
    drop(workers);
    first.shutdown_timeout(Duration::from_secs(20));
    drop(engine);
    let told = told.expect("the newest task's job tells how far it is");
    assert!(
        told.contains(&format!("of {total} texts")) || told.contains("texts have a vector"),
        "{told}"
    );

    // The next process finds the leases run out and does what is left, once.
    clock.advance(60_000);
    let embedder = Arc::new(Letters::new(32));
    let engine = open(folder.path(), &clock, Some(Arc::clone(&embedder)));
    let second = runtime();
    let tasks: Vec<String> = engine
        .tasks()
        .unwrap()
        .into_iter()
        .map(|task| task.id)
        .collect();
    for task in &tasks {
        second.block_on(engine.run(task, None)).unwrap();
    }
    assert_eq!(missing(&engine, "letters-32"), 0);
    assert_eq!(
        embedder.texts(),
        total - done,
        "what was stored is not embedded again"
    );
    let jobs: Vec<(String, i64)> = engine
        .query_sql(&lyra_core::store::guard::SqlRequest {
            sql: "SELECT state, attempts FROM jobs WHERE kind = 'embed'".to_owned(),
            params: lyra_core::store::guard::SqlParams::None,
            options: lyra_core::store::guard::SqlOptions::default(),
        })
        .unwrap()
        .rows
        .iter()
        .map(|row| {
            (
                row["state"].as_str().unwrap().to_owned(),
                row["attempts"].as_i64().unwrap(),
            )
        })
        .collect();
    assert!(
        jobs.iter().all(|(state, _)| state == "completed"),
        "{jobs:?}"
    );
    assert!(jobs.iter().any(|(_, attempts)| *attempts == 2), "{jobs:?}");
    assert!(engine.verify().unwrap().violations.is_empty());
}

#[tokio::test]
async fn jobs_for_an_embedder_that_is_gone_are_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let [coffee, _] = research(folder.path(), &clock);
    let engine = open(folder.path(), &clock, Some(Arc::new(Letters::new(32))));
    assert_eq!(engine.queue_missing_embeddings().unwrap(), 2);
    // Back to the table: nothing is missing, and the run ends although jobs had been queued.
    let engine = open(folder.path(), &clock, None);
    let status = engine.run(&coffee, None).await.unwrap();
    assert_eq!(embed_jobs(&status), None);
    let status = full(&engine, &coffee);
    assert_eq!(
        status.jobs_by_kind.as_ref().unwrap()["embed"]["cancelled"],
        1
    );
}

#[tokio::test]
async fn words_are_found_while_the_embedder_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(START));
    let [coffee, _] = research(folder.path(), &clock);
    let mut silent = Letters::new(32);
    silent.stop_after = 0;
    let engine = open(folder.path(), &clock, Some(Arc::new(silent)));
    let search = VectorRequest {
        task_id: Some(coffee),
        mode: lyra_core::store::vectors::SearchMode::Lexical,
        ..VectorRequest::new("coffee blood pressure")
    };
    let found = engine.vector_search(&search).await.unwrap();
    assert!(!found.results.is_empty());
    assert!(
        found.results[0].text_preview.contains("coffee"),
        "{found:?}"
    );
}
