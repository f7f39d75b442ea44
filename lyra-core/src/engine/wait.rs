//! Waiting for a task to change.

use super::Engine;
use crate::error::{Result, SqliteResultExt};
use crate::task::{StatusDetail, StatusReport};
use rusqlite::params;
use std::time::Duration;
use tokio::time::Instant;

/// How often to look for what other processes have written.
const LOOK: Duration = Duration::from_millis(200);

impl Engine {
    /// The status as soon as anything about the task changes, or after `wait`; `changed` says
    /// which. A wait of zero answers at once, and so does a task with nothing left to wait for.
    pub async fn wait_status(
        &self,
        task_id: &str,
        wait: Duration,
        detail: StatusDetail,
    ) -> Result<StatusReport> {
        let mut changes = self.inner.signal.listen();
        let before = self.fingerprint(task_id)?;
        let first = self.status(task_id, detail)?;
        // No milestone waits for an embed job, but whoever asks does.
        let settled = first.milestones.nli_verification_done
            && first.milestones.citation_chase_ready
            && first.waiting_for.is_empty();
        if wait.is_zero() || settled {
            return Ok(first);
        }
        let end = Instant::now() + wait;
        loop {
            let pause = LOOK.min(end.saturating_duration_since(Instant::now()));
            let _ = tokio::time::timeout(pause, changes.changed()).await;
            if self.fingerprint(task_id)? != before {
                let mut report = self.status(task_id, detail)?;
                report.changed = true;
                return Ok(report);
            }
            if Instant::now() >= end {
                return self.status(task_id, detail);
            }
        }
    }

    /// A short text that differs whenever something that a status shows has changed.
    fn fingerprint(&self, task_id: &str) -> Result<String> {
        self.inner.graph.read(|r| {
            r.task(task_id)?;
            r.db.prepare_cached(
                "SELECT (SELECT status || coalesce(started_at, '') FROM tasks WHERE id = ?1) || '|' ||
                   coalesce((SELECT group_concat(kind || state || n) FROM (SELECT kind, state, count(*) AS n
                     FROM jobs WHERE task_id = ?1 GROUP BY kind, state ORDER BY kind, state)), '') || '|' ||
                   (SELECT count(*) FROM task_pages WHERE task_id = ?1) || '|' ||
                   coalesce((SELECT group_concat(claim_adoption_status || n) FROM
                     (SELECT claim_adoption_status, count(*) AS n FROM claims WHERE task_id = ?1
                      GROUP BY 1 ORDER BY 1)), '') || '|' ||
                   coalesce((SELECT max(id) FROM event_log WHERE task_id = ?1), 0) || '|' ||
                   (SELECT count(*) FROM auth_queue WHERE task_id = ?1 AND status = 'pending')",
            )
            .db()?
            .query_row(params![task_id], |row| row.get(0))
            .db()
        })
    }
}
