//! The pipeline: the components that its stages use.

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

/// The components that the stages use.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// Where results are stored.
    pub graph: EvidenceGraph,
    /// Similarity search over the stored vectors.
    pub vectors: Arc<VectorStore>,
    /// Fetching, parsing, embedding.
    pub reading: Reading,
    /// The search providers.
    pub providers: Vec<Arc<dyn SearchProvider>>,
    /// Works that are known to be retracted, whatever the providers say.
    pub retractions: Option<Arc<Retractions>>,
    /// Finds claims in passages.
    pub extractor: Arc<dyn ClaimExtractor>,
    /// Used when the extractor fails.
    pub fallback_extractor: Arc<dyn ClaimExtractor>,
    /// Judges claims against passages.
    pub judge: Arc<dyn StanceJudge>,
    /// Selects the part of a fragment that is given to the judge.
    pub choose_premise: PremiseChooser,
    /// The limits and settings.
    pub limits: Limits,
    /// Serialises the filling in of missing vectors.
    pub(crate) embedding_turn: EmbeddingTurn,
    /// What verification has already covered.
    pub(crate) verification_cache: VerificationCache,
}

/// Takes a fragment, a claim and a number of sentences; returns the ranges of code points that are
/// relevant to the claim, the one to quote first.
pub type PremiseChooser = fn(&str, &str, usize) -> Vec<Range<usize>>;
