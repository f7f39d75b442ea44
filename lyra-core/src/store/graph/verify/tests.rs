//! Tests of [`super`].

use super::*;
use crate::store::graph::interchange::testing;

fn failing(report: &IntegrityReport) -> Vec<(&str, &str, &str)> {
    report
        .violations
        .iter()
        .map(|v| (v.check.as_str(), v.table.as_str(), v.id.as_str()))
        .collect()
}

#[test]
fn a_sound_graph_is_clean() {
    let (_folder, db) = testing::with(&testing::small_graph());
    let report = verify(&db).unwrap();
    assert!(report.ok, "{:?}", report.violations);
    assert_eq!(report.unverifiable, 0);
    assert_eq!(report.checked["quote"], 4);
    assert_eq!(report.checked["vector"], 2);
}

#[test]
fn a_graph_that_grew_since_a_reader_last_looked_is_clean() {
    let (_folder, db) = testing::with(&testing::small_graph());
    for round in 0..40 {
        // A search caches the layout of the index in the connection that ran it.
        db.read(|connection| {
            let sql = "SELECT count(*) FROM claims_fts WHERE claims_fts MATCH 'word1'";
            connection.query_row(sql, [], |r| r.get::<_, i64>(0)).db()
        })
        .unwrap();
        let lines: Vec<String> = (0..50)
                .map(|n| {
                    format!(r#"{{"type":"claim","id":"{round}_{n}","task_id":"t1","claim_text":"word{round} {n}"}}"#)
                })
                .collect();
        testing::import(&db, &lines).unwrap();
        let report = verify(&db).unwrap();
        assert!(report.ok, "{round}: {:?}", report.violations);
    }
}

#[test]
fn what_has_no_text_is_counted_not_condemned() {
    let (_folder, db) = testing::with(&[
        r#"{"type":"task","id":"t","hypothesis":"h"}"#,
        r#"{"type":"page","id":"p","url":"https://x.org/"}"#,
        r#"{"type":"fragment","id":"f","page_id":"p","text_content":"abc"}"#,
        r#"{"type":"claim","id":"by_hand","task_id":"t","claim_text":"x"}"#,
        r#"{"type":"claim","id":"extracted","task_id":"t","claim_text":"x","extractor_id":"m"}"#,
    ]);
    let report = verify(&db).unwrap();
    assert!(report.ok);
    assert_eq!(report.unverifiable, 2);
    let noted: Vec<_> = report.notes.iter().map(|n| n.id.as_str()).collect();
    assert_eq!(noted, ["f", "extracted"]);
}

/// The check, table and id of an expected violation.
type Named = (&'static str, &'static str, &'static str);

/// Each kind of damage, with the violations that must be reported.
const DAMAGES: &[(&str, &[Named])] = &[
        (
            "UPDATE fragments SET text_content = 'another text' WHERE id = 'f1'",
            &[("quote", "fragments", "f1"), ("text_hash", "fragments", "f1"), ("full_text", "fragments", "")],
        ),
        (
            "UPDATE fragments SET char_start = char_start + 1, char_end = char_end + 1 WHERE id = 'f2'",
            &[("quote", "fragments", "f2")],
        ),
        ("UPDATE fragments SET char_end = 9999 WHERE id = 'f1'", &[("quote", "fragments", "f1")]),
        (
            "UPDATE fragments SET char_start = NULL, char_end = NULL WHERE id = 'f2'",
            &[("quote", "fragments", "f2")],
        ),
        (
            "UPDATE page_texts SET text = 'x' || text WHERE page_id = 'p1'",
            &[("quote", "fragments", "f1"), ("text_hash", "page_texts", "p1")],
        ),
        (
            "DELETE FROM page_texts WHERE page_id = 'p1'",
            &[("quote", "fragments", "f1"), ("quote", "fragments", "f2")],
        ),
        ("UPDATE fragments SET text_hash = 'beef' WHERE id = 'f3'", &[("text_hash", "fragments", "f3")]),
        ("UPDATE edges SET quote_start = 0 WHERE id = 'e2'", &[("edge_quote", "edges", "e2")]),
        ("UPDATE edges SET quote_end = 500 WHERE id = 'e1'", &[("edge_quote", "edges", "e1")]),
        ("UPDATE edges SET quote_end = NULL WHERE id = 'e1'", &[("edge_quote", "edges", "e1")]),
        ("UPDATE edges SET source_id = 'gone' WHERE id = 'e3'", &[("edge_source", "edges", "e3")]),
        ("UPDATE edges SET target_id = 'gone' WHERE id = 'e4'", &[("edge_target", "edges", "e4")]),
        (
            "UPDATE edges SET source_type = 'page', source_id = 'p1' WHERE id = 'e3'",
            &[("edge_kinds", "edges", "e3")],
        ),
        ("UPDATE edges SET relation = 'cites' WHERE id = 'e3'", &[("edge_kinds", "edges", "e3")]),
        (
            "DROP INDEX edges_one_verdict; INSERT INTO edges (id, source_type, source_id, target_type,
               target_id, relation, created_at) VALUES ('e9', 'fragment', 'f3', 'claim', 'c1', 'refutes', '')",
            &[("edge_pair", "edges", "e9")],
        ),
        (
            "DROP INDEX edges_one_citation; INSERT INTO edges (id, source_type, source_id, target_type,
               target_id, relation, created_at) VALUES ('e9', 'page', 'p1', 'page', 'p2', 'cites', '')",
            &[("edge_pair", "edges", "e9")],
        ),
        ("UPDATE edges SET nli_edge_confidence = 1.5 WHERE id = 'e3'", &[("edge_confidence", "edges", "e3")]),
        ("UPDATE claims SET llm_claim_confidence = -1 WHERE id = 'c1'", &[("claim_confidence", "claims", "c1")]),
        (
            "UPDATE claims SET task_id = 'gone' WHERE id = 'c1'",
            &[("claim_task", "claims", "c1"), ("foreign_key", "claims", "1")],
        ),
        (
            "UPDATE claims SET claim_text = 'unindexed words' WHERE id = 'c1'",
            &[("full_text", "claims", "")],
        ),
        (
            "DELETE FROM embeddings; INSERT INTO embeddings (id, target_type, target_id, model_id,
               embedding_blob, dimension, created_at) VALUES ('m', 'claim', 'gone', 'x', zeroblob(8), 2, '')",
            &[("embedding_target", "embeddings", "m")],
        ),
        (
            "UPDATE embeddings SET dimension = 3 WHERE id = 'm1'",
            &[("embedding_dimension", "embeddings", "m1")],
        ),
        (
            "UPDATE embeddings SET embedding_blob = x'0000c07f0000803f' WHERE id = 'm1'",
            &[("vector", "embeddings", "m1")],
        ),
        (
            "INSERT INTO claims_fts (claims_fts, rowid, claim_text)
               SELECT 'delete', seq, claim_text FROM claims WHERE id = 'c2'",
            &[("full_text_row", "claims", "c2"), ("full_text", "claims", "")],
        ),
        (
            "UPDATE pages SET near_duplicate_of = 'p1' WHERE id = 'p1'",
            &[("near_duplicate", "pages", "p1")],
        ),
        ("UPDATE stat_claims SET refute_count = 7 WHERE claim_id = 'c1'", &[("claim_counts", "stat_claims", "c1")]),
        ("DELETE FROM stat_claims WHERE claim_id = 'c2'", &[("claim_counts", "stat_claims", "c2")]),
        (
            "INSERT INTO stat_claims SELECT 99, 'gone', task_id, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0,
                 0, 0, 0, 0
               FROM claims LIMIT 1",
            &[("counted_claim", "stat_claims", "gone")],
        ),
        ("UPDATE stat_pages SET cited_by_count = 9", &[("page_counts", "stat_pages", "p1")]),
        (
            "INSERT INTO fragments_fts (rowid, text_content) VALUES (77, 'stray')",
            &[("full_text_row", "fragments", "77")],
        ),
    ];

