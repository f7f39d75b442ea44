//! What changed between two states of a graph: of two files, or of one file since a time.
//!
//! Both kinds use the same queries. The earlier state is a set of table expressions (`old_claims`,
//! `old_edges`, …): read from the other file (`past.sql`), or from this file without later rows and with
//! later human changes undone (`since.sql`).

mod changes;

pub use changes::{
    ChangeCause, ClaimChange, ConfidenceChange, EdgeChange, EdgeEvent, GraphDiff, NewSource,
    RetractedWork, StanceChange, TextChange,
};

use crate::clock::{format_ms, parse_ms};
use crate::error::{Error, ErrorKind, Result};
use crate::store::database::SqliteResultExt;
use crate::store::database::{
    APPLICATION_ID, ReadConnection, SCHEMA_VERSION, immutable_address, is_alone,
};
use crate::store::graph::EvidenceGraph;
use crate::store::model::Relation;
use rusqlite::{Connection, Row, params_from_iter};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const PAST: &str = include_str!("diff/past.sql");
const SINCE: &str = include_str!("diff/since.sql");

/// Minimum change of a claim's confidence that is reported. The views round to four places, and so does
/// this.
const MOVED: f64 = 0.05 - 1e-9;

/// Condition on a page `p`: it belongs to the task, or one of the task's claims is based on it.
const PAGE_IN_SCOPE: &str = "(?1 IS NULL OR p.id IN (
  SELECT page_id FROM task_pages WHERE task_id = ?1
  UNION SELECT f.page_id FROM claims c JOIN edges e ON e.target_id = c.id AND e.target_type = 'claim'
    JOIN fragments f ON f.id = e.source_id WHERE c.task_id = ?1))";

/// The target of a job `j`.
const JOB_TARGET: &str =
    "coalesce(j.input_json ->> '$.target.query', j.input_json ->> '$.target.url',
  j.input_json ->> '$.target.doi', j.kind)";

/// The changes since the state of the file at `before`. That file is only read, and is not migrated.
pub(crate) fn diff_from(
    graph: &EvidenceGraph,
    before: &Path,
    task_id: Option<&str>,
) -> Result<GraphDiff> {
    let (past, now) = (resolved(before)?, resolved(graph.path())?);
    if past == now {
        return Err(
            Error::invalid(format!("both sides are the file {}", before.display()))
                .with_hint("compare with a copy of an earlier day, or with a time (--since)"),
        );
    }
    let ReadConnection {
        connection: db,
        stamp,
    } = graph.database().source().named(&now).open()?;
    let alone = is_alone(&past);
    db.execute("ATTACH ?1 AS past", [address(&past, alone)?])
        .db()
        .and_then(|_| check_past(&db))
        .map_err(|e| e.context(before.display()))?;
    let compared = Compared {
        db,
        is_file: true,
        old: PAST,
        bound: vec![task_id.map(str::to_owned)],
    };
    let diff = compared.diff(before.display().to_string(), graph.path(), task_id)?;
    if alone && !is_alone(&past) {
        let message = format!("{} was opened for writing meanwhile", before.display());
        return Err(Error::new(ErrorKind::Storage, message).with_hint("try again"));
    }
    stamp.check()?;
    Ok(diff)
}

/// The changes in a file since a time: a day (`2026-11-01`, from its start in UTC) or an RFC 3339 time.
/// Changes for which the graph stores no time are not found: deleted rows, retractions from an import,
/// and a judge's verdicts that another judge has replaced.
pub(crate) fn diff_since(
    graph: &EvidenceGraph,
    since: &str,
    task_id: Option<&str>,
) -> Result<GraphDiff> {
    let ms = parse_ms(since).or_else(|| parse_ms(&format!("{since}T00:00:00Z")));
    let since = ms.map(format_ms).ok_or_else(|| {
        Error::invalid(format!("since is {since:?}; expected a day or a time"))
            .with_hint("write 2026-11-01, or 2026-11-01T09:30:00Z")
    })?;
    let ReadConnection {
        connection: db,
        stamp,
    } = graph.database().source().open()?;
    let compared = Compared {
        db,
        is_file: false,
        old: SINCE,
        bound: vec![task_id.map(str::to_owned), Some(since.clone())],
    };
    let diff = compared.diff(since, graph.path(), task_id)?;
    stamp.check()?;
    Ok(diff)
}

