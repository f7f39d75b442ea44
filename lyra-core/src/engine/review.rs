//! Screening by people, and the review of a task.

use super::Engine;
use crate::error::Result;
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

    /// The sources of a task with what people decided on them; with a reviewer, only what that one
    /// decided.
    pub fn screening(&self, task_id: &str, reviewer: Option<&str>) -> Result<ScreeningList> {
        self.inner
            .graph
            .read(|r| r.screening_list(task_id, reviewer))
    }
}
