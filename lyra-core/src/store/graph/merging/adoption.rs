//! Merges the adoption status of claims.

use super::rules::in_order;
use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::Connection;

/// Records when claims were decided, on both sides. Must run before the logs are merged, from which the
/// times are read.
pub(super) fn note_decisions(db: &Connection, source: &str) -> Result<()> {
    let said = |side: i32, schema: &str| {
        format!(
            "INSERT INTO temp.merge_said SELECT {side}, target_id, max(created_at) FROM {schema}.feedback_log
             WHERE target_type = 'claim' GROUP BY target_id"
        )
    };
    db.execute_batch(&format!(
        "DELETE FROM temp.merge_said; {}; {}",
        said(0, "main"),
        said(1, source)
    ))
    .db()
}

/// The claims whose status differs between the two sides, and whether the target keeps its own.
pub(super) fn decided_sql(source: &str) -> String {
    format!(
        "SELECT t.id, {} <= {} FROM {}",
        decision("s", 1),
        decision("t", 0),
        differing(source)
    )
}

fn differing(source: &str) -> String {
    format!(
        "{source}.claims s JOIN main.claims t ON t.id = s.id
         WHERE (s.claim_adoption_status IS NOT t.claim_adoption_status
             OR s.claim_rejection_reason IS NOT t.claim_rejection_reason)"
    )
}

/// Takes the newest decision on each claim whose status differs between the two sides. Rejections that
/// follow from screening are not decisions: they are derived again at the end.
pub(super) fn merge(db: &Connection, source: &str) -> Result<usize> {
    db.run(
        &format!(
            "UPDATE main.claims SET (claim_adoption_status, claim_rejection_reason, claim_rejected_at) = (
               SELECT s.claim_adoption_status, s.claim_rejection_reason, s.claim_rejected_at
               FROM {source}.claims s WHERE s.id = claims.id)
             WHERE id IN (
               SELECT s.id FROM {} AND {} > {})",
            differing(source),
            decision("s", 1),
            decision("t", 0)
        ),
        [],
    )
}

/// The time of the decision, and the decision.
fn decision(row: &str, side: i32) -> String {
    let by_a_person = |column: &str, otherwise: &str| {
        format!(
            "CASE WHEN {row}.claim_rejection_reason GLOB 'source excluded: *' THEN {otherwise}
               ELSE {row}.{column} END"
        )
    };
    in_order(&[
        format!(
            "max(ifnull((SELECT at FROM temp.merge_said WHERE side = {side} AND claim_id = {row}.id), ''),
               ifnull({}, ''))",
            by_a_person("claim_rejected_at", "''")
        ),
        by_a_person("claim_adoption_status", "'adopted'"),
        by_a_person("claim_rejection_reason", "NULL"),
    ])
}
