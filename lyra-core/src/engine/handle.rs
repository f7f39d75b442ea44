//! The engine: its state, and how it is opened.

use super::config::EngineConfig;
use super::views::Views;
use super::waiters;
use super::wiring;
use crate::documents::{CorpusProvider, Documents, FileFetcher, HostileDocuments};
use crate::error::Result;
use crate::models::{BuiltinClaimExtractor, BuiltinStanceJudge, StaticEmbedder, choose_premise};
use crate::ports::{Fetcher, SearchProvider};
use crate::research::ingest::{Reading, TEXT_TIME};
use crate::research::jobs::Signal;
use crate::research::pipeline::{Pipeline, Retractions, VerificationCache};
use crate::store::graph::EvidenceGraph;
use crate::store::vectors::VectorStore;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// An open evidence graph with its models, providers and workers. Cheap to clone.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let papers = folder.path().join("papers");
/// # std::fs::create_dir(&papers).unwrap();
/// # std::fs::write(papers.join("a.md"), "# Trial A\n\nDrug X increased the risk of falls in older adults.").unwrap();
/// use lyra_core::{Engine, EngineConfig, TaskConfig, VectorRequest};
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let mut config = EngineConfig::new(folder.path().join("evidence.db"));
/// config.corpus.push(papers);
/// let engine = Engine::open(config)?;
/// let task = engine.create_task("Drug X increases the risk of falls", TaskConfig::default())?;
/// engine.queue_targets(&task.id, &["drug X falls".into()], &Default::default())?;
/// let report = engine.run(&task.id, None).await?;
/// assert_eq!(report.metrics.total_pages, 1);
/// let found = engine.vector_search(&VectorRequest::new("falls in older adults")).await?;
/// assert!(found.results[0].text_preview.contains("increased the risk of falls"));
/// # Ok::<(), lyra_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct Engine {
    pub(super) inner: Arc<EngineInner>,
    /// The actor who makes the calls, if known.
    pub(super) actor: Option<Arc<str>>,
}

#[derive(Debug)]
pub(super) struct EngineInner {
    pub(super) graph: EvidenceGraph,
    pub(super) views: Views,
    pub(super) pipeline: Pipeline,
    pub(super) signal: Signal,
    pub(super) waiters: Arc<waiters::Waiters>,
    pub(super) reported: waiters::ReportedStatuses,
    pub(super) corpus: Option<Arc<CorpusProvider>>,
    pub(super) config: EngineConfig,
    /// Whether the graph was searched for items without a vector of the embedder.
    pub(super) embedding_queued: AtomicBool,
}

impl Engine {
    /// Opens the graph and connects what the configuration names. Nothing is fetched and no worker
    /// is started yet.
    ///
    /// A program that answers untrusted queries should call
    /// [`QueryGuard::cap_memory`](crate::store::guard::QueryGuard::cap_memory) first. The engine does
    /// not, because that replaces the allocator of SQLite in the whole process.
    pub fn open(config: EngineConfig) -> Result<Self> {
        let (config, replayed) = wiring::wire(config)?;
        // Configured files are checked first, so that a misspelled name does not leave an empty
        // database.
        let mut reading = reading_of(&config)?;
        let retractions = config.retractions_csv.as_deref().map(Retractions::open);
        let retractions = retractions.transpose()?.map(Arc::new);
        let clock = Arc::clone(&config.clock);
        let graph = match config.read_only {
            true => EvidenceGraph::open_read_only(&config.db, clock)?,
            false => EvidenceGraph::open(&config.db, clock)?,
        };
        if let Some(clock) = replayed {
            // Moves the clock past the leases of a worker of the replay that was killed.
            clock.reach(graph.read(|r| r.latest_time_of_jobs())? + 1);
        }
        reading.parser = Arc::new(HostileDocuments::new(graph.clone(), reading.parser));
        let views = Views::open(&config, graph.database().source())?;
        let vectors = Arc::new(VectorStore::new());
        let corpus = corpus_of(&config, &graph, &vectors, &reading)?;
        let mut providers: Vec<Arc<dyn SearchProvider>> = Vec::new();
        if let Some(corpus) = &corpus {
            providers.push(Arc::clone(corpus) as Arc<dyn SearchProvider>);
        }
        providers.extend(config.providers.iter().cloned());
        providers.extend(config.search.build(&config.clock)?);
        let pipeline = Pipeline {
            graph: graph.clone(),
            vectors,
            reading,
            providers,
            retractions,
            extractor: config
                .claim_extractor
                .clone()
                .unwrap_or_else(|| Arc::new(BuiltinClaimExtractor)),
            fallback_extractor: Arc::new(BuiltinClaimExtractor),
            judge: config
                .stance_judge
                .clone()
                .unwrap_or_else(|| Arc::new(BuiltinStanceJudge)),
            choose_premise,
            limits: config.limits,
            embedding_turn: Arc::default(),
            verification_cache: VerificationCache::default(),
        };
        let signal = Signal::default();
        Ok(Self {
            actor: None,
            inner: Arc::new(EngineInner {
                graph,
                views,
                pipeline,
                signal,
                waiters: Arc::default(),
                reported: waiters::ReportedStatuses::default(),
                corpus,
                config,
                embedding_queued: AtomicBool::new(false),
            }),
        })
    }

