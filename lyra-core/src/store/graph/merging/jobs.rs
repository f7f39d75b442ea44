//! Merges jobs: each target is done once per task.

use crate::error::Result;
use crate::store::database::SqliteResultExt;
use rusqlite::Connection;

/// Completed work stays completed.
pub(super) const STATE_RANK: &str = "CASE {row}.state WHEN 'completed' THEN 5 WHEN 'failed' THEN 4
  WHEN 'cancelled' THEN 3 WHEN 'awaiting_auth' THEN 2 WHEN 'running' THEN 1 ELSE 0 END";

/// Of two jobs for one target, the one with more progress is kept, then the one with the lower id; the
/// other is cancelled. Those of the source are listed in `temp.merge_second_jobs`.
pub(super) fn settle_targets(db: &Connection, source: &str) -> Result<()> {
    let rank = |row: &str| STATE_RANK.replace("{row}", row);
    let live = |row: &str| {
        format!(
            "{row}.kind = 'target_queue' AND {row}.state IN ('queued', 'running', 'awaiting_auth', 'completed')"
        )
    };
    let pairs = format!(
        "FROM {source}.jobs s CROSS JOIN main.jobs t ON t.task_id = s.task_id AND t.dedup_key = s.dedup_key
           AND {} AND t.id <> s.id WHERE {}",
        live("t"),
        live("s")
    );
    // The job of the source in its final state: the target may have a more advanced state of the same
    // job.
    let first = format!(
        "(max({}, coalesce((SELECT {} FROM main.jobs o WHERE o.id = s.id AND o.state <> 'cancelled'), 0)), t.id)
         > ({}, s.id)",
        rank("s"),
        rank("o"),
        rank("t")
    );
    db.execute_batch(&format!(
        "DELETE FROM temp.merge_second_jobs;
         INSERT OR IGNORE INTO temp.merge_second_jobs SELECT s.id {pairs} AND NOT {first};
         UPDATE main.jobs SET state = 'cancelled', error_message = 'another graph had done the same'
           WHERE id IN (SELECT t.id {pairs} AND {first})"
    ))
    .db()
}