fn resolved(path: &Path) -> Result<PathBuf> {
    std::fs::canonicalize(path).map_err(|error| {
        let message = format!("there is no database at {}: {error}", path.display());
        Error::not_found(message).with_hint("give the path of a file that Lyra made")
    })
}

/// The address with which SQLite opens the older file. A file without a log beside it is read as it is:
/// a reader then leaves no log and no lock beside it, and the folder need not be writable.
fn address(path: &Path, alone: bool) -> Result<String> {
    let name = path.to_str().ok_or_else(|| {
        Error::invalid(format!("{} is not a name in Unicode", path.display()))
            .with_hint("rename the file")
    })?;
    if !alone || cfg!(windows) {
        return Ok(name.to_owned());
    }
    Ok(immutable_address(path))
}

/// Refuses a file that is not a graph of Lyra, or of a newer version.
fn check_past(db: &Connection) -> Result<()> {
    let number = |pragma: &str| -> Result<i64> {
        db.pragma_query_value(Some("past"), pragma, |r| r.get(0))
            .db()
    };
    let (owner, version) = (number("application_id")?, number("user_version")?);
    let refused = if owner == 0 && version == 0 {
        (
            "no graph is in this database".to_owned(),
            "give the path of a file that Lyra made",
        )
    } else if owner != i64::from(APPLICATION_ID) {
        (
            "this SQLite file belongs to another program".to_owned(),
            "give the path of a file that Lyra made",
        )
    } else if version > SCHEMA_VERSION {
        (
            format!(
                "the database has schema version {version}; this program knows up to {SCHEMA_VERSION}"
            ),
            "compare with a newer version of Lyra",
        )
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Storage, refused.0).with_hint(refused.1))
}

/// Verdicts that are reported whether or not they moved a claim.
#[derive(Default)]
struct VerdictChanges {
    /// Verdicts that refute now and did not before.
    refuting: Vec<EdgeChange>,
    /// Verdicts that a human corrected or confirmed.
    corrected: Vec<EdgeChange>,
}

/// A connection on which both the earlier and the current state can be queried.
struct Compared {
    db: Connection,
    is_file: bool,
    old: &'static str,
    /// The task, and the time if there is one.
    bound: Vec<Option<String>>,
}

impl Compared {
    fn diff(self, before: String, after: &Path, task_id: Option<&str>) -> Result<GraphDiff> {
        // One snapshot of each file.
        self.db.execute_batch("BEGIN").db()?;
        if let Some(task_id) = task_id {
            self.check_task(task_id)?;
        }
        let mut moved = self.moved_claims()?;
        let verdicts = self.edges(&mut moved)?;
        Ok(GraphDiff {
            before,
            after: after.display().to_string(),
            task_id: task_id.map(str::to_owned),
            new_claims: self.new_claims()?,
            vanished_claims: self.vanished_claims()?,
            rejected_claims: self.readopted("not_adopted")?,
            restored_claims: self.readopted("adopted")?,
            flipped_stances: self.flipped_stances()?,
            moved_claims: moved,
            corrected_verdicts: verdicts.corrected,
            new_contradictions: verdicts.refuting,
            retracted_works: self.retracted_works()?,
            superseded_texts: self.superseded_texts()?,
            new_sources: self.new_sources()?,
        })
    }