    /// The graph itself, for typed reads and writes.
    pub fn graph(&self) -> &EvidenceGraph {
        &self.inner.graph
    }

    /// The same engine for a named actor. Its actions (tasks, targets, stops, recorded calls) are
    /// logged under that name instead of `user` or `agent`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// use lyra_core::{Engine, EngineConfig};
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
    /// engine.acting_as("alice").record_call("query_sql", &serde_json::json!({"rows": 3}))?;
    /// assert_eq!(engine.recorded_calls(0, 100)?[0].actor, "alice");
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    #[must_use]
    pub fn acting_as(&self, actor: &str) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            actor: Some(actor.into()),
        }
    }

    /// The graph, for writing as the actor.
    pub(super) fn actors_graph(&self) -> EvidenceGraph {
        self.inner.graph.acting_as(self.actor.clone())
    }

    /// Whether the graph is open read-only.
    pub fn is_read_only(&self) -> bool {
        self.inner.graph.is_read_only()
    }

    /// The pipeline, for programs that run its stages themselves.
    pub fn pipeline(&self) -> &Pipeline {
        &self.inner.pipeline
    }
}

fn reading_of(config: &EngineConfig) -> Result<Reading> {
    let mut fetchers: Vec<Arc<dyn Fetcher>> = config.fetchers.clone();
    if let Some(files) = files_of(config)? {
        fetchers.push(Arc::new(files));
    }
    if config.record.is_none() {
        fetchers.extend(wiring::web_fetcher(config));
    }
    let embedder = match &config.embedder {
        Some(embedder) => Arc::clone(embedder),
        None => Arc::new(StaticEmbedder::new()?),
    };
    Ok(Reading {
        fetchers,
        parser: config.parser.clone().unwrap_or_else(|| Arc::new(Documents)),
        embedder,
        text_time: TEXT_TIME,
    })
}

/// The document folders; in a recorded run, the copies of them.
fn files_of(config: &EngineConfig) -> Result<Option<FileFetcher>> {
    match &config.record {
        Some(record) => Ok(record.files()),
        None if config.corpus.is_empty() => Ok(None),
        None => FileFetcher::new(&config.corpus).map(Some),
    }
}

fn corpus_of(
    config: &EngineConfig,
    graph: &EvidenceGraph,
    vectors: &Arc<VectorStore>,
    reading: &Reading,
) -> Result<Option<Arc<CorpusProvider>>> {
    let Some(files) = files_of(config)? else {
        return Ok(None);
    };
    let provider = CorpusProvider::new(graph.clone(), Arc::clone(vectors), reading.clone(), files);
    Ok(Some(Arc::new(provider)))
}
