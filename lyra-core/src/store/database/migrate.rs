//! Numbered steps from any released schema to the newest.

use super::ownership::{APPLICATION_ID, check_ownership};
use super::{aggregates, checksums, near_duplicates};
use crate::error::{Error, ErrorKind, Result};
use crate::store::database::SqliteResultExt;
use rusqlite::{Connection, TransactionBehavior};

/// One step for each released schema version; step N leads from version N to N + 1.
const STEPS: &[&str] = &[
    include_str!("sql/schema.sql"),
    include_str!("sql/aggregates.sql"),
    include_str!("sql/near_duplicates.sql"),
    include_str!("sql/independence.sql"),
    include_str!("sql/claim_numbers.sql"),
    include_str!("sql/hostile_documents.sql"),
    include_str!("sql/probabilities.sql"),
    include_str!("sql/checksums.sql"),
    include_str!("sql/judgements.sql"),
    include_str!("sql/blocked_evidence.sql"),
    include_str!("sql/remembered_verdicts.sql"),
    include_str!("sql/screening.sql"),
    include_str!("sql/merging.sql"),
];

/// The schema version that this library writes.
pub(crate) const SCHEMA_VERSION: i64 = STEPS.len() as i64;

/// Refuses, without a change, a file that does not belong to Lyra or that is newer than this program.
pub(crate) fn check(connection: &Connection) -> Result<()> {
    check_ownership(connection)?;
    let found = version(connection)?;
    if (0..=SCHEMA_VERSION).contains(&found) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Storage,
        format!(
            "the database has schema version {found}; this program knows up to {SCHEMA_VERSION}"
        ),
    )
    .with_hint("open it with a newer version of Lyra"))
}

/// Refuses a file whose schema is not the newest; used where the file must not be changed.
pub(super) fn check_is_current(connection: &Connection) -> Result<()> {
    check(connection)?;
    let (message, hint) = match version(connection)? {
        SCHEMA_VERSION => return Ok(()),
        0 => (
            "no graph is in this database".to_owned(),
            "give the path of a file that Lyra made",
        ),
        older => (
            format!(
                "the database has schema version {older} and this program reads {SCHEMA_VERSION}; \
                 a graph that is open read-only is not brought up to date"
            ),
            "have it opened once for writing, or open a copy of it without --read-only",
        ),
    };
    Err(Error::new(ErrorKind::Storage, message).with_hint(hint))
}

/// Brings the schema up to date. Several processes may do so at once: the first one does the work, and
/// the others find it done.
pub(crate) fn migrate(connection: &mut Connection) -> Result<()> {
    if version(connection)? == SCHEMA_VERSION {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .db()?;
    check(&transaction)?;
    let done = usize::try_from(version(&transaction)?).unwrap_or_default();
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step).db()?;
    }
    near_duplicates::refresh(&transaction)?;
    aggregates::refresh(&transaction)?;
    checksums::refresh(&transaction)?;
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .db()?;
    transaction
        .pragma_update(None, "user_version", SCHEMA_VERSION)
        .db()?;
    transaction.commit().db()
}

/// The tables of the newest schema in memory, without the full-text tables, whose tokenizer is not
/// registered in every test.
#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "a graph in memory")]
pub(crate) fn in_memory() -> Connection {
    let db = Connection::open_in_memory().expect("SQLite opens");
    for step in STEPS {
        let end = step.find("CREATE VIRTUAL TABLE").unwrap_or(step.len());
        db.execute_batch(&step[..end]).expect("the steps are sound");
    }
    db
}

fn version(connection: &Connection) -> Result<i64> {
    connection
        .pragma_query_value(None, "user_version", |r| r.get(0))
        .db()
}

#[cfg(test)]
mod tests {
    use super::super::{Database, tokenizer};
    use super::*;
    use std::path::Path;

