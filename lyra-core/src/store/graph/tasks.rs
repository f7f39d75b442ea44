//! Tasks, and which pages belong to them.

use super::handles::{Reader, Writer};
use crate::error::{Error, Result};
use crate::store::database::{SqliteResultExt, Statements};
use crate::store::model::{TaskConfig, TaskPageRecord, TaskRecord, TaskStatus};
use rusqlite::{Row, params};

impl Reader<'_> {
    /// The task, or [`crate::ErrorKind::TaskNotFound`].
    pub fn task(&self, task_id: &str) -> Result<TaskRecord> {
        self.db
            .first(&format!("{SELECT_TASK} WHERE id = ?1"), [task_id], task_of)?
            .ok_or_else(|| Error::task_not_found(task_id))
    }

    /// The latest time stored in any job, leases included, in milliseconds since 1970.
    pub(crate) fn latest_time_of_jobs(&self) -> Result<i64> {
        self.db
            .one("SELECT coalesce(cast(unixepoch(max(max(coalesce(queued_at, ''), coalesce(started_at, ''),
                   coalesce(finished_at, ''), coalesce(lease_until, ''))), 'subsec') * 1000 AS INTEGER), 0)
                 FROM jobs", [], |r| r.get(0))
    }

    /// Every task, newest first.
    pub fn tasks(&self) -> Result<Vec<TaskRecord>> {
        let sql = format!("{SELECT_TASK} ORDER BY created_at DESC, id");
        self.db.all(&sql, [], task_of)
    }

    /// The budget and preferences of the task.
    pub fn task_config(&self, task_id: &str) -> Result<TaskConfig> {
        let task = self.task(task_id)?;
        serde_json::from_str(task.config_json.as_deref().unwrap_or("{}"))
            .map_err(|e| Error::invalid(format!("tasks.config_json of {task_id}: {e}")))
    }

    /// Number of pages that the task has read; its page budget counts these.
    pub fn pages_used(&self, task_id: &str) -> Result<u32> {
        self.db.one(
            "SELECT count(*) FROM task_pages tp JOIN pages p ON p.id = tp.page_id
                 WHERE tp.task_id = ?1 AND p.fetched_at IS NOT NULL",
            [task_id],
            |r| r.get(0),
        )
    }

    /// Whether the page belongs to the task.
    pub fn is_task_page(&self, task_id: &str, page_id: &str) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM task_pages WHERE task_id = ?1 AND page_id = ?2",
            [task_id, page_id],
        )
    }
}

impl Writer<'_> {
    /// Stores a new task.
    pub fn add_task(&self, task: &TaskRecord) -> Result<()> {
        if task.hypothesis.trim().is_empty() {
            return Err(Error::invalid("the hypothesis is empty")
                .with_hint("state what the research should find evidence for or against"));
        }
        self.db
            .execute(
                "INSERT INTO tasks (id, hypothesis, status, config_json, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    task.id,
                    task.hypothesis.trim(),
                    task.status,
                    task.config_json.as_deref().unwrap_or("{}"),
                    task.created_at.as_deref().unwrap_or(&self.now),
                ],
            )
            .db()?;
        Ok(())
    }

    /// Sets the task's status; no change if it already has this status.
    pub fn set_task_status(&self, task_id: &str, status: TaskStatus) -> Result<()> {
        let changed = self
            .db
            .run("UPDATE tasks SET status = ?2,
                   started_at = CASE WHEN ?2 = 'exploring' THEN coalesce(started_at, ?3) ELSE started_at END,
                   completed_at = CASE WHEN ?2 IN ('paused', 'failed') THEN ?3 ELSE NULL END,
                   error_message = CASE WHEN ?2 = 'failed' THEN error_message END
                 WHERE id = ?1", params![task_id, status, self.now])?;
        if changed == 0 {
            return Err(Error::task_not_found(task_id));
        }
        Ok(())
    }

    /// Marks a task as failed, with the reason.
    pub fn fail_task(&self, task_id: &str, reason: &str) -> Result<()> {
        self.set_task_status(task_id, TaskStatus::Failed)?;
        self.db.run(
            "UPDATE tasks SET error_message = ?2 WHERE id = ?1",
            [task_id, reason],
        )?;
        Ok(())
    }

    /// Replaces the task's budget and preferences.
    pub fn set_task_config(&self, task_id: &str, config: &TaskConfig) -> Result<()> {
        let json = serde_json::to_string(config).map_err(|e| Error::internal(e.to_string()))?;
        let changed = self.db.run(
            "UPDATE tasks SET config_json = ?2 WHERE id = ?1",
            [task_id, &json],
        )?;
        if changed == 0 {
            return Err(Error::task_not_found(task_id));
        }
        Ok(())
    }

    /// Adds the page to the task; returns whether it was not in the task before.
    pub fn add_task_page(&self, record: &TaskPageRecord) -> Result<bool> {
        let added = self.db.run(
            "INSERT INTO task_pages (task_id, page_id, reason, depth, source_page_id)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (task_id, page_id) DO NOTHING",
            params![
                record.task_id,
                record.page_id,
                record.reason,
                record.depth,
                record.source_page_id
            ],
        )?;
        Ok(added > 0)
    }
}

const SELECT_TASK: &str = "SELECT id, hypothesis, status, config_json, created_at, started_at, \
                           completed_at, error_message FROM tasks";

fn task_of(row: &Row<'_>) -> rusqlite::Result<TaskRecord> {
    Ok(TaskRecord {
        id: row.get(0)?,
        hypothesis: row.get(1)?,
        status: row.get(2)?,
        config_json: row.get(3)?,
        created_at: row.get(4)?,
        started_at: row.get(5)?,
        completed_at: row.get(6)?,
        error_message: row.get(7)?,
    })
}
