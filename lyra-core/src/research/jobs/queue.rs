//! Jobs as rows: queued, claimed by one compare-and-swap, and finished together with their
//! follow-ups.

use super::waiting;
use crate::clock::{Clock, JUMP_MS, Trust, format_ms, parse_ms};
use crate::error::{Error, Result};
use crate::research::pipeline::StageOutcome;
use crate::store::graph::{EvidenceGraph, Job, JobClaim, JobEnd, NewJob, Writer};
pub(crate) use crate::store::model::LEASE_MS;
use crate::store::model::{JobKind, JobState, TaskStatus};

/// When a job was started, as shown by the current clock, which may have been set since.
fn started_at(job: &Job, clock: &dyn Clock) -> String {
    format_ms(clock.now_ms() - (clock.elapsed_ms() - job.began_ms))
}

/// Claims the next job: lowest priority number first, then in order of arrival. With `in_order`,
/// claims nothing while another job of the task is running.
pub(crate) fn claim(
    graph: &EvidenceGraph,
    worker_id: &str,
    task_id: Option<&str>,
    in_order: bool,
) -> Result<Option<Job>> {
    // Reading takes no write lock, and usually there is no job.
    if !graph.read(|r| r.has_job_to_run(task_id, in_order))? {
        return Ok(None);
    }
    graph.write(|w| {
        let claim = JobClaim {
            worker_id,
            task_id,
            in_order,
            lease_until: &lease_end(graph),
            began_ms: graph.clock().elapsed_ms(),
        };
        let claimed = w.claim_job(&claim)?;
        // Adding vectors is maintenance: it does not start a task.
        if let Some(job) = claimed.as_ref().filter(|job| job.kind != JobKind::Embed) {
            w.start_task(&job.task_id)?;
        }
        Ok(claimed)
    })
}

/// Renews the lease of a running job; returns whether it still belongs to this worker.
pub(crate) fn renew(graph: &EvidenceGraph, job: &Job, worker_id: &str) -> Result<bool> {
    graph.write(|w| {
        let started = started_at(job, graph.clock().as_ref());
        w.renew_job(&job.id, worker_id, &started, &lease_end(graph))
    })
}

fn lease_end(graph: &EvidenceGraph) -> String {
    format_ms(graph.clock().now_ms() + LEASE_MS)
}

/// Ends a job with its results and queues its follow-ups, in one transaction. A job that no longer
/// belongs to this worker (cancelled, or given to another one) is left unchanged.
pub(crate) fn complete(
    graph: &EvidenceGraph,
    job: &Job,
    worker_id: &str,
    outcome: &StageOutcome,
) -> Result<bool> {
    graph.write(|w| {
        // No human is asked to open a page for a task that was stopped in the meantime.
        let is_stopped = is_stopped(w, &job.task_id, job.kind)?;
        let (state, reason) = match outcome.is_blocked {
            false => (JobState::Completed, None),
            true if is_stopped => (JobState::Cancelled, Some(STOPPED)),
            true => (JobState::AwaitingAuth, None),
        };
        let end = JobEnd {
            state,
            output: Some(outcome.output.to_string()),
            reason,
            started_at: started_at(job, graph.clock().as_ref()),
        };
        if !w.end_job(&job.id, worker_id, &end)? {
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

/// Ends a job with the reason of its failure. What it stored before it failed is still verified.
pub(crate) fn fail(graph: &EvidenceGraph, job: &Job, worker_id: &str, error: &Error) -> Result<()> {
    let reason = error.to_string();
    graph.write(|w| {
        let end = JobEnd {
            state: JobState::Failed,
            output: None,
            reason: Some(&reason),
            started_at: started_at(job, graph.clock().as_ref()),
        };
        match w.end_job(&job.id, worker_id, &end)? {
            true => after_failure(w, job, &reason),
            false => w.end_searches(&job.id),
        }
    })
}

/// Cleans up after a failed job: its search is ended, what it stored is verified as usual, and the
/// reason is logged.
fn after_failure(w: &Writer<'_>, job: &Job, reason: &str) -> Result<()> {
    w.end_searches(&job.id)?;
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

/// Whether all targets of an active task have failed, not counting cancelled ones.
fn has_failed_wholly(w: &Writer<'_>, task_id: &str) -> Result<bool> {
    let reader = w.reader();
    Ok(reader.task(task_id)?.status == TaskStatus::Exploring
        && reader.has_no_target_left(task_id)?)
}

/// The reason given for cancelled jobs of a stopped task.
pub(crate) const STOPPED: &str = "the task was stopped";

/// Whether jobs of this kind are stopped because their task was stopped: all of them, or only
/// targets, according to the last stop.
pub(super) fn is_stopped(w: &Writer<'_>, task_id: &str, kind: JobKind) -> Result<bool> {
    if w.reader().task(task_id)?.status != TaskStatus::Paused {
        return Ok(false);
    }
    Ok(kind == JobKind::TargetQueue || !w.reader().stops_targets_only(task_id)?)
}

/// Queues the follow-ups of a job, unless its task was stopped.
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
        w.queue_job(&next)?;
    }
    Ok(())
}

/// Requeues jobs whose worker has stopped renewing its lease. Jobs that were started too often
/// fail, and those of a stopped task stay as they are until it is resumed. Returns the number of
/// jobs found.
///
/// After the clock was set, leases are not meaningful until every live worker has renewed its
/// lease. A lease that ends later than any valid lease can was given before the clock was set back,
/// to a worker that no longer exists.
pub(crate) fn requeue_abandoned(graph: &EvidenceGraph) -> Result<usize> {
    let trust = graph.trust_in_clock(LEASE_MS);
    if trust == Trust::Jumped {
        return Ok(0);
    }
    let now = graph.clock().now();
    let latest = match trust {
        Trust::Steady => format_ms(graph.clock().now_ms() + LEASE_MS + JUMP_MS),
        // Sorts after every time.
        _ => "~".to_owned(),
    };
    if !graph.read(|r| r.has_abandoned_jobs(&now, &latest))? {
        return Ok(0);
    }
    graph.write(|w| {
        let found = w.put_back_abandoned(&now, &latest)?;
        for (job, given_up) in &found {
            match given_up {
                Some(reason) => after_failure(w, job, reason)?,
                None => drop_twins(w, job)?,
            }
        }
        Ok(found.len())
    })
}

/// A requeued follow-up may duplicate one that was queued while it ran: only one is kept.
fn drop_twins(w: &Writer<'_>, job: &Job) -> Result<()> {
    match job.kind {
        JobKind::VerifyNli | JobKind::CitationGraph => w.cancel_twins(&job.task_id, job.kind),
        _ => Ok(()),
    }
}

/// Releases a job that was cancelled while it ran, so that a caller that waits for it can continue.
/// What the job stored so far is verified as usual, unless verification was stopped.
pub(crate) fn release_cancelled(graph: &EvidenceGraph, job: &Job, worker_id: &str) -> Result<()> {
    graph.write(|w| {
        let was_held = w.release_cancelled(&job.id, worker_id)?;
        w.end_searches(&job.id)?;
        if was_held && job.kind == JobKind::TargetQueue {
            follow_up(w, job, &[JobKind::VerifyNli, JobKind::CitationGraph])?;
        }
        Ok(())
    })
}

/// Milliseconds until the next lease could expire; `None` if no job runs.
pub(super) fn next_lease_end(graph: &EvidenceGraph) -> Result<Option<i64>> {
    let end = graph.read(|r| r.first_lease_end())?;
    Ok(end
        .as_deref()
        .and_then(parse_ms)
        .map(|ms| (ms - graph.clock().now_ms()).max(0)))
}
