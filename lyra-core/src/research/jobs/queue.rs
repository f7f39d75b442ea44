//! Jobs as rows: queued, claimed by one compare-and-swap, finished together with what follows.

use super::waiting;
use crate::clock::{Clock, JUMP_MS, Trust, format_ms, parse_ms};
use crate::error::{Error, Result, SqliteResultExt};
use crate::research::pipeline::StageOutcome;
use crate::store::graph::{EvidenceGraph, Reader, Writer};
pub(crate) use crate::store::model::LEASE_MS;
use crate::store::model::{JobKind, JobState, TaskStatus, random_id};
use rusqlite::{OptionalExtension, params};

/// A job that was taken up and left so often has failed.
pub const MAX_ATTEMPTS: i64 = 3;

/// A job to be queued.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewJob {
    /// The task.
    pub(crate) task_id: String,
    /// What kind of work.
    pub(crate) kind: JobKind,
    /// Lower runs first.
    pub(crate) priority: i64,
    /// What to do.
    pub(crate) input: serde_json::Value,
    /// Equal for targets that mean the same.
    pub(crate) dedup_key: Option<String>,
    /// The job that led to this one.
    pub(crate) cause_id: Option<String>,
}

/// A job that a worker holds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Job {
    /// `job_…`.
    pub(crate) id: String,
    /// The task.
    pub(crate) task_id: String,
    /// What kind of work.
    pub(crate) kind: JobKind,
    /// How often it was taken up, this time included.
    pub(crate) attempts: i64,
    /// What to do.
    pub(crate) input: serde_json::Value,
    /// When it was taken up, by [`Clock::elapsed_ms`].
    pub(crate) began_ms: i64,
}

impl Job {
    /// When it was taken up, as the clock shows it now: it may have been set since.
    fn started_at(&self, clock: &dyn Clock) -> String {
        format_ms(clock.now_ms() - (clock.elapsed_ms() - self.began_ms))
    }
}

/// Moves `started_at` of a job to ?1 if the clock was set since it was written: the time between it
/// and the end is what the task's budget of seconds is charged with.
fn corrected_start() -> String {
    format!(
        "started_at = CASE WHEN abs(unixepoch(started_at, 'subsec') - unixepoch(?1, 'subsec')) > {JUMP_MS} / 1000.0
           THEN ?1 ELSE started_at END"
    )
}

/// The run of research that a job of task ?2 belongs to. A target begins the next one unless anything
/// of the last one waits or runs; what follows from targets belongs to the last one.
const WAVE: &str = "(SELECT coalesce(max(wave), 0) + (?3 = 'target_queue' AND NOT EXISTS (
  SELECT 1 FROM jobs b WHERE b.task_id = ?2 AND b.state IN ('queued', 'running')
    AND b.wave = (SELECT max(wave) FROM jobs c WHERE c.task_id = ?2)))
  FROM jobs a WHERE a.task_id = ?2)";

/// Queues a job; answers its id, or none where one like it is there already: for targets, one with
/// the same key that is not failed or cancelled; for follow-ups, one that still waits to run.
pub(crate) fn enqueue(w: &Writer<'_>, job: &NewJob) -> Result<Option<String>> {
    let twin: bool = match &job.dedup_key {
        Some(key) => is_known_target(&w.reader(), &job.task_id, key)?,
        None => {
            w.db.prepare_cached(
                "SELECT 1 FROM jobs WHERE task_id = ?1 AND kind = ?2 AND state = 'queued'",
            )
            .db()?
            .exists(params![job.task_id, job.kind])
            .db()?
        }
    };
    if twin {
        return Ok(None);
    }
    let id = random_id("job_", 16);
    w.db.prepare_cached(&format!(
        "INSERT INTO jobs (id, task_id, kind, priority, state, input_json, cause_id, dedup_key, created_at,
           queued_at, wave) VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?8, {WAVE})"
    ))
    .db()?
    .execute(params![
        id,
        job.task_id,
        job.kind,
        job.priority,
        job.input.to_string(),
        job.cause_id,
        job.dedup_key,
        w.now,
    ])
    .db()?;
    Ok(Some(id))
}

/// Whether a target of this key is queued, under way or done in the task.
pub(crate) fn is_known_target(reader: &Reader<'_>, task_id: &str, key: &str) -> Result<bool> {
    reader
        .db
        .prepare_cached(
            "SELECT 1 FROM jobs WHERE task_id = ?1 AND dedup_key = ?2 AND kind = 'target_queue'
               AND state IN ('queued', 'running', 'awaiting_auth', 'completed')",
        )
        .db()?
        .exists([task_id, key])
        .db()
}

