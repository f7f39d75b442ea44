//! The index from identifiers to pages: `resource_index`.
//!
//! Most of it follows from the pages and works of a file, and an import derives it again. Entries that
//! do not follow from them (the address that a redirect led to, the DOI under which a page was cited, a
//! page that replaced another) are exported as lines.

use crate::error::Result;
use crate::store::database::SqliteResultExt;
use rusqlite::Transaction;

/// A table expression `derived`: the identifiers stated by the pages for which `condition` holds.
pub(super) fn derived(condition: &str) -> String {
    format!(
        "new AS (SELECT id, url, canonical_id, fetched_at FROM pages WHERE {condition}),
         named (kind, value, page_id, fetched_at) AS (
           SELECT 'url', url, id, fetched_at FROM new
           UNION ALL SELECT 'doi', w.doi, n.id, n.fetched_at
             FROM new n JOIN works w USING (canonical_id)
           UNION ALL SELECT 'pmid', i.pmid, n.id, n.fetched_at
             FROM new n JOIN work_identifiers i USING (canonical_id)
           UNION ALL SELECT 'arxiv', i.arxiv_id, n.id, n.fetched_at
             FROM new n JOIN work_identifiers i USING (canonical_id)),
         ranked AS (
           SELECT kind, value, page_id, iif(fetched_at IS NULL, 'known', 'fetched') AS status,
             row_number() OVER (PARTITION BY kind, value ORDER BY fetched_at IS NULL, page_id) AS place
           FROM named WHERE value IS NOT NULL),
         derived AS MATERIALIZED (SELECT kind, value, page_id, status FROM ranked WHERE place = 1)"
    )
}

/// Condition on a row of `resource_index`: whether it does not follow from pages and works.
pub(super) const NOT_DERIVED: &str = "page_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM derived d WHERE d.kind = identifier_type AND d.value = identifier_value
      AND d.page_id = resource_index.page_id AND d.status = resource_index.status)";

/// Adds the identifiers of new pages, so that a target that names a paper finds the imported page.
/// Existing entries are kept.
pub(super) fn derive(transaction: &Transaction<'_>, last_old_page: i64) -> Result<()> {
    let sql = format!(
        "WITH {}
         INSERT INTO resource_index (identifier_type, identifier_value, page_id, status)
         SELECT kind, value, page_id, status FROM derived WHERE TRUE ON CONFLICT DO NOTHING",
        derived("rowid > ?1")
    );
    transaction.execute(&sql, [last_old_page]).db()?;
    Ok(())
}