    /// The task need only be on one side.
    fn check_task(&self, task_id: &str) -> Result<()> {
        for table in ["main.tasks", "past.tasks"] {
            if table == "past.tasks" && !self.is_file {
                continue;
            }
            let sql = format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE id = ?1)");
            if self.db.query_row(&sql, [task_id], |r| r.get(0)).db()? {
                return Ok(());
            }
        }
        Err(Error::task_not_found(task_id))
    }

    /// The rows of a query on both states, in which ?1 is the task.
    fn rows<T>(
        &self,
        question: &str,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.db.prepare(&format!("{} {question}", self.old)).db()?;
        let rows = statement
            .query_map(params_from_iter(&self.bound), |row| read(row))
            .db()?;
        rows.collect::<rusqlite::Result<_>>().db()
    }

    fn new_claims(&self) -> Result<Vec<ClaimChange>> {
        self.rows(
            &format!(
                "SELECT c.id, c.task_id, substr(c.claim_text, 1, 200), s.relation,
                   (SELECT p.url FROM edges e JOIN fragments f ON f.id = e.source_id JOIN pages p ON p.id = f.page_id
                    WHERE e.target_id = c.id AND e.relation = 'origin' ORDER BY e.id LIMIT 1),
                   c.cause_id, {JOB_TARGET}, NULL, NULL
                 FROM claims c LEFT JOIN hypothesis_stances s ON s.claim_id = c.id LEFT JOIN jobs j ON j.id = c.cause_id
                 WHERE (?1 IS NULL OR c.task_id = ?1) AND NOT EXISTS (SELECT 1 FROM old_claims o WHERE o.id = c.id)
                   AND c.claim_adoption_status = 'adopted'
                 ORDER BY c.task_id, c.id"
            ),
            claim,
        )
    }

    fn vanished_claims(&self) -> Result<Vec<ClaimChange>> {
        self.rows(
            "SELECT o.id, o.task_id, substr(o.claim_text, 1, 200), s.relation, NULL, NULL, NULL,
               (SELECT l.actor FROM event_log l WHERE l.task_id = o.task_id AND l.action = 'forget_task'
                ORDER BY l.id DESC LIMIT 1),
               CASE WHEN NOT EXISTS (SELECT 1 FROM main.tasks t WHERE t.id = o.task_id) THEN 'its task is gone' END
             FROM old_claims o LEFT JOIN old_stances s ON s.claim_id = o.id
             WHERE (?1 IS NULL OR o.task_id = ?1) AND NOT EXISTS (SELECT 1 FROM main.claims c WHERE c.id = o.id)
             ORDER BY o.task_id, o.id",
            claim,
        )
    }

    /// Claims whose adoption status is `status` now and was not before. A new claim had no status;
    /// before a human changed it, a claim was adopted.
    fn readopted(&self, status: &'static str) -> Result<Vec<ClaimChange>> {
        self.rows(
            &format!(
                "SELECT c.id, c.task_id, substr(c.claim_text, 1, 200), s.relation, NULL, NULL, NULL,
                   (SELECT l.actor FROM feedback_log l WHERE l.target_type = 'claim' AND l.target_id = c.id
                    ORDER BY l.id DESC LIMIT 1),
                   coalesce(c.claim_rejection_reason,
                     (SELECT l.reason FROM feedback_log l WHERE l.target_type = 'claim' AND l.target_id = c.id
                      ORDER BY l.id DESC LIMIT 1))
                 FROM claims c LEFT JOIN old_claims o ON o.id = c.id LEFT JOIN hypothesis_stances s ON s.claim_id = c.id
                 WHERE (?1 IS NULL OR c.task_id = ?1)
                   AND c.claim_adoption_status = '{status}' AND coalesce(o.status, 'adopted') <> '{status}'
                 ORDER BY c.task_id, c.id"
            ),
            claim,
        )
    }

    fn flipped_stances(&self) -> Result<Vec<StanceChange>> {
        self.rows(
            "SELECT c.id, c.task_id, substr(c.claim_text, 1, 200), s.relation, s.confidence, s.judge_id,
               b.relation, b.judge_id
             FROM claims c JOIN old_claims o ON o.id = c.id
               LEFT JOIN hypothesis_stances s ON s.claim_id = c.id LEFT JOIN old_stances b ON b.claim_id = c.id
             WHERE (?1 IS NULL OR c.task_id = ?1) AND b.relation IS NOT s.relation
             ORDER BY c.task_id, c.id",
            |row| {
                Ok(StanceChange {
                    claim_id: row.get(0)?,
                    task_id: row.get(1)?,
                    claim_text: row.get(2)?,
                    after: row.get(3)?,
                    confidence: row.get(4)?,
                    cause: ChangeCause {
                        judge_id: row.get(5)?,
                        ..ChangeCause::default()
                    },
                    before: row.get(6)?,
                    judge_before: row.get(7)?,
                })
            },
        )
    }

    /// Adopted claims of both sides whose mean of Beta(1 + supports, 1 + refutes) moved, without the
    /// verdicts that moved it.
    fn moved_claims(&self) -> Result<Vec<ConfidenceChange>> {
        self.rows(
            &format!(
                "SELECT * FROM (
                   SELECT c.id, c.task_id, substr(c.claim_text, 1, 200) AS claim_text,
                     round((1 + coalesce(b.sw, 0.0)) / (2 + coalesce(b.sw, 0.0) + coalesce(b.rw, 0.0)), 4) AS was,
                     round((1 + coalesce(n.sw, 0.0)) / (2 + coalesce(n.sw, 0.0) + coalesce(n.rw, 0.0)), 4) AS is_now
                   FROM claims c JOIN old_claims o ON o.id = c.id
                     LEFT JOIN (SELECT target_id,
                         sum(nli_edge_confidence) FILTER (WHERE relation = 'supports') AS sw,
                         sum(nli_edge_confidence) FILTER (WHERE relation = 'refutes') AS rw
                       FROM edges WHERE source_type = 'fragment' AND target_type = 'claim'
                         AND relation IN ('supports', 'refutes') GROUP BY target_id) n ON n.target_id = c.id
                     LEFT JOIN (SELECT target_id,
                         sum(confidence) FILTER (WHERE relation = 'supports') AS sw,
                         sum(confidence) FILTER (WHERE relation = 'refutes') AS rw
                       FROM old_edges GROUP BY target_id) b ON b.target_id = c.id
                   WHERE (?1 IS NULL OR c.task_id = ?1) AND c.claim_adoption_status = 'adopted')
                 WHERE abs(is_now - was) >= {MOVED} ORDER BY task_id, id"
            ),
            |row| {
                Ok(ConfidenceChange {
                    claim_id: row.get(0)?,
                    task_id: row.get(1)?,
                    claim_text: row.get(2)?,
                    before: row.get(3)?,
                    after: row.get(4)?,
                    edges: Vec::new(),
                })
            },
        )
    }

    /// Adds to each moved claim the verdicts that moved it; returns the verdicts that are reported
    /// separately.
    fn edges(&self, moved: &mut [ConfidenceChange]) -> Result<VerdictChanges> {
        let places: HashMap<String, usize> = moved
            .iter()
            .enumerate()
            .map(|(place, claim)| (claim.claim_id.clone(), place))
            .collect();
        let mut told = VerdictChanges::default();
        for question in [changed_edges(), removed_edges()] {
            let mut statement = self.db.prepare(&format!("{} {question}", self.old)).db()?;
            let mut rows = statement.query(params_from_iter(&self.bound)).db()?;
            while let Some(row) = rows.next().db()? {
                let edge = edge(row).db()?;
                let refutes = edge.relation_after == Some(Relation::Refutes)
                    && edge.relation_before != Some(Relation::Refutes);
                if refutes {
                    told.refuting.push(edge.clone());
                }
                if edge.event == EdgeEvent::Corrected {
                    told.corrected.push(edge.clone());
                }
                if let Some(place) = places.get(&edge.claim_id) {
                    moved[*place].edges.push(edge);
                }
            }
        }
        Ok(told)
    }

    fn retracted_works(&self) -> Result<Vec<RetractedWork>> {
        let works: Vec<(String, Option<String>)> = self.rows(
            &format!(
                "SELECT w.canonical_id, substr(w.title, 1, 200) FROM works w
                 WHERE w.is_retracted = 1 AND w.canonical_id NOT IN (SELECT canonical_id FROM old_retractions)
                   AND (?1 IS NULL OR EXISTS (
                     SELECT 1 FROM pages p WHERE p.canonical_id = w.canonical_id AND {PAGE_IN_SCOPE}))
                 ORDER BY w.canonical_id"
            ),
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let found = works.into_iter().map(|(canonical_id, title)| {
            Ok(RetractedWork {
                claims_read_in_it: self.claims_on(&canonical_id, "= 'origin'")?,
                claims_judged_by_it: self.claims_on(&canonical_id, "IN ('supports', 'refutes')")?,
                canonical_id,
                title,
            })
        });
        found.collect()
    }

    /// Adopted claims to which an edge of this relation leads from a publication.
    fn claims_on(&self, canonical_id: &str, relation: &str) -> Result<Vec<String>> {
        let sql = format!(
            "SELECT DISTINCT c.id FROM pages p JOIN fragments f ON f.page_id = p.id
               JOIN edges e ON e.source_id = f.id AND e.target_type = 'claim' AND e.relation {relation}
               JOIN claims c ON c.id = e.target_id
             WHERE p.canonical_id = ?2 AND (?1 IS NULL OR c.task_id = ?1) AND c.claim_adoption_status = 'adopted'
             ORDER BY c.id"
        );
        let mut statement = self.db.prepare_cached(&sql).db()?;
        let task_id = self.bound.first().and_then(Option::as_deref);
        let rows = statement
            .query_map((task_id, canonical_id), |row| row.get(0))
            .db()?;
        rows.collect::<rusqlite::Result<_>>().db()
    }

    fn superseded_texts(&self) -> Result<Vec<TextChange>> {
        self.rows(
            &format!(
                "SELECT p.id, p.url, substr(p.title, 1, 200), o.version, n.version, n.fetched_at,
                   (SELECT count(DISTINCT e.target_id) FROM fragments f JOIN edges e ON e.source_id = f.id
                     WHERE f.page_id = p.id AND f.page_version < n.version AND e.relation = 'origin')
                 FROM old_texts o JOIN page_texts n ON n.page_id = o.page_id AND n.version > o.version
                   JOIN pages p ON p.id = n.page_id
                 WHERE n.version = (SELECT max(t.version) FROM page_texts t WHERE t.page_id = n.page_id)
                   AND {PAGE_IN_SCOPE}
                 ORDER BY p.id"
            ),
            |row| {
                Ok(TextChange {
                    page_id: row.get(0)?,
                    url: row.get(1)?,
                    title: row.get(2)?,
                    version_before: row.get(3)?,
                    version_after: row.get(4)?,
                    fetched_at: row.get(5)?,
                    claims_on_older_text: row.get(6)?,
                })
            },
        )
    }

    fn new_sources(&self) -> Result<Vec<NewSource>> {
        self.rows(
            &format!(
                "SELECT p.id, p.url, substr(coalesce(w.title, p.title), 1, 200), p.canonical_id,
                   (SELECT min(t.reason) FROM task_pages t WHERE t.page_id = p.id AND (?1 IS NULL OR t.task_id = ?1))
                 FROM pages p LEFT JOIN works w ON w.canonical_id = p.canonical_id
                 WHERE EXISTS (SELECT 1 FROM fragments f WHERE f.page_id = p.id)
                   AND p.id NOT IN (SELECT page_id FROM old_sources) AND {PAGE_IN_SCOPE}
                 ORDER BY p.id"
            ),
            |row| {
                Ok(NewSource {
                    page_id: row.get(0)?,
                    url: row.get(1)?,
                    title: row.get(2)?,
                    canonical_id: row.get(3)?,
                    reason: row.get(4)?,
                })
            },
        )
    }
}

