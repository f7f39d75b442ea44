//! Text to vectors.

use crate::error::Result;
use crate::store::text::is_cjk;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// What is known of an embedding model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbedderInfo {
    /// Stored with every vector; vectors of different ids are never compared.
    pub model_id: String,
    /// Length of every vector.
    pub dimension: usize,
    /// A small model that ships with the library.
    pub builtin: bool,
    /// Share of the embedding in a fused ranking, 0 to 1; the rest is BM25.
    pub fusion_weight: f32,
    /// The same for a query in Chinese, Japanese or Korean, which many models know little of.
    pub fusion_weight_cjk: f32,
    /// Cosine from which two texts are worth judging against each other.
    pub related_threshold: f32,
}

impl EmbedderInfo {
    /// The share of the embedding in a fused ranking for this query, by the script it is written
    /// in.
    pub fn fusion_weight_for(&self, query: &str) -> f64 {
        let letters = || query.chars().filter(|c| c.is_alphanumeric());
        let cjk = letters().filter(|c| is_cjk(*c)).count() as f64 / letters().count().max(1) as f64;
        f64::from(self.fusion_weight) * (1.0 - cjk) + f64::from(self.fusion_weight_cjk) * cjk
    }
}

/// Which side of a search a text stands on; some models embed the two differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    /// What is looked for.
    Query,
    /// What is found.
    Document,
}

/// Turns texts into unit vectors.
#[async_trait::async_trait]
pub trait Embedder: Debug + Send + Sync + 'static {
    /// The model.
    fn info(&self) -> &EmbedderInfo;

    /// One vector for each text, in order, each of `info().dimension` values.
    ///
    /// A vector has length 1 (±1e-3), or is all zeros where the model can make nothing of the
    /// text (an empty one). The same text gives the same vector, alone or in a batch.
    async fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>>;
}
