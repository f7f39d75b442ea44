//! What an agent asked, for whoever has to account for it.

use super::Engine;
use crate::error::{Result, SqliteResultExt};
use serde::Serialize;
use serde_json::Value;

const ACTION: &str = "tool_call";

/// A call of a tool that was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedCall {
    /// Its number in `event_log`.
    pub id: i64,
    /// When it had ended, RFC 3339, UTC.
    pub at: String,
    /// Who called: a name, or `agent` where the caller has none.
    pub actor: String,
    /// The tool.
    pub tool: String,
    /// What was asked and how it was answered, as [`Engine::record_call`] was given it.
    pub details: Value,
}

impl Engine {
    /// Adds a call of a tool to the append-only `event_log`. The details are read by
    /// [`recorded_calls`](Self::recorded_calls) and by nobody who queries: they must hold no secrets.
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
        // No task: who waits for a change of one is not woken by being asked about it.
        let graph = self.actors_graph();
        graph.write(|w| w.log_event(w.actor_or("agent"), ACTION, None, Some(tool), details))
    }

    /// The recorded calls after the one with the number `after`, oldest first, at most `limit`.
    pub fn recorded_calls(&self, after: i64, limit: usize) -> Result<Vec<RecordedCall>> {
        self.inner.graph.read(|r| {
            let sql =
                "SELECT id, at, actor, coalesce(subject_id, ''), coalesce(details_json, 'null')
                       FROM event_log WHERE action = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
            let mut statement = r.db.prepare_cached(sql).db()?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map((ACTION, after, limit), |row| {
                let details: String = row.get(4)?;
                Ok(RecordedCall {
                    id: row.get(0)?,
                    at: row.get(1)?,
                    actor: row.get(2)?,
                    tool: row.get(3)?,
                    details: serde_json::from_str(&details).unwrap_or_default(),
                })
            });
            rows.db()?.collect::<rusqlite::Result<_>>().db()
        })
    }
}