/// Current verdicts that are new, or that differ from the earlier verdict on the same pair.
fn changed_edges() -> String {
    format!(
        "SELECT e.id, e.target_id, substr(c.claim_text, 1, 200), e.source_id, p.url,
           o.relation, e.relation, o.confidence, e.nli_edge_confidence,
           CASE WHEN o.id IS NULL THEN 'added'
             WHEN e.edge_human_corrected = 1 AND (o.corrected = 0 OR o.corrected_at IS NOT e.edge_corrected_at)
               THEN 'corrected' ELSE 'rejudged' END AS event,
           e.cause_id, {JOB_TARGET}, e.judge_id,
           CASE WHEN e.edge_human_corrected = 1 THEN (SELECT l.actor FROM feedback_log l
             WHERE l.target_type = 'edge' AND l.target_id = e.id ORDER BY l.id DESC LIMIT 1) END,
           e.edge_correction_reason
         FROM edges e JOIN claims c ON c.id = e.target_id
           LEFT JOIN old_edges o ON o.target_id = e.target_id AND o.source_id = e.source_id
           LEFT JOIN fragments f ON f.id = e.source_id LEFT JOIN pages p ON p.id = f.page_id
           LEFT JOIN jobs j ON j.id = e.cause_id
         WHERE e.source_type = 'fragment' AND e.target_type = 'claim'
           AND e.relation IN ('supports', 'refutes', 'neutral') AND (?1 IS NULL OR c.task_id = ?1)
           AND c.claim_adoption_status = 'adopted'
           AND (o.id IS NULL OR o.relation <> e.relation OR o.confidence IS NOT e.nli_edge_confidence
             OR o.corrected <> e.edge_human_corrected OR o.corrected_at IS NOT e.edge_corrected_at
             OR o.judge_id IS NOT e.judge_id)
         ORDER BY e.target_id, e.id"
    )
}