#[test]
fn every_planted_damage_is_named() {
    for (damage, expected) in DAMAGES {
        let (_folder, db) = testing::with(&testing::small_graph());
        db.maintain(|connection| {
            connection
                .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
                .db()?;
            connection.execute_batch(damage).db()
        })
        .unwrap();
        let report = verify(&db).unwrap();
        assert!(!report.ok, "{damage}");
        let found = failing(&report);
        for row in *expected {
            assert!(
                found.contains(row),
                "{damage}\n  wanted {row:?}\n  found {found:?}"
            );
        }
    }
}

/// Rows for the tables that an import leaves empty.
const MORE_ROWS: &str = "
INSERT INTO queries (id, task_id, query_text, created_at) VALUES ('s1', 't1', 'q', 'x');
INSERT INTO serp_items (id, query_id, engine, rank, url) VALUES ('i1', 's1', 'e', 1, 'u');
INSERT INTO nli_verdicts (fragment_id, claim_id, judge_id, relation, confidence, created_at) VALUES ('f3', 'c1', 'lexical', 'supports', 0.5, 'x');
INSERT INTO jobs (id, task_id, kind, priority, created_at, queued_at)
  VALUES ('j1', 't1', 'embed', 1, 'x', 'x');
INSERT INTO auth_queue (id, task_id, url, domain, auth_type, queued_at, session_data)
  VALUES ('iq1', 't1', 'u', 'd', 'login', 'x', 'secret');
