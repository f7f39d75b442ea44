//! The user's operations on a task: create it, queue targets, get its status, stop it.

mod auth;
mod candidates;
mod create;
#[cfg(test)]
mod lives;
#[cfg(test)]
mod milestones;
mod status;
mod status_query;
mod stop;
mod targets;

pub use crate::store::graph::{AuthItem, QueueItem, RecentError, SearchCounts, SearchDetail};
pub use auth::{AuthAction, AuthResolution, AuthTarget, Cookies};
pub use candidates::{Candidate, CandidateChoice, CandidateReport, CandidateRequest};
pub use status::{
    BudgetStatus, EvidenceSummary, JobCounts, JobsByPhase, Metrics, Milestones, Progress,
    QueueCounts, StatusDetail, StatusReport, StatusWarning, WaitingFor, WarningKind,
};
pub use stop::{StopCounts, StopMode, StopReason, StopReport, StopRequest, StopScope};
pub use targets::{QueueOptions, QueueReport, SkippedTarget};

pub(crate) use auth::{auth_items, expire_auth, resolve_auth};
pub(crate) use candidates::queue_candidates;
pub(crate) use create::{check_hypothesis, create_task, create_task_as, set_budget};
pub(crate) use status_query::status;
pub(crate) use stop::stop_task;
pub(crate) use targets::queue_targets;
