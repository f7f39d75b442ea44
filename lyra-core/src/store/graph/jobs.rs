//! Jobs as rows: queued, claimed by compare-and-swap, kept by leases, ended once.

use super::handles::{Reader, Writer};
use crate::clock::JUMP_MS;
use crate::error::Result;
use crate::store::database::Statements;
use crate::store::model::{JobKind, JobState, random_id};
use rusqlite::{Row, params};
use std::collections::BTreeMap;

/// Maximum number of attempts: a job that was claimed and abandoned this often has failed.
pub const MAX_ATTEMPTS: i64 = 3;

/// A job to be queued.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewJob {
    /// The task.
    pub(crate) task_id: String,
    /// What kind of work.
    pub(crate) kind: JobKind,
    /// Lower numbers run first.
    pub(crate) priority: i64,
    /// What to do.
    pub(crate) input: serde_json::Value,
    /// Key that is equal for equivalent targets.
    pub(crate) dedup_key: Option<String>,
    /// The job that led to this one.
    pub(crate) cause_id: Option<String>,
}

/// A job that a worker holds, or held.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Job {
    /// `job_…`.
    pub(crate) id: String,
    /// The task.
    pub(crate) task_id: String,
    /// What kind of work.
    pub(crate) kind: JobKind,
    /// Number of times it was claimed, this time included.
    pub(crate) attempts: i64,
    /// What to do.
    pub(crate) input: serde_json::Value,
    /// When it was claimed, by [`Clock::elapsed_ms`](crate::ports::Clock::elapsed_ms).
    pub(crate) began_ms: i64,
}

/// A worker's request for a job, of one task or of any.
#[derive(Debug)]
pub(crate) struct JobClaim<'a> {
    pub(crate) worker_id: &'a str,
    pub(crate) task_id: Option<&'a str>,
    /// No job is claimed while another job of the task runs.
    pub(crate) in_order: bool,
    pub(crate) lease_until: &'a str,
    /// See [`Job::began_ms`].
    pub(crate) began_ms: i64,
}

/// The result with which a running job ends.
#[derive(Debug)]
pub(crate) struct JobEnd<'a> {
    pub(crate) state: JobState,
    pub(crate) output: Option<String>,
    pub(crate) reason: Option<&'a str>,
    /// When the job was claimed, in the current time of the clock.
    pub(crate) started_at: String,
}

/// The time during which a job ran.
#[derive(Debug)]
pub(crate) struct WorkTime {
    pub(crate) started_at: String,
    pub(crate) finished_at: Option<String>,
    pub(crate) lease_until: Option<String>,
}

/// Jobs of a task by kind and state.
pub(crate) type JobTally = BTreeMap<(JobKind, JobState), usize>;

/// Condition on a job `q`: whether a worker may claim it. Targets run in parallel; of the jobs that
/// follow them, one job of a kind runs at a time in a task, because two would do the same work twice.
const MAY_RUN: &str = "q.state = 'queued' AND (q.kind = 'target_queue' OR NOT EXISTS (
  SELECT 1 FROM jobs r WHERE r.task_id = q.task_id AND r.kind = q.kind AND r.state = 'running'))";

/// The research run (wave) of a job of task ?2. A target begins the next one unless a job of the last
/// one waits or runs; jobs that follow from targets belong to the last one.
const WAVE: &str = "(SELECT coalesce(max(wave), 0) + (?3 = 'target_queue' AND NOT EXISTS (
  SELECT 1 FROM jobs b WHERE b.task_id = ?2 AND b.state IN ('queued', 'running')
    AND b.wave = (SELECT max(wave) FROM jobs c WHERE c.task_id = ?2)))
  FROM jobs a WHERE a.task_id = ?2)";

/// Condition on a job `q`: whether a worker may claim it.
fn may_run(in_order: bool) -> String {
    match in_order {
        true => format!(
            "{MAY_RUN} AND NOT EXISTS (
               SELECT 1 FROM jobs r WHERE r.task_id = q.task_id AND r.state = 'running')"
        ),
        false => MAY_RUN.to_owned(),
    }
}

/// Condition on the task of `j`: whether its last stop concerned targets only.
const TARGETS_ONLY: &str = "coalesce((SELECT e.details_json ->> '$.scope' = 'target_queue_only'
  FROM event_log e WHERE e.task_id = j.task_id AND e.action = 'task_stopped'
  ORDER BY e.id DESC LIMIT 1), 0)";

