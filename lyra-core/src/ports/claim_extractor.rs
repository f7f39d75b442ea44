//! Passages to claims.

use crate::error::Result;
use crate::store::model::ClaimType;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::ops::Range;

/// A piece of a document that is read for claims.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The exact text.
    pub text: String,
    /// The nearest heading above.
    pub heading: Option<String>,
}

/// What a claim extractor is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtractionRequest {
    /// The task's hypothesis: context for what matters, never something to confirm.
    pub hypothesis: String,
    /// The query that found the document; empty where there was none.
    pub query: String,
    /// Title of the document.
    pub title: Option<String>,
    /// What to read.
    pub passages: Vec<Passage>,
    /// At most so many claims come back.
    pub max_claims: usize,
}

/// A statement found in a passage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtractedClaim {
    /// Index into the request's passages.
    pub passage: usize,
    /// The statement.
    pub text: String,
    /// What it asserts.
    pub claim_type: ClaimType,
    /// 0 to 1: how sure the extractor is that the passage says this.
    pub confidence: f64,
    /// Code points of the passage's text that the claim rests on.
    pub quote: Range<usize>,
}

/// What reading a document gave.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Extraction {
    /// The claims, best first.
    pub claims: Vec<ExtractedClaim>,
    /// What whoever reads the claims should know: how many were refused, and why.
    pub remarks: Vec<String>,
}

/// Finds statements in text.
#[async_trait::async_trait]
pub trait ClaimExtractor: Debug + Send + Sync + 'static {
    /// Stored with every claim.
    fn extractor_id(&self) -> &str;

    /// A small model that ships with the library.
    fn is_builtin(&self) -> bool;

    /// The claims of the passages, best first, at most `max_claims`.
    ///
    /// Each `quote` is a non-empty range of code points inside its passage; each `text` is not
    /// empty; each confidence lies in 0..=1. No passages, no claims.
    async fn extract(&self, request: &ExtractionRequest) -> Result<Vec<ExtractedClaim>>;

    /// The same claims with what should be known about them.
    async fn extract_with_remarks(&self, request: &ExtractionRequest) -> Result<Extraction> {
        let claims = self.extract(request).await?;
        Ok(Extraction {
            claims,
            remarks: Vec::new(),
        })
    }

    /// How it is set up, for people: which model it asks and where; never a key.
    fn setup(&self) -> Option<String> {
        None
    }
}
