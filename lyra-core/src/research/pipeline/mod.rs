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
//! use lyra_core::{Engine, EngineConfig, TaskConfig, research::pipeline::SearchOptions};
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
mod earlier;
mod embed;
mod identify;
mod limits;
mod locate;
mod metrics;
mod options;
mod outcome;
mod page;
mod plan;
mod question;
mod retractions;
mod search;
mod select;
mod source;
mod verify;
mod works;

pub use budget::Budget;
pub use citations::CitationReport;
pub(crate) use embed::{EmbedProgress, EmbeddingTurn};
pub use limits::Limits;
pub use metrics::{is_primary_source, satisfaction};
pub use options::SearchOptions;
pub use outcome::{AuthNeed, FollowUp, FoundClaim, SearchReport, StageOutcome};
pub use page::PageReport;
pub use retractions::Retractions;
pub(crate) use verify::{Asked, ON_A_HYPOTHESIS, Side, VerificationCache};
pub use verify::{CandidatePair, CandidatePairs, JudgeRequest, VerifyReport, judge_pairs};

use crate::ports::{ClaimExtractor, SearchProvider, StanceJudge};
use crate::research::ingest::Reading;
use crate::store::graph::EvidenceGraph;
use crate::store::vectors::VectorStore;
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
    pub(crate) verification_cache: VerificationCache,
}

/// From a fragment, a claim and a number of sentences to the ranges of code points that speak to
/// the claim, the one to quote first.
pub type PremiseChooser = fn(&str, &str, usize) -> Vec<Range<usize>>;