/// Condition on a running job: whether it is left as it is when its worker is gone, because its task was
/// stopped. Embedding jobs are upkeep and always run again.
fn rests(job: &str) -> String {
    format!(
        "({job}.kind <> 'embed'
          AND EXISTS (SELECT 1 FROM tasks t WHERE t.id = {job}.task_id AND t.status = 'paused')
          AND ({job}.kind = 'target_queue' OR NOT {}))",
        TARGETS_ONLY.replace("j.task_id", &format!("{job}.task_id"))
    )
}

/// Condition on a running job: whether its lease ended before ?1 or ends after ?2, and it is not left as
/// it is.
fn is_abandoned() -> String {
    format!(
        "jobs.state = 'running' AND (jobs.lease_until < ?1 OR jobs.lease_until > ?2) AND NOT {}",
        rests("jobs")
    )
}

/// Sets `started_at` of a job to ?1 if the clock was changed since it was written: the time between it
/// and the end is charged to the task's budget of seconds.
fn corrected_start() -> String {
    format!(
        "started_at = CASE WHEN abs(unixepoch(started_at, 'subsec') - unixepoch(?1, 'subsec')) > {JUMP_MS} / 1000.0
           THEN ?1 ELSE started_at END"
    )
}

impl Reader<'_> {
    /// Whether a target of this key is queued, under way or done in the task.
    pub(crate) fn is_known_target(&self, task_id: &str, key: &str) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM jobs WHERE task_id = ?1 AND dedup_key = ?2 AND kind = 'target_queue'
               AND state IN ('queued', 'running', 'awaiting_auth', 'completed')",
            [task_id, key],
        )
    }

    /// Whether there is a job that a worker could claim, of one task or of any.
    pub(crate) fn has_job_to_run(&self, task_id: Option<&str>, in_order: bool) -> Result<bool> {
        let sql = format!(
            "SELECT 1 FROM jobs q WHERE {} AND (?1 IS NULL OR q.task_id = ?1) LIMIT 1",
            may_run(in_order)
        );
        self.db.holds(&sql, [task_id])
    }

    /// Whether jobs of the task wait or run at time `now`. Jobs of a stopped task whose worker is gone
    /// do not count: waiting does not end them.
    pub(crate) fn has_jobs_under_way(&self, task_id: &str, now: &str) -> Result<bool> {
        let sql = format!(
            "SELECT 1 FROM jobs j WHERE task_id = ?1 AND (state = 'queued' OR (state = 'running'
               AND NOT (lease_until < ?2 AND {})))",
            rests("j")
        );
        self.db.holds(&sql, [task_id, now])
    }

    /// Whether jobs of the task wait or run.
    pub(crate) fn has_unfinished_jobs(&self, task_id: &str) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM jobs WHERE task_id = ?1 AND state IN ('queued', 'running')",
            [task_id],
        )
    }

    /// Whether targets ended after the last comparison of the task's claims.
    pub(crate) fn has_uncompared_targets(&self, task_id: &str) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM jobs WHERE task_id = ?1 AND kind = 'target_queue'
               AND state IN ('completed', 'failed') AND finished_at > coalesce((
                 SELECT max(started_at) FROM jobs
                 WHERE task_id = ?1 AND kind = 'verify_nli' AND state = 'completed'), '')",
            [task_id],
        )
    }

    /// Whether the worker still holds the job.
    pub(crate) fn is_job_held(&self, job_id: &str, worker_id: &str) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM jobs WHERE id = ?1 AND worker_id = ?2 AND state = 'running'",
            [job_id, worker_id],
        )
    }

    /// Whether there are running jobs whose lease ended before `now` or ends after `latest`.
    pub(crate) fn has_abandoned_jobs(&self, now: &str, latest: &str) -> Result<bool> {
        let sql = format!("SELECT 1 FROM jobs WHERE {} LIMIT 1", is_abandoned());
        self.db.holds(&sql, [now, latest])
    }

    /// When the first lease of a running job ends.
    pub(crate) fn first_lease_end(&self) -> Result<Option<String>> {
        let sql = "SELECT min(lease_until) FROM jobs WHERE state = 'running'";
        self.db.one(sql, [], |r| r.get(0))
    }

    /// The state of a job.
    pub(crate) fn job_state(&self, job_id: Option<&str>) -> Result<Option<JobState>> {
        let sql = "SELECT state FROM jobs WHERE id = ?1";
        self.db.first(sql, [job_id], |r| r.get(0))
    }

    /// Number of jobs of a kind that a worker holds: running ones, and those cancelled while they ran,
    /// until their worker has released them or is known to be gone.
    pub(crate) fn jobs_held(&self, task_id: &str, kind: JobKind, now: &str) -> Result<usize> {
        self.db.one(
            "SELECT count(*) FROM jobs WHERE task_id = ?1 AND kind = ?2
               AND state IN ('running', 'cancelled') AND lease_until >= ?3",
            params![task_id, kind, now],
            |r| r.get(0),
        )
    }

    /// The time spans of work on each target of the task, by their start.
    pub(crate) fn times_of_work(&self, task_id: &str) -> Result<Vec<WorkTime>> {
        let read = |r: &Row<'_>| {
            Ok(WorkTime {
                started_at: r.get(0)?,
                finished_at: r.get(1)?,
                lease_until: r.get(2)?,
            })
        };
        self.db.all(
            "SELECT started_at, finished_at, lease_until FROM jobs
             WHERE task_id = ?1 AND kind = 'target_queue' AND started_at IS NOT NULL
               AND state IN ('running', 'completed', 'failed')
             ORDER BY started_at",
            [task_id],
            read,
        )
    }

    /// Jobs of the task by kind and state.
    pub(crate) fn job_counts(&self, task_id: &str) -> Result<JobTally> {
        self.db.all(
            "SELECT kind, state, count(*) FROM jobs WHERE task_id = ?1 GROUP BY kind, state",
            [task_id],
            |r| Ok(((r.get(0)?, r.get(1)?), r.get(2)?)),
        )
    }

    /// Whether every target of a task has failed, cancelled ones excepted.
    pub(crate) fn has_no_target_left(&self, task_id: &str) -> Result<bool> {
        let others = self.db.holds(
            "SELECT 1 FROM jobs WHERE task_id = ?1 AND kind = 'target_queue'
               AND state NOT IN ('failed', 'cancelled')",
            [task_id],
        )?;
        Ok(!others)
    }

    /// Whether the last stop of the task concerned targets only.
    pub(crate) fn stops_targets_only(&self, task_id: &str) -> Result<bool> {
        let sql = format!("SELECT {TARGETS_ONLY} FROM (SELECT ?1 AS task_id) AS j");
        self.db.one(&sql, [task_id], |r| r.get(0))
    }

    /// The output of the task's last finished embed job for a model.
    pub(crate) fn last_embed_output(
        &self,
        task_id: &str,
        model_id: &str,
    ) -> Result<Option<String>> {
        self.db.first(
            "SELECT output_json FROM jobs WHERE task_id = ?1 AND kind = 'embed' AND state = 'completed'
               AND output_json ->> '$.model_id' = ?2 ORDER BY finished_at DESC, rowid DESC LIMIT 1",
            [task_id, model_id],
            |r| r.get(0),
        )
    }

    /// Input and output of the task's embed job that waits or runs.
    pub(crate) fn open_embed_job(&self, task_id: &str) -> Result<Option<(String, Option<String>)>> {
        self.db.first(
            "SELECT input_json, output_json FROM jobs WHERE task_id = ?1 AND kind = 'embed'
               AND state IN ('queued', 'running') ORDER BY state DESC, queued_at LIMIT 1",
            [task_id],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
    }

    /// Whether an embed job waits for a model other than this one.
    pub(crate) fn has_stale_embed_jobs(&self, model_id: &str) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM jobs WHERE kind = 'embed' AND state = 'queued'
               AND input_json ->> '$.model_id' <> ?1",
            [model_id],
        )
    }

    /// Whether an embed job of the task runs for this model.
    pub(crate) fn is_embedding(&self, task_id: &str, model_id: &str) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM jobs WHERE task_id = ?1 AND kind = 'embed' AND state = 'running'
               AND input_json ->> '$.model_id' = ?2",
            [task_id, model_id],
        )
    }
}

