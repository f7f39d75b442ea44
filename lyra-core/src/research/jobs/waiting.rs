//! Jobs that wait for a human: queued for one, put back after one, given up without one.

use super::dispatch::TargetInput;
use super::queue::{Job, NewJob, enqueue};
use crate::clock::format_ms;
use crate::error::{Error, Result, SqliteResultExt};
use crate::research::pipeline::{AuthNeed, SearchOptions};
use crate::store::graph::Writer;
use crate::store::model::{JobKind, JobState, Priority, Target, random_id};
use crate::store::text::targets::{dedup_key, parse_target};
use rusqlite::{OptionalExtension, params};

/// How long a page waits for a human.
const PATIENCE_MS: i64 = 24 * 60 * 60 * 1_000;

/// Asks a human for a page, once for each job that wants it.
pub(super) fn queue_auth(w: &Writer<'_>, job: &Job, need: &AuthNeed) -> Result<()> {
    let known =
        w.db.prepare_cached(
            "SELECT 1 FROM auth_queue WHERE task_id = ?1 AND url = ?2 AND job_id = ?3
               AND status IN ('pending', 'in_progress')",
        )
        .db()?
        .exists([&job.task_id, &need.url, &job.id])
        .db()?;
    if known {
        return Ok(());
    }
    let now = crate::clock::parse_ms(&w.now).unwrap_or(0);
    w.db.prepare_cached(
        "INSERT INTO auth_queue (id, task_id, url, domain, auth_type, job_id, queued_at, expires_at, priority)
         SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
           CASE WHEN priority <= ?9 THEN 'high' WHEN priority >= ?10 THEN 'low' ELSE 'medium' END
         FROM jobs WHERE id = ?6",
    )
    .db()?
    .execute(params![
        random_id("iq_", 12),
        job.task_id,
        need.url,
        need.domain,
        need.auth_type,
        job.id,
        w.now,
        format_ms(now + PATIENCE_MS),
        Priority::High.value(),
        Priority::Low.value()
    ])
    .db()?;
    Ok(())
}

/// Runs what waited for a page that a human has opened; answers whether anything runs again. A
/// search that went on without the page is not repeated: the page alone is read.
pub(crate) fn resume_waiting(
    w: &Writer<'_>,
    task_id: &str,
    job_id: Option<&str>,
    url: &str,
) -> Result<bool> {
    match state_of(w, job_id)? {
        Some(JobState::AwaitingAuth) => {
            // Waiting was no failed attempt.
            w.db.prepare_cached(
                "UPDATE jobs SET state = 'queued', attempts = max(attempts - 1, 0), queued_at = ?2,
                   finished_at = NULL, worker_id = NULL, lease_until = NULL
                 WHERE id = ?1",
            )
            .db()?
            .execute(params![job_id, w.now])
            .db()?;
            Ok(true)
        }
        // It will come to the page by itself.
        Some(JobState::Queued) => Ok(false),
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
    Ok(enqueue(w, &job)?.is_some())
}

/// Gives up a job that waits for a human, unless another page that it wants may still be opened. Its
/// work ended when it began to wait: nobody's time is charged for the waiting.
pub(crate) fn give_up_waiting(w: &Writer<'_>, job_id: &str, reason: &str) -> Result<bool> {
    let given_up =
        w.db.prepare_cached(
            "UPDATE jobs SET state = 'failed', error_message = ?2,
               finished_at = coalesce(finished_at, ?3)
             WHERE id = ?1 AND state = 'awaiting_auth' AND NOT EXISTS (
               SELECT 1 FROM auth_queue a
               WHERE a.job_id = jobs.id AND a.status IN ('pending', 'in_progress'))",
        )
        .db()?
        .execute(params![job_id, reason, w.now])
        .db()?;
    Ok(given_up > 0)
}

fn state_of(w: &Writer<'_>, job_id: Option<&str>) -> Result<Option<JobState>> {
    w.db.prepare_cached("SELECT state FROM jobs WHERE id = ?1")
        .db()?
        .query_row([job_id], |r| r.get(0))
        .optional()
        .db()
}
