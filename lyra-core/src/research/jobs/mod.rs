//! The work queue: rows in the database → workers → pipeline. Only this module queues work.

mod dispatch;
mod embed;
#[cfg(test)]
mod jumps;
mod queue;
mod signal;
mod waiting;
mod worker;

pub use crate::store::graph::MAX_ATTEMPTS;
pub(crate) use signal::Signal;
pub use worker::Workers;

pub(crate) use dispatch::TargetInput;
pub(crate) use embed::{embed_progress, queue_embedding};
pub(crate) use queue::STOPPED;
#[cfg(test)]
pub(crate) use queue::{
    LEASE_MS, claim, complete, fail, release_cancelled, renew, requeue_abandoned,
};
pub(crate) use waiting::resume_waiting;
pub(crate) use worker::{WorkerOptions, run_in_order, run_until_idle};
