//! Screening by people: which sources of a task are included or excluded, who decided, and why.
//!
//! A source is a publication with all its pages, or a page without a publication. The newest decision of
//! each reviewer counts. A source is excluded if every reviewer who decided excluded it; a disagreement
//! leaves it included until there is a final decision. The newest final decision settles the source
//! regardless of all others. The views of the schema (`database/sql/screening.sql`) implement this rule.

use super::blocked_evidence;
use super::feedback::required;
use super::handles::{Reader, Writer};
use crate::error::{Error, Result};
use crate::store::database::Statements;
use crate::store::model::{ScreeningDecision, content_id};
use crate::store::text::identifiers::normalize_doi;
use crate::store::text::url::normalize_url;
use rusqlite::params;
use serde::Serialize;

/// Longest name of a reviewer.
const LONGEST_NAME: usize = 80;

/// A person's decision on a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screening {
    /// The source: the id or address of a page, the id of a publication, or a DOI.
    pub source: String,
    /// Include or exclude.
    pub decision: ScreeningDecision,
    /// Why; required for an exclusion.
    pub reason: Option<String>,
    /// Whether the decision settles the source regardless of others.
    pub is_final: bool,
}

/// The result of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScreeningReport {
    /// The task.
    pub task_id: String,
    /// The address of the source.
    pub url: String,
    /// Its page; none for a hit that was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_id: Option<String>,
    /// The publication, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_id: Option<String>,
    /// Who decided.
    pub reviewer: String,
    /// The decision.
    pub decision: ScreeningDecision,
    /// The previous decision of the same reviewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<ScreeningDecision>,
    /// Whether the source counts as evidence of the task now.
    pub counts: bool,
    /// Number of verdicts that were removed from the counts or restored.
    pub verdicts_moved: usize,
    /// A one-sentence summary.
    pub message: String,
}

/// A source of a task, as decisions refer to it.
struct TaskSource {
    url: String,
    page_id: Option<String>,
    work_id: Option<String>,
}

impl TaskSource {
    fn key(&self) -> &str {
        let known = self.work_id.as_ref().or(self.page_id.as_ref());
        known.unwrap_or(&self.url)
    }
}

