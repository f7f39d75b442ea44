//! The effect of domain rules and screening exclusions on evidence that is already stored.
//!
//! Verdicts on pages of blocked domains, and on sources excluded from their task, are moved out of
//! `edges`, so that code that reads or counts evidence does not need to know the rules. They are moved
//! back unchanged when no rule or exclusion applies any more. Origin edges are not verdicts and stay; a
//! claim that was read only in excluded sources is not adopted while they are excluded.

use super::handles::Reader;
use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::{Connection, params};
use std::collections::HashSet;

/// Condition on `edges`: verdicts on a page (`?1`), of one task (`?2`) or of all tasks.
const OF_PAGE: &str = "source_type = 'fragment' AND target_type = 'claim'
  AND relation IN ('supports', 'refutes', 'neutral')
  AND source_id IN (SELECT id FROM fragments WHERE page_id = ?1)
  AND (?2 IS NULL OR target_id IN (SELECT id FROM claims WHERE task_id = ?2))";

/// Materialized, so that it is evaluated once per statement and not once per claim.
const EXCLUDED: &str = "WITH excluded AS MATERIALIZED (SELECT * FROM excluded_pages)";

/// Prefix of the rejection reason of claims whose source was excluded.
pub(super) const EXCLUDED_SOURCE: &str = "source excluded: ";

/// How many verdicts were moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) set_aside: usize,
    pub(super) back: usize,
}

/// Updates verdicts and claims to match the current rules and exclusions.
pub(super) fn settle(db: &Connection, now: &str) -> Result<Moved> {
    let rules = Reader { db }.domain_rules()?;
    let mut moved = Moved::default();
    let is_blocked = |page: &AddressedPage| {
        rules
            .blocking_page(&page.url, page.final_url.as_deref(), page.domain.as_deref())
            .is_some()
    };
    let excluded = excluded(db)?;
    let set_aside = "SELECT p.id, p.url, p.final_url, p.domain FROM pages p
      WHERE p.id IN (SELECT f.page_id FROM blocked_edges b JOIN fragments f ON f.id = b.source_id)";
    for page in pages(db, set_aside)? {
        for task in tasks_aside(db, &page.id)? {
            let pair = (task, page.id.clone());
            if !is_blocked(&page) && !excluded.contains(&pair) {
                moved.back += put_back(db, &page.id, &pair.0)?;
            }
        }
    }
    for (task, page) in &excluded {
        moved.set_aside += put_aside(db, page, Some(task))?;
    }
    settle_claims(db, now)?;
    if rules.is_empty() {
        return Ok(moved);
    }
    for page in pages(db, "SELECT id, url, final_url, domain FROM pages")? {
        if is_blocked(&page) {
            moved.set_aside += put_aside(db, &page.id, None)?;
        }
    }
    Ok(moved)
}

/// Moves out verdicts that were added on a task's excluded sources since the exclusion.
pub(super) fn settle_task(db: &Connection, now: &str, task_id: &str) -> Result<()> {
    for page in (Reader { db }).excluded_pages(task_id)? {
        put_aside(db, &page, Some(task_id))?;
    }
    settle_claims(db, now)
}

/// Task and page of every excluded source.
fn excluded(db: &Connection) -> Result<HashSet<(String, String)>> {
    let mut statement = db
        .prepare_cached("SELECT task_id, page_id FROM excluded_pages")
        .db()?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.db()?.collect::<rusqlite::Result<_>>().db()
}

/// Tasks that have verdicts on this page set aside.
fn tasks_aside(db: &Connection, page_id: &str) -> Result<Vec<String>> {
    db.all(
        "SELECT DISTINCT c.task_id FROM fragments f JOIN blocked_edges b ON b.source_id = f.id
               JOIN claims c ON c.id = b.target_id WHERE f.page_id = ?1",
        [page_id],
        |row| row.get(0),
    )
}

/// Rejects claims that were read only in excluded sources, and restores those that no longer are. A
/// claim that a person rejected has a different reason and stays rejected.
fn settle_claims(db: &Connection, now: &str) -> Result<()> {
    // Most graphs have neither, so this cheap check comes first.
    let is_concerned = "SELECT 1 FROM screenings UNION ALL SELECT 1 FROM claims
      WHERE claim_adoption_status = 'not_adopted' AND claim_rejection_reason GLOB ?1";
    let known_by = format!("{EXCLUDED_SOURCE}*");
    if !db.holds(is_concerned, [&known_by])? {
        return Ok(());
    }
    let read_elsewhere = "SELECT 1 FROM edges e JOIN fragments f ON f.id = e.source_id
      WHERE e.target_id = claims.id AND e.relation = 'origin'
        AND NOT EXISTS (SELECT 1 FROM excluded x WHERE x.task_id = claims.task_id AND x.page_id = f.page_id)";
    let out = format!(
        "{EXCLUDED} UPDATE claims SET claim_adoption_status = 'not_adopted', claim_rejected_at = ?1,
           claim_rejection_reason = ?2 || (SELECT x.reason FROM edges e JOIN fragments f ON f.id = e.source_id
             JOIN excluded x ON x.page_id = f.page_id AND x.task_id = claims.task_id
             WHERE e.target_id = claims.id AND e.relation = 'origin' ORDER BY x.reason LIMIT 1)
         WHERE claim_adoption_status = 'adopted' AND task_id IN (SELECT task_id FROM excluded)
           AND EXISTS (SELECT 1 FROM edges e WHERE e.target_id = claims.id AND e.relation = 'origin')
           AND NOT EXISTS ({read_elsewhere})"
    );
    db.run(&out, params![now, EXCLUDED_SOURCE])?;
    let back = format!(
        "{EXCLUDED} UPDATE claims SET claim_adoption_status = 'adopted', claim_rejected_at = NULL,
           claim_rejection_reason = NULL
         WHERE claim_adoption_status = 'not_adopted' AND claim_rejection_reason GLOB ?1
           AND EXISTS ({read_elsewhere})"
    );
    db.run(&back, [&known_by])?;
    Ok(())
}

struct AddressedPage {
    id: String,
    url: String,
    final_url: Option<String>,
    domain: Option<String>,
}

fn pages(db: &Connection, sql: &str) -> Result<Vec<AddressedPage>> {
    let mut statement = db.prepare_cached(sql).db()?;
    let rows = statement.query_map([], |row| {
        Ok(AddressedPage {
            id: row.get(0)?,
            url: row.get(1)?,
            final_url: row.get(2)?,
            domain: row.get(3)?,
        })
    });
    rows.db()?.collect::<rusqlite::Result<_>>().db()
}

fn put_aside(db: &Connection, page_id: &str, task_id: Option<&str>) -> Result<usize> {
    // If a verdict was added again after the first was set aside, for example by an import, the first is
    // kept.
    let copied = format!(
        "INSERT INTO blocked_edges SELECT * FROM edges WHERE {OF_PAGE} ON CONFLICT DO NOTHING"
    );
    let which = params![page_id, task_id];
    db.run(&copied, which)?;
    let taken = format!("DELETE FROM edges WHERE {OF_PAGE}");
    db.run(&taken, which)
}

fn put_back(db: &Connection, page_id: &str, task_id: &str) -> Result<usize> {
    let copied = format!(
        "INSERT INTO edges SELECT * FROM blocked_edges WHERE {OF_PAGE} ON CONFLICT DO NOTHING"
    );
    let which = params![page_id, task_id];
    let back = db.run(&copied, which)?;
    let taken = format!("DELETE FROM blocked_edges WHERE {OF_PAGE}");
    db.run(&taken, which)?;
    Ok(back)
}
