//! Works, pages, their texts and the fragments that point into them.

use super::PageText;
use super::handles::{Reader, Writer};
use crate::error::{Error, Result};
use crate::store::database::{SqliteResultExt, Statements, near_duplicates};
use crate::store::model::{
    FragmentRecord, FragmentType, PageRecord, Reference, WorkAuthorRecord, WorkRecord,
};
use crate::store::text::hash::sha256_hex;
use rusqlite::{Row, params};
use std::collections::HashMap;

/// A fragment with everything that is needed to judge and cite it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredFragment {
    /// `frag_…`.
    pub id: String,
    /// Its page.
    pub page_id: String,
    /// The kind of document part.
    pub fragment_type: FragmentType,
    /// The exact text.
    pub text: String,
    /// The nearest heading above.
    pub heading: Option<String>,
    /// Offset of the first code point in the page's text, if known.
    pub char_start: Option<i64>,
}

/// Longest text of a fragment in bytes; a longer cell would exceed the SQL guard's length limit and
/// could not be read.
pub(crate) const MAX_FRAGMENT_BYTES: usize = 64_000;

impl Reader<'_> {
    /// The page with that address.
    pub fn page_by_url(&self, url: &str) -> Result<Option<PageRecord>> {
        self.db
            .first(&format!("{SELECT_PAGE} WHERE url = ?1"), [url], page_of)
    }

    /// The page with that id.
    pub fn page(&self, page_id: &str) -> Result<PageRecord> {
        self.db
            .first(&format!("{SELECT_PAGE} WHERE id = ?1"), [page_id], page_of)?
            .ok_or_else(|| Error::not_found(format!("no page {page_id:?}")))
    }

    /// The page for an identifier (`doi`, `pmid`, `arxiv`, `url`).
    pub fn page_by_identifier(&self, kind: &str, value: &str) -> Result<Option<String>> {
        let found: Option<Option<String>> = self
            .db
            .first("SELECT page_id FROM resource_index WHERE identifier_type = ?1 AND identifier_value = ?2", [kind, value], |r| r.get(0))?;
        Ok(found.flatten())
    }

    /// The newest text version of the page, if it has any.
    pub fn latest_version(&self, page_id: &str) -> Result<Option<i64>> {
        self.db.one(
            "SELECT max(version) FROM page_texts WHERE page_id = ?1",
            [page_id],
            |r| r.get(0),
        )
    }

    /// The fragments of the page's newest text, in reading order.
    pub fn page_fragments(&self, page_id: &str) -> Result<Vec<StoredFragment>> {
        self.db.all(
            "SELECT id, page_id, fragment_type, text_content, heading_context, char_start
                 FROM fragments WHERE page_id = ?1 AND page_version IS
                   (SELECT max(page_version) FROM fragments WHERE page_id = ?1)
                 ORDER BY position",
            [page_id],
            fragment_of,
        )
    }

    /// One fragment.
    pub fn fragment(&self, fragment_id: &str) -> Result<StoredFragment> {
        self.db
            .first(
                "SELECT id, page_id, fragment_type, text_content, heading_context, char_start
                 FROM fragments WHERE id = ?1",
                [fragment_id],
                fragment_of,
            )?
            .ok_or_else(|| Error::not_found(format!("no fragment {fragment_id:?}")))
    }

    /// The references that the page itself lists.
    pub fn page_references(&self, page_id: &str) -> Result<Vec<Reference>> {
        self.db.all(
            "SELECT doi, url, title, context, citation_source FROM page_references
                 WHERE page_id = ?1 ORDER BY position",
            [page_id],
            |r| {
                Ok(Reference {
                    doi: r.get(0)?,
                    url: r.get(1)?,
                    title: r.get(2)?,
                    context: r.get(3)?,
                    source: r.get(4)?,
                })
            },
        )
    }
}

