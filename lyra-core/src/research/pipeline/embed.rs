//! Computes missing vectors of the current model: for imported rows and rows of an earlier model.

use super::stages::Pipeline;
use crate::error::Result;
use crate::ports::TextRole;
use crate::store::graph::Writer;
use crate::store::model::EmbeddingTarget;

/// Texts embedded and stored together. After a kill, at most this many are embedded again.
const BATCH: usize = 128;

/// The progress of filling in missing vectors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EmbedProgress {
    /// Number of vectors computed.
    pub(crate) embedded: usize,
    /// Texts for which the model gives no vector.
    pub(crate) without_vector: usize,
}

/// Called for every batch, inside the transaction that stores it.
pub(crate) type OnBatch<'a> = &'a (dyn Fn(&Writer<'_>, EmbedProgress) -> Result<()> + Send + Sync);

impl Pipeline {
    /// Computes the missing vectors of the current model for all fragments and claims; returns their number.
    pub async fn embed_missing(&self) -> Result<usize> {
        let done = self.fill_vectors(None, &|_, _| Ok(())).await?;
        Ok(done.embedded)
    }

    /// Computes the missing vectors of the current model for the fragments and claims of a task, or
    /// for all. Each batch is stored separately, so that a restart after a kill continues with the
    /// rest.
    pub(crate) async fn fill_vectors(
        &self,
        task_id: Option<&str>,
        on_batch: OnBatch<'_>,
    ) -> Result<EmbedProgress> {
        self.fill_behind([-1; 2], task_id, on_batch).await
    }

    /// Computes vectors of the current model for what was stored after these rows.
    pub(crate) async fn embed_newer(&self, last: [i64; 2]) -> Result<()> {
        self.fill_behind(last, None, &|_, _| Ok(())).await?;
        Ok(())
    }

    /// `behind`: the rows of fragments and of claims after which the search begins.
    async fn fill_behind(
        &self,
        behind: [i64; 2],
        task_id: Option<&str>,
        on_batch: OnBatch<'_>,
    ) -> Result<EmbedProgress> {
        let mut progress = EmbedProgress::default();
        let targets = [EmbeddingTarget::Fragment, EmbeddingTarget::Claim];
        for (target, mut after) in targets.into_iter().zip(behind) {
            while let Some(last) = self
                .fill_batch(target, task_id, after, &mut progress, on_batch)
                .await?
            {
                after = last;
            }
        }
        Ok(progress)
    }

    /// Processes one batch after the row `after`; returns its last row, or none if nothing is missing.
    async fn fill_batch(
        &self,
        target: EmbeddingTarget,
        task_id: Option<&str>,
        after: i64,
        progress: &mut EmbedProgress,
        on_batch: OnBatch<'_>,
    ) -> Result<Option<i64>> {
        let _turn = self.embedding_turn.lock().await;
        let embedder = &self.reading.embedder;
        let model = embedder.info().model_id.as_str();
        let missing = self
            .graph
            .read(|r| r.missing_embeddings(target, model, task_id, after, BATCH))?;
        let Some(last) = missing.last().map(|row| row.seq) else {
            return Ok(None);
        };
        let texts: Vec<&str> = missing.iter().map(|row| row.text.as_str()).collect();
        let vectors = embedder.embed(&texts, TextRole::Document).await?;
        let rows = missing.iter().zip(&vectors);
        let useful: Vec<_> = rows
            .filter(|(_, vector)| vector.iter().any(|x| *x != 0.0))
            .collect();
        progress.embedded += useful.len();
        progress.without_vector += missing.len() - useful.len();
        let reached = *progress;
        self.graph.write(|w| {
            for (row, vector) in &useful {
                w.put_embedding(target, &row.id, model, vector)?;
            }
            on_batch(w, reached)
        })?;
        Ok(Some(last))
    }
}
