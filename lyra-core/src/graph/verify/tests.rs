//! Tests of [`super`].

use super::*;
use crate::graph::interchange::testing;

fn failing(report: &VerifyReport) -> Vec<(&str, &str, &str)> {
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
        // A search leaves the layout of the index with the connection that ran it.
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

/// The check, the table and the id that a violation names.
type Named = (&'static str, &'static str, &'static str);

/// Each damage, and what must name it.
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
