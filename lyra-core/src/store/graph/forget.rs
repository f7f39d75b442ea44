//! Deletes a task from the graph, with everything that nothing else refers to.

use crate::error::{Error, Result};
use crate::store::database::SqliteResultExt;
use crate::store::database::{Database, near_duplicates};
use rusqlite::{OptionalExtension, Transaction, params};
use serde::Serialize;
use std::collections::BTreeMap;

/// The result of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ForgetReport {
    /// The task.
    pub task_id: String,
    /// Number of deleted rows by table; tables without deleted rows are left out.
    pub deleted: BTreeMap<String, usize>,
}

/// Deletes a task with its claims (their vectors, edges, stances and verdicts), searches, jobs,
/// page memberships, waiting logins, and the corrections that quote its claims.
///
/// With `orphans`, also deletes the pages that the task had reached and that nothing else refers to: no
/// other task, no edge from a claim that stays, no citation by a page that stays. Their texts, fragments
/// and vectors are deleted with them, as are works that no remaining page belongs to. Pages unrelated to
/// the task are not touched.
///
/// The audit log and the feedback log are append-only: they keep their lines, and a line is added to the
/// audit log.
///
/// # Errors
/// [`crate::ErrorKind::TaskNotFound`]; [`crate::ErrorKind::InvalidInput`] while jobs of the task
/// are running.
pub(crate) fn forget_task(
    db: &Database,
    task_id: &str,
    orphans: bool,
    now: &str,
) -> Result<ForgetReport> {
    db.write(|transaction| {
        let mut forget = Forget {
            transaction,
            report: ForgetReport {
                task_id: task_id.to_owned(),
                ..ForgetReport::default()
            },
        };
        forget.refuse_unknown_or_running(now)?;
        forget.note_reached_pages(orphans)?;
        forget.task()?;
        if orphans {
            forget.orphans()?;
        }
        forget.leave_a_note(now)?;
        forget.log(orphans, now)?;
        transaction
            .execute_batch("DROP TABLE temp.forget_pages; DROP TABLE temp.forget_works")
            .db()?;
        Ok(forget.report)
    })
}

/// Deletes a task that was deleted in another graph; its pages stay.
pub(super) fn forget_rows(transaction: &Transaction<'_>, task_id: &str) -> Result<()> {
    let mut forget = Forget {
        transaction,
        report: ForgetReport {
            task_id: task_id.to_owned(),
            ..ForgetReport::default()
        },
    };
    forget.task()
}

struct Forget<'t> {
    transaction: &'t Transaction<'t>,
    report: ForgetReport,
}