impl Writer<'_> {
    /// Stores a work; missing values of a known work are filled in, and known values are never erased. A
    /// retraction stays known.
    pub fn add_work(&self, work: &WorkRecord) -> Result<()> {
        if work.is_retracted && self.is_known_as_sound(&work.canonical_id)? {
            let details = serde_json::json!({ "source_api": work.source_api });
            let id = Some(work.canonical_id.as_str());
            self.log_event("worker", "work_retracted", None, id, &details)?;
        }
        self.db
            .run("INSERT INTO works (canonical_id, title, year, published_date, venue, doi, citation_count,
                   reference_count, is_open_access, is_retracted, oa_url, pdf_url, source_api)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
                 ON CONFLICT (canonical_id) DO UPDATE SET
                   title = coalesce(title, excluded.title), year = coalesce(year, excluded.year),
                   published_date = coalesce(published_date, excluded.published_date),
                   venue = coalesce(venue, excluded.venue), doi = coalesce(doi, excluded.doi),
                   citation_count = coalesce(excluded.citation_count, citation_count),
                   reference_count = coalesce(excluded.reference_count, reference_count),
                   is_open_access = coalesce(excluded.is_open_access, is_open_access),
                   is_retracted = max(is_retracted, excluded.is_retracted),
                   oa_url = coalesce(oa_url, excluded.oa_url),
                   pdf_url = coalesce(pdf_url, excluded.pdf_url)", params![
                work.canonical_id,
                work.title,
                work.year,
                work.published_date,
                work.venue,
                work.doi,
                work.citation_count,
                work.reference_count,
                work.is_open_access,
                work.is_retracted,
                work.oa_url,
                work.pdf_url,
                work.source_api,
            ])?;
        Ok(())
    }

    fn is_known_as_sound(&self, canonical_id: &str) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM works WHERE canonical_id = ?1 AND is_retracted = 0",
            [canonical_id],
        )
    }

    /// Stores one author of a work; an existing author at the same position is kept.
    pub fn add_work_author(&self, author: &WorkAuthorRecord) -> Result<()> {
        self.db.run(
            "INSERT INTO work_authors (canonical_id, position, name, affiliation, orcid)
                 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
            params![
                author.canonical_id,
                author.position,
                author.name,
                author.affiliation,
                author.orcid
            ],
        )?;
        Ok(())
    }

    /// Stores a page, or updates the row with the same address; returns the id of the row, which an
    /// import may have chosen.
    pub fn put_page(&self, page: &PageRecord) -> Result<String> {
        self.db
            .one("INSERT INTO pages (id, url, final_url, domain, title, page_type, fetch_method, http_status,
                   content_type, content_hash, content_length, canonical_id, language, fetched_at, etag,
                   last_modified, error_message, fresh_until)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
                 ON CONFLICT (url) DO UPDATE SET
                   final_url = excluded.final_url, domain = excluded.domain,
                   title = coalesce(excluded.title, title), page_type = excluded.page_type,
                   fetch_method = excluded.fetch_method, http_status = excluded.http_status,
                   content_type = excluded.content_type, content_hash = excluded.content_hash,
                   content_length = excluded.content_length,
                   canonical_id = coalesce(excluded.canonical_id, canonical_id),
                   language = coalesce(excluded.language, language),
                   fetched_at = coalesce(excluded.fetched_at, fetched_at), etag = excluded.etag,
                   last_modified = excluded.last_modified, error_message = excluded.error_message,
                   fresh_until = excluded.fresh_until
                 RETURNING id", params![
                page.id,
                page.url,
                page.final_url,
                page.domain,
                page.title,
                page.page_type,
                page.fetch_method,
                page.http_status,
                page.content_type,
                page.content_hash,
                page.content_length,
                page.canonical_id,
                page.language,
                page.fetched_at,
                page.etag,
                page.last_modified,
                page.error_message,
                page.fresh_until,
            ], |r| r.get(0))
    }

    /// Stores a text of the page and returns its version; a text that equals the newest one keeps its
    /// version. A new text is compared with those of other pages to set `pages.near_duplicate_of`.
    pub fn add_page_text(&self, page_id: &str, text: &str) -> Result<i64> {
        let hash = sha256_hex(text.as_bytes());
        let newest: Option<(i64, String)> = self.db.first(
            "SELECT version, text_hash FROM page_texts WHERE page_id = ?1
                 ORDER BY version DESC LIMIT 1",
            [page_id],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )?;
        let version = match newest {
            Some((version, known)) if known == hash => return Ok(version),
            Some((version, _)) => version + 1,
            None => 1,
        };
        self.db.run(
            "INSERT INTO page_texts (page_id, version, text, text_hash, fetched_at)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            params![page_id, version, text, hash, self.now],
        )?;
        near_duplicates::update(self.db, page_id, text, &hash)?;
        Ok(version)
    }

    /// A key that identifies a text among the texts of its page: its hash and, if earlier versions had
    /// the same text, their number.
    pub(crate) fn text_key(&self, page_id: &str, version: i64) -> Result<String> {
        self.db.one(
            "SELECT text_hash || coalesce(' ' || nullif((SELECT count(*) FROM page_texts o
               WHERE o.page_id = t.page_id AND o.text_hash = t.text_hash AND o.version < t.version), 0), '')
             FROM page_texts t WHERE page_id = ?1 AND version = ?2",
            params![page_id, version],
            |r| r.get(0),
        )
    }

    /// The existing fragments of a page version, keyed by their first and last character.
    pub(crate) fn fragments_by_span(
        &self,
        page_id: &str,
        version: i64,
    ) -> Result<HashMap<(i64, i64), String>> {
        self.db.all(
            "SELECT char_start, char_end, id FROM fragments
             WHERE page_id = ?1 AND page_version = ?2 AND char_start IS NOT NULL",
            params![page_id, version],
            |r| Ok(((r.get(0)?, r.get(1)?), r.get(2)?)),
        )
    }

    /// Stores a fragment of `page_text`, the text of its page version; returns whether it is new.
    ///
    /// Refused unless the offsets select exactly the fragment's text in the page's text.
    pub fn add_fragment(&self, fragment: &FragmentRecord, page_text: &str) -> Result<bool> {
        self.add_fragment_of(fragment, &PageText::new(page_text))
    }

    /// The same for one of many fragments of the same text.
    pub(crate) fn add_fragment_of(
        &self,
        fragment: &FragmentRecord,
        page_text: &PageText<'_>,
    ) -> Result<bool> {
        check_fragment(fragment, page_text)?;
        let hash = sha256_hex(fragment.text_content.as_bytes());
        let seq: Option<i64> = self
            .db
            .first("INSERT INTO fragments (id, page_id, page_version, fragment_type, position, text_content,
                   heading_context, heading_hierarchy, char_start, char_end, text_hash, security_flags,
                   created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
                 ON CONFLICT (id) DO NOTHING RETURNING seq", params![
                    fragment.id,
                    fragment.page_id,
                    fragment.page_version,
                    fragment.fragment_type,
                    fragment.position,
                    fragment.text_content,
                    fragment.heading_context,
                    fragment.heading_hierarchy,
                    fragment.char_start,
                    fragment.char_end,
                    hash,
                    fragment.security_flags,
                    self.now,
                ], |r| r.get(0))?;
        let Some(seq) = seq else { return Ok(false) };
        self.db.run(
            "INSERT INTO fragments_fts (rowid, text_content, heading_context) VALUES (?1, ?2, ?3)",
            params![seq, fragment.text_content, fragment.heading_context],
        )?;
        Ok(true)
    }

    /// Replaces the stored references of the page.
    pub fn set_page_references(&self, page_id: &str, references: &[Reference]) -> Result<()> {
        self.db
            .run("DELETE FROM page_references WHERE page_id = ?1", [page_id])?;
        let mut insert = self
            .db
            .prepare_cached(
                "INSERT INTO page_references (page_id, position, doi, url, title, context, citation_source)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )
            .db()?;
        for (position, r) in (0_i64..).zip(references) {
            insert
                .execute(params![
                    page_id, position, r.doi, r.url, r.title, r.context, r.source
                ])
                .db()?;
        }
        Ok(())
    }

    /// Records the page for an identifier. A page that was read replaces a placeholder and takes over
    /// the citations of the placeholder.
    pub fn index_resource(
        &self,
        kind: &str,
        value: &str,
        page_id: &str,
        fetched: bool,
    ) -> Result<()> {
        let before = self.reader().page_by_identifier(kind, value)?;
        if let Some(placeholder) = before.filter(|known| fetched && known != page_id) {
            self.displace_placeholder(&placeholder, page_id)?;
        }
        let status = if fetched { "fetched" } else { "known" };
        self.db.run(
            "INSERT INTO resource_index (identifier_type, identifier_value, page_id, status)
                 VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET page_id = excluded.page_id, status = excluded.status
                 WHERE status <> 'fetched'",
            params![kind, value, page_id, status],
        )?;
        Ok(())
    }
}

