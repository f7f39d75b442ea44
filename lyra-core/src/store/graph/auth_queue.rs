//! Pages that wait for a human, and the jobs that wait for these pages.

use super::handles::{Reader, Writer};
use crate::error::Result;
use crate::store::database::Statements;
use crate::store::model::{Priority, random_id};
use rusqlite::{Row, params};
use serde::Serialize;

/// A page that a human must open first. The session data that a human supplies is never shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuthItem {
    /// `iq_…`.
    pub id: String,
    /// The task.
    pub task_id: String,
    /// The page.
    pub url: String,
    /// Its registrable domain.
    pub domain: String,
    /// `cloudflare`, `captcha`, `login` …
    pub auth_type: String,
    /// `high`, `medium` or `low`.
    pub priority: String,
    /// `pending` or `in_progress`; for a resolved item `completed`, `skipped`, `expired` or `cancelled`.
    pub status: String,
    /// When it was queued.
    pub queued_at: String,
    /// When the item expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// An item together with the job that waits for it.
#[derive(Debug)]
pub(crate) struct WaitingPage {
    pub(crate) item: AuthItem,
    pub(crate) job_id: Option<String>,
}

/// Which items of the queue to read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AuthScope<'a> {
    /// Open items, of one task or of all tasks.
    Open(Option<&'a str>),
    /// Open items that have expired.
    Expired(&'a str),
    /// One item by its id, whatever its status.
    Item(&'a str),
    /// All items of a domain.
    Domain(&'a str),
    /// All items of a task.
    Task(&'a str),
}

/// A page for which a job needs a human.
#[derive(Debug)]
pub(crate) struct NewAuthItem<'a> {
    pub(crate) task_id: &'a str,
    pub(crate) job_id: &'a str,
    pub(crate) url: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) auth_type: &'a str,
    pub(crate) expires_at: &'a str,
}

const OPEN: &str = "status IN ('pending', 'in_progress')";

fn waiting_page(r: &Row<'_>) -> rusqlite::Result<WaitingPage> {
    Ok(WaitingPage {
        item: AuthItem {
            id: r.get(0)?,
            task_id: r.get(1)?,
            url: r.get(2)?,
            domain: r.get(3)?,
            auth_type: r.get(4)?,
            priority: r.get(5)?,
            status: r.get(6)?,
            queued_at: r.get(7)?,
            expires_at: r.get(8)?,
        },
        job_id: r.get(9)?,
    })
}

impl Reader<'_> {
    /// Items of the queue, oldest first.
    pub(crate) fn waiting_pages(&self, scope: AuthScope<'_>) -> Result<Vec<WaitingPage>> {
        let (condition, value) = match scope {
            AuthScope::Open(task_id) => {
                (format!("{OPEN} AND (?1 IS NULL OR task_id = ?1)"), task_id)
            }
            AuthScope::Expired(now) => (format!("{OPEN} AND expires_at <= ?1"), Some(now)),
            AuthScope::Item(id) => ("id = ?1".to_owned(), Some(id)),
            AuthScope::Domain(domain) => ("domain = ?1".to_owned(), Some(domain)),
            AuthScope::Task(task_id) => ("task_id = ?1".to_owned(), Some(task_id)),
        };
        let sql = format!(
            "SELECT id, task_id, url, domain, auth_type, priority, status, queued_at, expires_at, job_id
             FROM auth_queue WHERE {condition} ORDER BY queued_at, rowid"
        );
        self.db.all(&sql, [value], waiting_page)
    }
}

impl Writer<'_> {
    /// Queues a page, once for each job that wants it.
    pub(crate) fn queue_auth(&self, new: &NewAuthItem<'_>) -> Result<()> {
        let sql = format!(
            "SELECT 1 FROM auth_queue WHERE task_id = ?1 AND url = ?2 AND job_id = ?3 AND {OPEN}"
        );
        if self.db.holds(&sql, [new.task_id, new.url, new.job_id])? {
            return Ok(());
        }
        self.db.run(
            "INSERT INTO auth_queue (id, task_id, url, domain, auth_type, job_id, queued_at, expires_at, priority)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
               CASE WHEN priority <= ?9 THEN 'high' WHEN priority >= ?10 THEN 'low' ELSE 'medium' END
             FROM jobs WHERE id = ?6",
            params![
                random_id("iq_", 12),
                new.task_id,
                new.url,
                new.domain,
                new.auth_type,
                new.job_id,
                self.now,
                new.expires_at,
                Priority::High.value(),
                Priority::Low.value()
            ],
        )?;
        Ok(())
    }

    /// Sets the status of an item.
    pub(crate) fn close_auth(&self, item_id: &str, status: &str) -> Result<()> {
        let sql = "UPDATE auth_queue SET status = ?2 WHERE id = ?1";
        self.db.run(sql, [item_id, status])?;
        Ok(())
    }

    /// Cancels a task's items that wait for a human; returns their number.
    pub(crate) fn cancel_auth(&self, task_id: &str) -> Result<usize> {
        let sql =
            format!("UPDATE auth_queue SET status = 'cancelled' WHERE task_id = ?1 AND {OPEN}");
        self.db.run(&sql, [task_id])
    }

    /// Queues a job again that waited for a human. The wait does not count as a failed attempt.
    pub(crate) fn requeue_waiting_job(&self, job_id: &str) -> Result<()> {
        self.db.run(
            "UPDATE jobs SET state = 'queued', attempts = max(attempts - 1, 0), queued_at = ?2,
               finished_at = NULL, worker_id = NULL, lease_until = NULL
             WHERE id = ?1",
            params![job_id, self.now],
        )?;
        Ok(())
    }

    /// Fails a job that waits for a human, unless another page that it needs may still be opened. Its
    /// work ended when the wait began, so the wait is not charged to the budget.
    pub(crate) fn give_up_waiting_job(&self, job_id: &str, reason: &str) -> Result<bool> {
        let given_up = self.db.run(
            "UPDATE jobs SET state = 'failed', error_message = ?2,
               finished_at = coalesce(finished_at, ?3)
             WHERE id = ?1 AND state = 'awaiting_auth' AND NOT EXISTS (
               SELECT 1 FROM auth_queue a
               WHERE a.job_id = jobs.id AND a.status IN ('pending', 'in_progress'))",
            params![job_id, reason, self.now],
        )?;
        Ok(given_up > 0)
    }
}
