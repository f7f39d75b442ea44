//! Vectors for what has none of the current model: imported rows, rows of an earlier model.

use super::stages::Pipeline;
use crate::error::Result;
use crate::ports::TextRole;
use crate::store::graph::Writer;
use crate::store::model::EmbeddingTarget;

/// Texts embedded and stored in one go: what a killed process does again.
const BATCH: usize = 128;

/// How far the filling of gaps has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct EmbedProgress {
    /// Vectors made.
    pub(crate) embedded: usize,
    /// Texts that the model makes nothing of: they stay without a vector.
    pub(crate) without_vector: usize,
}

/// Hears of every batch, inside the transaction that stores it.
pub(crate) type OnBatch<'a> = &'a (dyn Fn(&Writer<'_>, EmbedProgress) -> Result<()> + Send + Sync);

impl Pipeline {
    /// Gives every fragment and claim a vector of the current model; answers how many it made.
    pub async fn embed_missing(&self) -> Result<usize> {
        let done = self.fill_vectors(None, &|_, _| Ok(())).await?;
        Ok(done.embedded)
    }

    /// Gives the fragments and claims of a task, or all of them, a vector of the current model.
    /// Each batch is stored by itself: who goes on after a kill finds only what is still missing.
    pub(crate) async fn fill_vectors(
        &self,
        task_id: Option<&str>,
        on_batch: OnBatch<'_>,
    ) -> Result<EmbedProgress> {
        self.fill_behind([-1; 2], task_id, on_batch).await
    }

    /// Gives what was stored behind these rows a vector of the current model.
    pub(crate) async fn embed_newer(&self, last: [i64; 2]) -> Result<()> {
        self.fill_behind(last, None, &|_, _| Ok(())).await?;
        Ok(())
    }

    /// `behind`: rows of fragments and of claims up to which nothing is looked for.
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

    /// One batch from behind the row `after`; answers its last row, or none if nothing is missing.
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
