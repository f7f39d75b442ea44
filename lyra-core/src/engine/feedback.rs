//! Corrections by humans, and what follows from them.

use super::Engine;
use crate::error::Result;
use crate::graph::{Feedback, FeedbackReport};

impl Engine {
    /// Applies a correction, logs it under the name of `actor`, and wakes whoever waits for a
    /// change: all of it in one transaction, or nothing.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// use lyra_core::{Engine, EngineConfig, graph::Feedback};
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
}
