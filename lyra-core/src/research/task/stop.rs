//! Ends a session of a task; queueing targets resumes it.

use crate::error::{Error, Result};
use crate::research::jobs::{STOPPED, Signal};
use crate::store::graph::EvidenceGraph;
use crate::store::model::{JobKind, JobState, TaskStatus};
use serde::Serialize;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

/// Declares a small closed enumeration with public spellings.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$v:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
        pub enum $name { $($(#[$v])* #[serde(rename = $text)] $variant,)+ }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                match text {
                    $($text => Ok(Self::$variant),)+
                    _ => Err(Error::invalid(format!("{text:?} is not one of {}", [$($text),+].join(", ")))),
                }
            }
        }
    };
}

words! {
    /// Why a task is stopped.
    StopReason {
        /// The user has the desired results.
        SessionCompleted = "session_completed",
        /// The budget is used up.
        BudgetExhausted = "budget_exhausted",
        /// The user cancelled.
        UserCancelled = "user_cancelled",
    }
}

words! {
    /// How running jobs are handled.
    StopMode {
        /// They may finish, for 30 seconds unless configured otherwise; after that they keep
        /// running.
        Graceful = "graceful",
        /// They are cancelled.
        Immediate = "immediate",
        /// They are cancelled, and the call waits until every worker has released its job.
        Full = "full",
    }
}

words! {
    /// Which jobs are stopped.
    StopScope {
        /// All kinds.
        AllJobs = "all_jobs",
        /// Only targets; verification and citations continue.
        TargetQueueOnly = "target_queue_only",
    }
}

impl StopScope {
    /// The kinds of job in this scope.
    fn kinds(self) -> &'static [JobKind] {
        match self {
            Self::AllJobs => JobKind::ALL,
            Self::TargetQueueOnly => &[JobKind::TargetQueue],
        }
    }
}

/// How to stop a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopRequest {
    /// Why.
    pub reason: StopReason,
    /// How running jobs are handled.
    pub mode: StopMode,
    /// Which jobs.
    pub scope: StopScope,
}

impl Default for StopRequest {
    fn default() -> Self {
        Self {
            reason: StopReason::SessionCompleted,
            mode: StopMode::Graceful,
            scope: StopScope::AllJobs,
        }
    }
}

/// The result of a stop.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StopReport {
    /// The task.
    pub task_id: String,
    /// `paused`.
    pub final_status: TaskStatus,
    /// Why.
    pub reason: StopReason,
    /// How running jobs were handled.
    pub mode: StopMode,
    /// Which jobs.
    pub scope: StopScope,
    /// Jobs by kind.
    pub jobs: BTreeMap<String, StopCounts>,
    /// A summary in one sentence.
    pub summary: String,
}

/// Jobs of one kind at the end of a stop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StopCounts {
    /// Taken back.
    pub cancelled: usize,
    /// Still held by a worker.
    pub running: usize,
}

/// Marks the task as stopped and cancels the requested jobs; returns the number of cancelled jobs
/// by kind.
pub(super) fn begin_stop(
    graph: &EvidenceGraph,
    task_id: &str,
    request: &StopRequest,
) -> Result<Vec<(JobKind, usize)>> {
    let mut states = vec![JobState::Queued, JobState::AwaitingAuth];
    if request.mode != StopMode::Graceful {
        states.push(JobState::Running);
    }
    // Paused first and in the same transaction, so that a job that ends now queues no follow-ups.
    graph.write(|w| {
        w.set_task_status(task_id, TaskStatus::Paused)?;
        w.log_event(
            w.actor_or("user"),
            "task_stopped",
            Some(task_id),
            None,
            &serde_json::json!({ "reason": request.reason, "mode": request.mode, "scope": request.scope }),
        )?;
        w.cancel_auth(task_id)?;
        w.cancel_jobs(task_id, request.scope.kinds(), &states, STOPPED)
    })
}

/// Stops a task; a graceful or full stop waits for running jobs, at most for `patience`.
pub(crate) async fn stop_task(
    graph: &EvidenceGraph,
    signal: &Signal,
    task_id: &str,
    request: &StopRequest,
    patience: Duration,
) -> Result<StopReport> {
    let kinds = request.scope.kinds();
    let cancelled = begin_stop(graph, task_id, request)?;
    signal.raise();
    if request.mode != StopMode::Immediate {
        wait_for_running(graph, signal, task_id, kinds, patience).await?;
    }
    let mut jobs: BTreeMap<String, StopCounts> = BTreeMap::new();
    for (kind, cancelled) in cancelled {
        let running = running(graph, task_id, &[kind])?;
        jobs.insert(kind.as_str().to_owned(), StopCounts { cancelled, running });
    }
    let total: usize = jobs.values().map(|c| c.cancelled).sum();
    let left: usize = jobs.values().map(|c| c.running).sum();
    let held = match (request.mode, left) {
        (_, 0) => "none still running".to_owned(),
        (StopMode::Immediate, left) => format!("{left} still running"),
        (_, left) => format!("{left} still running after {} s", patience.as_secs()),
    };
    Ok(StopReport {
        task_id: task_id.to_owned(),
        final_status: TaskStatus::Paused,
        reason: request.reason,
        mode: request.mode,
        scope: request.scope,
        jobs,
        summary: format!("paused; {total} job(s) cancelled, {held}; queue_targets resumes"),
    })
}

async fn wait_for_running(
    graph: &EvidenceGraph,
    signal: &Signal,
    task_id: &str,
    kinds: &[JobKind],
    patience: Duration,
) -> Result<()> {
    let mut changes = signal.listen();
    let end = tokio::time::Instant::now() + patience;
    while running(graph, task_id, kinds)? > 0 && tokio::time::Instant::now() < end {
        let _ = tokio::time::timeout(Duration::from_millis(200), changes.changed()).await;
    }
    Ok(())
}

/// Jobs that a worker holds: running ones, and those cancelled while they ran, until their worker
/// has released them or is known to be gone. A running job whose worker is gone is not counted.
fn running(graph: &EvidenceGraph, task_id: &str, kinds: &[JobKind]) -> Result<usize> {
    let now = graph.clock().now();
    graph.read(|r| {
        let held = kinds.iter().map(|kind| r.jobs_held(task_id, *kind, &now));
        held.sum()
    })
}
