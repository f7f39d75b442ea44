//! The traits that third-party code can implement: models, search, fetching.
//!
//! Every port is object-safe and `Debug + Send + Sync`, accepts batches where these are useful, and
//! carries the id of its implementation, because that id is stored with every vector, claim and
//! verdict. The requirements on an implementation are documented on each method, and published as
//! functions in [`testing`] with which any implementation can be tested.

mod claim_extractor;
mod document_parser;
mod embedder;
mod fetcher;
mod search_provider;
mod stance_judge;
pub mod testing;

/// The attribute for an implementation of a port with `async` methods.
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
