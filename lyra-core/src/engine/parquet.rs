//! Exports the graph to a folder of Parquet files, and imports it.

use super::handle::Engine;
use crate::error::Result;
use crate::store::graph::{ExportReport, ImportReport, export_parquet, import_parquet};
use crate::store::views::ViewCatalog;
use std::path::Path;

/// What a Parquet export contains, and how it is split into files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParquetOptions {
    /// Only this task and what belongs to it; the whole graph if `None`.
    pub task_id: Option<String>,
    /// Tables whose rows belong to a task get one folder per task:
    /// `claims/task_id=…/part-0.parquet`.
    pub by_task: bool,
}

impl Engine {
    /// Writes the graph, or one task's part of it, into a folder of Parquet files: one folder for
    /// each table, and `views.sql`, which creates the views in DuckDB. docs/parquet.md describes
    /// the columns. Equal graphs give equal files. The folder appears when it is complete and
    /// replaces an earlier export.
    ///
    /// # Errors
    ///
    /// `TaskNotFound` for an unknown task; `InvalidInput` if `dir` contains anything but an earlier
    /// export, and, with `by_task`, for a task id that cannot be a folder name; `Backend` if
    /// writing fails.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use lyra_core::{Engine, EngineConfig, ParquetOptions, TaskConfig};
    /// let folder = tempfile::tempdir().unwrap();
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("a.db")))?;
    /// engine.create_task("Night work shortens sleep", TaskConfig::default())?;
    /// let dir = folder.path().join("graph");
    /// assert_eq!(engine.export_parquet(&dir, &ParquetOptions::default())?.total_written, 1);
    /// assert!(dir.join("tasks/part-0.parquet").exists());
    /// let other = Engine::open(EngineConfig::new(folder.path().join("b.db")))?;
    /// assert_eq!(other.import_parquet(&dir).await?.total_inserted, 1);
    /// assert_eq!(other.canonical_hash(None)?, engine.canonical_hash(None)?);
    /// # Ok::<(), lyra_core::Error>(()) }).unwrap();
    /// ```
    pub fn export_parquet(&self, dir: &Path, options: &ParquetOptions) -> Result<ExportReport> {
        let script = ViewCatalog::duckdb_script("")?;
        let task_id = options.task_id.as_deref();
        let graph = self.inner.graph.database();
        export_parquet(graph, dir, task_id, options.by_task, &script)
    }

    /// Imports a folder that [`Engine::export_parquet`] wrote, or that another program wrote with
    /// the same tables and columns, completely or not at all. Fragments and claims without a vector
    /// of the current model get one afterwards.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for an unknown folder or file, a damaged file, or an invalid row. The error
    /// names the file, the row and the reason, and nothing was written.
    pub async fn import_parquet(&self, dir: &Path) -> Result<ImportReport> {
        let graph = &self.inner.graph;
        graph.check_writable()?;
        let report = import_parquet(graph.database(), &graph.clock().now(), dir)?;
        self.inner.pipeline.embed_missing().await?;
        self.inner.signal.raise();
        Ok(report)
    }
}
