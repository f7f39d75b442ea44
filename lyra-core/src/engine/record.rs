//! Recording a run and replaying it.

use super::EngineConfig;
use super::handle::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::record::Record;
use crate::research::jobs::run_in_order;
use crate::research::task::{StatusDetail, StatusReport};
use std::io::Write;
use std::path::Path;

impl Record {
    /// Creates the database of a replay: the graph as it was at the start of the recorded run, with
    /// its targets queued. An existing database must belong to this replay, which is then
    /// continued.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if `db` is something else.
    pub fn place(&self, db: &Path) -> Result<()> {
        if db.exists() {
            return self.check_place(db);
        }
        let failed = |e: std::io::Error| {
            let message = format!("{} cannot be written: {e}", db.display());
            Error::new(ErrorKind::Backend, message).with_source(e)
        };
        let folder = db.parent().filter(|folder| !folder.as_os_str().is_empty());
        // It appears when it is complete, and is readable only by its owner.
        let mut file = tempfile::Builder::new()
            .prefix(".lyra-")
            .suffix(".part")
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(|e| failed(e.kind().into()))?;
        file.write_all(&self.start()?).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist_noclobber(db).map_err(|e| failed(e.error))?;
        Ok(())
    }

    fn check_place(&self, db: &Path) -> Result<()> {
        let task_id = self.task_id().unwrap_or_default();
        let engine = Engine::open(EngineConfig {
            read_only: true,
            ..EngineConfig::new(db)
        })?;
        engine.status(task_id, StatusDetail::Summary).map_err(|_| {
            let message = format!("{} is no replay of this record", db.display());
            Error::invalid(message).with_hint("name a new file with --db")
        })?;
        Ok(())
    }
}

impl Engine {
    /// Saves the current graph, with its queued targets, as the start of the recorded run. Call it
    /// before work on the task begins.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for an engine that was not opened with a record.
    pub fn record_start(&self, task_id: &str) -> Result<()> {
        let record = self.recording()?;
        let folder = tempfile::tempdir();
        let folder = folder.map_err(|e| Error::internal(format!("a temporary folder: {e}")))?;
        let copy = folder.path().join("start.db");
        self.inner.graph.backup_without_sessions(&copy)?;
        let bytes = std::fs::read(&copy).map_err(|e| {
            Error::new(ErrorKind::Backend, format!("the copy of the graph: {e}")).with_source(e)
        })?;
        record.note_start(task_id, &bytes)
    }

    /// Ends the record of a run; returns the canonical hash of the task, with which a replay
    /// compares its own hash.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for an engine that was not opened with a record.
    pub fn record_end(&self, task_id: &str) -> Result<String> {
        let record = self.recording()?;
        let hash = self.canonical_hash(Some(task_id))?;
        record.note_end(&hash)?;
        Ok(hash)
    }

    fn recording(&self) -> Result<&Record> {
        let record = self.inner.config.record.as_deref();
        record
            .filter(|record| record.is_recording())
            .ok_or_else(|| {
                Error::invalid("this engine records nothing")
                    .with_hint("open it with EngineConfig::record")
            })
    }

    /// Runs a task with this many workers, one job after another in the order of the queue: the
    /// result is the same as with one worker.
    pub async fn run_in_order(&self, task_id: &str, workers: usize) -> Result<StatusReport> {
        self.status(task_id, StatusDetail::Summary)?;
        self.inner.graph.check_writable()?;
        self.prepare_run().await?;
        let inner = &self.inner;
        run_in_order(&inner.pipeline, &inner.signal, task_id, workers).await?;
        self.status(task_id, StatusDetail::Summary)
    }
}
