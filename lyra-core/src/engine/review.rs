//! Screening by people, and the review of a task.

use super::handle::Engine;
use crate::error::Result;
use crate::export::{Review, ReviewSince, review};
use crate::store::graph::{Screening, ScreeningList, ScreeningReport};

impl Engine {
    /// Stores what `reviewer` decided on a source of a task, and takes the source out of the counts
    /// or back in: in one transaction, or nothing.
    ///
    /// # Errors
    ///
    /// `TaskNotFound` for an unknown task, `NotFound` for a source that is none of the task,
    /// `InvalidInput` for an exclusion without a reason.
    pub fn screen(
        &self,
        task_id: &str,
        screening: &Screening,
        reviewer: &str,
    ) -> Result<ScreeningReport> {
        let report = self
            .inner
            .graph
            .write(|w| w.screen(task_id, screening, reviewer))?;
        self.inner.signal.raise();
        Ok(report)
    }

    /// The review of a task: its flow, what changed and why, its searches, and what machines did.
    ///
    /// ```
    /// use lyra_core::{Engine, EngineConfig, ReviewFormat, ReviewSince, TaskConfig};
    /// let folder = tempfile::tempdir()?;
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("a.db")))?;
    /// let task = engine.create_task("Night work shortens sleep", TaskConfig::default())?;
    /// let review = engine.review(&task.id, ReviewSince::LastRun)?;
    /// assert!(review.write_as(ReviewFormat::Text)?.contains("Records identified: 0"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// `TaskNotFound` for an unknown task, `InvalidInput` for what is no time.
    pub fn review(&self, task_id: &str, since: ReviewSince<'_>) -> Result<Review> {
        review(&self.inner.graph, task_id, since)
    }

    /// The sources of a task with what people decided on them; with a reviewer, only what that one
    /// decided.
    pub fn screening(&self, task_id: &str, reviewer: Option<&str>) -> Result<ScreeningList> {
        self.inner
            .graph
            .read(|r| r.screening_list(task_id, reviewer))
    }
}
