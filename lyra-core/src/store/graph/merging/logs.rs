//! Merges logs: the lines of both sides are kept, without duplicates.

use crate::error::Result;
use crate::store::database::Statements;
use rusqlite::Connection;

/// An append-only log, its time, and its other columns.
const LOGS: [(&str, &str, &str); 2] = [
    (
        "feedback_log",
        "created_at",
        "action, target_type, target_id, task_id, actor, reason, previous_json",
    ),
    (
        "event_log",
        "at",
        "actor, action, task_id, subject_id, details_json",
    ),
];

/// Adds the lines of the source that the target lacks, oldest first. Equal lines are kept as many times
/// as they occur on the side that has more of them.
pub(super) fn merge(db: &Connection, source: &str) -> Result<[usize; 2]> {
    let mut added = [0; 2];
    for (added, (table, time, columns)) in added.iter_mut().zip(LOGS) {
        let line = format!("json_array({time}, {columns})");
        *added = db.run(
            &format!(
                "WITH known AS MATERIALIZED (
                   SELECT {line} AS line, count(*) AS times FROM main.{table} GROUP BY 1),
                 told AS (SELECT *, {line} AS line,
                     row_number() OVER (PARTITION BY {line} ORDER BY id) AS nth FROM {source}.{table})
                 INSERT INTO main.{table} ({time}, {columns})
                   SELECT {time}, {columns} FROM told LEFT JOIN known USING (line)
                   WHERE nth > coalesce(times, 0) ORDER BY {time}, line"
            ),
            [],
        )?;
    }
    Ok(added)
}
