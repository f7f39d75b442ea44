//! Corrections by humans, and their effects.

use super::handle::Engine;
use crate::error::Result;
use crate::store::graph::{
    CalibrationEvaluation, CalibrationStats, Feedback, FeedbackReport, RollbackReport,
};

impl Engine {
    /// Applies a correction, logs it under the name `actor`, and wakes callers that wait for a
    /// change, all in one transaction.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// use lyra_core::{Engine, EngineConfig, store::graph::Feedback};
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
    /// let block = Feedback::DomainBlock { domain_pattern: "*.example.org".into(), reason: "adverts".into() };
    /// let report = engine.feedback(&block, "alice")?;
    /// assert_eq!((report.previous, report.current.as_deref()), (None, Some("block")));
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    pub fn feedback(&self, feedback: &Feedback, actor: &str) -> Result<FeedbackReport> {
        let report = self
            .inner
            .graph
            .write(|w| w.apply_feedback(feedback, actor))?;
        self.inner.signal.raise();
        Ok(report)
    }

    /// How well the confidences of each judge agree with human corrections of its verdicts.
    pub fn calibration_stats(&self, source: Option<&str>) -> Result<Vec<CalibrationStats>> {
        let in_use = self.inner.pipeline.judge.judge_id();
        self.inner
            .graph
            .read(|r| r.calibration_stats(source, in_use))
    }

    /// Every measurement of a calibration, newest first, at most `limit`.
    pub fn calibration_evaluations(
        &self,
        source: Option<&str>,
        limit: u32,
    ) -> Result<Vec<CalibrationEvaluation>> {
        let in_use = self.inner.pipeline.judge.judge_id();
        self.inner
            .graph
            .read(|r| r.calibration_evaluations(source, in_use, limit))
    }

    /// Returns to an earlier calibration of a judge. Version 0 leaves its confidences unchanged;
    /// without a version, the previous one is restored.
    pub fn rollback_calibration(
        &self,
        source: &str,
        version: Option<i64>,
        reason: &str,
        actor: &str,
    ) -> Result<RollbackReport> {
        let in_use = self.inner.pipeline.judge.judge_id();
        self.inner
            .graph
            .write(|w| w.roll_calibration_back(source, version, reason, (actor, in_use)))
    }
}
