//! `embed` jobs: vectors for what has none of the model in use, because the model changed or rows
//! were imported. One job a task, so that each task's status tells how far it is; the newest task's
//! job also does what belongs to no task.

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
    /// How many were.
    #[serde(default)]
    missing: usize,
    /// Whether to go on with what belongs to no task.
    #[serde(default)]
    rest: bool,
}

/// `jobs.output_json` of an embed job, while it runs and afterwards.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EmbedOutput {
    /// The model that made the vectors.
    pub(crate) model_id: String,
    /// Texts that have their vector by now.
    pub(crate) embedded: usize,
    /// Of how many that had none when the job was queued.
    pub(crate) total: usize,
    /// Texts that the model makes nothing of.
    pub(crate) without_vector: usize,
}

/// Queues an embed job for every task with fragments or claims that have no vector of this model.
/// Jobs that wait for another model are taken back: nobody would ask for its vectors. Answers how
/// many were queued.
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

/// The tasks that want a job, and what for.
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
        // The newest task comes first.
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

/// What the task's last finished job for this model left without a vector will have none again.
fn last_output(reader: &Reader<'_>, task_id: &str, model_id: &str) -> Result<Option<EmbedOutput>> {
    let text = reader.last_embed_output(task_id, model_id)?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Runs an embed job: the task's own texts first, then, if it is asked to, everybody's. How far it
/// is stands in the job's output after every batch.
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
        // A job that was cut off goes on where it stood.
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

/// How far the task's embed job is, if one waits or runs.
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