INSERT INTO nli_corrections (id, edge_id, premise, hypothesis, predicted_relation, correct_relation, created_at)
  VALUES ('n1', 'e3', 'p', 'h', 'supports', 'refutes', 'x');
INSERT INTO feedback_log (action, target_type, target_id, actor, created_at)
  VALUES ('claim_reject', 'claim', 'c1', 'me', 'x');
INSERT INTO domain_rules (id, domain_pattern, rule, actor, created_at) VALUES ('r1', 'd', 'block', 'me', 'x');
INSERT INTO calibration_versions (source, version, method, params_json, created_at)
  VALUES ('lexical', 1, 'platt', '{}', 'x');
INSERT INTO calibration_evaluations (id, source, version, samples, created_at)
  VALUES ('v1', 'lexical', 1, 5, 'x');
INSERT INTO blocked_edges (id, source_type, source_id, target_type, target_id, relation, edge_human_corrected,
    created_at)
  VALUES ('b1', 'fragment', 'f3', 'claim', 'c2', 'supports', 0, 'x');
INSERT INTO screenings (id, task_id, url, revision, reviewer, decision, decided_at)
  VALUES ('v1', 't1', 'u', 1, 'ann', 'exclude', 'x');
INSERT INTO forgotten VALUES ('t0', 'x');
";

fn graph_with_all_tables() -> (tempfile::TempDir, Database) {
    let (folder, db) = testing::with(&testing::small_graph());
    db.write(|t| t.execute_batch(MORE_ROWS).db()).unwrap();
    for table in checksums::TABLES {
        assert!(testing::rows(&db, table) > 0, "{table} is empty");
    }
    (folder, db)
}

/// The columns of a table that hold content: all but row numbers.
fn content_columns(db: &Database, table: &str) -> Vec<String> {
    db.read(|c| {
        let sql = "SELECT name FROM pragma_table_info(?1) WHERE NOT (pk > 0 AND type = 'INTEGER'
                     AND (SELECT sum(pk > 0) FROM pragma_table_info(?1)) = 1)";
        let mut statement = c.prepare(sql).db()?;
        let names = statement.query_map([table], |r| r.get(0)).db()?;
        names.collect::<rusqlite::Result<_>>().db()
    })
    .unwrap()
}

/// A different value of a type that the column accepts.
const DAMAGED: &str = "CASE typeof(COL) WHEN 'integer' THEN COL + 1 WHEN 'real' THEN COL + 0.0625
  WHEN 'text' THEN 'Z' || substr(COL, 2) || CASE WHEN COL GLOB 'Z*' THEN 'Z' ELSE '' END
  WHEN 'blob' THEN CAST(substr(COL, 1, 1) || x'7f' || substr(COL, 3) AS BLOB)
  ELSE CASE (SELECT type FROM pragma_table_info('TAB') WHERE name = 'COL') WHEN 'TEXT' THEN 'new'
    WHEN 'BLOB' THEN x'00' ELSE 1 END END";