impl Writer<'_> {
    /// Moves citations from a placeholder, which was never read, to the page that replaces it.
    fn displace_placeholder(&self, placeholder: &str, page_id: &str) -> Result<()> {
        let unread: bool = self
            .db
            .first(
                "SELECT fetched_at IS NULL
                   AND NOT EXISTS (SELECT 1 FROM page_texts WHERE page_id = ?1)
                   AND NOT EXISTS (SELECT 1 FROM fragments WHERE page_id = ?1)
                 FROM pages WHERE id = ?1",
                [placeholder],
                |r| r.get(0),
            )?
            .unwrap_or(false);
        if !unread {
            return Ok(());
        }
        // A pair that already has an edge keeps it; edges that could not be moved are deleted.
        for sql in [
            "UPDATE OR IGNORE edges SET target_id = ?2
             WHERE target_id = ?1 AND relation = 'cites' AND source_id <> ?2",
            "DELETE FROM edges WHERE target_id = ?1 AND relation = 'cites' AND ?2 IS NOT NULL",
            "UPDATE resource_index SET page_id = ?2, status = 'fetched' WHERE page_id = ?1",
            "DELETE FROM pages WHERE id = ?1 AND ?2 IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM task_pages WHERE page_id = ?1)",
        ] {
            self.db.run(sql, [placeholder, page_id])?;
        }
        Ok(())
    }
}

