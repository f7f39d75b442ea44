//! What a rule about a domain does to verdicts that are there already.
//!
//! Verdicts on pages of blocked domains are moved out of `edges`, so that nothing which reads or
//! counts evidence has to know of rules. They are moved back as they were when no rule blocks their
//! page any more. Where a claim was read is no verdict and stays.

use super::Reader;
use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::Connection;

/// Verdicts on a page (`?1`), as a condition on `edges`.
const OF_PAGE: &str = "source_type = 'fragment' AND target_type = 'claim'
  AND relation IN ('supports', 'refutes', 'neutral')
  AND source_id IN (SELECT id FROM fragments WHERE page_id = ?1)";

/// How many verdicts were moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) set_aside: usize,
    pub(super) back: usize,
}

/// Brings the verdicts into line with the rules in force.
pub(super) fn settle(db: &Connection) -> Result<Moved> {
    let rules = Reader { db }.domain_rules()?;
    let mut moved = Moved::default();
    let is_blocked = |page: &Page| {
        rules
            .blocking_page(&page.url, page.final_url.as_deref(), page.domain.as_deref())
            .is_some()
    };
    let set_aside = "SELECT p.id, p.url, p.final_url, p.domain FROM pages p
      WHERE p.id IN (SELECT f.page_id FROM blocked_edges b JOIN fragments f ON f.id = b.source_id)";
    for page in pages(db, set_aside)? {
        if !is_blocked(&page) {
            moved.back += put_back(db, &page.id)?;
        }
    }
    if rules.is_empty() {
        return Ok(moved);
    }
    for page in pages(db, "SELECT id, url, final_url, domain FROM pages")? {
        if is_blocked(&page) {
            moved.set_aside += put_aside(db, &page.id)?;
        }
    }
    Ok(moved)
}

struct Page {
    id: String,
    url: String,
    final_url: Option<String>,
    domain: Option<String>,
}

fn pages(db: &Connection, sql: &str) -> Result<Vec<Page>> {
    let mut statement = db.prepare_cached(sql).db()?;
    let rows = statement.query_map([], |row| {
        Ok(Page {
            id: row.get(0)?,
            url: row.get(1)?,
            final_url: row.get(2)?,
            domain: row.get(3)?,
        })
    });
    rows.db()?.collect::<rusqlite::Result<_>>().db()
}

fn put_aside(db: &Connection, page_id: &str) -> Result<usize> {
    // What came again while the first was set aside, as by an import, gives way to it.
    let copied = format!(
        "INSERT INTO blocked_edges SELECT * FROM edges WHERE {OF_PAGE} ON CONFLICT DO NOTHING"
    );
    db.run(&copied, [page_id])?;
    let taken = format!("DELETE FROM edges WHERE {OF_PAGE}");
    db.run(&taken, [page_id])
}

fn put_back(db: &Connection, page_id: &str) -> Result<usize> {
    let copied = format!(
        "INSERT INTO edges SELECT * FROM blocked_edges WHERE {OF_PAGE} ON CONFLICT DO NOTHING"
    );
    let back = db.run(&copied, [page_id])?;
    let taken = format!("DELETE FROM blocked_edges WHERE {OF_PAGE}");
    db.run(&taken, [page_id])?;
    Ok(back)
}