    /// An empty graph as created by an earlier version.
    #[allow(
        clippy::disallowed_methods,
        reason = "makes a file as an earlier version did"
    )]
    fn made_by_version(version: usize, path: &Path) -> Connection {
        let old = Connection::open(path).unwrap();
        tokenizer::register(&old).unwrap();
        for step in &STEPS[..version] {
            old.execute_batch(step).unwrap();
        }
        old.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}"
        ))
        .unwrap();
        old
    }

    #[test]
    fn a_file_of_the_first_version_is_counted_when_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.db");
        let old = made_by_version(1, &path);
        old.execute_batch(
            "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t', 'h', '');
             INSERT INTO pages (id, url) VALUES ('p', 'https://x.org/'), ('q', 'https://y.org/');
             INSERT INTO fragments (id, page_id, text_content, text_hash, created_at)
               VALUES ('f', 'p', 'x', '', '');
             INSERT INTO claims (id, task_id, claim_text, created_at) VALUES ('c', 't', 'x', '');
             INSERT INTO task_pages (task_id, page_id, reason) VALUES ('t', 'p', 'search');
             INSERT INTO edges (id, source_type, source_id, target_type, target_id, relation,
               nli_edge_confidence, created_at) VALUES
               ('e', 'fragment', 'f', 'claim', 'c', 'supports', 0.5, ''),
               ('k', 'page', 'p', 'page', 'q', 'cites', NULL, '')",
        )
        .unwrap();
        drop(old);
        let db = Database::open(&path).unwrap();
        let counted = db.read(|c| {
            assert!(!aggregates::is_stale(c)?);
            c.query_row(
                "SELECT s.support_weight, y.edge_count, p.claims_supported, r.candidate_page_id,
                   (SELECT user_version FROM pragma_user_version)
                 FROM stat_claims s, stat_years y, stat_task_pages p, stat_references r",
                [],
                |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?)),
            )
            .db()
        });
        let expected: (f64, i64, i64, String, i64) = (0.5, 1, 1, "q".into(), SCHEMA_VERSION);
        assert_eq!(counted.unwrap(), expected);
    }

    #[test]
    fn a_file_of_the_second_version_learns_its_copies_when_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.db");
        let old = made_by_version(2, &path);
        let text = "Drug X increased the risk of falls in older adults compared with placebo. \
             The trial followed nine hundred people in twelve towns for two years, and the risk was \
             greatest in those who were over eighty and lived alone.";
        old.execute_batch(&format!(
            "INSERT INTO pages (id, url, fetched_at, etag) VALUES
               ('b', 'https://b.org/', '2026-01-01T00:00:00.000Z', 'tag'),
               ('a', 'https://a.org/', '2026-01-02T00:00:00.000Z', NULL),
               ('c', 'https://c.org/', NULL, NULL);
             INSERT INTO page_texts VALUES ('b', 1, 'Another text.', 'h0', ''), ('b', 2, '{text}', 'h1', ''),
               ('a', 1, '{text} All rights reserved.', 'h2', '')"
        ))
        .unwrap();
        drop(old);
        for _ in 0..2 {
            let db = Database::open(&path).unwrap();
            let found = db.read(|c| {
                c.query_row(
                    "SELECT group_concat(id || ' ' || coalesce(near_duplicate_of, '-') || ' '
                       || coalesce(etag, '-') || ' ' || coalesce(fresh_until, '-'), ', ' ORDER BY id),
                       (SELECT user_version FROM pragma_user_version) FROM pages",
                    [],
                    |r| Ok((r.get(0)?, r.get(1)?)),
                )
                .db()
            });
            let expected: (String, i64) = ("a b - -, b - tag -, c - - -".into(), SCHEMA_VERSION);
            assert_eq!(found.unwrap(), expected);
        }
    }

    #[test]
    fn verdicts_of_the_eighth_version_stay_and_get_company() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.db");
        let old = made_by_version(8, &path);
        old.execute_batch(
            "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t', 'h', '');
             INSERT INTO claims (id, task_id, claim_text, created_at) VALUES ('c', 't', 'x', '');
             INSERT INTO pages (id, url) VALUES ('p', 'https://x.org/');
             INSERT INTO fragments (id, page_id, text_content, text_hash, created_at) VALUES ('f', 'p', 'x', '', '');
             INSERT INTO nli_verdicts VALUES ('f', 'c', 'lyra-old', 'supports', 0.5, '2026')",
        )
        .unwrap();
        drop(old);
        let db = Database::open(&path).unwrap();
        db.write(|t| {
            t.execute(
                "INSERT INTO nli_verdicts (fragment_id, claim_id, judge_id, relation, confidence, created_at)
                 VALUES ('f', 'c', 'agent:a:b', 'refutes', 0.9, '2027')",
                [],
            )
            .db()
        })
        .unwrap();
        let found: String = db
            .read(|c| {
                c.query_row(
                    "SELECT group_concat(judge_kind || ' ' || relation || ' ' || confidence, ', ' ORDER BY judge_id)
                     FROM nli_verdicts",
                    [],
                    |r| r.get(0),
                )
                .db()
            })
            .unwrap();
        assert_eq!(found, "agent refutes 0.9, builtin supports 0.5");
        db.read(|c| {
            for number in 0..checksums::TABLES.len() {
                checksums::check(c, number, |name, verdict| {
                    assert_eq!(
                        verdict,
                        checksums::ChecksumVerdict::Right,
                        "{number} {name}"
                    );
                })?;
            }
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_claim_that_the_fourth_version_missed_is_counted_when_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.db");
        let old = made_by_version(4, &path);
        old.execute_batch(
            "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t', 'h', '');
             INSERT INTO claims (id, task_id, claim_text, created_at) VALUES ('c', 't', 'x', '');
             UPDATE stat_state SET value = 1 WHERE key = 'last_claim_seq'",
        )
        .unwrap();
        drop(old);
        let db = Database::open(&path).unwrap();
        let counted = db.read(|c| {
            c.query_row("SELECT claim_id FROM stat_claims", [], |r| {
                r.get::<_, String>(0)
            })
            .db()
        });
        assert_eq!(counted.unwrap(), "c");
    }
}
