//! Jobs that wait for a human: they are queued for a human, requeued after an answer, and given up
//! without one.

use super::dispatch::TargetInput;
use crate::clock::{format_ms, parse_ms};
use crate::error::{Error, Result};
use crate::research::pipeline::{AuthNeed, SearchOptions};
use crate::store::graph::{Job, NewAuthItem, NewJob, Writer};
use crate::store::model::{JobKind, JobState, Priority, Target};
use crate::store::text::targets::{dedup_key, parse_target};

/// How long a page waits for a human.
const PATIENCE_MS: i64 = 24 * 60 * 60 * 1_000;

/// Asks a human to open a page, once for each job that needs it.
pub(super) fn queue_auth(w: &Writer<'_>, job: &Job, need: &AuthNeed) -> Result<()> {
    let now = parse_ms(w.now()).unwrap_or(0);
    w.queue_auth(&NewAuthItem {
        task_id: &job.task_id,
        job_id: &job.id,
        url: &need.url,
        domain: &need.domain,
        auth_type: &need.auth_type,
        expires_at: &format_ms(now + PATIENCE_MS),
    })
}

/// Requeues the jobs that waited for a page that a human has opened; returns whether any runs
/// again. A search that continued without the page is not repeated: only the page is read.
pub(crate) fn resume_waiting(
    w: &Writer<'_>,
    task_id: &str,
    job_id: Option<&str>,
    url: &str,
) -> Result<bool> {
    match (w.reader().job_state(job_id)?, job_id) {
        (Some(JobState::AwaitingAuth), Some(job_id)) => {
            w.requeue_waiting_job(job_id)?;
            Ok(true)
        }
        // The queued search will reach the page itself.
        (Some(JobState::Queued), _) => Ok(false),
        _ => queue_page(w, task_id, job_id, url),
    }
}

fn queue_page(w: &Writer<'_>, task_id: &str, job_id: Option<&str>, url: &str) -> Result<bool> {
    let target: Target = parse_target(&serde_json::json!({ "kind": "url", "url": url }))?;
    let job = NewJob {
        task_id: task_id.to_owned(),
        kind: JobKind::TargetQueue,
        priority: Priority::Medium.value(),
        dedup_key: Some(dedup_key(&target)),
        input: serde_json::to_value(TargetInput {
            target,
            options: SearchOptions::default(),
        })
        .map_err(|e| Error::internal(e.to_string()))?,
        cause_id: job_id.map(str::to_owned),
    };
    Ok(w.queue_job(&job)?.is_some())
}
