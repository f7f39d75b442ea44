//! Queries to documents.

use crate::error::Result;
use crate::model::DocumentMeta;
use std::fmt::Debug;

/// What a provider is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchQuery {
    /// The words.
    pub text: String,
    /// At most so many hits come back.
    pub limit: usize,
}

/// One document that a provider found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// Where the document is; `file:`, `http:` or `https:`.
    pub url: String,
    /// 1 for the best.
    pub rank: usize,
    /// Title.
    pub title: Option<String>,
    /// A few words of it.
    pub snippet: Option<String>,
    /// Bibliographic data that the provider knows.
    pub meta: DocumentMeta,
    /// The abstract, where the provider has it: then nothing needs to be fetched.
    pub abstract_text: Option<String>,
}

/// Finds documents.
#[async_trait::async_trait]
pub trait SearchProvider: Debug + Send + Sync + 'static {
    /// Short name: `corpus`, `openalex` … Stored as `serp_items.engine`.
    fn name(&self) -> &str;

    /// The best hits first, ranks 1, 2, 3 …, at most `limit`. Nothing found is an empty list; an
    /// outage is an error, never an empty list.
    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>>;

    /// The document with this normalised DOI, if the provider has it.
    async fn lookup_doi(&self, _doi: &str) -> Result<Option<SearchHit>> {
        Ok(None)
    }
}
