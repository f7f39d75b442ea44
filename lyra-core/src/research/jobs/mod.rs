//! The work queue: rows in the database → workers → pipeline. Only this module queues work.

mod dispatch;
mod embed;
#[cfg(test)]
mod jumps;
mod queue;
mod signal;
mod waiting;
mod worker;

pub use queue::MAX_ATTEMPTS;
pub(crate) use signal::Signal;
pub use worker::Workers;

pub(crate) use dispatch::TargetInput;
pub(crate) use embed::{embed_progress, queue_embedding};
#[cfg(test)]
pub(crate) use queue::{
    Job, LEASE_MS, claim, complete, fail, is_ours, let_go, renew, requeue_abandoned,
};
pub(crate) use queue::{NewJob, STOPPED, cancel_jobs, enqueue, is_known_target};
pub(crate) use waiting::{give_up_waiting, resume_waiting};
pub(crate) use worker::{WorkerOptions, run_in_order, run_until_idle};