/// Of a job `q`: whether a worker may take it up. Targets run beside one another; of what follows
/// them one job of a kind runs at a time in a task, for two would do the same work twice.
const MAY_RUN: &str = "q.state = 'queued' AND (q.kind = 'target_queue' OR NOT EXISTS (
  SELECT 1 FROM jobs r WHERE r.task_id = q.task_id AND r.kind = q.kind AND r.state = 'running'))";

/// Takes the next job: lowest priority number first, then first come, first served. What was
/// queued in one call has one time and random ids; the row's number knows the order of the call.
pub(crate) fn claim(
    graph: &EvidenceGraph,
    worker_id: &str,
    task_id: Option<&str>,
) -> Result<Option<Job>> {
    // Looking costs no write lock; most looks find nothing.
    let waiting = graph.read(|r| {
        r.db.prepare_cached(&format!(
            "SELECT 1 FROM jobs q WHERE {MAY_RUN} AND (?1 IS NULL OR q.task_id = ?1) LIMIT 1"
        ))
        .db()?
        .exists([task_id])
        .db()
    })?;
    if !waiting {
        return Ok(None);
    }
    graph.write(|w| {
        let lease = lease_end(graph);
        let began_ms = graph.clock().elapsed_ms();
        let claimed =
            w.db.prepare_cached(&format!(
                "UPDATE jobs SET state = 'running', attempts = attempts + 1, worker_id = ?1,
                   started_at = ?2, lease_until = ?3, finished_at = NULL, error_message = NULL
                 WHERE state = 'queued' AND id = (
                   SELECT q.id FROM jobs q WHERE {MAY_RUN} AND (?4 IS NULL OR q.task_id = ?4)
                   ORDER BY q.priority, q.queued_at, q.rowid LIMIT 1)
                 RETURNING id, task_id, kind, attempts, input_json"
            ))
            .db()?
            .query_row(params![worker_id, w.now, lease, task_id], |r| {
                let input: String = r.get(4)?;
                Ok(Job {
                    id: r.get(0)?,
                    task_id: r.get(1)?,
                    kind: r.get(2)?,
                    attempts: r.get(3)?,
                    input: serde_json::from_str(&input).unwrap_or_default(),
                    began_ms,
                })
            })
            .optional()
            .db()?;
        // Filling in vectors is upkeep: it does not start a task.
        if let Some(job) = claimed.as_ref().filter(|job| job.kind != JobKind::Embed) {
            start_task(w, &job.task_id)?;
        }
        Ok(claimed)
    })
}

fn start_task(w: &Writer<'_>, task_id: &str) -> Result<()> {
    w.db.prepare_cached("UPDATE tasks SET started_at = coalesce(started_at, ?2) WHERE id = ?1")
        .db()?
        .execute(params![task_id, w.now])
        .db()?;
    Ok(())
}

/// Keeps a running job; answers whether it is still ours.
pub(crate) fn renew(graph: &EvidenceGraph, job: &Job, worker_id: &str) -> Result<bool> {
    graph.write(|w| {
        let started = job.started_at(graph.clock().as_ref());
        let kept =
            w.db.prepare_cached(&format!(
                "UPDATE jobs SET lease_until = ?4, {}
                 WHERE id = ?2 AND worker_id = ?3 AND state = 'running'",
                corrected_start()
            ))
            .db()?
            .execute(params![started, job.id, worker_id, lease_end(graph)])
            .db()?;
        Ok(kept > 0)
    })
}

fn lease_end(graph: &EvidenceGraph) -> String {
    format_ms(graph.clock().now_ms() + LEASE_MS)
}

