//! Research: the queue of jobs, the stages that read documents and verify claims, and the tasks that a
//! caller states.

pub mod ingest;
pub(crate) mod jobs;
pub mod pipeline;
pub(crate) mod task;
