//! The life cycle of a task, and operations on the whole file.

use super::handle::Engine;
use super::waiters::fingerprint;
use crate::documents::{CorpusReport, SyncReport};
use crate::error::{Error, Result};
use crate::export::{EvidencePage, ExportFormat, bounded, evidence_app, evidence_page, export};
use crate::pack::{PackKey, PackOptions, PackSummary, pack};
use crate::research::ingest::blocking;
use crate::research::jobs::{WorkerOptions, Workers, queue_embedding, run_until_idle};
use crate::research::task::{
    self, AuthAction, AuthResolution, AuthTarget, CandidateReport, CandidateRequest, QueueOptions,
    QueueReport, StatusDetail, StatusReport, StatusWarning, StopReport, StopRequest, WarningKind,
};
use crate::store::graph::{
    Contradiction, ExportReport, ForgetReport, ImportReport, IntegrityReport, MergeReport, Reader,
    canonical_hash, export_jsonl, forget_task, import_jsonl, merge, verify,
};
use crate::store::model::{TaskBudget, TaskConfig, TaskRecord};
use crate::store::{GraphDiff, diff_from, diff_since};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Engine {
    /// Creates a task for a hypothesis.
    pub fn create_task(&self, hypothesis: &str, config: TaskConfig) -> Result<TaskRecord> {
        let task = task::create_task(&self.actors_graph(), hypothesis, &config)?;
        let made = |r: &Reader<'_>| fingerprint(r, &task.id);
        // The task is stored. If its state cannot be read, the only effect is on a later wait.
        if let Ok(Some(now)) = self.inner.graph.read(made) {
            self.inner.reported.note(&task.id, now);
        }
        Ok(task)
    }

    /// Sets a new budget for a task, such as a larger one if it is used up and the research should
    /// continue. What has been used already counts.
    ///
    /// ```
    /// use lyra_core::{Engine, EngineConfig, StatusDetail, TaskBudget, TaskConfig};
    /// let folder = tempfile::tempdir()?;
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("a.db")))?;
    /// let task = engine.create_task("Night work shortens sleep", TaskConfig::default())?;
    /// engine.set_budget(&task.id, TaskBudget { max_pages: 500, max_seconds: 7_200 })?;
    /// assert_eq!(engine.status(&task.id, StatusDetail::Summary)?.budget.pages_limit, 500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_budget(&self, task_id: &str, budget: TaskBudget) -> Result<()> {
        task::set_budget(&self.actors_graph(), task_id, budget)
    }

    /// Queues queries, addresses and DOIs; each is a JSON object with a `kind`, or a bare string.
    pub fn queue_targets(
        &self,
        task_id: &str,
        targets: &[serde_json::Value],
        options: &QueueOptions,
    ) -> Result<QueueReport> {
        self.inner.pipeline.check_providers(&options.providers)?;
        let report = task::queue_targets(&self.actors_graph(), task_id, targets, options)?;
        self.inner.signal.raise();
        Ok(report)
    }

    /// Queues documents that the task's sources cite, from `v_reference_candidates`.
    pub fn queue_reference_candidates(
        &self,
        task_id: &str,
        request: &CandidateRequest,
    ) -> Result<CandidateReport> {
        let report = task::queue_candidates(&self.actors_graph(), task_id, request)?;
        self.inner.signal.raise();
        Ok(report)
    }

    /// Applies a human's answer: the waiting jobs run again, or are given up.
    pub fn resolve_auth(&self, target: &AuthTarget, action: &AuthAction) -> Result<AuthResolution> {
        let resolution = task::resolve_auth(&self.actors_graph(), target, action)?;
        self.inner.signal.raise();
        Ok(resolution)
    }

    /// The status of the task.
    pub fn status(&self, task_id: &str, detail: StatusDetail) -> Result<StatusReport> {
        let now = self.inner.graph.clock().now_ms();
        // The fingerprint is taken first: a commit in between then counts as a change for the next
        // wait.
        let (state, mut report) = self.inner.graph.read(|r| {
            let state = fingerprint(r, task_id)?;
            Ok((state, task::status(r, task_id, detail, now)?))
        })?;
        if let Some(state) = state {
            self.inner.reported.note(task_id, state);
        }
        self.warn_of_surroundings(&mut report);
        Ok(report)
    }

    /// Adds warnings about corpus files that were not read, which concern every task that may
    /// search the corpus, and about the location of the database, which concern every task in it.
    pub(super) fn warn_of_surroundings(&self, report: &mut StatusReport) {
        if let Err(error) = self.inner.graph.check_in_place() {
            let text = error.hint().unwrap_or(error.message());
            let warning = StatusWarning::new(WarningKind::Database, text);
            report.warnings.push(warning);
        }
        report.as_of = self.inner.graph.as_of();
        if let Some(corpus) = &self.inner.corpus {
            let warnings = corpus.warnings().into_iter();
            let warnings = warnings.map(|text| StatusWarning::new(WarningKind::Corpus, text));
            report.warnings.extend(warnings);
        }
    }

    /// Stops the task; queueing targets resumes it.
    pub async fn stop_task(&self, task_id: &str, request: &StopRequest) -> Result<StopReport> {
        let patience = self.inner.config.stop_patience;
        task::stop_task(
            &self.actors_graph(),
            &self.inner.signal,
            task_id,
            request,
            patience,
        )
        .await
    }

    /// Starts background workers on the current tokio runtime. `report` receives errors that belong
    /// to no job. If fragments and claims have no vector of the embedder, because another one was
    /// used for them, jobs that add the vectors are queued. Pages that no human handled within a
    /// day are given up. If the graph is open read-only, there are no workers.
    pub fn start_workers(&self, report: Arc<dyn Fn(&Error) + Send + Sync>) -> Workers {
        if self.is_read_only() {
            return Workers::none();
        }
        let options = WorkerOptions {
            count: self.inner.config.workers,
            ..WorkerOptions::default()
        };
        let engine = self.clone();
        let upkeep = move || {
            engine.inner.graph.check_in_place()?;
            engine.give_up_late_pages()?;
            engine.queue_missing_embeddings().map(drop)
        };
        Workers::start(
            self.inner.pipeline.clone(),
            self.inner.signal.clone(),
            &options,
            report,
            Arc::new(upkeep),
        )
    }

    /// Gives up pages that no human handled in time.
    pub(super) fn give_up_late_pages(&self) -> Result<()> {
        if !self.is_read_only() && task::expire_auth(&self.inner.graph)? > 0 {
            self.inner.signal.raise();
        }
        Ok(())
    }

    /// Queues an `embed` job for every task with fragments or claims that have no vector of the
    /// embedder, once for this engine; returns the number of jobs.
    /// [`start_workers`](Self::start_workers) and [`run`](Self::run) call it themselves.
    pub fn queue_missing_embeddings(&self) -> Result<usize> {
        if self.inner.embedding_queued.swap(true, Ordering::Relaxed) {
            return Ok(0);
        }
        let model_id = &self.inner.pipeline.reading.embedder.info().model_id;
        let queued = queue_embedding(&self.inner.graph, model_id)?;
        if queued > 0 {
            self.inner.signal.raise();
        }
        Ok(queued)
    }

    /// Works in this call until the task has nothing queued and nothing running. `progress` is
    /// called for every finished job.
    pub async fn run(
        &self,
        task_id: &str,
        progress: Option<&(dyn Fn(&StatusReport) + Send + Sync)>,
    ) -> Result<StatusReport> {
        self.status(task_id, StatusDetail::Summary)?;
        self.inner.graph.check_writable()?;
        let on_step = || -> Result<bool> {
            if let Some(progress) = progress {
                progress(&self.status(task_id, StatusDetail::Summary)?);
            }
            Ok(true)
        };
        self.prepare_run().await?;
        run_until_idle(&self.inner.pipeline, &self.inner.signal, task_id, &on_step).await?;
        self.status(task_id, StatusDetail::Summary)
    }

    /// The preparation before the jobs of a run.
    pub(super) async fn prepare_run(&self) -> Result<()> {
        self.give_up_late_pages()?;
        self.queue_missing_embeddings()?;
        if self.inner.config.record.is_some() {
            // A recorded run and its replays read the folders at the same moment. Errors here are
            // reported by the search that uses the folders.
            let _ = self.sync_corpus(&|_| ()).await;
        }
        Ok(())
    }

    /// Reads new and changed documents of the corpus folders into the graph. Queries do this
    /// themselves; this call does it in advance. `None` without a corpus.
    pub async fn sync_corpus(
        &self,
        progress: &(dyn Fn(&SyncReport) + Send + Sync),
    ) -> Result<Option<SyncReport>> {
        self.inner.graph.check_writable()?;
        match &self.inner.corpus {
            Some(corpus) => corpus.sync(progress).await.map(Some),
            None => Ok(None),
        }
    }

    /// The result of the last pass over the corpus folders, file by file; `None` without a corpus
    /// and before the first query.
    pub fn corpus_report(&self) -> Option<CorpusReport> {
        self.inner.corpus.as_ref()?.report()
    }

    /// Imports a JSONL file into the graph, completely or not at all. Fragments and claims without
    /// a vector of the current model get one afterwards.
    pub async fn import_jsonl(&self, reader: impl BufRead) -> Result<ImportReport> {
        let graph = &self.inner.graph;
        graph.check_writable()?;
        let report = import_jsonl(graph.database(), &graph.clock().now(), reader)?;
        self.inner.pipeline.embed_missing().await?;
        self.inner.signal.raise();
        Ok(report)
    }

    /// Like `import_jsonl`, for a few records of a running program: only the added records are
    /// checked for missing vectors, so that it takes no longer in a large graph.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use lyra_core::store::model::EmbeddingTarget;
    /// use lyra_core::{Engine, EngineConfig, VectorRequest};
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
    /// let lines = concat!(
    ///     r#"{"type":"claim","id":"c","task_id":"t","claim_text":"Night work shortens sleep"}"#, "\n",
    ///     r#"{"type":"task","id":"t","hypothesis":"Night work"}"#,
    /// );
    /// assert_eq!(engine.add_records(lines.as_bytes()).await?.total_inserted, 2);
    /// // The claim can be found at once, by words and by a vector.
    /// let model = engine.models();
    /// let (ids, vector) = engine.graph()
    ///     .read(|r| r.all_vectors(EmbeddingTarget::Claim, &model.embedder, model.dimension))?;
    /// assert_eq!((ids.as_slice(), vector.len()), (["c".to_owned()].as_slice(), model.dimension));
    /// let found = engine.search_by_vector(&vector, &VectorRequest::new(""))?;
    /// assert_eq!(found.results[0].id, "c");
    /// assert!(engine.search_by_vector(&vector[1..], &VectorRequest::new("")).is_err());
    /// # Ok::<(), lyra_core::Error>(()) }).unwrap();
    /// ```
    pub async fn add_records(&self, lines: impl BufRead) -> Result<ImportReport> {
        let graph = &self.inner.graph;
        graph.check_writable()?;
        let before = graph.read(|r| r.last_embeddable())?;
        let report = import_jsonl(graph.database(), &graph.clock().now(), lines)?;
        self.inner.pipeline.embed_newer(before).await?;
        self.inner.signal.raise();
        Ok(report)
    }

    /// Merges other graphs into this one, completely or not at all. The result depends neither on
    /// the order of the merges nor on how often they are repeated; docs/merge.md has the rule for
    /// each table. With `report`, the result lists which rows differed and which of them were kept.
    /// The work is done on a thread for blocking work, and continues if the future is dropped.
    ///
    /// # Errors
    ///
    /// `NotFound` for a file that does not exist, `Storage` for one that is not a graph or has
    /// another version, `InvalidInput` if an id means different things in two graphs.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use lyra_core::{Engine, EngineConfig, TaskConfig};
    /// let (a, b) = (folder.path().join("a.db"), folder.path().join("b.db"));
    /// let other = Engine::open(EngineConfig::new(&b))?;
    /// other.create_task("Night work shortens sleep", TaskConfig::default())?;
    /// let engine = Engine::open(EngineConfig::new(&a))?;
    /// let report = engine.merge(std::slice::from_ref(&b), false).await?;
    /// assert_eq!(report.inserted["tasks"], 1);
    /// assert_eq!(engine.canonical_hash(None)?, other.canonical_hash(None)?);
    /// # Ok::<(), lyra_core::Error>(()) }).unwrap();
    /// ```
    pub async fn merge(&self, sources: &[PathBuf], report: bool) -> Result<MergeReport> {
        self.inner.graph.check_writable()?;
        let (inner, sources) = (Arc::clone(&self.inner), sources.to_vec());
        let merge = move || {
            let graph = &inner.graph;
            merge(graph.database(), &sources, &graph.clock().now(), report)
        };
        let merged = blocking(merge).await?;
        self.inner.pipeline.embed_missing().await?;
        self.inner.signal.raise();
        Ok(merged)
    }

    /// Writes the graph, or one task's part of it, as JSONL.
    pub fn export_jsonl(
        &self,
        writer: &mut impl Write,
        task_id: Option<&str>,
    ) -> Result<ExportReport> {
        export_jsonl(self.inner.graph.database(), writer, task_id)
    }

    /// The SHA-256 of the graph, or of one task's part of it, in hex. It is equal for graphs with
    /// the same evidence, regardless of when it was found; docs/replay.md says what is included.
    ///
    /// # Errors
    ///
    /// `TaskNotFound` for an unknown task.
    ///
    /// ```
    /// use lyra_core::{Engine, EngineConfig};
    /// let folder = tempfile::tempdir()?;
    /// let one = Engine::open(EngineConfig::new(folder.path().join("a.db")))?;
    /// let other = Engine::open(EngineConfig::new(folder.path().join("b.db")))?;
    /// assert_eq!(one.canonical_hash(None)?, other.canonical_hash(None)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn canonical_hash(&self, task_id: Option<&str>) -> Result<String> {
        canonical_hash(self.inner.graph.database(), task_id)
    }

    /// Writes the graph, or one task's part of it, in a format for other programs.
    ///
    /// ```
    /// use lyra_core::{Engine, EngineConfig, ExportFormat};
    /// let folder = tempfile::tempdir()?;
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("a.db")))?;
    /// let mut bibliography = Vec::new();
    /// let report = engine.export(&mut bibliography, ExportFormat::Bibtex, None)?;
    /// assert_eq!(report.total_written, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn export(
        &self,
        writer: &mut impl Write,
        format: ExportFormat,
        task_id: Option<&str>,
    ) -> Result<ExportReport> {
        export(&self.inner.graph, writer, format, task_id)
    }

    /// The claims that take a side on the hypothesis of a task and on which sources contradict each
    /// other, the surest first. Reports and the evidence page show these.
    ///
    /// ```
    /// use lyra_core::{Engine, EngineConfig, TaskConfig};
    /// let folder = tempfile::tempdir()?;
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
    /// let task = engine.create_task("Night work shortens sleep", TaskConfig::default())?;
    /// assert!(engine.contradictions(&task.id)?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `TaskNotFound` for an unknown task.
    pub fn contradictions(&self, task_id: &str) -> Result<Vec<Contradiction>> {
        self.inner.graph.read(|r| {
            r.task(task_id)?;
            r.contradictions(task_id)
        })
    }

    /// The content of the evidence page of a task, in about `max_bytes` of JSON. For a larger task,
    /// the claims with the most passages for or against them are kept; `left_out` counts the rest.
    ///
    /// # Errors
    ///
    /// `TaskNotFound` for an unknown task.
    pub fn evidence_page(&self, task_id: &str, max_bytes: usize) -> Result<EvidencePage> {
        let page = self.inner.graph.read(|r| evidence_page(r, task_id))?;
        Ok(bounded(page, max_bytes))
    }

    /// The evidence page as an MCP App: HTML that requests the evidence of this task from its host,
    /// or of the task that the host names.
    ///
    /// # Errors
    ///
    /// `TaskNotFound` for an unknown task.
    pub fn evidence_app(&self, task_id: Option<&str>) -> Result<String> {
        if let Some(task_id) = task_id {
            self.inner.graph.read(|r| r.task(task_id).map(drop))?;
        }
        evidence_app(task_id)
    }

    /// Writes the evidence of a task as one signed file that others can verify: see
    /// [`verify_pack`](crate::verify_pack) and docs/replay.md. Equal graphs, options and keys give
    /// equal files.
    ///
    /// # Errors
    ///
    /// `TaskNotFound` for an unknown task, `Backend` if the writer fails.
    pub fn pack(
        &self,
        writer: &mut impl Write,
        options: &PackOptions,
        key: &PackKey,
    ) -> Result<PackSummary> {
        pack(&self.inner.graph, writer, options, key)
    }

    /// The differences between this graph and the earlier state in the file at `before`, with their
    /// causes. That file is only read.
    ///
    /// # Errors
    ///
    /// `NotFound` if the file does not exist, `Storage` if it is not a Lyra graph or has a newer
    /// version, `InvalidInput` for this graph's own file, `TaskNotFound` for a task that is in
    /// neither graph.
    ///
    /// ```
    /// use lyra_core::{Engine, EngineConfig, TaskConfig};
    /// let folder = tempfile::tempdir()?;
    /// let (now, before) = (folder.path().join("now.db"), folder.path().join("before.db"));
    /// Engine::open(EngineConfig::new(&before))?;
    /// let engine = Engine::open(EngineConfig::new(&now))?;
    /// assert_eq!(engine.diff(&before, None)?.total(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn diff(&self, before: &Path, task_id: Option<&str>) -> Result<GraphDiff> {
        diff_from(&self.inner.graph, before, task_id)
    }

    /// What changed in this graph since a day (`2026-11-01`) or a time (RFC 3339). Changes for
    /// which the graph stores no time are not included: deleted rows, retractions that were
    /// imported, and verdicts of one judge that another one replaced.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `since` is not a time, `TaskNotFound` for an unknown task.
    pub fn changes_since(&self, since: &str, task_id: Option<&str>) -> Result<GraphDiff> {
        diff_since(&self.inner.graph, since, task_id)
    }

    /// Re-checks the whole graph and names every row that fails.
    pub fn verify(&self) -> Result<IntegrityReport> {
        verify(self.inner.graph.database())
    }

    /// Copies the database to a new file in a consistent state, even during writes. The copy is
    /// readable only by its owner and appears when it is complete.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if something exists at `to`, `Backend` if it cannot be written.
    ///
    /// ```
    /// use lyra_core::{Engine, EngineConfig};
    /// let folder = tempfile::tempdir()?;
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
    /// let copy = folder.path().join("copy.db");
    /// engine.backup(&copy)?;
    /// assert!(Engine::open(EngineConfig::new(&copy))?.verify()?.ok);
    /// assert!(engine.backup(&copy).is_err(), "a backup takes nothing's place");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(&self, to: &Path) -> Result<()> {
        self.inner.graph.backup(to)
    }

    /// Copies the database to `to` and replaces an older copy, for a replica that read-only servers
    /// read. They notice the new copy; reads of the older one that are in progress are completed.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if something else exists at `to`, or a graph that is open for writing.
    ///
    /// ```
    /// use lyra_core::{Engine, EngineConfig, StatusDetail, TaskConfig};
    /// let folder = tempfile::tempdir()?;
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
    /// let copy = folder.path().join("replica.db");
    /// engine.update_copy(&copy)?;
    /// let mut config = EngineConfig::new(&copy);
    /// config.read_only = true;
    /// let replica = Engine::open(config)?;
    /// let task = engine.create_task("Night work shortens sleep", TaskConfig::default())?;
    /// engine.update_copy(&copy)?;
    /// assert!(replica.status(&task.id, StatusDetail::Summary)?.as_of.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn update_copy(&self, to: &Path) -> Result<()> {
        self.inner.graph.update_copy(to)
    }

    /// Removes a task; with `orphans` also everything that nothing else refers to afterwards.
    pub fn forget(&self, task_id: &str, orphans: bool) -> Result<ForgetReport> {
        let graph = &self.inner.graph;
        let report = forget_task(graph.database(), task_id, orphans, &graph.clock().now())?;
        self.inner.reported.forget(task_id);
        self.inner.signal.raise();
        Ok(report)
    }
}