fn check_fragment(fragment: &FragmentRecord, page_text: &PageText<'_>) -> Result<()> {
    let bytes = fragment.text_content.len();
    if bytes > MAX_FRAGMENT_BYTES {
        return Err(Error::invalid(format!(
            "fragment {}: {bytes} bytes of text; at most {MAX_FRAGMENT_BYTES} are stored",
            fragment.id
        )));
    }
    let span = fragment.char_start.zip(fragment.char_end);
    let cut = span.and_then(|(start, end)| {
        page_text.slice(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    });
    if cut == Some(fragment.text_content.as_str()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "fragment {}: characters {span:?} of the page's text are not the fragment's text",
        fragment.id
    )))
}

const SELECT_PAGE: &str = "SELECT id, url, final_url, domain, title, page_type, fetch_method, \
     http_status, content_type, content_hash, content_length, canonical_id, language, fetched_at, \
     etag, last_modified, error_message, fresh_until, near_duplicate_of FROM pages";

fn page_of(row: &Row<'_>) -> rusqlite::Result<PageRecord> {
    Ok(PageRecord {
        id: row.get(0)?,
        url: row.get(1)?,
        final_url: row.get(2)?,
        domain: row.get(3)?,
        title: row.get(4)?,
        page_type: row.get(5)?,
        fetch_method: row.get(6)?,
        http_status: row.get(7)?,
        content_type: row.get(8)?,
        content_hash: row.get(9)?,
        content_length: row.get(10)?,
        canonical_id: row.get(11)?,
        language: row.get(12)?,
        fetched_at: row.get(13)?,
        etag: row.get(14)?,
        last_modified: row.get(15)?,
        error_message: row.get(16)?,
        fresh_until: row.get(17)?,
        near_duplicate_of: row.get(18)?,
    })
}

fn fragment_of(row: &Row<'_>) -> rusqlite::Result<StoredFragment> {
    Ok(StoredFragment {
        id: row.get(0)?,
        page_id: row.get(1)?,
        fragment_type: row.get(2)?,
        text: row.get(3)?,
        heading: row.get(4)?,
        char_start: row.get(5)?,
    })
}
