//! The question that a document is read for.

/// The question that a document is read for.
#[derive(Debug, Clone)]
pub(super) struct ResearchQuestion {
    pub(super) task_id: String,
    pub(super) hypothesis: String,
    pub(super) query: String,
    /// Embedding of hypothesis and query together.
    pub(super) vector: Vec<f32>,
    /// The job.
    pub(super) cause_id: Option<String>,
    /// Whether the task repeats the query to find changes.
    pub(super) refresh: bool,
}
