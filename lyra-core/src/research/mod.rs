//! Research: the job queue, the stages that read documents and verify claims, and the tasks that
//! callers create.

pub mod ingest;
pub(crate) mod jobs;
pub mod pipeline;
pub(crate) mod task;
