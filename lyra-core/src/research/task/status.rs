//! The structure of a status report.

use crate::store::graph::{QueueItem, RecentError, SearchCounts, SearchDetail};
use crate::store::model::TaskStatus;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The level of detail of a status report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StatusDetail {
    /// Counts.
    #[default]
    Summary,
    /// Counts, and the rows behind them.
    Full,
}

/// The status of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StatusReport {
    /// The task.
    pub task_id: String,
    /// Its hypothesis.
    pub hypothesis: String,
    /// Its state in the life cycle.
    pub status: TaskStatus,
    /// Searches, queue and jobs.
    pub progress: Progress,
    /// Counts of what was collected.
    pub metrics: Metrics,
    /// The use of its budget.
    pub budget: BudgetStatus,
    /// What can be done now.
    pub milestones: Milestones,
    /// What the milestones wait for.
    pub waiting_for: Vec<WaitingFor>,
    /// Number of pages that need a human.
    pub pending_auth_count: usize,
    /// Warnings for the user.
    pub warnings: Vec<StatusWarning>,
    /// The evidence in a few numbers; present once there are claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_summary: Option<EvidenceSummary>,
    /// For a wait: whether anything changed since it began or, if the work had ended before, since
    /// this engine last reported the status of the task.
    pub changed: bool,
    /// In a read-only graph, when its file was last written (RFC 3339): later changes are not
    /// visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// Searches, one by one, the newest 200 (full).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searches_detail: Option<Vec<SearchDetail>>,
    /// Targets, one by one, the newest 200 (full).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_items: Option<Vec<QueueItem>>,
    /// Jobs by kind and state (full).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs_by_kind: Option<BTreeMap<String, BTreeMap<String, usize>>>,
    /// Pages that need a human, one by one (full).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pending_auth_detail: Option<Vec<super::AuthItem>>,
    /// Blocked domains (full).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_domains: Option<Vec<String>>,
    /// Active domain rules (full).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain_overrides: Option<Vec<Value>>,
    /// The latest failures, newest first (full).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent_errors: Option<Vec<RecentError>>,
    /// Whether there are more searches, targets or rules than the lists hold (full).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl StatusReport {
    /// Whether no work is left: nothing is queued, nothing runs, and nothing waits for a human.
    /// This is also true for a task without targets.
    pub fn is_settled(&self) -> bool {
        let rests =
            |waiting: &WaitingFor| matches!(waiting.status.as_str(), "not_enqueued" | "drained");
        self.milestones.target_queue_drained && self.waiting_for.iter().all(rests)
    }
}

/// The subject of a warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WarningKind {
    /// The budget is used up, or almost.
    Budget,
    /// Jobs failed.
    FailedJobs,
    /// Verification failed: claims have no verdicts, or only some.
    NotJudged,
    /// Jobs succeeded, but parts of their work failed.
    TroubledJobs,
    /// Texts have no vector of the embedder yet.
    MissingVectors,
    /// Pages wait for a human.
    WaitingPages,
    /// The task is paused.
    Paused,
    /// Files of the corpus were not read, or not all of them.
    Corpus,
    /// The database file is no longer where it was when it was opened.
    Database,
}

/// A message about a task for the user; serialised as its text.
///
/// ```
/// use lyra_core::{StatusWarning, WarningKind};
/// let warning = StatusWarning::new(WarningKind::Paused, "the task is paused");
/// assert_eq!(serde_json::to_value(&warning)?, "the task is paused");
/// assert!(warning.starts_with("the task"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusWarning {
    /// Its subject.
    pub kind: WarningKind,
    /// Its text.
    pub text: String,
}

impl StatusWarning {
    /// A warning of this kind with the text `text`.
    pub fn new(kind: WarningKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }
}

impl std::ops::Deref for StatusWarning {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Display for StatusWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for StatusWarning {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// Searches, queue and jobs of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Progress {
    /// Searches.
    pub searches: SearchCounts,
    /// Targets.
    pub queue: QueueCounts,
    /// Jobs.
    pub jobs_by_phase: JobsByPhase,
}

/// Targets of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct QueueCounts {
    /// Waiting.
    pub depth: usize,
    /// In progress.
    pub running: usize,
}

/// Jobs of a task by purpose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct JobsByPhase {
    /// target_queue.
    pub exploration: JobCounts,
    /// verify_nli.
    pub verification: JobCounts,
    /// citation_graph.
    pub citation: JobCounts,
}

/// Jobs by state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct JobCounts {
    /// Waiting.
    pub queued: usize,
    /// In progress.
    pub running: usize,
    /// Done.
    pub completed: usize,
    /// Given up.
    pub failed: usize,
}

/// What a task has collected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// Pages of the task.
    pub total_pages: usize,
    /// Fragments of those pages.
    pub total_fragments: usize,
    /// Claims that were not rejected.
    pub total_claims: usize,
    /// Seconds since the first job began.
    pub elapsed_seconds: u64,
}

/// The budget of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct BudgetStatus {
    /// Pages read.
    pub pages_used: u32,
    /// Pages allowed.
    pub pages_limit: u32,
    /// The smaller of the remaining percentages of pages and seconds.
    pub remaining_percent: u32,
    /// Seconds of work done.
    pub seconds_used: u64,
    /// Seconds allowed.
    pub seconds_limit: u64,
}

/// What can be done now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Milestones {
    /// No target is queued, running, or waiting for a human.
    pub target_queue_drained: bool,
    /// In addition, nothing is left to verify: the claim views are final.
    pub nli_verification_done: bool,
    /// In addition, the citation graph is final: reference candidates can be queued.
    pub citation_chase_ready: bool,
}

/// One kind of work that a milestone waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WaitingFor {
    /// The kind of job.
    pub kind: String,
    /// `not_enqueued`, `queued`, `running`, `drained` or `pending` (a human).
    pub status: String,
    /// Waiting.
    pub queued: usize,
    /// In progress.
    pub running: usize,
    /// Done.
    pub completed: usize,
}

/// The evidence of a task in a few numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EvidenceSummary {
    /// Claims that were not rejected.
    pub total_claims: usize,
    /// Fragments of the task's pages.
    pub total_fragments: usize,
    /// Pages of the task.
    pub total_pages: usize,
    /// Edges that support its claims.
    pub supporting_edges: usize,
    /// Edges that refute them.
    pub refuting_edges: usize,
    /// Edges that are neutral.
    pub neutral_edges: usize,
    /// The domains of most of its pages.
    pub top_domains: Vec<String>,
}
