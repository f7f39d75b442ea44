//! Checks drafts and statements against the sources of the graph.

use super::handle::Engine;
use crate::check::{
    CheckProgress, CheckReport, CheckRequest, CitedReading, Standing, StandingRequest,
};
use crate::error::Result;

impl Engine {
    /// Checks every sentence of a draft against the sources that it cites; see
    /// [`check`](crate::check). `progress` receives the number of judged pairs of sentence and
    /// passage.
    ///
    /// # Errors
    /// `InvalidInput` for a draft or a bibliography that cannot be read; errors of the embedder and
    /// the judge.
    pub async fn check(
        &self,
        request: &CheckRequest,
        progress: &(dyn Fn(CheckProgress) + Send + Sync),
    ) -> Result<CheckReport> {
        self.inner.graph.catch_up()?;
        crate::check::check(&self.inner.pipeline, request, progress).await
    }

    /// Creates a task and reads into it the web pages and works that a draft cites and whose text
    /// the graph lacks, as [`run`](Self::run) would, but verifies nothing. `hypothesis` is that of
    /// the task; `progress` receives the number of addresses tried and their total.
    ///
    /// # Errors
    /// `InvalidInput` for a draft or a bibliography that cannot be read, `Unsupported` if the graph
    /// is read-only. An address that cannot be read is not an error.
    pub async fn read_cited(
        &self,
        request: &CheckRequest,
        hypothesis: &str,
        progress: &(dyn Fn(usize, usize) + Send + Sync),
    ) -> Result<CitedReading> {
        self.inner.graph.check_writable()?;
        let make_task = |config| Ok(self.create_task(hypothesis, config)?.id);
        crate::check::read_cited(&self.inner.pipeline, request, make_task, progress).await
    }

    /// How the sources of the graph, or of a task, relate to one statement.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// use lyra_core::check::StandingRequest;
    /// use lyra_core::{Engine, EngineConfig};
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
    /// let request = StandingRequest { text: "Night work shortens sleep".into(), task_id: None };
    /// // Nothing has been read yet.
    /// assert_eq!(engine.claim_standing(&request).await?.sources_searched, 0);
    /// # Ok::<(), lyra_core::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `InvalidInput` for an empty or too long statement, `NotFound` for an unknown task; errors of
    /// the embedder and the judge.
    pub async fn claim_standing(&self, request: &StandingRequest) -> Result<Standing> {
        self.inner.graph.catch_up()?;
        crate::check::standing(&self.inner.pipeline, request).await
    }
}
