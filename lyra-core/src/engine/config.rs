//! Configuration of an engine.

use crate::clock::{Clock, SystemClock};
use crate::ports::{
    ClaimExtractor, DocumentParser, Embedder, Fetcher, SearchProvider, StanceJudge,
};
use crate::record::Record;
use crate::research::pipeline::Limits;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Configuration of an engine. Everything except the database has a default that works offline.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The database file; created if it does not exist.
    pub db: PathBuf,
    /// Whether the graph is read-only: it must exist, nothing is written to it or next to it, and
    /// operations that would write return [`Error::read_only`](crate::Error::read_only).
    pub read_only: bool,
    /// Folders (or files) of documents that queries search.
    pub corpus: Vec<PathBuf>,
    /// Whether web addresses on private networks may be fetched.
    pub allow_private_hosts: bool,
    /// Jobs that run at once.
    pub workers: usize,
    /// Limits of a task: documents per query, claims per document, pairs per claim.
    pub limits: Limits,
    /// How long [`Engine::stop_task`](super::Engine::stop_task) waits for running jobs, in the modes
    /// that do: 30 seconds by default.
    pub stop_patience: Duration,
    /// A folder of `.sql.j2` files that add views or replace built-in ones.
    pub views_dir: Option<PathBuf>,
    /// The clock that stamps every row.
    pub clock: Arc<dyn Clock>,
    /// Replaces the built-in static table.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Replaces the built-in extractor.
    pub claim_extractor: Option<Arc<dyn ClaimExtractor>>,
    /// Replaces the built-in judge.
    pub stance_judge: Option<Arc<dyn StanceJudge>>,
    /// Search providers in addition to the corpus.
    pub providers: Vec<Arc<dyn SearchProvider>>,
    /// Network services used to search and to look up DOIs; none by default.
    pub search: crate::web::ProvidersConfig,
    /// A CSV file from Retraction Watch: works listed in it are flagged as retracted.
    pub retractions_csv: Option<PathBuf>,
    /// The parser of documents; by default they are parsed in this process. With a
    /// [`ParserProcess`](crate::documents::ParserProcess), a hostile document affects nothing but
    /// itself.
    pub parser: Option<Arc<dyn DocumentParser>>,
    /// Fetchers that are tried before the built-in ones.
    pub fetchers: Vec<Arc<dyn Fetcher>>,
    /// Records everything received from the network, or replays it; see [`Record`].
    pub record: Option<Arc<Record>>,
}

impl EngineConfig {
    /// The defaults, with this database file.
    pub fn new(db: impl Into<PathBuf>) -> Self {
        Self {
            db: db.into(),
            read_only: false,
            corpus: Vec::new(),
            allow_private_hosts: false,
            workers: 2,
            limits: Limits::default(),
            stop_patience: Duration::from_secs(30),
            views_dir: None,
            clock: Arc::new(SystemClock),
            embedder: None,
            claim_extractor: None,
            stance_judge: None,
            providers: Vec::new(),
            search: crate::web::ProvidersConfig::default(),
            retractions_csv: None,
            parser: None,
            fetchers: Vec::new(),
            record: None,
        }
    }
}

/// The models in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelReport {
    /// Id of the embedder.
    pub embedder: String,
    /// Length of its vectors.
    pub dimension: usize,
    /// Id of the claim extractor.
    pub claim_extractor: String,
    /// Id of the stance judge.
    pub stance_judge: String,
    /// Which of the three are the small models that ship with the library.
    pub builtin: Vec<String>,
}
