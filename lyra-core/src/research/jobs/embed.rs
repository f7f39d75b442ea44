//! `embed` jobs: create missing vectors of the model in use, because the model changed or rows were
//! imported. There is one job per task, so that the status of each task shows its progress; the job
//! of the newest task also handles what belongs to no task.

use crate::error::{Error, Result};
use crate::research::pipeline::{EmbedProgress, Pipeline, StageOutcome};
use crate::store::graph::{EvidenceGraph, Job, NewJob, Reader, Writer};
use crate::store::model::JobKind;
use serde::{Deserialize, Serialize};

/// `jobs.input_json` of an embed job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct EmbedInput {
    /// The model whose vectors were missing.
    #[serde(default)]
    model_id: String,
    /// Number of missing vectors.
    #[serde(default)]
    missing: usize,
    /// Whether to continue with what belongs to no task.
    #[serde(default)]
    rest: bool,
}

/// `jobs.output_json` of an embed job, while it runs and afterwards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EmbedOutput {
    /// The model that made the vectors.
    pub(crate) model_id: String,
    /// Number of texts that have a vector by now.
    pub(crate) embedded: usize,
    /// Number of texts without a vector when the job was queued.
    pub(crate) total: usize,
    /// Number of texts that the model cannot embed.
    pub(crate) without_vector: usize,
}

/// Queues an embed job for every task with fragments or claims that have no vector of this model.
/// Queued jobs for another model are cancelled, since its vectors would not be used. Returns the
/// number of queued jobs.
pub(crate) fn queue_embedding(graph: &EvidenceGraph, model_id: &str) -> Result<usize> {
    let wanted = graph.read(|r| wanted(r, model_id))?;
    let stale = graph.read(|r| r.has_stale_embed_jobs(model_id))?;
    if wanted.is_empty() && !stale {
        return Ok(0);
    }
    graph.write(|w| {
        w.cancel_stale_embed_jobs(model_id)?;
        let mut queued = 0;
        for (task_id, input) in &wanted {
            let job = NewJob {
                task_id: task_id.clone(),
                kind: JobKind::Embed,
                priority: JobKind::Embed.default_priority(),
                input: to_json(input)?,
                dedup_key: None,
                cause_id: None,
            };
            if !w.reader().is_embedding(task_id, model_id)? && w.queue_job(&job)?.is_some() {
                queued += 1;
            }
        }
        Ok(queued)
    })
}

/// The tasks that need a job, with its input.
fn wanted(reader: &Reader<'_>, model_id: &str) -> Result<Vec<(String, EmbedInput)>> {
    let all = reader.count_missing_embeddings(model_id, None)?;
    if all == 0 {
        return Ok(Vec::new());
    }
    let mut wanted = Vec::new();
    for (place, task) in reader.tasks()?.into_iter().enumerate() {
        let mut input = EmbedInput {
            model_id: model_id.to_owned(),
            missing: reader.count_missing_embeddings(model_id, Some(&task.id))?,
            rest: false,
        };
        // The newest task comes first and also handles what belongs to no task.
        if place == 0 {
            input.rest = true;
            input.missing = all;
        }
        let before = last_output(reader, &task.id, model_id)?;
        if input.missing > before.map_or(0, |output| output.without_vector) {
            wanted.push((task.id, input));
        }
    }
    Ok(wanted)
}

/// The output of the task's last finished job for this model: texts that it left without a vector
/// would again get none.
fn last_output(reader: &Reader<'_>, task_id: &str, model_id: &str) -> Result<Option<EmbedOutput>> {
    let text = reader.last_embed_output(task_id, model_id)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Runs an embed job: first the texts of the task, then, if requested, all others. The progress is
/// in the job's output after every batch.
pub(super) async fn run(pipeline: &Pipeline, job: &Job) -> Result<StageOutcome> {
    let input: EmbedInput = serde_json::from_value(job.input.clone())
        .map_err(|e| Error::internal(format!("input of job {}: {e}", job.id)))?;
    let model_id = pipeline.reading.embedder.info().model_id.clone();
    let mut scopes = vec![Some(job.task_id.as_str())];
    if input.rest {
        scopes.push(None);
    }
    let widest = scopes.last().copied().flatten();
    let left = pipeline
        .graph
        .read(|r| r.count_missing_embeddings(&model_id, widest))?;
    let start = EmbedOutput {
        model_id,
        // An interrupted job continues where it stopped.
        embedded: input.missing.saturating_sub(left),
        total: input.missing.max(left),
        without_vector: 0,
    };
    let reached = |made: usize, progress: EmbedProgress| EmbedOutput {
        embedded: start.embedded + made + progress.embedded,
        without_vector: progress.without_vector,
        ..start.clone()
    };
    let mut made = 0;
    let mut last = EmbedProgress::default();
    for scope in scopes {
        let note = |w: &Writer<'_>, progress: EmbedProgress| {
            w.note_job_output(&job.id, &to_json(&reached(made, progress))?.to_string())
        };
        last = pipeline.fill_vectors(scope, &note).await?;
        made += last.embedded;
    }
    last.embedded = 0;
    Ok(StageOutcome {
        output: to_json(&reached(made, last))?,
        ..StageOutcome::default()
    })
}

fn to_json(value: &impl Serialize) -> Result<serde_json::Value> {
    serde_json::to_value(value).map_err(|e| Error::internal(format!("an embed job as JSON: {e}")))
}

/// The progress of the task's embed job, if one is queued or running.
pub(crate) fn embed_progress(reader: &Reader<'_>, task_id: &str) -> Result<Option<EmbedOutput>> {
    let Some((input, output)) = reader.open_embed_job(task_id)? else {
        return Ok(None);
    };
    let known = output.and_then(|text| serde_json::from_str(&text).ok());
    Ok(Some(known.unwrap_or_else(|| {
        let input: EmbedInput = serde_json::from_str(&input).unwrap_or_default();
        EmbedOutput {
            model_id: input.model_id,
            total: input.missing,
            ..EmbedOutput::default()
        }
    })))
}
