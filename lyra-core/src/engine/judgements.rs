//! Pairs that are leased to an external judge: the agent, or a human at a terminal.

use super::handle::Engine;
use crate::error::Result;
use crate::store::graph::{Judgement, JudgementReport, JudgementRequest, LentPair};

impl Engine {
    /// Leases the pairs whose verdicts matter most to an external judge. Return the verdicts with
    /// [`submit_judgements`](Self::submit_judgements).
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// use lyra_core::store::graph::JudgementRequest;
    /// use lyra_core::{Engine, EngineConfig, TaskConfig};
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
    /// let task = engine.create_task("Night work shortens sleep", TaskConfig::default())?;
    /// // Nothing has been read yet.
    /// assert!(engine.lend_judgements(&JudgementRequest::new(&task.id))?.is_empty());
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `NotFound` for an unknown task; `InvalidInput` for a limit or a time out of range.
    pub fn lend_judgements(&self, request: &JudgementRequest) -> Result<Vec<LentPair>> {
        self.inner.graph.lend_judgements(request)
    }

    /// Stores verdicts on leased pairs under the id of their judge:
    /// [`agent_judge_id`](crate::store::graph::agent_judge_id) or
    /// [`HUMAN_JUDGE`](crate::store::graph::HUMAN_JUDGE). Each judgement is stored or refused
    /// separately; the report says which and why.
    ///
    /// # Errors
    /// `NotFound` for an unknown task, `InvalidInput` for another judge.
    pub fn submit_judgements(
        &self,
        task_id: &str,
        judge_id: &str,
        judgements: &[Judgement],
    ) -> Result<JudgementReport> {
        let report = self
            .inner
            .graph
            .submit_judgements(task_id, judge_id, judgements)?;
        self.inner.signal.raise();
        Ok(report)
    }
}