impl Reader<'_> {
    /// Whether people have excluded a hit, which may not have been read, from a task.
    pub(crate) fn is_excluded_hit(
        &self,
        task_id: &str,
        url: &str,
        work_id: Option<&str>,
    ) -> Result<bool> {
        if !self.has_screenings(task_id)? {
            return Ok(false);
        }
        self.db
            .holds("SELECT 1 FROM screened_sources WHERE task_id = ?1 AND state = 'exclude'
                   AND (source_key IN (?2, ?3)
                     OR source_key IN (SELECT coalesce(canonical_id, id) FROM pages WHERE url = ?2))", params![task_id, url, work_id])
    }

    /// Pages of a task that people have excluded.
    pub(crate) fn excluded_pages(&self, task_id: &str) -> Result<Vec<String>> {
        if !self.has_screenings(task_id)? {
            return Ok(Vec::new());
        }
        self.db.all(
            "SELECT page_id FROM excluded_pages WHERE task_id = ?1",
            [task_id],
            |row| row.get(0),
        )
    }

    fn has_screenings(&self, task_id: &str) -> Result<bool> {
        self.db.holds(
            "SELECT 1 FROM screenings WHERE task_id = ?1 LIMIT 1",
            [task_id],
        )
    }

    fn task_source(&self, task_id: &str, source: &str) -> Result<TaskSource> {
        let source = source.trim();
        let url = normalize_url(source).unwrap_or_else(|_| source.to_owned());
        let work = normalize_doi(source).map_or_else(|| source.to_owned(), |d| format!("doi:{d}"));
        let found = "
          SELECT url, page_id, work_id FROM (
            SELECT p.url, p.id AS page_id, p.canonical_id AS work_id, p.fetched_at IS NULL AS place
            FROM pages p
            WHERE (p.id = ?2 OR p.url IN (?2, ?3) OR p.final_url = ?3 OR p.canonical_id IN (?2, ?4))
              AND (p.id IN (SELECT page_id FROM task_pages WHERE task_id = ?1)
                OR p.id IN (SELECT f.page_id FROM claims c JOIN edges e ON e.target_id = c.id
                  JOIN fragments f ON f.id = e.source_id WHERE c.task_id = ?1)
                OR p.id IN (SELECT page_id FROM screenings WHERE task_id = ?1))
            UNION ALL
            SELECT s.url, coalesce(s.page_id, p.id), coalesce(p.canonical_id, s.canonical_id), 2
            FROM queries q JOIN serp_items s ON s.query_id = q.id LEFT JOIN pages p ON p.url = s.url
            WHERE q.task_id = ?1
              AND (s.url IN (?2, ?3) OR p.id = ?2 OR coalesce(p.canonical_id, s.canonical_id) IN (?2, ?4)))
          ORDER BY place, page_id, url LIMIT 1";
        self.db
            .first(found, [task_id, source, &url, &work], |row| {
                Ok(TaskSource {
                    url: row.get(0)?,
                    page_id: row.get(1)?,
                    work_id: row.get(2)?,
                })
            })?
            .ok_or_else(|| {
                Error::not_found(format!("source: {task_id} has no source {source:?}")).with_hint(
                    "v_review_records lists what the task has found; give an address, a DOI, \
                     the id of a page or of a publication",
                )
            })
    }

    /// The newest decision of a reviewer on a source.
    fn decision_of(
        &self,
        task_id: &str,
        source: &TaskSource,
        reviewer: &str,
    ) -> Result<Option<ScreeningDecision>> {
        self.db
            .first("SELECT decision FROM screening_keys WHERE task_id = ?1 AND source_key = ?2 AND reviewer = ?3
                 ORDER BY revision DESC, decided_at DESC, id DESC LIMIT 1", [task_id, source.key(), reviewer], |row| row.get(0))
    }
}

impl Writer<'_> {
    /// Stores a person's decision on a source, and removes the source from the counts of the task or
    /// restores it. An earlier decision of the same reviewer stays in the table but no longer counts.
    ///
    /// # Errors
    ///
    /// `NotFound` for an unknown task and for a source that does not belong to the task; `InvalidInput`
    /// for an exclusion without a reason and a reviewer without a name.
    pub fn screen(
        &self,
        task_id: &str,
        screening: &Screening,
        reviewer: &str,
    ) -> Result<ScreeningReport> {
        let reader = self.reader();
        reader.task(task_id)?;
        let reviewer = checked_name(reviewer)?;
        let given = screening.reason.as_deref().unwrap_or_default();
        let reason = match screening.decision {
            ScreeningDecision::Exclude => Some(required(given)?),
            ScreeningDecision::Include => Some(given.trim()).filter(|reason| !reason.is_empty()),
        };
        let source = reader.task_source(task_id, &screening.source)?;
        let previous = reader.decision_of(task_id, &source, reviewer)?;
        self.add_screening(task_id, (screening, reason), &source, reviewer)?;
        let moved = blocked_evidence::settle(self.db, &self.now)?;
        let counts = !reader.is_excluded_hit(task_id, &source.url, source.work_id.as_deref())?;
        let details = serde_json::json!({
            "decision": screening.decision, "reason": reason, "is_final": screening.is_final,
            "previous": previous,
        });
        self.log_event(
            reviewer,
            "screening",
            Some(task_id),
            Some(&source.url),
            &details,
        )?;
        let state = match counts {
            true => "counts as evidence",
            false => "is out of the evidence and stays in the flow of the review",
        };
        Ok(ScreeningReport {
            task_id: task_id.to_owned(),
            message: format!("the source {state}"),
            url: source.url,
            page_id: source.page_id,
            work_id: source.work_id,
            reviewer: reviewer.to_owned(),
            decision: screening.decision,
            previous,
            counts,
            verdicts_moved: moved.set_aside + moved.back,
        })
    }

    fn add_screening(
        &self,
        task_id: &str,
        (screening, reason): (&Screening, Option<&str>),
        source: &TaskSource,
        reviewer: &str,
    ) -> Result<()> {
        let revision: i64 = self.db.one(
            "SELECT coalesce(max(revision), 0) + 1 FROM screenings WHERE task_id = ?1",
            [task_id],
            |row| row.get(0),
        )?;
        let decision = screening.decision.as_str();
        let number = revision.to_string();
        let parts = [task_id, &source.url, &number, reviewer, decision, &self.now];
        self.db
            .run("INSERT INTO screenings (id, task_id, url, page_id, work_id, revision, reviewer, decision,
                   reason, is_final, decided_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)", params![
                content_id("screen_", &parts),
                task_id,
                source.url,
                source.page_id,
                source.work_id,
                revision,
                reviewer,
                screening.decision,
                reason,
                screening.is_final,
                self.now
            ])?;
        Ok(())
    }

    /// Removes from the counts what was added for excluded sources of a task; called by code that adds
    /// claims and verdicts.
    pub(crate) fn settle_screening(&self, task_id: &str) -> Result<()> {
        match self.reader().has_screenings(task_id)? {
            true => blocked_evidence::settle_task(self.db, &self.now, task_id),
            false => Ok(()),
        }
    }
}

fn checked_name(reviewer: &str) -> Result<&str> {
    let name = reviewer.trim();
    match name.is_empty() || name.chars().count() > LONGEST_NAME {
        false => Ok(name),
        true => Err(Error::invalid(format!(
            "the name of the reviewer has {} characters; expected 1 to {LONGEST_NAME}",
            name.chars().count()
        ))),
    }
}
