//! Pages that want a human first.

use crate::error::{Result, SqliteResultExt};
use crate::graph::Reader;
use rusqlite::params;
use serde::Serialize;

/// A page that wants a human first; the session data that a human supplies is never shown.
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
    /// `pending` or `in_progress`.
    pub status: String,
    /// When it was queued.
    pub queued_at: String,
    /// When it stops waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// What waits for a human, of one task or of all, oldest first.
pub(crate) fn auth_items(reader: &Reader<'_>, task_id: Option<&str>) -> Result<Vec<AuthItem>> {
    let mut statement = reader
        .db
        .prepare_cached(
            "SELECT id, task_id, url, domain, auth_type, priority, status, queued_at, expires_at
             FROM auth_queue WHERE status IN ('pending', 'in_progress') AND (?1 IS NULL OR task_id = ?1)
             ORDER BY queued_at, id",
        )
        .db()?;
    let rows = statement
        .query_map(params![task_id], |r| {
            Ok(AuthItem {
                id: r.get(0)?,
                task_id: r.get(1)?,
                url: r.get(2)?,
                domain: r.get(3)?,
                auth_type: r.get(4)?,
                priority: r.get(5)?,
                status: r.get(6)?,
                queued_at: r.get(7)?,
                expires_at: r.get(8)?,
            })
        })
        .db()?;
    rows.collect::<rusqlite::Result<_>>().db()
}