/// Ends a job with what it gave, and queues what follows, in one transaction. A job that is not
/// ours any more (cancelled, or given to another worker) is left alone.
pub(crate) fn complete(
    graph: &EvidenceGraph,
    job: &Job,
    worker_id: &str,
    outcome: &StageOutcome,
) -> Result<bool> {
    graph.write(|w| {
        // Nobody is asked to open a page for a task that was stopped meanwhile.
        let is_stopped = is_stopped(w, &job.task_id, job.kind)?;
        let (state, reason) = match outcome.is_blocked {
            false => (JobState::Completed, None),
            true if is_stopped => (JobState::Cancelled, Some(STOPPED)),
            true => (JobState::AwaitingAuth, None),
        };
        let done =
            w.db.prepare_cached(&format!(
                "UPDATE jobs SET state = ?4, output_json = ?5, finished_at = ?6, lease_until = NULL,
                   error_message = ?7, {}
                 WHERE id = ?2 AND worker_id = ?3 AND state = 'running'",
                corrected_start()
            ))
            .db()?
            .execute(params![
                job.started_at(graph.clock().as_ref()),
                job.id,
                worker_id,
                state,
                outcome.output.to_string(),
                w.now,
                reason
            ])
            .db()?;
        if done == 0 {
            return Ok(false);
        }
        if !is_stopped {
            for need in &outcome.needs_auth {
                waiting::queue_auth(w, job, need)?;
            }
        }
        let kinds: Vec<JobKind> = outcome.follow_ups.iter().map(|f| f.kind).collect();
        follow_up(w, job, &kinds)?;
        w.log_event(
            "worker",
            "job_completed",
            Some(&job.task_id),
            Some(&job.id),
            &serde_json::json!({ "kind": job.kind }),
        )?;
        Ok(true)
    })
}

/// Ends a job with the reason why it failed. What it stored before it failed is verified all the
/// same.
pub(crate) fn fail(graph: &EvidenceGraph, job: &Job, worker_id: &str, error: &Error) -> Result<()> {
    graph.write(|w| {
        let failed = w
            .db
            .prepare_cached(&format!(
                "UPDATE jobs SET state = 'failed', error_message = ?4, finished_at = ?5, lease_until = NULL, {}
                 WHERE id = ?2 AND worker_id = ?3 AND state = 'running'",
                corrected_start()
            ))
            .db()?
            .execute(params![
                job.started_at(graph.clock().as_ref()),
                job.id,
                worker_id,
                error.to_string(),
                w.now
            ])
            .db()?;
        if failed == 0 {
            return end_searches(w, job);
        }
        after_failure(w, job, &error.to_string())
    })
}

/// What a failed job leaves behind is put in order: its search is over, what it stored is checked
/// like everything else, and the log says why.
fn after_failure(w: &Writer<'_>, job: &Job, reason: &str) -> Result<()> {
    end_searches(w, job)?;
    if job.kind == JobKind::TargetQueue {
        follow_up(w, job, &[JobKind::VerifyNli, JobKind::CitationGraph])?;
        if has_failed_wholly(w, &job.task_id)? {
            w.fail_task(&job.task_id, reason)?;
        }
    }
    let details = serde_json::json!({ "kind": job.kind, "error": reason });
    w.log_event(
        "worker",
        "job_failed",
        Some(&job.task_id),
        Some(&job.id),
        &details,
    )
}

/// Whether every target of a task at work has failed, but for those that were taken back.
fn has_failed_wholly(w: &Writer<'_>, task_id: &str) -> Result<bool> {
    if w.reader().task(task_id)?.status != TaskStatus::Exploring {
        return Ok(false);
    }
    let others = "SELECT 1 FROM jobs WHERE task_id = ?1 AND kind = 'target_queue'
                  AND state NOT IN ('failed', 'cancelled')";
    Ok(!w.db.prepare_cached(others).db()?.exists([task_id]).db()?)
}

/// Ends searches that the job left under way, unless another worker has taken it up meanwhile and
/// searches on.
fn end_searches(w: &Writer<'_>, job: &Job) -> Result<()> {
    w.db.prepare_cached(
        "UPDATE queries SET status = 'failed', finished_at = ?2
         WHERE cause_id = ?1 AND status = 'running'
           AND NOT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND state = 'running')",
    )
    .db()?
    .execute(params![job.id, w.now])
    .db()?;
    Ok(())
}

/// Why a job of a stopped task was taken back.
pub(crate) const STOPPED: &str = "the task was stopped";

/// Whether jobs of this kind rest because their task was stopped: all of them, or targets only, as
/// the last stop said.
pub(super) fn is_stopped(w: &Writer<'_>, task_id: &str, kind: JobKind) -> Result<bool> {
    if w.reader().task(task_id)?.status != TaskStatus::Paused {
        return Ok(false);
    }
    Ok(kind == JobKind::TargetQueue || !stops_targets_only(w, task_id)?)
}

