//! Counts citations, and finds the pages that a task might read next.

use crate::error::Result;
use crate::store::database::{SqliteResultExt, Statements};
use rusqlite::{Connection, params};

/// Counts the citations of stale pages again.
pub(super) fn count_citations(db: &Connection) -> Result<()> {
    let mut counts = db
        .prepare_cached(
            "SELECT
               (SELECT count(*) FROM edges AS e WHERE e.source_id = ?1 AND e.relation = 'cites'
                 AND e.source_type = 'page' AND e.target_type = 'page'),
               (SELECT count(*) FROM edges AS e WHERE e.target_id = ?1 AND e.relation = 'cites'
                 AND e.source_type = 'page' AND e.target_type = 'page')",
        )
        .db()?;
    let mut store = db
        .prepare_cached("INSERT OR REPLACE INTO stat_pages VALUES (?1, ?2, ?3)")
        .db()?;
    let mut delete = db
        .prepare_cached("DELETE FROM stat_pages WHERE page_id = ?1")
        .db()?;
    let mut copy = db
        .prepare_cached(
            "UPDATE stat_task_pages SET citation_count = ?2, cited_by_count = ?3,
               domain = (SELECT domain FROM pages WHERE id = ?1)
             WHERE page_id = ?1",
        )
        .db()?;
    for page_id in pages(db, "SELECT page_id FROM stale_pages")? {
        let (out, into): (i64, i64) = counts
            .query_row([&page_id], |r| Ok((r.get(0)?, r.get(1)?)))
            .db()?;
        if out + into > 0 {
            store.execute(params![page_id, out, into]).db()?;
        } else {
            delete.execute([&page_id]).db()?;
        }
        copy.execute(params![page_id, out, into]).db()?;
    }
    Ok(())
}

/// Finds the candidates of stale pages again. Must run after the claims are counted.
pub(super) fn find_candidates(db: &Connection) -> Result<()> {
    if every_page_is_stale(db)? {
        db.execute("DELETE FROM stat_references", []).db()?;
        // In the order of the table, so that it is written sequentially.
        let all = "task_pages AS t CROSS JOIN edges AS e ON e.source_id = t.page_id";
        let sql = format!("{} ORDER BY 1, 2, 3 DESC, 4", candidates(all));
        db.execute(&sql, []).db()?;
        return Ok(());
    }
    for forget in [
        "citing_page_id IN (SELECT page_id FROM stale_pages)",
        "(citing_page_id, task_id) IN (SELECT page_id, task_id FROM stale_task_pages)",
        "(candidate_page_id, task_id) IN (SELECT page_id, task_id FROM stale_task_pages)",
    ] {
        db.run(&format!("DELETE FROM stat_references WHERE {forget}"), [])?;
    }
    for citations in [
        // Citations of pages whose citations changed, for each of their tasks.
        "stale_pages AS s
         CROSS JOIN task_pages AS t ON t.page_id = s.page_id
         CROSS JOIN edges AS e ON e.source_id = t.page_id",
        // Citations of pages that were added to a task.
        "stale_task_pages AS s
         CROSS JOIN task_pages AS t ON t.task_id = s.task_id AND t.page_id = s.page_id
         CROSS JOIN edges AS e ON e.source_id = t.page_id",
        // Citations to a page that left a task, or from which no claim of the task is extracted any
        // more.
        "stale_task_pages AS s
         CROSS JOIN edges AS e ON e.target_id = s.page_id
         CROSS JOIN task_pages AS t ON t.task_id = s.task_id AND t.page_id = e.source_id",
    ] {
        db.run(&candidates(citations), [])?;
    }
    Ok(())
}

/// If so, the candidates of every page and task are found again, which has a single method.
fn every_page_is_stale(db: &Connection) -> Result<bool> {
    db.one(
        "SELECT NOT EXISTS (SELECT 1 FROM pages WHERE id NOT IN stale_pages)",
        [],
        |r| r.get(0),
    )
}

/// The rows of `stat_references` for the citations of a task. `citations` joins `task_pages AS t` to
/// `edges AS e`. tests/data/views/plain/v_reference_candidates has the same definition.
fn candidates(citations: &str) -> String {
    format!(
        "INSERT OR IGNORE INTO stat_references
         SELECT t.task_id, t.depth, e.created_at, e.id, e.source_id, e.target_id
         FROM {citations}
         CROSS JOIN pages AS citing ON citing.id = e.source_id
         CROSS JOIN pages AS cited ON cited.id = e.target_id
         WHERE e.relation = 'cites' AND e.source_type = 'page' AND e.target_type = 'page'
           AND (cited.url LIKE 'https://%' OR cited.url LIKE 'http://%'
             OR (cited.url LIKE 'file://%' AND citing.url LIKE 'file://%'))
           AND NOT EXISTS (SELECT 1 FROM task_pages AS known
                           WHERE known.task_id = t.task_id AND known.page_id = cited.id)
           AND NOT EXISTS (SELECT 1 FROM stat_task_pages AS taken
                           WHERE taken.page_id = cited.id AND taken.task_id = t.task_id
                             AND taken.claims_generated_all > 0)"
    )
}

fn pages(db: &Connection, sql: &str) -> Result<Vec<String>> {
    db.all(sql, [], |r| r.get(0))
}