/// Earlier verdicts on claims that still exist. If another judge withdrew a verdict, that judge's
/// verdict is in the stored verdicts.
fn removed_edges() -> String {
    "SELECT o.id, o.target_id, substr(c.claim_text, 1, 200), o.source_id, p.url,
       o.relation, NULL, o.confidence, NULL, 'removed', NULL, NULL, v.judge_id, NULL,
       CASE WHEN f.id IS NULL THEN 'the passage is gone'
         WHEN x.page_id IS NOT NULL THEN 'its source was excluded: ' || coalesce(x.reason, '')
         WHEN v.judge_id IS NOT o.judge_id THEN 'judged again: ' || v.relation || printf(' %.2f', v.confidence) END
     FROM old_edges o JOIN main.claims c ON c.id = o.target_id
       LEFT JOIN main.fragments f ON f.id = o.source_id LEFT JOIN main.pages p ON p.id = f.page_id
       LEFT JOIN main.nli_verdicts v ON v.claim_id = o.target_id AND v.fragment_id = o.source_id
       LEFT JOIN main.excluded_pages x ON x.task_id = c.task_id AND x.page_id = f.page_id
     WHERE (?1 IS NULL OR c.task_id = ?1) AND c.claim_adoption_status = 'adopted'
       AND NOT EXISTS (SELECT 1 FROM main.edges e WHERE e.target_id = o.target_id AND e.source_id = o.source_id
         AND e.source_type = 'fragment' AND e.target_type = 'claim'
         AND e.relation IN ('supports', 'refutes', 'neutral'))
     ORDER BY o.target_id, o.id"
        .to_owned()
}

