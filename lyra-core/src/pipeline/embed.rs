//! Vectors for what has none of the current model: imported rows, rows of an earlier model.

use super::Pipeline;
use crate::error::Result;
use crate::model::EmbeddingTarget;
use crate::ports::TextRole;

/// Texts embedded in one go.
const BATCH: usize = 256;

impl Pipeline {
    /// Gives every fragment and claim a vector of the current model; answers how many it made.
    pub async fn embed_missing(&self) -> Result<usize> {
        let embedder = &self.reading.embedder;
        let model = embedder.info().model_id.clone();
        let mut embedded = 0;
        for target in [EmbeddingTarget::Fragment, EmbeddingTarget::Claim] {
            loop {
                let missing = self
                    .graph
                    .read(|r| r.missing_embeddings(target, &model, BATCH))?;
                let texts: Vec<&str> = missing.iter().map(|(_, text)| text.as_str()).collect();
                let vectors = embedder.embed(&texts, TextRole::Document).await?;
                let rows = missing.iter().zip(&vectors);
                let useful: Vec<_> = rows.filter(|(_, v)| v.iter().any(|x| *x != 0.0)).collect();
                if useful.is_empty() {
                    // Texts that a model can make nothing of stay without a vector; going on
                    // would meet them again and again.
                    break;
                }
                self.graph.write(|w| {
                    for ((id, _), vector) in &useful {
                        w.put_embedding(target, id, &model, vector)?;
                    }
                    Ok(())
                })?;
                embedded += useful.len();
            }
        }
        Ok(embedded)
    }
}
