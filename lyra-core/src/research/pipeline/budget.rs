//! The remaining budget of a task.

use super::outcome::BudgetRemaining;
use crate::clock::parse_ms;
use crate::error::Result;
use crate::store::graph::Reader;
use crate::store::model::{LEASE_MS, TaskConfig};
use std::time::Duration;

/// The budget of a task and how much of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Pages read.
    pub pages_used: u32,
    /// Pages allowed.
    pub pages_limit: u32,
    /// Seconds during which the task was being worked on, counted once for concurrent workers.
    pub seconds_used: u64,
    /// Seconds allowed.
    pub seconds_limit: u64,
    /// Remaining time in milliseconds: with whole seconds a task could run for almost one second too long.
    time_left: Duration,
}

impl Budget {
    /// Reads the budget of a task at time `now_ms`.
    pub fn of(reader: &Reader<'_>, task_id: &str, now_ms: i64) -> Result<Self> {
        let TaskConfig { budget, .. } = reader.task_config(task_id)?;
        let worked = time_of_work(reader, task_id, now_ms)?;
        let allowed = Duration::from_secs(u64::from(budget.max_seconds));
        Ok(Self {
            pages_used: reader.pages_used(task_id)?,
            pages_limit: budget.max_pages,
            seconds_used: worked.as_secs(),
            seconds_limit: allowed.as_secs(),
            time_left: allowed.saturating_sub(worked),
        })
    }

    /// Pages that may still be read.
    pub fn pages_left(&self) -> u32 {
        self.pages_limit.saturating_sub(self.pages_used)
    }

    /// Remaining working time.
    pub fn time_left(&self) -> Duration {
        self.time_left
    }

    /// Whether either limit is reached.
    pub fn is_exhausted(&self) -> bool {
        self.pages_left() == 0 || self.seconds_used >= self.seconds_limit
    }

    /// The percentage left of the limit that is closer to exhaustion.
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

/// Time during which any of the task's targets was being worked on. The time between jobs does not
/// count, and seconds in which two workers had a job count once.
fn time_of_work(reader: &Reader<'_>, task_id: &str, now_ms: i64) -> Result<Duration> {
    let (mut total_ms, mut counted_to) = (0, i64::MIN);
    for time in reader.times_of_work(task_id)? {
        let end = match time.finished_at.as_deref().and_then(parse_ms) {
            Some(end) => end,
            None => last_known(time.lease_until.as_deref().and_then(parse_ms), now_ms),
        };
        let begin = parse_ms(&time.started_at).unwrap_or(end).max(counted_to);
        total_ms += (end - begin).max(0);
        counted_to = counted_to.max(end);
    }
    Ok(Duration::from_millis(u64::try_from(total_ms).unwrap_or(0)))
}

/// The last time at which a running job is known to have been worked on: now, unless the lease was
/// granted longer ago than its own length, or in the future. Then the worker has gone, or the clock
/// was changed and the worker will soon renew the lease.
fn last_known(lease_until: Option<i64>, now_ms: i64) -> i64 {
    let Some(beat) = lease_until.map(|end| end - LEASE_MS) else {
        return now_ms;
    };
    match (0..=LEASE_MS).contains(&(now_ms - beat)) {
        true => now_ms,
        false => beat,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::store::graph::EvidenceGraph;
    use std::sync::Arc;

    /// Four concurrent workers use no more time than one.
    #[test]
    fn a_second_counts_once_however_many_work_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let graph =
            EvidenceGraph::open(&folder.path().join("g.db"), Arc::new(SystemClock)).unwrap();
        let insert = |times: &[(u32, Option<u32>)]| {
            graph.write(|w| {
                w.sql().execute_batch(
                    "DELETE FROM jobs;
                     INSERT OR IGNORE INTO tasks (id, hypothesis, created_at)
                       VALUES ('t1', 'h', '')",
                )
                .unwrap();
                for (n, (start, end)) in times.iter().enumerate() {
                    let stamp = |second: &u32| format!("2026-01-01T00:00:{second:02}.500Z");
                    w.sql().execute(
                        "INSERT INTO jobs (id, task_id, kind, priority, state, created_at, queued_at, started_at, finished_at)
                         VALUES (?1, 't1', 'target_queue', 25, ?2, '', '', ?3, ?4)",
                        rusqlite::params![
                            format!("j{n}"),
                            if end.is_some() { "completed" } else { "running" },
                            stamp(start),
                            end.as_ref().map(stamp)
                        ],
                    )
                    .unwrap();
                }
                Ok(())
            })
            .unwrap();
        };
        let now_ms = parse_ms("2026-01-01T00:00:40.000Z").unwrap();
        for (times, millis) in [
            (&[][..], 0),
            (&[(1, Some(3)), (1, Some(3)), (2, Some(3))], 2_000),
            (&[(1, Some(9)), (2, Some(3)), (8, Some(10))], 9_000),
            (&[(1, Some(3)), (5, Some(6)), (5, Some(5))], 3_000),
            (&[(1, Some(2)), (38, None), (39, None)], 2_500),
        ] {
            insert(times);
            let worked = graph.read(|r| time_of_work(r, "t1", now_ms)).unwrap();
            assert_eq!(worked, Duration::from_millis(millis), "{times:?}");
        }
    }
}
