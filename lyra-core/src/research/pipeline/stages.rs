//! The pipeline: what its stages work with.

use super::embedding_turn::EmbeddingTurn;
use super::limits::Limits;
use super::retractions::Retractions;
use super::verify::VerificationCache;
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
