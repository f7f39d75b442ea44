//! The research pipeline: plan → search → identify → fetch → extract → select → claims → persist →
//! verify → follow-ups. Stages take data and answer with values; only the job queue queues work.
//!
//! [`Engine::run`](crate::Engine::run) goes through all of it; what one search found is told by
//! [`Pipeline::search`] at once:
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! # let papers = folder.path().join("papers");
//! # std::fs::create_dir(&papers).unwrap();
//! # std::fs::write(papers.join("a.md"), "# Nurses\n\nNight work shortened sleep by 74 minutes in 412 nurses.").unwrap();
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use lyra_core::{Engine, EngineConfig, TaskConfig, pipeline::SearchOptions};
//! let mut config = EngineConfig::new(folder.path().join("evidence.db"));
//! config.corpus.push(papers);
//! let engine = Engine::open(config)?;
//! let task = engine.create_task("Night work shortens sleep", TaskConfig::default())?;
//! let report = engine.pipeline().search(&task.id, "night work", &SearchOptions::default()).await?;
//! assert_eq!((report.pages_fetched, report.claims_found.len()), (1, 1));
//! # Ok::<(), lyra_core::Error>(()) }).unwrap();
//! ```

mod budget;
mod citations;
mod claims;
mod embed;
mod identify;
mod locate;
mod metrics;
mod outcome;
mod page;
mod plan;
mod retractions;
mod search;
mod select;
mod source;
mod verify;
mod works;

pub use budget::Budget;
pub use citations::CitationReport;
pub(crate) use embed::{EmbedProgress, EmbeddingTurn};
pub use metrics::{is_primary_source, satisfaction};
pub use outcome::{AuthNeed, FollowUp, FoundClaim, SearchReport, StageOutcome};
pub use page::PageReport;
pub use retractions::Retractions;
pub use search::SearchOptions;
pub(crate) use verify::LastLooks;
pub use verify::VerifyReport;

use crate::graph::EvidenceGraph;
use crate::ingest::Reading;
use crate::ports::{ClaimExtractor, SearchProvider, StanceJudge};
use crate::vectors::VectorStore;
use std::ops::Range;
use std::sync::Arc;

/// Everything that the stages work with.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// Where results go.
    pub graph: EvidenceGraph,
    /// Similarity search over what is there.
    pub vectors: Arc<VectorStore>,
    /// Fetching, parsing, embedding.
    pub reading: Reading,
    /// Where queries are searched.
    pub providers: Vec<Arc<dyn SearchProvider>>,
    /// Works that are known to be retracted, whatever the providers say.
    pub retractions: Option<Arc<Retractions>>,
    /// Finds claims in passages.
    pub extractor: Arc<dyn ClaimExtractor>,
    /// Reads what the extractor failed on.
    pub fallback_extractor: Arc<dyn ClaimExtractor>,
    /// Judges claims against passages.
    pub judge: Arc<dyn StanceJudge>,
    /// Chooses what of a fragment is shown to the judge.
    pub choose_premise: PremiseChooser,
    /// How much of everything.
    pub limits: Limits,
    /// Who fills in missing vectors waits for it.
    pub(crate) embedding_turn: EmbeddingTurn,
    /// What verification has covered already.
    pub(crate) last_looks: LastLooks,
}

/// From a fragment, a claim and a number of sentences to the ranges of code points that speak to
/// the claim, the one to quote first.
pub type PremiseChooser = fn(&str, &str, usize) -> Vec<Range<usize>>;

/// How far the pipeline goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Hits that each provider is asked for.
    pub hits_per_query: usize,
    /// Papers of a task whose references providers are asked for in one run.
    pub cited_papers: usize,
    /// References of one paper that become part of the graph, the most relevant first.
    pub references_per_paper: usize,
    /// Pages read for one query.
    pub pages_per_query: u32,
    /// Claims taken from one document.
    pub claims_per_document: usize,
    /// Least cosine of a passage to hypothesis or query for its claims to matter.
    pub passage_floor: f32,
    /// Fragments looked at for each claim in verification.
    pub verify_candidates: usize,
    /// Different domains that judge one claim.
    pub verify_domains: usize,
    /// Pairs judged for one claim.
    pub verify_pairs: usize,
    /// Verdicts below this confidence are remembered, but make no edge.
    pub min_confidence: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hits_per_query: 20,
            cited_papers: 5,
            references_per_paper: 10,
            pages_per_query: 20,
            claims_per_document: 4,
            passage_floor: 0.25,
            verify_candidates: 30,
            verify_domains: 6,
            verify_pairs: 20,
            min_confidence: 0.5,
        }
    }
}