fn claim(row: &Row<'_>) -> rusqlite::Result<ClaimChange> {
    Ok(ClaimChange {
        claim_id: row.get(0)?,
        task_id: row.get(1)?,
        claim_text: row.get(2)?,
        stance: row.get(3)?,
        url: row.get(4)?,
        cause: ChangeCause {
            job_id: row.get(5)?,
            job_target: row.get(6)?,
            judge_id: None,
            actor: row.get(7)?,
            reason: row.get(8)?,
        },
    })
}

fn edge(row: &Row<'_>) -> rusqlite::Result<EdgeChange> {
    let event: String = row.get(9)?;
    Ok(EdgeChange {
        edge_id: row.get(0)?,
        claim_id: row.get(1)?,
        claim_text: row.get(2)?,
        fragment_id: row.get(3)?,
        url: row.get(4)?,
        relation_before: row.get(5)?,
        relation_after: row.get(6)?,
        confidence_before: row.get(7)?,
        confidence_after: row.get(8)?,
        event: match event.as_str() {
            "added" => EdgeEvent::Added,
            "removed" => EdgeEvent::Removed,
            "corrected" => EdgeEvent::Corrected,
            _ => EdgeEvent::Rejudged,
        },
        cause: ChangeCause {
            job_id: row.get(10)?,
            job_target: row.get(11)?,
            judge_id: row.get(12)?,
            actor: row.get(13)?,
            reason: row.get(14)?,
        },
    })
}

#[cfg(test)]
mod tests;
