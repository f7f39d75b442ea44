//! The port that embeds text as vectors.

use crate::error::Result;
use crate::store::text::is_cjk;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// Properties of an embedding model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbedderInfo {
    /// Id of the model, stored with every vector; vectors with different ids are never compared.
    pub model_id: String,
    /// Length of every vector.
    pub dimension: usize,
    /// Whether it is a small model that ships with the library.
    pub builtin: bool,
    /// Share of the embedding in a fused ranking, 0 to 1; the rest is BM25.
    pub fusion_weight: f32,
    /// The same for a query in Chinese, Japanese or Korean, for which many models are weak.
    pub fusion_weight_cjk: f32,
    /// Minimum cosine at which two texts are judged against each other.
    pub related_threshold: f32,
}

impl EmbedderInfo {
    /// The share of the embedding in a fused ranking for this query, depending on its script.
    pub fn fusion_weight_for(&self, query: &str) -> f64 {
        let letters = || query.chars().filter(|c| c.is_alphanumeric());
        let cjk = letters().filter(|c| is_cjk(*c)).count() as f64 / letters().count().max(1) as f64;
        f64::from(self.fusion_weight) * (1.0 - cjk) + f64::from(self.fusion_weight_cjk) * cjk
    }
}

/// The role of a text in a search; some models embed the two differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    /// The text searched for.
    Query,
    /// The text searched.
    Document,
}

/// Turns texts into unit vectors.
#[async_trait::async_trait]
pub trait Embedder: Debug + Send + Sync + 'static {
    /// The model.
    fn info(&self) -> &EmbedderInfo;

    /// One vector for each text, in order, each of `info().dimension` values.
    ///
    /// A vector has length 1 (±1e-3), or is all zeros if the model finds nothing to embed in the
    /// text (an empty one). The same text gives the same vector, alone or in a batch.
    async fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>>;
}
