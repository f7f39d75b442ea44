//! Maps each kind of job to its stage.

use crate::error::{Error, Result};
use crate::research::pipeline::{Pipeline, SearchOptions, StageOutcome};
use crate::store::graph::Job;
use crate::store::model::{JobKind, Target};
use serde::{Deserialize, Serialize};

/// `jobs.input_json` of a target_queue job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetInput {
    /// The target to research.
    pub(crate) target: Target,
    /// The options.
    #[serde(default)]
    pub(crate) options: SearchOptions,
}

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
        JobKind::CitationGraph => pipeline.link_citations(&job.task_id, cause).await,
        JobKind::Embed => super::embed::run(pipeline, job).await,
    }
}
