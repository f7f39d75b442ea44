//! What earlier searches for the same query read and skipped.

use super::identify::Identified;
use super::question::ResearchQuestion;
use super::stages::Pipeline;
use crate::error::Result;
use std::collections::HashSet;

impl Pipeline {
    /// Addresses that the same job read before it was interrupted.
    pub(super) fn read_before(&self, question: &ResearchQuestion) -> Result<HashSet<String>> {
        let cause = question.cause_id.as_deref();
        self.graph.read(|r| r.addresses_read_by(cause))
    }

    /// The hits without those after the first `limit` places that an earlier search skipped.
    pub(super) fn without_passed_over(
        &self,
        found: Vec<Identified>,
        limit: usize,
        search_id: &str,
        question: &ResearchQuestion,
    ) -> Result<Vec<Identified>> {
        let passed_over = self
            .graph
            .read(|r| r.addresses_passed_over(search_id, &question.task_id, &question.query))?;
        let is_wanted = |(place, hit): &(usize, Identified)| {
            *place < limit || !passed_over.contains(&hit.hit.url)
        };
        let found = found.into_iter().enumerate().filter(is_wanted);
        Ok(found.map(|(_, hit)| hit).collect())
    }
}
