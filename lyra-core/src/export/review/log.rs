//! Every change of a task with its stored time: the entries of the feed.

use crate::error::Result;
use crate::export::told::text;
use crate::store::graph::Reader;
use serde::Serialize;

/// Maximum number of entries of a feed; older ones are in the graph.
const MOST: i64 = 500;

/// A change and its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangeEvent {
    /// Identifies the change; stable across calls.
    pub id: String,
    /// When (RFC 3339).
    pub at: String,
    /// source, text, newer_version, retracted, refuted, corrected, claim or screening.
    pub kind: String,
    /// What changed, in one line.
    pub title: String,
    /// Why.
    pub cause: String,
    /// Address of the source, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

const EVENTS: &str = "
WITH members AS (
  SELECT p.id, p.url, p.canonical_id, coalesce(w.title, p.title, p.url) AS title
  FROM task_pages t JOIN pages p ON p.id = t.page_id LEFT JOIN works w ON w.canonical_id = p.canonical_id
  WHERE t.task_id = ?1)
SELECT id, at, kind, title, cause, url FROM (
  SELECT 'source:' || m.id AS id, min(f.created_at) AS at, 'source' AS kind, m.title,
    'new source; claims read in it: ' || (SELECT count(DISTINCT c.id) FROM fragments g
      JOIN edges e ON e.source_id = g.id AND e.relation = 'origin' JOIN claims c ON c.id = e.target_id
      WHERE g.page_id = m.id AND c.task_id = ?1) AS cause, m.url
  FROM members m JOIN fragments f ON f.page_id = m.id GROUP BY m.id
  UNION ALL
  SELECT 'text:' || m.id || ':' || t.version, t.fetched_at, 'text', m.title, 'the page has a newer text', m.url
  FROM members m JOIN page_texts t ON t.page_id = m.id AND t.version > 1
  UNION ALL
  SELECT 'newer:' || e.id, e.created_at, 'newer_version', m.title, 'superseded by ' || n.url, m.url
  FROM members m JOIN edges e ON e.source_id = m.id AND e.relation = 'cites' AND e.citation_source = 'superseded_by'
    JOIN pages n ON n.id = e.target_id
  UNION ALL
  SELECT 'retracted:' || l.subject_id, max(l.at), 'retracted', m.title, 'the publication was retracted', m.url
  FROM members m JOIN event_log l ON l.subject_id = m.canonical_id AND l.action = 'work_retracted'
  GROUP BY l.subject_id
  UNION ALL
  SELECT 'refuted:' || e.id, e.created_at, 'refuted', c.claim_text,
    'a passage refutes the claim; judge ' || coalesce(e.judge_id, 'unknown'), p.url
  FROM claims c JOIN edges e ON e.target_id = c.id AND e.relation = 'refutes'
    JOIN fragments f ON f.id = e.source_id JOIN pages p ON p.id = f.page_id
  WHERE c.task_id = ?1 AND c.claim_adoption_status = 'adopted'
  UNION ALL
  SELECT 'feedback:' || l.id, l.created_at, CASE l.target_type WHEN 'edge' THEN 'corrected' ELSE 'claim' END,
    coalesce(c.claim_text, l.target_id), l.action || ' by ' || l.actor || coalesce(': ' || l.reason, ''), NULL
  FROM feedback_log l LEFT JOIN edges e ON e.id = l.target_id
    LEFT JOIN claims c ON c.id = coalesce(e.target_id, l.target_id)
  WHERE l.task_id = ?1
  UNION ALL
  SELECT s.id, s.decided_at, 'screening', coalesce(p.title, s.url),
    s.decision || ' by ' || s.reviewer || coalesce(': ' || s.reason, ''), s.url
  FROM screenings s LEFT JOIN pages p ON p.id = s.page_id WHERE s.task_id = ?1)
ORDER BY at DESC, id LIMIT ?2";

/// The changes of a task, newest first.
pub(super) fn events(reader: &Reader<'_>, task_id: &str) -> Result<Vec<ChangeEvent>> {
    reader.select(EVENTS, (task_id, MOST), |row| {
        let (title, cause): (String, String) = (row.get(3)?, row.get(4)?);
        Ok(ChangeEvent {
            id: row.get(0)?,
            at: row.get(1)?,
            kind: row.get(2)?,
            title: text(&title),
            cause: text(&cause),
            url: row.get(5)?,
        })
    })
}