impl Forget<'_> {
    fn refuse_unknown_or_running(&self, now: &str) -> Result<()> {
        let running: Option<i64> = self
            .transaction
            .query_row(
                "SELECT (SELECT count(*) FROM jobs j
                         WHERE j.task_id = t.id AND j.state = 'running' AND j.lease_until > ?2)
                 FROM tasks t WHERE t.id = ?1",
                params![self.report.task_id, now],
                |r| r.get(0),
            )
            .optional()
            .db()?;
        match running {
            None => Err(Error::task_not_found(&self.report.task_id)),
            Some(0) => Ok(()),
            Some(jobs) => Err(Error::invalid(format!(
                "{jobs} jobs of {} are running; a task can be forgotten only when none of its \
                 jobs is running",
                self.report.task_id
            ))
            .with_hint("stop_task with mode full, then forget it")),
        }
    }

    /// Lists the pages that the task had reached, and all pages that these cite, directly or indirectly.
    fn note_reached_pages(&self, orphans: bool) -> Result<()> {
        self.transaction
            .execute_batch(
                "CREATE TEMP TABLE forget_pages (id TEXT PRIMARY KEY);
                 CREATE TEMP TABLE forget_works (canonical_id TEXT PRIMARY KEY)",
            )
            .db()?;
        if orphans {
            self.transaction
                .execute(
                    "WITH RECURSIVE reached (id) AS (
                       SELECT f.page_id FROM claims c
                         JOIN edges e ON e.target_id = c.id AND e.target_type = 'claim'
                         JOIN fragments f ON f.id = e.source_id AND e.source_type = 'fragment'
                         WHERE c.task_id = ?1
                       UNION SELECT page_id FROM main.task_pages WHERE task_id = ?1
                       UNION SELECT source_page_id FROM main.task_pages
                         WHERE task_id = ?1 AND source_page_id IS NOT NULL
                       UNION SELECT e.target_id FROM reached r
                         JOIN edges e ON e.source_id = r.id AND e.relation = 'cites')
                     INSERT INTO temp.forget_pages SELECT id FROM reached",
                    [&self.report.task_id],
                )
                .db()?;
        }
        Ok(())
    }

    fn task(&mut self) -> Result<()> {
        let claims = "(SELECT id FROM claims WHERE task_id = ?1)";
        let for_task = [
            (
                "edges",
                format!("target_type = 'claim' AND target_id IN {claims}"),
            ),
            (
                "edges",
                format!("source_type = 'claim' AND source_id IN {claims}"),
            ),
            ("blocked_edges", format!("target_id IN {claims}")),
            (
                "embeddings",
                format!("target_type = 'claim' AND target_id IN {claims}"),
            ),
            ("nli_verdicts", format!("claim_id IN {claims}")),
            ("judgement_loans", "task_id = ?1".to_owned()),
            ("nli_corrections", "task_id = ?1".to_owned()),
            ("hypothesis_stances", "task_id = ?1".to_owned()),
            ("auth_queue", "task_id = ?1".to_owned()),
            ("jobs", "task_id = ?1".to_owned()),
            (
                "serp_items",
                "query_id IN (SELECT id FROM queries WHERE task_id = ?1)".to_owned(),
            ),
            ("queries", "task_id = ?1".to_owned()),
            ("screenings", "task_id = ?1".to_owned()),
            ("task_pages", "task_id = ?1".to_owned()),
        ];
        let task_id = self.report.task_id.clone();
        for (table, condition) in &for_task {
            self.delete(table, condition, &[&task_id])?;
        }
        // The full-text index stores no text, so the deleted text must be passed to it.
        self.transaction
            .execute(
                "INSERT INTO claims_fts (claims_fts, rowid, claim_text)
                 SELECT 'delete', seq, claim_text FROM claims WHERE task_id = ?1",
                [&task_id],
            )
            .db()?;
        self.delete("claims", "task_id = ?1", &[&task_id])?;
        self.delete("tasks", "id = ?1", &[&task_id])
    }

    /// Removes from the list the pages that something else refers to.
    fn keep_referred_pages(&self) -> Result<()> {
        // A reached page stays if something outside refers to it, or if a page that stays cites it.
        // Pages that only cite one another do not stay.
        self.transaction
            .execute(
                "WITH RECURSIVE staying (id) AS (
                   SELECT p.id FROM temp.forget_pages p
                     WHERE EXISTS (SELECT 1 FROM task_pages t WHERE t.page_id = p.id)
                       OR EXISTS (SELECT 1 FROM fragments f JOIN edges e ON
                                    (e.source_id = f.id AND e.source_type = 'fragment')
                                    OR (e.target_id = f.id AND e.target_type = 'fragment')
                                  WHERE f.page_id = p.id)
                       OR EXISTS (SELECT 1 FROM fragments f JOIN blocked_edges b ON b.source_id = f.id
                                  WHERE f.page_id = p.id)
                       OR EXISTS (SELECT 1 FROM edges e WHERE e.target_id = p.id
                                    AND e.relation = 'cites' AND e.source_id NOT IN temp.forget_pages)
                       OR p.id IN (SELECT source_page_id FROM task_pages
                                   WHERE source_page_id IS NOT NULL)
                   UNION SELECT e.target_id FROM staying s
                     JOIN edges e ON e.source_id = s.id AND e.relation = 'cites')
                 DELETE FROM temp.forget_pages WHERE id IN staying",
                [],
            )
            .db()?;
        Ok(())
    }

    fn orphans(&mut self) -> Result<()> {
        self.keep_referred_pages()?;
        self.transaction
            .execute_batch(
                "INSERT OR IGNORE INTO temp.forget_works SELECT canonical_id FROM pages
                   WHERE id IN temp.forget_pages AND canonical_id IS NOT NULL;
                 INSERT INTO fragments_fts (fragments_fts, rowid, text_content, heading_context)
                   SELECT 'delete', seq, text_content, heading_context FROM fragments
                   WHERE page_id IN temp.forget_pages",
            )
            .db()?;
        let copies = near_duplicates::copies_of_forgotten(self.transaction)?;
        let fragments = "(SELECT id FROM fragments WHERE page_id IN temp.forget_pages)";
        let of_pages = [
            (
                "embeddings",
                format!("target_type = 'fragment' AND target_id IN {fragments}"),
            ),
            ("nli_verdicts", format!("fragment_id IN {fragments}")),
            ("judgement_loans", format!("fragment_id IN {fragments}")),
            (
                "edges",
                "relation = 'cites' AND source_id IN temp.forget_pages".to_owned(),
            ),
            (
                "edges",
                "relation = 'cites' AND target_id IN temp.forget_pages".to_owned(),
            ),
            ("fragments", "page_id IN temp.forget_pages".to_owned()),
            ("page_texts", "page_id IN temp.forget_pages".to_owned()),
            ("page_references", "page_id IN temp.forget_pages".to_owned()),
            ("resource_index", "page_id IN temp.forget_pages".to_owned()),
            ("pages", "id IN temp.forget_pages".to_owned()),
        ];
        for (table, condition) in &of_pages {
            self.delete(table, condition, &[])?;
        }
        for copy in copies {
            near_duplicates::assign(self.transaction, &copy)?;
        }
        let unshown = "canonical_id IN temp.forget_works AND canonical_id NOT IN
            (SELECT canonical_id FROM pages WHERE canonical_id IS NOT NULL)";
        for table in ["work_authors", "work_identifiers", "works"] {
            self.delete(table, unshown, &[])?;
        }
        Ok(())
    }

    fn delete(&mut self, table: &str, condition: &str, arguments: &[&String]) -> Result<()> {
        let sql = format!("DELETE FROM main.{table} WHERE {condition}");
        let rows = self
            .transaction
            .execute(&sql, rusqlite::params_from_iter(arguments))
            .db()?;
        if rows > 0 {
            *self.report.deleted.entry(table.to_owned()).or_default() += rows;
        }
        Ok(())
    }

    /// Records the deletion, so that a merge does not restore the task.
    fn leave_a_note(&self, now: &str) -> Result<()> {
        self.transaction
            .execute(
                "INSERT INTO forgotten (task_id, forgotten_at) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                params![self.report.task_id, now],
            )
            .db()?;
        Ok(())
    }

    fn log(&self, orphans: bool, now: &str) -> Result<()> {
        let details = serde_json::json!({ "orphans": orphans, "deleted": self.report.deleted });
        self.transaction
            .execute(
                "INSERT INTO event_log (at, actor, action, task_id, details_json)
                 VALUES (?1, 'library', 'forget_task', ?2, ?3)",
                params![now, self.report.task_id, details.to_string()],
            )
            .db()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::store::graph::interchange::testing::{self, NOW, export, rows};
    use crate::store::graph::verify::verify;

    /// Rows of a task that the interchange format does not contain.
    fn work_of(db: &Database, task_id: &str, claim_id: &str, fragment_id: &str) {
        db.maintain(|c| {
            c.execute_batch(&format!(
                "INSERT INTO queries (id, task_id, query_text, created_at) VALUES ('s_{task_id}', '{task_id}', 'q', '');
                 INSERT INTO serp_items (id, query_id, engine, rank, url) VALUES ('i_{task_id}', 's_{task_id}', 'e', 1, 'u');
                 INSERT INTO jobs (id, task_id, kind, priority, state, created_at, queued_at, lease_until)
                   VALUES ('j_{task_id}', '{task_id}', 'embed', 40, 'running', '', '', '2026-01-01T00:00:00.000Z');
                 INSERT INTO auth_queue (id, task_id, url, domain, auth_type, job_id, queued_at)
                   VALUES ('iq_{task_id}', '{task_id}', 'u', 'd', 'login', 'j_{task_id}', '');
                 INSERT OR REPLACE INTO hypothesis_stances VALUES ('{claim_id}', '{task_id}', 'supports', 0.5, 'm', '');
                 INSERT INTO nli_verdicts (fragment_id, claim_id, judge_id, relation, confidence, created_at) VALUES ('{fragment_id}', '{claim_id}', 'm', 'neutral', 0.5, '');
                 INSERT INTO nli_corrections (id, edge_id, task_id, premise, hypothesis, predicted_relation,
                   correct_relation, created_at) VALUES ('n_{task_id}', 'e', '{task_id}', 'p', 'h', 'neutral', 'supports', '');
                 INSERT INTO feedback_log (action, target_type, target_id, task_id, actor, created_at)
                   VALUES ('claim_reject', 'claim', '{claim_id}', '{task_id}', 'user', '');
                 INSERT INTO screenings (id, task_id, url, revision, reviewer, decision, decided_at)
                   VALUES ('v_{task_id}', '{task_id}', 'u', 1, 'ann', 'exclude', '')"
            ))
            .db()
        })
        .unwrap();
    }

    const OF_TASKS: &[&str] = &[
        "tasks",
        "queries",
        "serp_items",
        "screenings",
        "jobs",
        "auth_queue",
        "hypothesis_stances",
        "nli_verdicts",
        "nli_corrections",
        "claims",
        "claims_fts",
    ];

    #[test]
    fn one_task_goes_and_the_other_stays_whole() {
        let (_folder, db) = testing::with(&testing::small_graph());
        work_of(&db, "t1", "c1", "f4");
        work_of(&db, "t2", "c2", "f4");
        let other = export(&db, Some("t2"));
        let pages = rows(&db, "pages");
        let report = forget_task(&db, "t1", false, NOW).unwrap();
        for table in OF_TASKS {
            assert_eq!(rows(&db, table), 1, "{table}");
        }
        for table in OF_TASKS.iter().filter(|t| **t != "claims_fts") {
            assert_eq!(report.deleted.get(*table), Some(&1), "{table}: {report:?}");
        }
        assert_eq!(rows(&db, "pages"), pages);
        assert_eq!(rows(&db, "feedback_log"), 2);
        let last: String = db
            .read(|c| {
                c.query_row(
                    "SELECT action || ' ' || task_id FROM event_log ORDER BY id DESC",
                    [],
                    |r| r.get(0),
                )
                .db()
            })
            .unwrap();
        assert_eq!(last, "forget_task t1");
        assert_eq!(export(&db, Some("t2")), other);
        let checked = verify(&db).unwrap();
        assert!(checked.ok, "{:?}", checked.violations);
    }

    #[test]
    fn orphans_go_with_the_task_and_nothing_else_does() {
        let page = |id: &str| {
            format!(
                r#"{{"type":"page","id":"{id}","url":"https://x.org/{id}","canonical_id":"w_{id}"}}"#
            )
        };
        let work =
            |id: &str| format!(r#"{{"type":"work","canonical_id":"w_{id}","title":"{id}"}}"#);
        let text =
            |id: &str| format!(r#"{{"type":"page_text","page_id":"{id}","text":"text of {id}"}}"#);
        let fragment = |id: &str| {
            format!(
                r#"{{"type":"fragment","id":"f_{id}","page_id":"{id}","text_content":"text of {id}"}}"#
            )
        };
        let vector = |id: &str| {
            format!(
                r#"{{"type":"embedding","target_type":"fragment","target_id":"f_{id}","model_id":"x","vector":[1]}}"#
            )
        };
        let member = |task: &str, id: &str| {
            format!(
                r#"{{"type":"task_page","task_id":"{task}","page_id":"{id}","reason":"search"}}"#
            )
        };
        let origin = |id: &str, claim: &str| {
            format!(
                r#"{{"type":"edge","source_type":"fragment","source_id":"f_{id}","target_type":"claim","target_id":"{claim}","relation":"origin"}}"#
            )
        };
        let cites = |a: &str, b: &str| {
            format!(
                r#"{{"type":"edge","source_type":"page","source_id":"{a}","target_type":"page","target_id":"{b}","relation":"cites"}}"#
            )
        };
        let mut lines: Vec<String> = [
            r#"{"type":"task","id":"gone","hypothesis":"h"}"#,
            r#"{"type":"task","id":"stays","hypothesis":"h"}"#,
            r#"{"type":"claim","id":"c_gone","task_id":"gone","claim_text":"x"}"#,
            r#"{"type":"claim","id":"c_stays","task_id":"stays","claim_text":"x"}"#,
        ]
        .map(str::to_owned)
        .to_vec();
        // own, ring_a and ring_b (citing one another), and placeholder belong to the task only.
        let all = [
            "own",
            "ring_a",
            "ring_b",
            "placeholder",
            "shared",
            "evidence",
            "cited",
            "by_hand",
        ];
        for id in all {
            lines.extend([page(id), work(id), text(id), fragment(id), vector(id)]);
        }
        for id in ["own", "ring_a", "shared", "evidence", "cited"] {
            lines.push(member("gone", id));
        }
        lines.extend([
            member("stays", "shared"),
            origin("own", "c_gone"),
            origin("evidence", "c_gone"),
            origin("evidence", "c_stays"),
            cites("ring_a", "ring_b"),
            cites("ring_b", "ring_a"),
            cites("own", "placeholder"),
            cites("shared", "cited"),
            cites("own", "shared"),
        ]);
        let (_folder, db) = testing::with(&lines);
        let report = forget_task(&db, "gone", true, NOW).unwrap();
        for table in [
            "pages",
            "works",
            "page_texts",
            "fragments",
            "fragments_fts",
            "embeddings",
            "resource_index",
        ] {
            assert_eq!(rows(&db, table), 4, "{table}");
        }
        let exported = export(&db, None);
        for (id, stays) in all
            .into_iter()
            .zip([false, false, false, false, true, true, true, true])
        {
            assert_eq!(
                exported.contains(&format!("https://x.org/{id}\"")),
                stays,
                "{id}"
            );
        }
        assert_eq!(report.deleted["pages"], 4);
        assert_eq!(report.deleted["edges"], 6);
        let checked = verify(&db).unwrap();
        assert!(checked.ok, "{:?}", checked.violations);
    }

    #[test]
    fn copies_of_a_forgotten_page_find_another_original() {
        let mut lines = vec![
            r#"{"type":"task","id":"gone","hypothesis":"h"}"#.to_owned(),
            r#"{"type":"task_page","task_id":"gone","page_id":"a","reason":"search"}"#.to_owned(),
        ];
        for id in ["a", "b", "c"] {
            let text = "Drug X increased the risk of falls in older adults compared with placebo. \
             The trial followed nine hundred people in twelve towns for two years, and the risk was \
             greatest in those who were over eighty and lived alone.";
            lines.push(format!(
                r#"{{"type":"page","id":"{id}","url":"https://x.org/{id}"}}"#
            ));
            lines.push(format!(
                r#"{{"type":"page_text","page_id":"{id}","text":"{text} {id}"}}"#
            ));
        }
        let (_folder, db) = testing::with(&lines);
        let copies = || {
            let sql =
                "SELECT group_concat(id || '<' || near_duplicate_of, ' ' ORDER BY id) FROM pages";
            let read = db.read(|c| c.query_row(sql, [], |r| r.get(0)).db());
            read.unwrap_or_else(|e| e.to_string())
        };
        assert_eq!(copies(), "b<a c<a");
        forget_task(&db, "gone", true, NOW).unwrap();
        assert_eq!(copies(), "c<b");
        assert_eq!(rows(&db, "page_sketches"), 2);
        assert!(verify(&db).unwrap().ok);
    }

    #[test]
    fn refuses_what_it_cannot_forget() {
        let (_folder, db) = testing::with(&testing::small_graph());
        let error = forget_task(&db, "t9", true, NOW).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TaskNotFound);
        work_of(&db, "t1", "c1", "f4");
        let before = export(&db, None);
        // At an earlier time, the lease is still held.
        let error = forget_task(&db, "t1", true, "2025-12-31T00:00:00.000Z").unwrap_err();
        assert!(
            error.to_string().contains("1 jobs of t1 are running"),
            "{error}"
        );
        assert_eq!(export(&db, None), before);
        // Twice on one connection: the temporary tables must be gone after the first call.
        forget_task(&db, "t1", true, NOW).unwrap();
        forget_task(&db, "t2", true, NOW).unwrap();
        assert_eq!(
            rows(&db, "pages") + rows(&db, "works") + rows(&db, "edges"),
            0
        );
    }
}