impl Writer<'_> {
    /// Queues a job; returns its id, or none if an equivalent job exists: for targets, one with the same
    /// key that is not failed or cancelled; for follow-up jobs, one that still waits to run.
    pub(crate) fn queue_job(&self, job: &NewJob) -> Result<Option<String>> {
        let twin = match &job.dedup_key {
            Some(key) => self.reader().is_known_target(&job.task_id, key)?,
            None => self.db.holds(
                "SELECT 1 FROM jobs WHERE task_id = ?1 AND kind = ?2 AND state = 'queued'",
                params![job.task_id, job.kind],
            )?,
        };
        if twin {
            return Ok(None);
        }
        let id = random_id("job_", 16);
        let sql = format!(
            "INSERT INTO jobs (id, task_id, kind, priority, state, input_json, cause_id, dedup_key, created_at,
               queued_at, wave) VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, ?7, ?8, ?8, {WAVE})"
        );
        self.db.run(
            &sql,
            params![
                id,
                job.task_id,
                job.kind,
                job.priority,
                job.input.to_string(),
                job.cause_id,
                job.dedup_key,
                self.now,
            ],
        )?;
        Ok(Some(id))
    }

    /// Claims the next job: lowest priority number first, then first come, first served. Jobs queued in
    /// one call have the same time and random ids; the row number gives their order.
    pub(crate) fn claim_job(&self, claim: &JobClaim<'_>) -> Result<Option<Job>> {
        let sql = format!(
            "UPDATE jobs SET state = 'running', attempts = attempts + 1, worker_id = ?1,
               started_at = ?2, lease_until = ?3, finished_at = NULL, error_message = NULL
             WHERE state = 'queued' AND id = (
               SELECT q.id FROM jobs q WHERE {} AND (?4 IS NULL OR q.task_id = ?4)
               ORDER BY q.priority, q.queued_at, q.rowid LIMIT 1)
             RETURNING id, task_id, kind, attempts, input_json",
            may_run(claim.in_order)
        );
        let params = params![claim.worker_id, self.now, claim.lease_until, claim.task_id];
        self.db.first(&sql, params, |r| {
            let input: String = r.get(4)?;
            Ok(Job {
                id: r.get(0)?,
                task_id: r.get(1)?,
                kind: r.get(2)?,
                attempts: r.get(3)?,
                input: serde_json::from_str(&input).unwrap_or_default(),
                began_ms: claim.began_ms,
            })
        })
    }

    /// Marks a task as begun.
    pub(crate) fn start_task(&self, task_id: &str) -> Result<()> {
        let sql = "UPDATE tasks SET started_at = coalesce(started_at, ?2) WHERE id = ?1";
        self.db.run(sql, params![task_id, self.now])?;
        Ok(())
    }

    /// Renews the lease of a running job; returns whether the worker still holds it.
    pub(crate) fn renew_job(
        &self,
        job_id: &str,
        worker_id: &str,
        started_at: &str,
        lease_until: &str,
    ) -> Result<bool> {
        let sql = format!(
            "UPDATE jobs SET lease_until = ?4, {}
             WHERE id = ?2 AND worker_id = ?3 AND state = 'running'",
            corrected_start()
        );
        let params = [started_at, job_id, worker_id, lease_until];
        Ok(self.db.run(&sql, params)? > 0)
    }

    /// Ends a running job; returns whether the worker still held it.
    pub(crate) fn end_job(&self, job_id: &str, worker_id: &str, end: &JobEnd<'_>) -> Result<bool> {
        let sql = format!(
            "UPDATE jobs SET state = ?4, output_json = coalesce(?5, output_json), finished_at = ?6,
               lease_until = NULL, error_message = ?7, {}
             WHERE id = ?2 AND worker_id = ?3 AND state = 'running'",
            corrected_start()
        );
        let params = params![
            end.started_at,
            job_id,
            worker_id,
            end.state,
            end.output,
            self.now,
            end.reason
        ];
        Ok(self.db.run(&sql, params)? > 0)
    }

    /// Ends searches that the job left running, unless another worker has claimed it in the meantime and
    /// continues.
    pub(crate) fn end_searches(&self, job_id: &str) -> Result<()> {
        self.db.run(
            "UPDATE queries SET status = 'failed', finished_at = ?2
             WHERE cause_id = ?1 AND status = 'running'
               AND NOT EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND state = 'running')",
            params![job_id, self.now],
        )?;
        Ok(())
    }

    /// Queues again jobs whose lease ended before `now` or ends after `latest`, or fails those with too
    /// many attempts; returns each job, with the reason if it failed.
    pub(crate) fn put_back_abandoned(
        &self,
        now: &str,
        latest: &str,
    ) -> Result<Vec<(Job, Option<String>)>> {
        let sql = format!(
            "UPDATE jobs SET
               state = CASE WHEN attempts >= ?3 THEN 'failed' ELSE 'queued' END,
               error_message = CASE WHEN attempts >= ?3
                 THEN 'given up: its worker stopped ' || attempts || ' times without finishing it' END,
               finished_at = CASE WHEN attempts >= ?3 THEN ?1 END,
               worker_id = NULL, lease_until = NULL
             WHERE {}
             RETURNING id, task_id, kind, attempts, error_message",
            is_abandoned()
        );
        self.db.all(&sql, params![now, latest, MAX_ATTEMPTS], |r| {
            let job = Job {
                id: r.get(0)?,
                task_id: r.get(1)?,
                kind: r.get(2)?,
                attempts: r.get(3)?,
                input: serde_json::Value::Null,
                began_ms: 0,
            };
            Ok((job, r.get(4)?))
        })
    }

    /// Keeps the first of a task's queued jobs of a kind and cancels the others.
    pub(crate) fn cancel_twins(&self, task_id: &str, kind: JobKind) -> Result<()> {
        self.db.run(
            "UPDATE jobs SET state = 'cancelled', error_message = 'another job like it waits already', finished_at = ?3
             WHERE task_id = ?1 AND kind = ?2 AND state = 'queued' AND rowid > (
               SELECT min(rowid) FROM jobs WHERE task_id = ?1 AND kind = ?2 AND state = 'queued')",
            params![task_id, kind, self.now],
        )?;
        Ok(())
    }

    /// Releases a job that was cancelled while it ran; returns whether the worker still held it.
    pub(crate) fn release_cancelled(&self, job_id: &str, worker_id: &str) -> Result<bool> {
        let released = self.db.run(
            "UPDATE jobs SET lease_until = NULL
             WHERE id = ?1 AND worker_id = ?2 AND state = 'cancelled' AND lease_until IS NOT NULL",
            [job_id, worker_id],
        )?;
        Ok(released > 0)
    }

    /// Queues again a job that this worker holds, and ends its searches. With `counts`, this is a failed
    /// attempt; otherwise it is as if the job had not been claimed.
    pub(crate) fn give_job_back(&self, job_id: &str, worker_id: &str, counts: bool) -> Result<()> {
        let given = self.db.run(
            "UPDATE jobs SET state = 'queued', attempts = attempts - iif(?3, 0, 1), worker_id = NULL,
               started_at = NULL, lease_until = NULL
             WHERE id = ?1 AND worker_id = ?2 AND state = 'running'",
            params![job_id, worker_id, counts],
        )?;
        if given > 0 {
            self.end_searches(job_id)?;
        }
        Ok(())
    }

    /// Cancels jobs of a task in the given states; returns the number of each kind. A job that was
    /// running keeps its lease until its worker has released it.
    pub(crate) fn cancel_jobs(
        &self,
        task_id: &str,
        kinds: &[JobKind],
        states: &[JobState],
        reason: &str,
    ) -> Result<Vec<(JobKind, usize)>> {
        let mut counts = Vec::new();
        for kind in kinds {
            let mut cancelled = 0;
            for state in states {
                cancelled += self.db.run(
                    "UPDATE jobs SET state = 'cancelled', error_message = ?4, finished_at = ?5
                     WHERE task_id = ?1 AND kind = ?2 AND state = ?3",
                    params![task_id, kind, state, reason, self.now],
                )?;
            }
            counts.push((*kind, cancelled));
        }
        Ok(counts)
    }

    /// Cancels the embed jobs that wait for a model other than this one.
    pub(crate) fn cancel_stale_embed_jobs(&self, model_id: &str) -> Result<()> {
        self.db.run(
            "UPDATE jobs SET state = ?2, error_message = 'another embedder is in use now', finished_at = ?3
             WHERE kind = 'embed' AND state = 'queued' AND input_json ->> '$.model_id' <> ?1",
            params![model_id, JobState::Cancelled, self.now],
        )?;
        Ok(())
    }

    /// Stores the progress of a running job.
    pub(crate) fn note_job_output(&self, job_id: &str, output: &str) -> Result<()> {
        let sql = "UPDATE jobs SET output_json = ?2 WHERE id = ?1 AND state = 'running'";
        self.db.run(sql, [job_id, output])?;
        Ok(())
    }

    /// Frees the key of a finished target, so that it can be queued again; returns whether the task has
    /// done it before.
    pub(crate) fn free_target(
        &self,
        task_id: &str,
        key: Option<&str>,
        target: &str,
    ) -> Result<bool> {
        let freed = self.db.run(
            "UPDATE jobs SET dedup_key = NULL WHERE task_id = ?1 AND dedup_key = ?2
               AND kind = 'target_queue' AND state = 'completed'",
            params![task_id, key],
        )?;
        if freed > 0 {
            return Ok(true);
        }
        // An earlier repetition took the key; the finished target is then found by its words.
        self.db.holds(
            "SELECT 1 FROM jobs WHERE task_id = ?1 AND input_json -> '$.target' = ?2
               AND kind = 'target_queue' AND state = 'completed'",
            [task_id, target],
        )
    }
}
