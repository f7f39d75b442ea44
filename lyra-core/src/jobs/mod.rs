//! The work queue: rows in the database → workers → pipeline. Only this module queues work.

mod dispatch;
mod queue;
mod signal;
mod worker;

pub use queue::{Job, MAX_ATTEMPTS, NewJob};
pub use signal::Signal;
pub use worker::{WorkerOptions, Workers};

pub(crate) use dispatch::TargetInput;
pub(crate) use queue::{cancel_jobs, enqueue, requeue_abandoned};
pub(crate) use worker::run_until_idle;
