//! The log of searches: the query, the hits with their providers, and what became of each hit.

use super::handles::{Reader, Writer};
use crate::error::{Error, Result};
use crate::store::database::Statements;
use crate::store::model::{QueryStatus, content_id};
use rusqlite::params;
use serde::Serialize;
use std::collections::HashSet;

/// A query to a provider, and the size of its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SearchRequest {
    pub(crate) provider: String,
    pub(crate) query: String,
    /// None if the query failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    hits: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl SearchRequest {
    pub(crate) fn of<T>(provider: &str, query: String, answer: &Result<Vec<T>>) -> Self {
        Self {
            provider: provider.to_owned(),
            query,
            hits: answer.as_ref().ok().map(Vec::len),
            error: answer.as_ref().err().map(ToString::to_string),
        }
    }
}

/// A hit of a search, before it is read.
#[derive(Debug)]
pub(crate) struct NewHit<'a> {
    pub(crate) search_id: &'a str,
    pub(crate) engine: &'a str,
    pub(crate) rank: i64,
    pub(crate) url: &'a str,
    pub(crate) title: Option<&'a str>,
    pub(crate) snippet: Option<&'a str>,
    pub(crate) published_date: Option<&'a str>,
    pub(crate) work_id: Option<&'a str>,
    /// The provider of each record that was merged into the hit.
    pub(crate) found_by: &'a [String],
}

/// The outcome of a hit.
#[derive(Debug)]
pub(crate) struct HitFate {
    /// fetched, failed, needs_auth, excluded.
    pub(crate) status: &'static str,
    pub(crate) page_id: Option<String>,
    pub(crate) problem: Option<String>,
}

impl HitFate {
    pub(crate) fn of(status: &'static str, problem: Option<String>) -> Self {
        Self {
            status,
            page_id: None,
            problem,
        }
    }
}

/// The outcome of a search.
#[derive(Debug)]
pub(crate) struct SearchFigures {
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

    /// Hits of a search that already existed when the task last ran the same query, and that it did not
    /// read. The age of an address that was never read is unknown: it counts as old, because otherwise
    /// every repetition would continue where the last one ended.
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
    pub(crate) fn open_search(
        &self,
        search_id: &str,
        task_id: &str,
        query: &str,
        cause_id: Option<&str>,
    ) -> Result<()> {
        // A job that was killed left its search open.
        self.db.run(
            "UPDATE queries SET status = 'failed', finished_at = ?2
                 WHERE cause_id = ?1 AND status = 'running'",
            params![cause_id, self.now],
        )?;
        self.db.run("INSERT INTO queries (id, task_id, query_text, query_type, status, created_at, cause_id)
                 VALUES (?1, ?2, ?3, 'search', 'running', ?4, ?5)", params![search_id, task_id, query, self.now, cause_id])?;
        Ok(())
    }

    pub(crate) fn log_requests(&self, search_id: &str, asked: &[SearchRequest]) -> Result<()> {
        let asked = serde_json::to_string(asked).map_err(|e| Error::internal(e.to_string()))?;
        self.db.run(
            "UPDATE queries SET requests_json = ?2 WHERE id = ?1",
            [search_id, &asked],
        )?;
        Ok(())
    }

    pub(crate) fn log_hit(&self, hit: &NewHit<'_>) -> Result<()> {
        let found_by = serde_json::json!(hit.found_by).to_string();
        self.db.run(
            "INSERT OR IGNORE INTO serp_items (id, query_id, engine, rank, url, title, snippet,
                   published_date, fetch_status, found_by, canonical_id)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'skipped', ?9, ?10)",
            params![
                content_id("serp_", &[hit.search_id, hit.url]),
                hit.search_id,
                hit.engine,
                hit.rank,
                hit.url,
                hit.title,
                hit.snippet,
                hit.published_date,
                found_by,
                hit.work_id
            ],
        )?;
        Ok(())
    }

    pub(crate) fn mark_hit(&self, search_id: &str, url: &str, fate: &HitFate) -> Result<()> {
        self.db.run(
            "UPDATE serp_items SET fetch_status = ?2, page_id = ?3, problem = ?4 WHERE id = ?1",
            params![
                content_id("serp_", &[search_id, url]),
                fate.status,
                fate.page_id,
                fate.problem
            ],
        )?;
        Ok(())
    }

    pub(crate) fn close_search(
        &self,
        search_id: &str,
        status: QueryStatus,
        figures: &SearchFigures,
    ) -> Result<()> {
        self.db.run("UPDATE queries SET status = ?2, pages_fetched = ?3, useful_fragments = ?4, harvest_rate = ?5,
                   satisfaction_score = ?6, novelty_score = ?7, finished_at = ?8 WHERE id = ?1", params![
                search_id,
                status,
                figures.pages,
                figures.useful,
                figures.harvest_rate,
                figures.satisfaction,
                figures.novelty,
                self.now
            ])?;
        Ok(())
    }
}
