//! The port that extracts claims from passages.

use crate::error::Result;
use crate::store::model::ClaimType;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::ops::Range;

/// A part of a document from which claims are extracted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The exact text.
    pub text: String,
    /// The nearest heading above.
    pub heading: Option<String>,
}

/// A request to a claim extractor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtractionRequest {
    /// The task's hypothesis: context for what is relevant, never something to confirm.
    pub hypothesis: String,
    /// The query that found the document; empty if there was none.
    pub query: String,
    /// Title of the document.
    pub title: Option<String>,
    /// The passages to read.
    pub passages: Vec<Passage>,
    /// Maximum number of claims to return.
    pub max_claims: usize,
}

/// A statement found in a passage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExtractedClaim {
    /// Index into the request's passages.
    pub passage: usize,
    /// The statement.
    pub text: String,
    /// The type of the assertion.
    pub claim_type: ClaimType,
    /// Confidence of the extractor that the passage says this, 0 to 1.
    pub confidence: f64,
    /// The part of the passage's text that the claim is based on, in code points.
    pub quote: Range<usize>,
}

/// The result of extracting claims from a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Extraction {
    /// The claims, best first.
    pub claims: Vec<ExtractedClaim>,
    /// Remarks for readers of the claims: how many were refused, and why.
    pub remarks: Vec<String>,
}

/// Extracts claims from text.
#[async_trait::async_trait]
pub trait ClaimExtractor: Debug + Send + Sync + 'static {
    /// Id of the extractor, stored with every claim.
    fn extractor_id(&self) -> &str;

    /// Whether it is a small model that ships with the library.
    fn is_builtin(&self) -> bool;

    /// The claims of the passages, best first, at most `max_claims`.
    ///
    /// Each `quote` is a non-empty range of code points inside its passage; each `text` is
    /// non-empty; each confidence is in 0..=1. Without passages there are no claims.
    async fn extract(&self, request: &ExtractionRequest) -> Result<Vec<ExtractedClaim>>;

    /// The same claims with remarks about them.
    async fn extract_with_remarks(&self, request: &ExtractionRequest) -> Result<Extraction> {
        let claims = self.extract(request).await?;
        Ok(Extraction {
            claims,
            remarks: Vec::new(),
        })
    }

    /// The configuration in readable form: which model is used and at which address; never a key.
    fn setup(&self) -> Option<String> {
        None
    }
}
