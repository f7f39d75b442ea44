//! A log of the tool calls of agents, for auditing.

use super::handle::Engine;
use crate::error::Result;
use crate::store::graph::{RecordedCall, TOOL_CALL};
use serde_json::Value;

impl Engine {
    /// Adds a tool call to the append-only `event_log`. The details can only be read with
    /// [`recorded_calls`](Self::recorded_calls), not by queries; they must not contain secrets.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// use lyra_core::{Engine, EngineConfig};
    /// let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
    /// engine.record_call("query_sql", &serde_json::json!({"rows": 3}))?;
    /// assert_eq!(engine.recorded_calls(0, 100)?[0].tool, "query_sql");
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    pub fn record_call(&self, tool: &str, details: &Value) -> Result<()> {
        // No task: a call about a task must not wake those who wait for a change of that task.
        let graph = self.actors_graph();
        graph.write(|w| w.log_event(w.actor_or("agent"), TOOL_CALL, None, Some(tool), details))
    }

    /// The recorded calls after number `after`, oldest first, at most `limit`.
    pub fn recorded_calls(&self, after: i64, limit: usize) -> Result<Vec<RecordedCall>> {
        self.inner.graph.read(|r| r.recorded_calls(after, limit))
    }
}
