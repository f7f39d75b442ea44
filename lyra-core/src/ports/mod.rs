//! The traits that a stranger may stand behind: models, search, fetching.
//!
//! Every port is object-safe, `Debug + Send + Sync`, takes batches where batches pay, and carries
//! the id of what answers, because that id is stored with every vector, claim and verdict. What an
//! implementation must promise is written on each method and published as functions in
//! [`testing`], which any implementation can be run through.

mod claim_extractor;
mod document_parser;
mod embedder;
mod fetcher;
mod search_provider;
mod stance_judge;
pub mod testing;

/// What an implementation of a port with `async` methods stands under.
///
/// ```
/// use lyra_core::ports::{Embedder, EmbedderInfo, TextRole, async_trait};
///
/// #[derive(Debug)]
/// struct Lengths(EmbedderInfo);
///
/// #[async_trait]
/// impl Embedder for Lengths {
///     fn info(&self) -> &EmbedderInfo {
///         &self.0
///     }
///
///     async fn embed(&self, texts: &[&str], _: TextRole) -> lyra_core::Result<Vec<Vec<f32>>> {
///         Ok(texts.iter().map(|text| vec![text.len() as f32, 1.0]).collect())
///     }
/// }
/// ```
pub use async_trait::async_trait;

pub use crate::clock::{Clock, ManualClock, SystemClock};
pub use claim_extractor::{ClaimExtractor, ExtractedClaim, Extraction, ExtractionRequest, Passage};
pub use document_parser::{DocumentParser, ParsedDocument};
pub use embedder::{Embedder, EmbedderInfo, TextRole};
pub use fetcher::{FetchRequest, FetchedDocument, Fetcher, SiteSession, Validators};
pub use search_provider::{
    AuthorFacts, ProviderFailure, SearchHit, SearchProvider, SearchQuery, WorkFacts, WorkId,
};
pub use stance_judge::{StanceJudge, StancePair, Verdict};
