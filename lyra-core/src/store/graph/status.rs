//! Data for status reports: counts, and the newest rows behind them.

use super::handles::Reader;
use crate::error::Result;
use crate::store::database::Statements;
use rusqlite::{Row, params};
use serde::Serialize;
use serde_json::{Value, json};

/// Searches of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SearchCounts {
    /// Searches that found enough independent sources.
    pub satisfied: usize,
    /// Searches that are running.
    pub running: usize,
    /// All searches.
    pub total: usize,
}

/// One search.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchDetail {
    /// `queries.id`.
    pub id: String,
    /// The query.
    pub query: String,
    /// Its status.
    pub status: String,
    /// Number of pages read.
    pub pages_fetched: u32,
    /// Useful pages / pages.
    pub harvest_rate: f64,
    /// Independent sources and a primary one.
    pub satisfaction_score: f64,
    /// How much was new.
    pub novelty_score: f64,
}

/// One target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueueItem {
    /// The job.
    pub id: String,
    /// `query`, `url` or `doi`.
    pub kind: String,
    /// The words, the address or the DOI.
    pub target: String,
    /// State of the job.
    pub state: String,
    /// Lower numbers run first.
    pub priority: i64,
    /// Number of times it was claimed.
    pub attempts: i64,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecentError {
    /// The job.
    pub job_id: String,
    /// Its kind.
    pub kind: String,
    /// What went wrong.
    pub error: String,
    /// When.
    pub at: Option<String>,
}

/// A call of a tool that was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RecordedCall {
    /// Its number in `event_log`.
    pub id: i64,
    /// When it had ended, RFC 3339, UTC.
    pub at: String,
    /// The caller: a name, or `agent` if the caller has none.
    pub actor: String,
    /// The tool.
    pub tool: String,
    /// The request and its answer, as passed to [`Engine::record_call`](crate::Engine::record_call).
    pub details: Value,
}

/// The action of a recorded call.
pub(crate) const TOOL_CALL: &str = "tool_call";

