//! The screening decisions on the sources of a task, and what remains to be decided.

use super::handles::Reader;
use crate::error::Result;
use crate::store::database::SqliteResultExt;
use crate::store::model::ScreeningDecision;
use rusqlite::params;
use serde::Serialize;

/// The sources of a task with the decisions on them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ScreeningList {
    /// The task.
    pub task_id: String,
    /// The reviewer whose decisions these are; none for all reviewers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<String>,
    /// The sources that were identified, in order of their keys.
    pub sources: Vec<ScreenedSource>,
    /// Agreement of each pair of reviewers. Empty for one reviewer.
    pub agreement: Vec<ReviewerAgreement>,
}

/// A source and the decisions on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScreenedSource {
    /// The publication, or else the page, or else the address.
    pub source_key: String,
    /// Its address.
    pub url: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The newest decision of each reviewer, or of the one reviewer asked for.
    pub decisions: Vec<ScreeningVote>,
    /// The outcome of all decisions; none without any, and not shown to a single reviewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ScreeningDecision>,
    /// Whether reviewers disagree and no final decision settles it; not shown to a single reviewer.
    pub is_disputed: bool,
}

/// A reviewer's decision on a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScreeningVote {
    /// Who.
    pub reviewer: String,
    /// Include or exclude.
    pub decision: ScreeningDecision,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it is a final decision.
    pub is_final: bool,
    /// When.
    pub decided_at: String,
}

/// The agreement of two reviewers on the sources that both have screened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReviewerAgreement {
    /// One of them.
    pub reviewer_a: String,
    /// The other.
    pub reviewer_b: String,
    /// Sources that both have screened.
    pub source_count: i64,
    /// Sources on which both decided the same.
    pub agreement_count: i64,
    /// Cohen's kappa; none where chance alone explains the agreement.
    pub kappa: Option<f64>,
}

impl Reader<'_> {
    /// The sources of a task with the decisions on them. With a reviewer, only that reviewer's
    /// decisions, so that two people can screen independently.
    ///
    /// # Errors
    /// `TaskNotFound` for an unknown task.
    pub fn screening_list(&self, task_id: &str, reviewer: Option<&str>) -> Result<ScreeningList> {
        self.task(task_id)?;
        let mut list = ScreeningList {
            task_id: task_id.to_owned(),
            reviewer: reviewer.map(str::to_owned),
            sources: self.sources_to_screen(task_id)?,
            agreement: Vec::new(),
        };
        for (key, vote) in self.votes(task_id, reviewer)? {
            let place = list
                .sources
                .binary_search_by(|one| one.source_key.cmp(&key));
            if let Ok(place) = place {
                list.sources[place].decisions.push(vote);
            }
        }
        if reviewer.is_some() {
            for source in &mut list.sources {
                (source.state, source.is_disputed) = (None, false);
            }
            return Ok(list);
        }
        list.agreement = self.agreement(task_id)?;
        Ok(list)
    }

    fn sources_to_screen(&self, task_id: &str) -> Result<Vec<ScreenedSource>> {
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT r.source_key, r.url, coalesce(w.title, r.title), s.state, coalesce(s.is_disputed, 0)
                 FROM review_records r
                   LEFT JOIN works w ON w.canonical_id = r.source_key
                   LEFT JOIN screened_sources s ON s.task_id = r.task_id AND s.source_key = r.source_key
                 WHERE r.task_id = ?1 AND r.outcome <> 'duplicate' ORDER BY r.source_key",
            )
            .db()?;
        let rows = statement.query_map([task_id], |row| {
            Ok(ScreenedSource {
                source_key: row.get(0)?,
                url: row.get(1)?,
                title: row.get(2)?,
                decisions: Vec::new(),
                state: row.get(3)?,
                is_disputed: row.get(4)?,
            })
        });
        rows.db()?.collect::<rusqlite::Result<_>>().db()
    }

    fn votes(&self, task_id: &str, reviewer: Option<&str>) -> Result<Vec<(String, ScreeningVote)>> {
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT source_key, reviewer, decision, reason, 0 AS is_final, decided_at FROM screening_votes
                 WHERE task_id = ?1 AND (?2 IS NULL OR reviewer = ?2)
                 UNION ALL
                 SELECT source_key, final_by, state, reason, 1, decided_at FROM screened_sources
                 WHERE task_id = ?1 AND final_by IS NOT NULL AND (?2 IS NULL OR final_by = ?2)
                 ORDER BY source_key, is_final, reviewer",
            )
            .db()?;
        let rows = statement.query_map(params![task_id, reviewer], |row| {
            let vote = ScreeningVote {
                reviewer: row.get(1)?,
                decision: row.get(2)?,
                reason: row.get(3)?,
                is_final: row.get(4)?,
                decided_at: row.get(5)?,
            };
            Ok((row.get(0)?, vote))
        });
        rows.db()?.collect::<rusqlite::Result<_>>().db()
    }

    /// The rows of `v_screening_agreement`.
    fn agreement(&self, task_id: &str) -> Result<Vec<ReviewerAgreement>> {
        let mut statement = self
            .db
            .prepare_cached(
                "SELECT reviewer_a, reviewer_b, n, same, round((same * 1.0 * n - chance) / nullif(n * n - chance, 0), 4)
                 FROM (
                   SELECT a.reviewer AS reviewer_a, b.reviewer AS reviewer_b, count(*) AS n,
                     sum(a.decision = b.decision) AS same,
                     sum(a.decision = 'include') * sum(b.decision = 'include')
                       + sum(a.decision = 'exclude') * sum(b.decision = 'exclude') AS chance
                   FROM screening_votes a JOIN screening_votes b ON b.task_id = a.task_id
                     AND b.source_key = a.source_key AND b.reviewer > a.reviewer
                   WHERE a.task_id = ?1 GROUP BY a.reviewer, b.reviewer)
                 ORDER BY n DESC, reviewer_a, reviewer_b",
            )
            .db()?;
        let rows = statement.query_map([task_id], |row| {
            Ok(ReviewerAgreement {
                reviewer_a: row.get(0)?,
                reviewer_b: row.get(1)?,
                source_count: row.get(2)?,
                agreement_count: row.get(3)?,
                kappa: row.get(4)?,
            })
        });
        rows.db()?.collect::<rusqlite::Result<_>>().db()
    }
}
