//! What was read and what was passed over when a query was searched before.

use super::Pipeline;
use super::identify::Identified;
use super::page::Question;
use crate::error::{Result, SqliteResultExt};
use rusqlite::params;
use std::collections::HashSet;

impl Pipeline {
    /// Addresses that the same job read before it was interrupted.
    pub(super) fn read_before(&self, question: &Question) -> Result<HashSet<String>> {
        self.graph.read(|r| {
            let mut statement =
                r.db.prepare_cached(
                    "SELECT s.url FROM queries q JOIN serp_items s ON s.query_id = q.id
                     WHERE q.cause_id = ?1 AND s.fetch_status = 'fetched'",
                )
                .db()?;
            let rows = statement
                .query_map(params![question.cause_id], |r| r.get(0))
                .db()?;
            rows.collect::<rusqlite::Result<_>>().db()
        })
    }

    /// What was found, less what lies behind the first `limit` places and was passed over before.
    pub(super) fn without_passed_over(
        &self,
        found: Vec<Identified>,
        limit: usize,
        search_id: &str,
        question: &Question,
    ) -> Result<Vec<Identified>> {
        let passed_over = self.passed_over(search_id, question)?;
        let is_wanted = |(place, hit): &(usize, Identified)| {
            *place < limit || !passed_over.contains(&hit.hit.url)
        };
        let found = found.into_iter().enumerate().filter(is_wanted);
        Ok(found.map(|(_, hit)| hit).collect())
    }

    /// Addresses among the hits that were there when the task asked this before, and that it did not
    /// read. Of an address that has never been read nobody knows since when it is there: it counts
    /// as old, or every repetition would read on where the last one ended.
    fn passed_over(&self, search_id: &str, question: &Question) -> Result<HashSet<String>> {
        self.graph.read(|r| {
            let mut statement =
                r.db.prepare_cached(
                    "SELECT s.url FROM serp_items s LEFT JOIN pages p ON p.url = s.url
                     WHERE s.query_id = ?1
                       AND coalesce(p.fetched_at, '') <= (
                         SELECT coalesce(max(finished_at), '') FROM queries
                         WHERE task_id = ?2 AND query_text = ?3 AND id <> ?1)
                       AND NOT EXISTS (
                         SELECT 1 FROM task_pages t WHERE t.task_id = ?2 AND t.page_id = p.id)",
                )
                .db()?;
            let rows = statement
                .query_map(params![search_id, question.task_id, question.query], |r| {
                    r.get(0)
                })
                .db()?;
            rows.collect::<rusqlite::Result<_>>().db()
        })
    }
}