impl Reader<'_> {
    /// The recorded calls after the one with the number `after`, oldest first, at most `limit`.
    pub(crate) fn recorded_calls(&self, after: i64, limit: usize) -> Result<Vec<RecordedCall>> {
        let sql = "SELECT id, at, actor, coalesce(subject_id, ''), coalesce(details_json, 'null')
             FROM event_log WHERE action = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.db.all(sql, params![TOOL_CALL, after, limit], |r| {
            let details: String = r.get(4)?;
            Ok(RecordedCall {
                id: r.get(0)?,
                at: r.get(1)?,
                actor: r.get(2)?,
                tool: r.get(3)?,
                details: serde_json::from_str(&details).unwrap_or_default(),
            })
        })
    }

    /// Row counts of the largest tables and the SQLite version, as text.
    pub(crate) fn contents(&self) -> Result<String> {
        let sql = "SELECT (SELECT count(*) FROM tasks) || ' tasks, ' || (SELECT count(*) FROM pages) || ' pages, ' ||
               (SELECT count(*) FROM claims) || ' claims, ' || (SELECT count(*) FROM edges) ||
               ' edges (SQLite ' || sqlite_version() || ')'";
        self.db.one(sql, [], |r| r.get(0))
    }

    /// Everything that a status shows, as text that changes whenever any of it does; none if there is no
    /// such task.
    pub(crate) fn task_state(&self, task_id: &str) -> Result<Option<String>> {
        let sql = "SELECT status || coalesce(started_at, '') || '|' ||
               -- Attempts and end times are included because the counts alone do not change if a job is
               -- put back and taken up again between two reads.
               coalesce((SELECT group_concat(kind || state || n || ',' || tries || coalesce(ended, '')) FROM
                 (SELECT kind, state, count(*) AS n, sum(attempts) AS tries, max(finished_at) AS ended
                  FROM jobs WHERE task_id = ?1 GROUP BY kind, state)), '') || '|' ||
               coalesce((SELECT group_concat(output_json) FROM jobs
                 WHERE task_id = ?1 AND kind = 'embed' AND state = 'running'), '') || '|' ||
               coalesce((SELECT group_concat(status || n) FROM
                 (SELECT status, count(*) AS n FROM queries WHERE task_id = ?1 GROUP BY status)), '') || '|' ||
               (SELECT count(*) FROM task_pages WHERE task_id = ?1) || '|' ||
               coalesce((SELECT group_concat(claim_adoption_status || n) FROM
                 (SELECT claim_adoption_status, count(*) AS n FROM claims WHERE task_id = ?1 GROUP BY 1)), '')
               || '|' || coalesce((SELECT max(id) FROM event_log WHERE task_id = ?1), 0) || '|' ||
               coalesce((SELECT group_concat(status || n) FROM
                 (SELECT status, count(*) AS n FROM auth_queue WHERE task_id = ?1 GROUP BY status)), '') || '|' ||
               -- Rules for domains hold in every task.
               (SELECT count(*) || ',' || coalesce(sum(is_active), 0) FROM domain_rules)
             FROM tasks WHERE id = ?1";
        self.db.first(sql, [task_id], |r| r.get(0))
    }
    /// Searches of the task by status.
    pub(crate) fn search_counts(&self, task_id: &str) -> Result<SearchCounts> {
        let sql = "SELECT coalesce(sum(status = 'satisfied'), 0), coalesce(sum(status = 'running'), 0), count(*)
             FROM queries WHERE task_id = ?1";
        self.db.one(sql, [task_id], |r| {
            Ok(SearchCounts {
                satisfied: r.get(0)?,
                running: r.get(1)?,
                total: r.get(2)?,
            })
        })
    }

    /// Pages, fragments and adopted claims of the task.
    pub(crate) fn evidence_counts(&self, task_id: &str) -> Result<[usize; 3]> {
        self.db.one(
            "SELECT (SELECT count(*) FROM task_pages WHERE task_id = ?1),
               (SELECT count(*) FROM task_pages tp JOIN fragments f ON f.page_id = tp.page_id
                WHERE tp.task_id = ?1),
               (SELECT count(*) FROM claims WHERE task_id = ?1 AND claim_adoption_status = 'adopted')",
            [task_id],
            three_counts,
        )
    }

    /// Number of edges that support, refute or are neutral on the adopted claims of the task.
    pub(crate) fn edge_counts(&self, task_id: &str) -> Result<[usize; 3]> {
        self.db.one(
            "SELECT coalesce(sum(e.relation = 'supports'), 0), coalesce(sum(e.relation = 'refutes'), 0),
               coalesce(sum(e.relation = 'neutral'), 0)
             FROM claims c CROSS JOIN edges e ON e.target_id = c.id AND e.source_type = 'fragment'
             WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted'",
            [task_id],
            three_counts,
        )
    }

    /// The five domains with the most pages of the task.
    pub(crate) fn top_domains(&self, task_id: &str) -> Result<Vec<String>> {
        self.db.all(
            "SELECT p.domain FROM task_pages tp JOIN pages p ON p.id = tp.page_id
             WHERE tp.task_id = ?1 AND p.domain IS NOT NULL
             GROUP BY p.domain ORDER BY count(*) DESC, p.domain LIMIT 5",
            [task_id],
            |r| r.get(0),
        )
    }

    /// The newest searches of the task.
    pub(crate) fn newest_searches(&self, task_id: &str, limit: usize) -> Result<Vec<SearchDetail>> {
        let sql = "SELECT id, query_text, status, pages_fetched, harvest_rate, satisfaction_score, novelty_score
             FROM queries WHERE task_id = ?1 ORDER BY created_at DESC, id LIMIT ?2";
        self.db.all(sql, params![task_id, limit], |r| {
            Ok(SearchDetail {
                id: r.get(0)?,
                query: r.get(1)?,
                status: r.get(2)?,
                pages_fetched: r.get(3)?,
                harvest_rate: r.get(4)?,
                satisfaction_score: r.get(5)?,
                novelty_score: r.get(6)?,
            })
        })
    }

    /// The newest targets of the task.
    pub(crate) fn newest_targets(&self, task_id: &str, limit: usize) -> Result<Vec<QueueItem>> {
        let sql = "SELECT id, coalesce(input_json ->> '$.target.kind', kind),
               coalesce(input_json ->> '$.target.query', input_json ->> '$.target.url',
                 input_json ->> '$.target.doi', ''), state, priority, attempts, error_message
             FROM jobs WHERE task_id = ?1 AND kind = 'target_queue'
             ORDER BY queued_at DESC, rowid DESC LIMIT ?2";
        self.db.all(sql, params![task_id, limit], |r| {
            Ok(QueueItem {
                id: r.get(0)?,
                kind: r.get(1)?,
                target: r.get(2)?,
                state: r.get(3)?,
                priority: r.get(4)?,
                attempts: r.get(5)?,
                error: r.get(6)?,
            })
        })
    }

    /// Number of jobs that completed although a step failed: a provider, a page, a model.
    pub(crate) fn troubled_jobs(&self, task_id: &str) -> Result<usize> {
        self.db.one(
            "SELECT count(*) FROM jobs WHERE task_id = ?1 AND state = 'completed'
               AND json_array_length(output_json, '$.errors') > 0",
            [task_id],
            |r| r.get(0),
        )
    }

    /// Errors of failed jobs, and of failed steps in jobs that completed, newest first.
    pub(crate) fn recent_errors(&self, task_id: &str) -> Result<Vec<RecentError>> {
        let sql = "SELECT id, kind, error_message, finished_at FROM jobs
             WHERE task_id = ?1 AND state = 'failed' AND error_message IS NOT NULL
             UNION ALL
             SELECT j.id, j.kind, e.value, j.finished_at FROM jobs j, json_each(j.output_json, '$.errors') e
             WHERE j.task_id = ?1 AND j.state = 'completed' AND e.type = 'text'
             ORDER BY 4 DESC, 1 LIMIT 10";
        self.db.all(sql, [task_id], |r| {
            Ok(RecentError {
                job_id: r.get(0)?,
                kind: r.get(1)?,
                error: r.get(2)?,
                at: r.get(3)?,
            })
        })
    }

    /// The newest domain rules in effect, as JSON.
    pub(crate) fn newest_domain_rules(&self, limit: usize) -> Result<Vec<Value>> {
        let sql = "SELECT domain_pattern, rule, reason FROM domain_rules WHERE is_active = 1
             ORDER BY created_at DESC, id LIMIT ?1";
        self.db.all(sql, [limit], |r| {
            let (pattern, rule): (String, String) = (r.get(0)?, r.get(1)?);
            let reason: Option<String> = r.get(2)?;
            Ok(json!({ "domain_pattern": pattern, "rule": rule, "reason": reason }))
        })
    }
}

fn three_counts(r: &Row<'_>) -> rusqlite::Result<[usize; 3]> {
    Ok([r.get(0)?, r.get(1)?, r.get(2)?])
}
