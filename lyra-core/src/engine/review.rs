//! Screening by people, and reviews of tasks.

use super::handle::Engine;
use crate::error::Result;
use crate::export::{Review, ReviewSince, review};
use crate::store::graph::{Screening, ScreeningList, ScreeningReport};

impl Engine {
    /// Stores the decision of `reviewer` on a source of a task, and excludes the source from the
    /// counts or includes it again, in one transaction.
    ///
    /// # Errors
    ///
    /// `TaskNotFound` for an unknown task, `NotFound` for a source that is not part of the task,
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

    /// The review of a task: its flow, what changed and why, its searches, and the work done by
    /// machines.
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
    /// `TaskNotFound` for an unknown task, `InvalidInput` if `since` is not a time.
    pub fn review(&self, task_id: &str, since: ReviewSince<'_>) -> Result<Review> {
        review(&self.inner.graph, task_id, since)
    }

    /// The sources of a task with the decisions of people; with a reviewer, only the decisions of
    /// that one.
    pub fn screening(&self, task_id: &str, reviewer: Option<&str>) -> Result<ScreeningList> {
        self.inner
            .graph
            .read(|r| r.screening_list(task_id, reviewer))
    }
}
