//! What a task may still use up.

use super::outcome::BudgetRemaining;
use crate::clock::parse_ms;
use crate::error::{Result, SqliteResultExt};
use crate::graph::Reader;
use crate::model::TaskConfig;
use rusqlite::params;
use std::time::Duration;

/// The budget of a task and what is used of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Pages read.
    pub pages_used: u32,
    /// Pages allowed.
    pub pages_limit: u32,
    /// Seconds of work done.
    pub seconds_used: u64,
    /// Seconds allowed.
    pub seconds_limit: u64,
}

impl Budget {
    /// Reads the budget of a task at time `now_ms`.
    pub fn of(reader: &Reader<'_>, task_id: &str, now_ms: i64) -> Result<Self> {
        let TaskConfig { budget, .. } = reader.task_config(task_id)?;
        Ok(Self {
            pages_used: reader.pages_used(task_id)?,
            pages_limit: budget.max_pages,
            seconds_used: seconds_of_work(reader, task_id, now_ms)?,
            seconds_limit: u64::from(budget.max_seconds),
        })
    }

    /// Pages that may still be read.
    pub fn pages_left(&self) -> u32 {
        self.pages_limit.saturating_sub(self.pages_used)
    }

    /// Time that may still be worked.
    pub fn time_left(&self) -> Duration {
        Duration::from_secs(self.seconds_limit.saturating_sub(self.seconds_used))
    }

    /// Whether either limit is reached.
    pub fn is_exhausted(&self) -> bool {
        self.pages_left() == 0 || self.seconds_used >= self.seconds_limit
    }

    /// The scarcer of the two, in percent.
    pub fn remaining_percent(&self) -> u32 {
        let pages = percent(u64::from(self.pages_left()), u64::from(self.pages_limit));
        let seconds = percent(
            self.seconds_limit.saturating_sub(self.seconds_used),
            self.seconds_limit,
        );
        pages.min(seconds)
    }

    /// The page budget as a search reports it.
    pub fn remaining(&self) -> BudgetRemaining {
        let percent = percent(u64::from(self.pages_left()), u64::from(self.pages_limit));
        BudgetRemaining {
            pages: self.pages_left(),
            percent,
        }
    }
}

fn percent(part: u64, whole: u64) -> u32 {
    u32::try_from(part.saturating_mul(100) / whole.max(1)).unwrap_or(100)
}

/// Time spent on the task's targets; time between its jobs does not count.
fn seconds_of_work(reader: &Reader<'_>, task_id: &str, now_ms: i64) -> Result<u64> {
    let mut statement = reader
        .db
        .prepare_cached(
            "SELECT started_at, finished_at FROM jobs
             WHERE task_id = ?1 AND kind = 'target_queue' AND started_at IS NOT NULL
               AND state IN ('running', 'completed', 'failed')",
        )
        .db()?;
    let mut rows = statement.query(params![task_id]).db()?;
    let mut total_ms: i64 = 0;
    while let Some(row) = rows.next().db()? {
        let started: String = row.get(0).db()?;
        let finished: Option<String> = row.get(1).db()?;
        let end = finished.as_deref().and_then(parse_ms).unwrap_or(now_ms);
        total_ms += (end - parse_ms(&started).unwrap_or(end)).max(0);
    }
    Ok(u64::try_from(total_ms / 1000).unwrap_or(0))
}
