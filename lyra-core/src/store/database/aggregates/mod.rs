//! Keeps the derived `stat_…` tables equal to the result of a complete recount.
//!
//! Triggers record in `stale_…` tables which claims and pages a write touched, whichever program writes;
//! new claims are detected by their numbers. Before a commit, [`refresh`] counts these again: each
//! claim's stored share in the counts is subtracted, computed again from the stored rows and added. So
//! the work is proportional to the changes, not to the size of the graph, and counts cannot drift.

mod claims;
mod deltas;
mod lookup;
mod pages;
mod snapshot;

#[cfg(test)]
mod tests;

use super::deferred::Deferred;
use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use claims::ClaimCounter;
use deltas::Deltas;
use rusqlite::{Connection, params};

/// Maximum number of pending changes before the sums are written, about 200 bytes each.
const DIFFERENCES: usize = 600_000;

/// Minimum number of stale claims for which the indexes are rebuilt.
const MANY_CLAIMS: usize = 8_192;

/// Indexes that only the views need, in the order in which they were created.
pub(super) const INDEXES: [&str; 15] = [
    "stat_evidence_by_confidence",
    "stat_claims_by_evidence",
    "stat_claims_by_controversy",
    "stat_claims_unsupported",
    "stat_claims_by_age",
    "stat_claims_by_trend",
    "stat_claims_by_old_support",
    "stat_claims_by_new_support",
    "stat_task_pages_by_task",
    "stat_task_pages_by_support",
    "stat_task_pages_by_authority",
    "stat_task_pages_by_impact",
    "stat_task_pages_uncited",
    "stat_references_by_citing",
    "stat_references_by_candidate",
];

/// Whether there are stale rows, as after a write by another program.
pub(crate) fn is_stale(db: &Connection) -> Result<bool> {
    db.one(
        "SELECT EXISTS (SELECT 1 FROM stale_claims) OR EXISTS (SELECT 1 FROM stale_pages)
           OR EXISTS (SELECT 1 FROM stale_task_pages)
           OR coalesce((SELECT max(seq) FROM claims), 0)
              > (SELECT value FROM stat_state WHERE key = 'last_claim_seq')
           OR EXISTS (SELECT 1 FROM stat_missing AS m JOIN fragments AS f ON f.id = m.fragment_id)",
        [],
        |r| r.get(0),
    )
}

/// Counts stale rows again. Must run inside the transaction that is about to be committed.
pub(crate) fn refresh(db: &Connection) -> Result<()> {
    if !is_stale(db)? {
        return Ok(());
    }
    note_new_rows(db)?;
    let most = most_is_stale(db)?;
    count(db, most)
}

/// Counts the recorded rows. `anew`: the indexes are built from all rows at the end.
fn count(db: &Connection, anew: bool) -> Result<()> {
    let indexes = anew
        .then(|| Deferred::take_away(db, &INDEXES))
        .transpose()?;
    // Pages first: new rows of `stat_task_pages` take their citations from `stat_pages`.
    pages::count_citations(db)?;
    count_claims(db)?;
    pages::find_candidates(db)?;
    if let Some(indexes) = indexes {
        indexes.put_back(db)?;
    }
    db.execute_batch(
        "DELETE FROM stale_claims; DELETE FROM stale_pages; DELETE FROM stale_task_pages",
    )
    .db()
}

/// Whether there are many stale claims, and more than have already been counted.
fn most_is_stale(db: &Connection) -> Result<bool> {
    db.query_row(
        "SELECT stale > ?1 AND stale > (SELECT count(*) FROM stat_counted)
         FROM (SELECT count(*) AS stale FROM stale_claims)",
        [MANY_CLAIMS as i64],
        |r| r.get(0),
    )
    .db()
}

/// Records new claims, and claims whose missing fragment has been added.
fn note_new_rows(db: &Connection) -> Result<()> {
    for sql in [
        "INSERT INTO stale_claims
           SELECT seq FROM claims
           WHERE seq > (SELECT value FROM stat_state WHERE key = 'last_claim_seq')
         ON CONFLICT DO NOTHING",
        "INSERT INTO stale_claims
           SELECT m.claim_seq FROM stat_missing AS m JOIN fragments AS f ON f.id = m.fragment_id
           WHERE TRUE
         ON CONFLICT DO NOTHING",
        "UPDATE stat_state SET value = (SELECT coalesce(max(seq), 0) FROM claims)
         WHERE key = 'last_claim_seq'",
    ] {
        db.run(sql, [])?;
    }
    Ok(())
}

fn count_claims(db: &Connection) -> Result<()> {
    let stale: Vec<i64> = { db.all("SELECT claim_seq FROM stale_claims", [], |r| r.get(0))? };
    let mut counter = ClaimCounter::new(db, reference_year(db)?);
    let mut deltas = Deltas::default();
    for claim_seq in stale {
        counter.count(claim_seq, &mut deltas)?;
        if deltas.len() >= DIFFERENCES {
            std::mem::take(&mut deltas).apply(db)?;
        }
    }
    deltas.apply(db)
}

/// The year for which `recent_support_count` was counted.
pub(crate) fn reference_year(db: &Connection) -> Result<i64> {
    db.one(
        "SELECT value FROM stat_state WHERE key = 'reference_year'",
        [],
        |r| r.get(0),
    )
}

/// Makes `year` the year from which "recent" is measured.
pub(crate) fn set_reference_year(db: &Connection, year: i64) -> Result<()> {
    let before = reference_year(db)?;
    if before == year {
        return Ok(());
    }
    // Only claims with support in or after the earlier of the two windows can change.
    let first = before.min(year).saturating_sub(2);
    let mut statement = db
        .prepare(
            "SELECT s.claim_seq, n.counted FROM stat_claims AS s
             CROSS JOIN stat_counted AS n ON n.claim_seq = s.claim_seq
             WHERE s.newest_support_year >= ?1",
        )
        .db()?;
    let mut update = db
        .prepare("UPDATE stat_claims SET recent_support_count = ?2 WHERE claim_seq = ?1")
        .db()?;
    let mut rows = statement.query([first]).db()?;
    let mut recent: Vec<(i64, i64)> = Vec::new();
    while let Some(row) = rows.next().db()? {
        let counted = claims::parse(&row.get::<_, String>(1).db()?)?;
        recent.push((row.get(0).db()?, counted.recent_support_count(year)));
    }
    for (claim_seq, count) in recent {
        update.execute([claim_seq, count]).db()?;
    }
    db.execute(
        "UPDATE stat_state SET value = ?1 WHERE key = 'reference_year'",
        params![year],
    )
    .db()?;
    Ok(())
}