/// Changes every column of every table with the triggers disabled: the row must be reported.
#[test]
fn a_change_of_any_column_is_named() {
    let (_folder, db) = graph_with_all_tables();
    let mut changes = 0;
    for table in checksums::TABLES {
        for column in content_columns(&db, table) {
            let damaged = DAMAGED.replace("COL", &column).replace("TAB", table);
            let report = with_change(&db, table, &column, &damaged);
            let named = report
                .violations
                .iter()
                .any(|v| v.check == "checksum" && v.table == table);
            assert!(named, "{table}.{column}: {:?}", report.violations);
            changes += 1;
        }
    }
    assert!(changes > 200, "{changes}");
    assert!(verify(&db).unwrap().ok);
}

/// The report while one value is changed; the value is restored afterwards.
fn with_change(db: &Database, table: &str, column: &str, damaged: &str) -> IntegrityReport {
    let first = format!("rowid = (SELECT min(rowid) FROM {table})");
    let kept: rusqlite::types::Value = db
        .read(|c| {
            let sql = format!("SELECT {column} FROM {table} WHERE {first}");
            c.query_row(&sql, [], |r| r.get(0)).db()
        })
        .unwrap();
    let change = |to: &str, value: Option<&rusqlite::types::Value>| {
        db.maintain(|c| {
            let triggers = rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
            c.set_db_config(triggers, false).db()?;
            c.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
                .db()?;
            let sql = format!("UPDATE {table} SET {column} = {to} WHERE {first}");
            let changed = c.execute(&sql, rusqlite::params_from_iter(value)).db()?;
            assert_eq!(changed, 1);
            c.set_db_config(triggers, true).db()?;
            c.execute_batch("PRAGMA foreign_keys = ON; PRAGMA ignore_check_constraints = OFF")
                .db()
        })
        .unwrap_or_else(|e| panic!("{table}.{column}: {e:?}"));
    };
    change(damaged, None);
    let report = verify(db).unwrap();
    change("?1", Some(&kept));
    report
}

/// All rows of all tables, as text.
fn dump(db: &Database) -> Result<String> {
    db.read(|c| {
        let mut all = String::new();
        for table in checksums::TABLES {
            let mut statement = c
                .prepare(&format!("SELECT * FROM {table} ORDER BY rowid"))
                .db()?;
            let columns = statement.column_count();
            let mut rows = statement.query([]).db()?;
            while let Some(row) = rows.next().db()? {
                for column in 0..columns {
                    all.push_str(&format!("{:?} ", row.get_ref(column).db()?));
                }
                all.push('\n');
            }
        }
        Ok(all)
    })
}

/// Flips random bits of the file: either no stored value has changed, or the file is refused, or a
/// violation is reported.
#[test]
fn no_flipped_bit_changes_the_content_unnoticed() {
    let (folder, db) = graph_with_all_tables();
    let path = db.path().to_owned();
    let whole = dump(&db).unwrap();
    db.maintain(|c| c.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").db())
        .unwrap();
    drop(db);
    let bytes = std::fs::read(&path).unwrap();
    // Most of the file is empty.
    let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
    let (mut changed, mut random) = (0, 7_u64);
    let damaged = folder.path().join("damaged.db");
    for round in 0..300 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let at = used[(random >> 33) as usize % used.len()];
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (random >> 13 & 7);
        for left in ["damaged.db-wal", "damaged.db-shm"] {
            let _ = std::fs::remove_file(folder.path().join(left));
        }
        std::fs::write(&damaged, &bytes).unwrap();
        let Ok(db) = Database::open(&damaged) else {
            continue;
        };
        let Ok(report) = verify(&db) else { continue };
        if report.ok {
            assert_eq!(dump(&db).unwrap(), whole, "round {round}, byte {at}");
        } else {
            changed += 1;
        }
    }
    assert!(changed > 15, "{changed}");
}
