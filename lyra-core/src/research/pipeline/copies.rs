//! What a task has read before: the same text elsewhere, and other files of one publication.

use crate::error::{Result, SqliteResultExt};
use crate::store::graph::Reader;
use crate::store::model::PageRecord;
use rusqlite::params;
use std::collections::HashSet;

/// The claims that a task has from other files of the page's publication: said twice, they would count twice.
pub(super) fn said_by_other_files(
    reader: &Reader<'_>,
    task_id: &str,
    page: &PageRecord,
) -> Result<HashSet<String>> {
    let mut statement = reader
        .db
        .prepare_cached(
            "SELECT c.claim_text FROM pages p
               JOIN fragments f ON f.page_id = p.id
               JOIN edges e ON e.source_id = f.id AND e.relation = 'origin'
               JOIN claims c ON c.id = e.target_id AND c.task_id = ?1
             WHERE p.canonical_id = ?2 AND p.id <> ?3",
        )
        .db()?;
    let rows = statement
        .query_map(params![task_id, page.canonical_id, page.id], |r| r.get(0))
        .db()?;
    rows.collect::<rusqlite::Result<_>>().db()
}

/// Whether a page that is new to a task has the text, to the letter, of one that the task has read, and
/// names no other work: a folder that was moved or copied, a mirror. It is the same source, and tells nothing new.
pub(super) fn repeats_another(reader: &Reader<'_>, task_id: &str, page_id: &str) -> Result<bool> {
    reader
        .db
        .prepare_cached(
            "WITH newest AS (
               SELECT t.page_id, t.text_hash FROM page_texts t
               WHERE t.version = (SELECT max(version) FROM page_texts l WHERE l.page_id = t.page_id))
             SELECT 1 FROM pages p
               JOIN newest own ON own.page_id = p.id
               JOIN pages o ON o.id = p.near_duplicate_of OR o.near_duplicate_of = p.near_duplicate_of
               JOIN newest other ON other.page_id = o.id AND other.text_hash = own.text_hash
               JOIN task_pages k ON k.task_id = ?1 AND k.page_id = o.id
             WHERE p.id = ?2 AND p.near_duplicate_of IS NOT NULL AND o.id <> p.id
               -- Two DOIs are two works, whatever they say.
               AND coalesce(p.canonical_id, o.canonical_id, '') = coalesce(o.canonical_id, p.canonical_id, '')
               AND NOT EXISTS (SELECT 1 FROM task_pages WHERE task_id = ?1 AND page_id = ?2)",
        )
        .db()?
        .exists([task_id, page_id])
        .db()
}
