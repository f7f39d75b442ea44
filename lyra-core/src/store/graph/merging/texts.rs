//! Versions of a page's text, and lists that are merged as a whole.

use super::rules::{PAGE_STATE, in_order};
use crate::error::Result;
use crate::store::database::SqliteResultExt;
use rusqlite::Connection;

/// Offset added to version numbers while they are exchanged.
const ASIDE: i64 = 1 << 40;

/// Puts the texts of a page in one order: that of both sides if they have the same texts with the same
/// times under the same numbers, otherwise by the time of reading, then by hash. A text that came back
/// after another one counts twice. Inserts the texts, and updates the fragments of the target.
pub(super) fn merge(db: &Connection, source: &str) -> Result<()> {
    note_pages_to_number(db, source)?;
    number(db, source)?;
    db.execute_batch(&format!(
        "UPDATE main.page_texts SET version = version + {ASIDE} WHERE page_id IN temp.merge_pages;
         UPDATE main.page_texts SET (version, fetched_at) = (
             SELECT m.version, m.fetched_at FROM temp.merge_texts m
             WHERE m.page_id = page_texts.page_id AND m.target_version = page_texts.version - {ASIDE})
           WHERE page_id IN temp.merge_pages;
         UPDATE main.fragments SET page_version = (
             SELECT m.version FROM temp.merge_texts m
             WHERE m.page_id = fragments.page_id AND m.target_version = fragments.page_version)
           WHERE page_id IN temp.merge_pages AND page_version IS NOT NULL;
         INSERT INTO main.page_texts (page_id, version, text, text_hash, fetched_at)
           SELECT s.page_id, m.version, s.text, s.text_hash, m.fetched_at
           FROM temp.merge_texts m JOIN {source}.page_texts s
             ON s.page_id = m.page_id AND s.version = m.source_version
           WHERE m.target_version IS NULL;
         INSERT INTO main.page_texts (page_id, version, text, text_hash, fetched_at)
           SELECT s.page_id, s.version, s.text, s.text_hash, s.fetched_at FROM {source}.page_texts s
           WHERE s.page_id NOT IN temp.merge_pages
           ON CONFLICT (page_id, version) DO NOTHING"
    ))
    .db()
}

/// Pages that have texts on both sides which differ under the same numbers.
fn note_pages_to_number(db: &Connection, source: &str) -> Result<()> {
    db.execute_batch(&format!(
        "DELETE FROM temp.merge_pages;
         INSERT OR IGNORE INTO temp.merge_pages
           SELECT s.page_id FROM {source}.page_texts s
             LEFT JOIN main.page_texts t ON t.page_id = s.page_id AND t.version = s.version
           WHERE (t.text_hash IS NOT s.text_hash OR t.fetched_at <> s.fetched_at)
             AND EXISTS (SELECT 1 FROM main.page_texts o WHERE o.page_id = s.page_id);
         INSERT OR IGNORE INTO temp.merge_pages
           SELECT t.page_id FROM (SELECT DISTINCT page_id FROM {source}.page_texts) d
             CROSS JOIN main.page_texts t ON t.page_id = d.page_id
             LEFT JOIN {source}.page_texts s ON s.page_id = t.page_id AND s.version = t.version
           WHERE s.version IS NULL"
    ))
    .db()
}

fn number(db: &Connection, source: &str) -> Result<()> {
    let side = |schema: &str, target: &str, source: &str| {
        format!(
            "SELECT page_id, text_hash, fetched_at, {target} AS target_version, {source} AS source_version,
               row_number() OVER (PARTITION BY page_id, text_hash ORDER BY version) AS nth
             FROM {schema}.page_texts WHERE page_id IN temp.merge_pages"
        )
    };
    db.execute_batch(&format!(
        "DELETE FROM temp.merge_texts;
         INSERT INTO temp.merge_texts (page_id, version, target_version, source_version, fetched_at)
           SELECT page_id,
             row_number() OVER (PARTITION BY page_id ORDER BY min(fetched_at), text_hash, nth),
             max(target_version), max(source_version), min(fetched_at)
           FROM ({} UNION ALL {})
           GROUP BY page_id, text_hash, nth",
        side("main", "version", "NULL"),
        side(source, "NULL", "version"),
    ))
    .db()
}

/// Takes the references of pages whose state comes from the source, and keeps those of the others. Must
/// run before the pages are merged, because it compares their states.
pub(super) fn merge_references(db: &Connection, source: &str) -> Result<()> {
    let list = |schema: &str, row: &str| {
        format!(
            "(SELECT json_group_array(json_array(r.position, r.doi, r.url, r.title, r.context, r.citation_source)
               ORDER BY r.position) FROM {schema}.page_references r WHERE r.page_id = {row}.id)"
        )
    };
    let state = |schema: &str, row: &str| {
        let mut values: Vec<String> = PAGE_STATE.map(|c| format!("{row}.{c}")).to_vec();
        values.push(list(schema, row));
        in_order(&values)
    };
    db.execute_batch(&format!(
        "DELETE FROM temp.merge_lists;
         INSERT INTO temp.merge_lists SELECT s.id FROM {source}.pages s
           LEFT JOIN main.pages t ON t.id = s.id
           WHERE t.id IS NULL OR {} > {};
         DELETE FROM main.page_references WHERE page_id IN temp.merge_lists",
        state(source, "s"),
        state("main", "t")
    ))
    .db()
}

/// Must run after the pages are merged, because the references belong to them.
pub(super) fn insert_references(db: &Connection, source: &str) -> Result<()> {
    db.execute_batch(&format!(
        "INSERT INTO main.page_references (page_id, position, doi, url, title, context, citation_source)
           SELECT page_id, position, doi, url, title, context, citation_source
           FROM {source}.page_references WHERE page_id IN temp.merge_lists"
    ))
    .db()
}

/// The authors of a work are one list: the longer list is kept, then the greater one.
pub(super) fn merge_authors(db: &Connection, source: &str) -> Result<()> {
    db.execute_batch(&format!(
        "DELETE FROM temp.merge_lists;
         INSERT INTO temp.merge_lists
           SELECT d.canonical_id FROM (SELECT DISTINCT canonical_id FROM {source}.work_authors) d
           WHERE {} > {};
         DELETE FROM main.work_authors WHERE canonical_id IN temp.merge_lists;
         INSERT INTO main.work_authors (canonical_id, position, name, affiliation, orcid)
           SELECT canonical_id, position, name, affiliation, orcid
           FROM {source}.work_authors WHERE canonical_id IN temp.merge_lists",
        authors(source, "d.canonical_id"),
        authors("main", "d.canonical_id"),
    ))
    .db()
}

/// The works whose lists differ, and whether the target keeps its own.
pub(super) fn decided_authors_sql(source: &str) -> String {
    let (theirs, ours) = (authors(source, "d.id"), authors("main", "d.id"));
    format!(
        "SELECT d.id, {theirs} < {ours} FROM (
           SELECT canonical_id AS id FROM {source}.work_authors INTERSECT
           SELECT canonical_id FROM main.work_authors) d
         WHERE {theirs} <> {ours}"
    )
}

fn authors(schema: &str, work: &str) -> String {
    format!(
        "(SELECT count(*), json_group_array(json_array(position, name, affiliation, orcid) ORDER BY position)
          FROM {schema}.work_authors WHERE canonical_id = {work})"
    )
}
