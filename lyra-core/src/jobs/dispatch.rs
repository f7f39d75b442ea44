//! From the kind of a job to the stage that does it.

use super::queue::Job;
use crate::error::{Error, Result};
use crate::model::{EmbeddingTarget, JobKind, Target};
use crate::pipeline::{Pipeline, SearchOptions, StageOutcome};
use crate::ports::TextRole;
use serde::{Deserialize, Serialize};

/// `jobs.input_json` of a target_queue job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetInput {
    /// What to research.
    pub(crate) target: Target,
    /// How.
    #[serde(default)]
    pub(crate) options: SearchOptions,
}

/// Texts embedded in one go by an embed job.
const EMBED_BATCH: usize = 256;

/// Runs one job.
pub(super) async fn run(pipeline: &Pipeline, job: &Job) -> Result<StageOutcome> {
    let cause = Some(job.id.as_str());
    match job.kind {
        JobKind::TargetQueue => {
            let input: TargetInput = serde_json::from_value(job.input.clone())
                .map_err(|e| Error::internal(format!("input of job {}: {e}", job.id)))?;
            pipeline
                .run_target(&job.task_id, &input.target, &input.options, cause)
                .await
        }
        JobKind::VerifyNli => pipeline.verify(&job.task_id, cause).await,
        JobKind::CitationGraph => pipeline.link_citations(&job.task_id, cause),
        JobKind::Embed => embed_missing(pipeline).await,
    }
}

/// Gives every fragment and claim a vector of the current model.
async fn embed_missing(pipeline: &Pipeline) -> Result<StageOutcome> {
    let embedder = &pipeline.reading.embedder;
    let model = embedder.info().model_id.clone();
    let mut embedded = 0;
    for target in [EmbeddingTarget::Fragment, EmbeddingTarget::Claim] {
        loop {
            let missing = pipeline
                .graph
                .read(|r| r.missing_embeddings(target, &model, EMBED_BATCH))?;
            let texts: Vec<&str> = missing.iter().map(|(_, text)| text.as_str()).collect();
            let vectors = embedder.embed(&texts, TextRole::Document).await?;
            let useful = missing
                .iter()
                .zip(&vectors)
                .filter(|(_, v)| v.iter().any(|x| *x != 0.0));
            let stored = pipeline.graph.write(|w| {
                let mut stored = 0;
                for ((id, _), vector) in useful {
                    w.put_embedding(target, id, &model, vector)?;
                    stored += 1;
                }
                Ok(stored)
            })?;
            embedded += stored;
            // Texts that a model can make nothing of stay without a vector; going on would meet
            // them again and again.
            if missing.len() < EMBED_BATCH || stored == 0 {
                break;
            }
        }
    }
    Ok(StageOutcome {
        output: serde_json::json!({ "embedded": embedded }),
        ..StageOutcome::default()
    })
}
