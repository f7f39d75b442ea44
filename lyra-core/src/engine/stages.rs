//! The stages of research without a persistent graph, for documents that are distributed over
//! processes or machines.

mod shelf;
mod source;

pub use source::{ReadOutcome, ReadProblem, ReadRequest, ReadSource};

use super::EngineConfig;
use super::handle::Engine;
use crate::clock::{Clock, ManualClock, parse_ms};
use crate::error::{Error, ErrorKind, Result};
use crate::research::pipeline::SearchOptions;
use crate::research::task::{check_hypothesis, create_task_as};
use crate::store::model::{Target, TaskConfig, content_id};
use serde_json::{Value, json};
use shelf::Shelf;
use source::{AddressedDocument, documents_of};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::sync::Mutex;

/// Reads documents for a hypothesis and returns the results as records, which do not yet belong to
/// a graph.
///
/// Each document is read separately: fetched, parsed, segmented, embedded and searched for claims
/// by the same code as a queued address, in a private graph that is empty before and after. So the
/// records of a document do not depend on the other documents or on the process.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use lyra_core::{Engine, EngineConfig, ReadRequest, ReadSource, Stages};
/// let stages = Stages::open(EngineConfig::new(""))?;
/// let paper = ReadSource::Bytes {
///     body: b"# Nurses\n\nNight work shortened sleep by 74 minutes in 412 nurses.".to_vec(),
///     url: Some("https://example.org/nurses.md".into()),
///     content_type: None,
/// };
/// let read = stages.read(&ReadRequest::new(paper, "Night work shortens sleep")).await?;
/// assert_eq!((read.documents, read.problems.len()), (1, 0));
///
/// let folder = tempfile::tempdir().unwrap();
/// let graph = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
/// let added = graph.add_records(read.records.as_slice()).await?;
/// assert_eq!((added.inserted["page"], added.inserted["claim"]), (1, 1));
/// # Ok::<(), lyra_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Stages {
    engine: Engine,
    shelf: Arc<Shelf>,
    /// The clock of the private graph: it shows the time of the current call.
    clock: Arc<ManualClock>,
    /// The real time.
    now: Arc<dyn Clock>,
    /// Ensures that only one document at a time is in the private graph.
    turn: Mutex<()>,
    _folder: TempDir,
}

impl Stages {
    /// Opens the stages with the models, the parser, the limits and the clock of a configuration.
    /// Its `db`, `corpus` and `read_only` are ignored: the private graph is a temporary file.
    ///
    /// # Errors
    /// `Backend` if temporary files cannot be created; all errors of [`Engine::open`].
    pub fn open(mut config: EngineConfig) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("lyra-read-").tempdir();
        let folder = folder.map_err(|e| {
            Error::new(ErrorKind::Backend, format!("a temporary folder: {e}")).with_source(e)
        })?;
        let shelf = Arc::new(Shelf::default());
        let clock = Arc::new(ManualClock::new(config.clock.now_ms()));
        let now = std::mem::replace(&mut config.clock, Arc::clone(&clock) as Arc<dyn Clock>);
        config.db = folder.path().join("private.db");
        config.corpus.clear();
        config.read_only = false;
        config.fetchers.insert(0, Arc::clone(&shelf) as _);
        Ok(Self {
            engine: Engine::open(config)?,
            shelf,
            clock,
            now,
            turn: Mutex::new(()),
            _folder: folder,
        })
    }

    /// Reads a document, or the documents of a file of records, for a hypothesis. Concurrent calls
    /// run one after another.
    ///
    /// # Errors
    /// `NotFound` for a file that does not exist, `InvalidInput` for an invalid hypothesis, time,
    /// range of lines or address; errors of the database. A document that cannot be read is a
    /// [`ReadProblem`] of the outcome, not an error.
    pub async fn read(&self, request: &ReadRequest) -> Result<ReadOutcome> {
        let _turn = self.turn.lock().await;
        check_hypothesis(&request.hypothesis)?;
        self.set_clock(request.now.as_deref())?;
        let mut outcome = ReadOutcome::default();
        let task = self.task_of(request);
        let documents = documents_of(request, &mut outcome.problems).await?;
        for document in documents {
            let url = document.url.clone();
            let read = Box::pin(self.read_one(document, &task, &mut outcome)).await;
            // Whatever happened to the document, the graph is empty for the next one.
            let left = self.engine.forget(&task.id, true);
            match read {
                Ok(()) => outcome.documents += 1,
                Err(error) if error.kind().is_of_database() => return Err(error),
                Err(error) => outcome.problems.push(ReadProblem { url, error }),
            }
            left?;
        }
        Ok(outcome)
    }

    fn set_clock(&self, given: Option<&str>) -> Result<()> {
        let now = match given {
            None => self.now.now_ms(),
            Some(text) => parse_ms(text).ok_or_else(|| {
                Error::invalid(format!("now is {text:?}; expected a time of RFC 3339"))
                    .with_hint("write it as 2026-03-01T12:00:00Z")
            })?,
        };
        self.clock.jump(now - self.clock.now_ms());
        Ok(())
    }

    fn task_of(&self, request: &ReadRequest) -> CorpusTask {
        let hypothesis = request.hypothesis.trim();
        let id = request.task_id.clone();
        CorpusTask {
            id: id.unwrap_or_else(|| content_id("task_", &[hypothesis])),
            hypothesis: hypothesis.to_owned(),
            created_at: self.clock.now(),
        }
    }

    async fn read_one(
        &self,
        document: AddressedDocument,
        task: &CorpusTask,
        outcome: &mut ReadOutcome,
    ) -> Result<()> {
        let graph = self.engine.graph();
        let settings = TaskConfig::default();
        create_task_as(graph, task.id.clone(), &task.hypothesis, &settings)?;
        let target = Target::Url {
            url: document.url.clone(),
            depth: 0,
            reason: None,
        };
        let url = document.url.clone();
        self.shelf.put(document);
        let pipeline = self.engine.pipeline();
        let done = pipeline
            .run_target(&task.id, &target, &SearchOptions::default(), None)
            .await?;
        if let Some(need) = done.needs_auth.first() {
            let message = format!("{url} needs a person first: {}", need.auth_type);
            return Err(Error::new(ErrorKind::AuthRequired, message)
                .with_hint("save the document and read the file"));
        }
        let notes = done.output["errors"].as_array().into_iter().flatten();
        let notes = notes.filter_map(Value::as_str);
        outcome
            .notes
            .extend(notes.map(|note| format!("{url}: {note}")));
        let mut lines = Vec::new();
        self.engine.export_jsonl(&mut lines, None)?;
        task.begin(&mut outcome.records);
        outcome.records.extend_from_slice(without_task(&lines));
        Ok(())
    }
}

/// The task that all parts of a corpus belong to.
struct CorpusTask {
    id: String,
    hypothesis: String,
    created_at: String,
}

impl CorpusTask {
    /// Writes the task as the first record. Its state and its budget are left to the graph that the
    /// records are added to.
    fn begin(&self, records: &mut Vec<u8>) {
        if records.is_empty() {
            let line = json!({
                "type": "task",
                "id": self.id,
                "hypothesis": self.hypothesis,
                "created_at": self.created_at,
            });
            records.extend_from_slice(line.to_string().as_bytes());
            records.push(b'\n');
        }
    }
}

/// The lines of an export after the first one, which is the task.
fn without_task(lines: &[u8]) -> &[u8] {
    let end = lines.iter().position(|byte| *byte == b'\n');
    end.map_or(&[], |end| &lines[end + 1..])
}
