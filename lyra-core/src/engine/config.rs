//! What an engine is made of.

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

/// What an engine is made of. Everything but the database has a default that works offline.
#[derive(Debug, Clone)]
pub struct EngineConfig {
    /// The database file; made if it is not there.
    pub db: PathBuf,
    /// Whether the graph is read-only: it has to be there, nothing is written to it or beside
    /// it, and what would write answers [`Error::read_only`](crate::Error::read_only).
    pub read_only: bool,
    /// Folders (or files) of documents that queries search.
    pub corpus: Vec<PathBuf>,
    /// Whether web addresses on private networks may be fetched.
    pub allow_private_hosts: bool,
    /// Jobs that run at once.
    pub workers: usize,
    /// How far a task goes: documents a query, claims a document, pairs a claim.
    pub limits: Limits,
    /// How long [`Engine::stop_task`](super::Engine::stop_task) waits for running jobs, in the modes
    /// that do: 30 seconds by default.
    pub stop_patience: Duration,
    /// A folder of `.sql.j2` files that add views or take the place of built-in ones.
    pub views_dir: Option<PathBuf>,
    /// The clock that stamps every row.
    pub clock: Arc<dyn Clock>,
    /// In place of the built-in static table.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// In place of the built-in extractor.
    pub claim_extractor: Option<Arc<dyn ClaimExtractor>>,
    /// In place of the built-in judge.
    pub stance_judge: Option<Arc<dyn StanceJudge>>,
    /// Beside the corpus.
    pub providers: Vec<Arc<dyn SearchProvider>>,
    /// Services on the network that queries and DOIs are looked up with; none by default.
    #[cfg(feature = "http")]
    pub search: crate::web::ProvidersConfig,
    /// A CSV file of Retraction Watch: works on it are flagged as retracted.
    pub retractions_csv: Option<PathBuf>,
    /// What takes documents apart; in this process where none is given. A
    /// [`ParserProcess`](crate::documents::ParserProcess) does it where a hostile document costs
    /// nothing but itself.
    pub parser: Option<Arc<dyn DocumentParser>>,
    /// Before the built-in fetchers.
    pub fetchers: Vec<Arc<dyn Fetcher>>,
    /// What keeps all that is heard from the network, or takes its place; see [`Record`].
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
            #[cfg(feature = "http")]
            search: crate::web::ProvidersConfig::default(),
            retractions_csv: None,
            parser: None,
            fetchers: Vec::new(),
            record: None,
        }
    }
}

/// Which models answer.
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