fn stops_targets_only(w: &Writer<'_>, task_id: &str) -> Result<bool> {
    let sql = format!("SELECT {TARGETS_ONLY} FROM (SELECT ?1 AS task_id) AS j");
    w.db.prepare_cached(&sql)
        .db()?
        .query_row([task_id], |r| r.get(0))
        .db()
}

/// Of the task of `j`: whether its last stop was about targets only.
const TARGETS_ONLY: &str = "coalesce((SELECT e.details_json ->> '$.scope' = 'target_queue_only'
  FROM event_log e WHERE e.task_id = j.task_id AND e.action = 'task_stopped'
  ORDER BY e.id DESC LIMIT 1), 0)";

/// Of a running job `j`: whether it would rest, should its worker have gone, because its task was
/// stopped. Filling in vectors is upkeep that no stop ends for good.
pub(super) fn rests(job: &str) -> String {
    format!(
        "({job}.kind <> 'embed'
          AND EXISTS (SELECT 1 FROM tasks t WHERE t.id = {job}.task_id AND t.status = 'paused')
          AND ({job}.kind = 'target_queue' OR NOT {}))",
        TARGETS_ONLY.replace("j.task_id", &format!("{job}.task_id"))
    )
}

/// Queues what follows a job, unless its task was stopped.
pub(super) fn follow_up(w: &Writer<'_>, job: &Job, kinds: &[JobKind]) -> Result<()> {
    for kind in kinds {
        if is_stopped(w, &job.task_id, *kind)? {
            continue;
        }
        let next = NewJob {
            task_id: job.task_id.clone(),
            kind: *kind,
            priority: kind.default_priority(),
            input: serde_json::json!({}),
            dedup_key: None,
            cause_id: Some(job.id.clone()),
        };
        enqueue(w, &next)?;
    }
    Ok(())
}

/// Puts back jobs whose worker has gone silent; those taken up too often have failed, and those of
/// a stopped task stay as they are until it is resumed. Answers how many it found.
///
/// After the clock was set, no lease tells anything until every worker alive has renewed its own. A
/// lease that ends later than any can was given before the clock was set back, to a worker that has
/// gone.
pub(crate) fn requeue_abandoned(graph: &EvidenceGraph) -> Result<usize> {
    let trust = graph.trust_in_clock(LEASE_MS);
    if trust == Trust::Jumped {
        return Ok(0);
    }
    let now = graph.clock().now();
    let latest = match trust {
        Trust::Steady => format_ms(graph.clock().now_ms() + LEASE_MS + JUMP_MS),
        // Behind every time.
        _ => "~".to_owned(),
    };
    let condition = format!(
        "jobs.state = 'running' AND (jobs.lease_until < ?1 OR jobs.lease_until > ?2) AND NOT {}",
        rests("jobs")
    );
    let abandoned = graph.read(|r| {
        r.db.prepare_cached(&format!("SELECT 1 FROM jobs WHERE {condition} LIMIT 1"))
            .db()?
            .exists([&now, &latest])
            .db()
    })?;
    if !abandoned {
        return Ok(0);
    }
    graph.write(|w| {
        let mut statement =
            w.db.prepare_cached(&format!(
                "UPDATE jobs SET
                   state = CASE WHEN attempts >= ?3 THEN 'failed' ELSE 'queued' END,
                   error_message = CASE WHEN attempts >= ?3
                     THEN 'given up: its worker stopped ' || attempts || ' times without finishing it' END,
                   finished_at = CASE WHEN attempts >= ?3 THEN ?1 END,
                   worker_id = NULL, lease_until = NULL
                 WHERE {condition}
                 RETURNING id, task_id, kind, attempts, error_message"
            ))
            .db()?;
        let rows = statement
            .query_map(params![now, latest, MAX_ATTEMPTS], |r| {
                let job = Job {
                    id: r.get(0)?,
                    task_id: r.get(1)?,
                    kind: r.get(2)?,
                    attempts: r.get(3)?,
                    input: serde_json::Value::Null,
                    began_ms: 0,
                };
                Ok((job, r.get::<_, Option<String>>(4)?))
            })
            .db()?;
        let found: Vec<_> = rows.collect::<rusqlite::Result<_>>().db()?;
        for (job, given_up) in &found {
            match given_up {
                Some(reason) => after_failure(w, job, reason)?,
                None => drop_twins(w, job)?,
            }
        }
        Ok(found.len())
    })
}

