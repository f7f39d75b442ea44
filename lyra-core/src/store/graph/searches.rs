//! Searches and their hits.

use super::{Reader, Writer};
use crate::error::Result;
use crate::store::database::Statements;
use crate::store::model::QueryStatus;
use rusqlite::params;
use std::collections::HashSet;

/// A search that begins.
#[derive(Debug)]
pub(crate) struct NewSearch<'a> {
    pub(crate) id: &'a str,
    pub(crate) task_id: &'a str,
    pub(crate) query: &'a str,
    /// The job that searches.
    pub(crate) cause_id: Option<&'a str>,
}

/// A hit of a search.
#[derive(Debug)]
pub(crate) struct NewHit<'a> {
    pub(crate) id: &'a str,
    pub(crate) search_id: &'a str,
    pub(crate) engine: &'a str,
    pub(crate) rank: i64,
    pub(crate) url: &'a str,
    pub(crate) title: Option<&'a str>,
    pub(crate) snippet: Option<&'a str>,
    pub(crate) published_date: Option<&'a str>,
}

/// What a search came to.
#[derive(Debug)]
pub(crate) struct SearchEnd {
    pub(crate) status: QueryStatus,
    pub(crate) pages: u32,
    pub(crate) useful: u32,
    pub(crate) harvest_rate: f64,
    pub(crate) satisfaction: f64,
    pub(crate) novelty: f64,
}

impl Reader<'_> {
    /// Addresses that searches of a job have read.
    pub(crate) fn addresses_read_by(&self, cause_id: Option<&str>) -> Result<HashSet<String>> {
        self.db.all(
            "SELECT s.url FROM queries q JOIN serp_items s ON s.query_id = q.id
             WHERE q.cause_id = ?1 AND s.fetch_status = 'fetched'",
            [cause_id],
            |r| r.get(0),
        )
    }

    /// Addresses among the hits of a search that were there when the task asked this before, and that it
    /// did not read. Nobody knows since when an address is there that has never been read: it counts as
    /// old, or every repetition would read on where the last one ended.
    pub(crate) fn addresses_passed_over(
        &self,
        search_id: &str,
        task_id: &str,
        query: &str,
    ) -> Result<HashSet<String>> {
        self.db.all(
            "SELECT s.url FROM serp_items s LEFT JOIN pages p ON p.url = s.url
             WHERE s.query_id = ?1
               AND coalesce(p.fetched_at, '') <= (
                 SELECT coalesce(max(finished_at), '') FROM queries
                 WHERE task_id = ?2 AND query_text = ?3 AND id <> ?1)
               AND NOT EXISTS (
                 SELECT 1 FROM task_pages t WHERE t.task_id = ?2 AND t.page_id = p.id)",
            [search_id, task_id, query],
            |r| r.get(0),
        )
    }
}

impl Writer<'_> {
    /// Begins a search, and ends the one that the same job left open when it was killed.
    pub(crate) fn begin_search(&self, new: &NewSearch<'_>) -> Result<()> {
        self.db.run(
            "UPDATE queries SET status = 'failed', finished_at = ?2
             WHERE cause_id = ?1 AND status = 'running'",
            params![new.cause_id, self.now],
        )?;
        self.db.run(
            "INSERT INTO queries (id, task_id, query_text, query_type, status, created_at, cause_id)
             VALUES (?1, ?2, ?3, 'search', 'running', ?4, ?5)",
            params![new.id, new.task_id, new.query, self.now, new.cause_id],
        )?;
        Ok(())
    }

    /// Notes a hit that is not read yet.
    pub(crate) fn add_hit(&self, hit: &NewHit<'_>) -> Result<()> {
        self.db.run(
            "INSERT OR IGNORE INTO serp_items
               (id, query_id, engine, rank, url, title, snippet, published_date, fetch_status)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'skipped')",
            params![
                hit.id,
                hit.search_id,
                hit.engine,
                hit.rank,
                hit.url,
                hit.title,
                hit.snippet,
                hit.published_date
            ],
        )?;
        Ok(())
    }

    /// Notes what became of a hit.
    pub(crate) fn mark_hit(&self, hit_id: &str, status: &str) -> Result<()> {
        let sql = "UPDATE serp_items SET fetch_status = ?2 WHERE id = ?1";
        self.db.run(sql, [hit_id, status])?;
        Ok(())
    }

    /// Ends a search.
    pub(crate) fn end_search(&self, search_id: &str, end: &SearchEnd) -> Result<()> {
        self.db.run(
            "UPDATE queries SET status = ?2, pages_fetched = ?3, useful_fragments = ?4, harvest_rate = ?5,
               satisfaction_score = ?6, novelty_score = ?7, finished_at = ?8 WHERE id = ?1",
            params![
                search_id,
                end.status,
                end.pages,
                end.useful,
                end.harvest_rate,
                end.satisfaction,
                end.novelty,
                self.now
            ],
        )?;
        Ok(())
    }
}