/// A follow-up that was put back may find another one in the queue, which was put there while it
/// ran: one of them is enough.
fn drop_twins(w: &Writer<'_>, job: &Job) -> Result<()> {
    if !matches!(job.kind, JobKind::VerifyNli | JobKind::CitationGraph) {
        return Ok(());
    }
    w.db.prepare_cached(
        "UPDATE jobs SET state = 'cancelled', error_message = 'another job like it waits already', finished_at = ?3
         WHERE task_id = ?1 AND kind = ?2 AND state = 'queued' AND rowid > (
           SELECT min(rowid) FROM jobs WHERE task_id = ?1 AND kind = ?2 AND state = 'queued')",
    )
    .db()?
    .execute(params![job.task_id, job.kind, w.now])
    .db()?;
    Ok(())
}

/// Lets go of a job that was taken back while it ran; whoever waits for that is not kept longer.
/// What it stored until then is checked like everything else, where that was not stopped.
pub(crate) fn let_go(graph: &EvidenceGraph, job: &Job, worker_id: &str) -> Result<()> {
    graph.write(|w| {
        let held =
            w.db.prepare_cached(
                "UPDATE jobs SET lease_until = NULL
                 WHERE id = ?1 AND worker_id = ?2 AND state = 'cancelled' AND lease_until IS NOT NULL",
            )
            .db()?
            .execute([&job.id, worker_id])
            .db()?;
        end_searches(w, job)?;
        if held > 0 && job.kind == JobKind::TargetQueue {
            follow_up(w, job, &[JobKind::VerifyNli, JobKind::CitationGraph])?;
        }
        Ok(())
    })
}

/// Puts a job that this worker holds back into the queue; `counts`: as an attempt that came to
/// nothing, and else as if it had not been taken.
pub(super) fn give_back(
    graph: &EvidenceGraph,
    job_id: &str,
    worker_id: &str,
    counts: bool,
) -> Result<()> {
    graph.write(|w| {
        let given =
            w.db.prepare_cached(
                "UPDATE jobs SET state = 'queued', attempts = attempts - iif(?3, 0, 1), worker_id = NULL,
                   started_at = NULL, lease_until = NULL
                 WHERE id = ?1 AND worker_id = ?2 AND state = 'running'",
            )
            .db()?
            .execute(params![job_id, worker_id, counts])
            .db()?;
        if given == 0 {
            return Ok(());
        }
        w.db.prepare_cached(
            "UPDATE queries SET status = 'failed', finished_at = ?2
             WHERE cause_id = ?1 AND status = 'running'",
        )
        .db()?
        .execute([job_id, w.now()])
        .db()?;
        Ok(())
    })
}

/// Whether the worker still holds the job.
pub(crate) fn is_ours(graph: &EvidenceGraph, job_id: &str, worker_id: &str) -> Result<bool> {
    graph.read(|r| {
        r.db.prepare_cached(
            "SELECT 1 FROM jobs WHERE id = ?1 AND worker_id = ?2 AND state = 'running'",
        )
        .db()?
        .exists([job_id, worker_id])
        .db()
    })
}

/// Milliseconds until the next lease could run out; none if no job runs.
pub(super) fn next_lease_end(graph: &EvidenceGraph) -> Result<Option<i64>> {
    let end: Option<String> = graph.read(|r| {
        r.db.prepare_cached("SELECT min(lease_until) FROM jobs WHERE state = 'running'")
            .db()?
            .query_row([], |r| r.get(0))
            .db()
    })?;
    Ok(end
        .as_deref()
        .and_then(parse_ms)
        .map(|ms| (ms - graph.clock().now_ms()).max(0)))
}

/// Takes back jobs of a task in the given states; answers how many of each kind. A job that was
/// running keeps its lease until its worker has let go of it.
pub(crate) fn cancel_jobs(
    w: &Writer<'_>,
    task_id: &str,
    kinds: &[JobKind],
    states: &[JobState],
    reason: &str,
) -> Result<Vec<(JobKind, usize)>> {
    let mut counts = Vec::new();
    for kind in kinds {
        let mut cancelled = 0;
        for state in states {
            cancelled +=
                w.db.prepare_cached(
                    "UPDATE jobs SET state = 'cancelled', error_message = ?4, finished_at = ?5
                     WHERE task_id = ?1 AND kind = ?2 AND state = ?3",
                )
                .db()?
                .execute(params![task_id, kind, state, reason, w.now])
                .db()?;
        }
        counts.push((*kind, cancelled));
    }
    Ok(counts)
}
