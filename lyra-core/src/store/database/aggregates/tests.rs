//! After any mix of writes, the counts must equal those of a complete recount.

use super::{count, is_stale, refresh, set_reference_year};
use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value;

const TABLES: [&str; 11] = [
    "stat_claims",
    "stat_counted",
    "stat_missing",
    "stat_evidence",
    "stat_task_fragments",
    "stat_years",
    "stat_eras",
    "stat_pages",
    "stat_task_pages",
    "stat_references",
    "stat_state",
];

fn empty() -> Connection {
    let db = super::super::in_memory();
    db.execute_batch("PRAGMA foreign_keys = ON").unwrap();
    db.execute_batch(
        "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t0', 'h', ''), ('t1', 'h', '')",
    )
    .unwrap();
    set_reference_year(&db, 2021).unwrap();
    db
}

/// Every row of the derived tables, as text.
fn dump(db: &Connection) -> Vec<String> {
    let mut lines = Vec::new();
    for table in TABLES {
        let mut statement = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let width = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        let mut of_table = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            let cells: Vec<Value> = (0..width).map(|i| row.get_unwrap(i)).collect();
            of_table.push(format!("{table} {cells:?}"));
        }
        of_table.sort();
        lines.extend(of_table);
    }
    lines
}

/// Empties the derived tables and counts everything, as after a large import.
fn count_from_nothing(db: &Connection) {
    for table in TABLES.iter().filter(|t| **t != "stat_state") {
        db.execute(&format!("DELETE FROM {table}"), []).unwrap();
    }
    db.execute_batch(
        "INSERT OR IGNORE INTO stale_claims SELECT seq FROM claims;
         INSERT OR IGNORE INTO stale_pages SELECT id FROM pages;
         INSERT OR IGNORE INTO stale_pages SELECT source_id FROM edges WHERE relation = 'cites';
         INSERT OR IGNORE INTO stale_pages SELECT target_id FROM edges WHERE relation = 'cites';
         INSERT OR IGNORE INTO stale_task_pages SELECT task_id, page_id FROM task_pages",
    )
    .unwrap();
    count(db, true).unwrap();
}

/// A write: its kind, and numbers that select its rows and values.
type Step = (u8, [u8; 4]);

/// The statement of a step. Some are refused by a foreign key or a unique index, which is intended. Ids
/// are shared between kinds, so that a trigger that ignores kinds gives wrong counts.
fn statement((what, [a, b, c, d]): Step) -> String {
    let id = |n: u8| n % 5;
    let year = ["NULL", "1995", "2004", "2019", "2020", "2021"][usize::from(c % 6)];
    let relation = ["supports", "refutes", "neutral"][usize::from(c % 3)];
    let confidence = ["NULL", "0.9", "0.35", "1", "0.123456789", "0"][usize::from(d % 6)];
    let status = ["adopted", "adopted", "not_adopted"][usize::from(d % 3)];
    let url = ["https://", "http://", "file:///", "urn:"][usize::from(c % 4)];
    let (a5, b5, task) = (id(a), id(b), a % 2);
    match what % 24 {
        0 | 1 => format!("INSERT OR IGNORE INTO works (canonical_id, year) VALUES ('{a5}', {year})"),
        2 => format!("UPDATE works SET year = {year}, is_retracted = {b} % 3 = 0 WHERE canonical_id = '{a5}'"),
        3 | 4 => format!(
            "INSERT OR IGNORE INTO pages (id, url, domain, canonical_id)
             VALUES ('{a5}', '{url}{a5}', 'd{b5}', (SELECT canonical_id FROM works WHERE canonical_id = '{b5}'))"
        ),
        5 => format!(
            "UPDATE pages SET canonical_id = (SELECT canonical_id FROM works WHERE canonical_id = '{b5}'),
               domain = 'd{c}', url = '{url}{a5}',
               near_duplicate_of = (SELECT id FROM pages WHERE id = '{near}' AND id <> '{a5}')
             WHERE id = '{a5}'",
            near = id(d)
        ),
        6 | 7 => format!(
            "INSERT OR IGNORE INTO fragments (id, page_id, text_content, text_hash, created_at)
             VALUES ('{a5}', '{b5}', 'x', '', '')"
        ),
        8 | 9 => format!(
            "INSERT OR IGNORE INTO claims (id, task_id, claim_text, llm_claim_confidence, claim_adoption_status, created_at)
             VALUES ('{b5}', 't{task}', 'c', {confidence}, '{status}', '')"
        ),
        10 => format!("UPDATE claims SET claim_adoption_status = '{status}' WHERE id = '{a5}'"),
        11..=14 => format!(
            "INSERT OR IGNORE INTO edges (id, source_type, source_id, target_type, target_id, relation, nli_edge_confidence, created_at)
             VALUES ('v{a5}{b5}', 'fragment', '{a5}', 'claim', '{b5}', '{relation}', {confidence}, '{c}')"
        ),
        15 => format!(
            "INSERT OR IGNORE INTO edges (id, source_type, source_id, target_type, target_id, relation, created_at)
             VALUES ('o{a5}{b5}', 'fragment', '{a5}', 'claim', '{b5}', 'origin', '{c}')"
        ),
        16 | 17 => format!(
            "INSERT OR IGNORE INTO edges (id, source_type, source_id, target_type, target_id, relation, created_at)
             VALUES ('c{a5}{b5}', 'page', '{a5}', 'page', '{b5}', 'cites', '{c}')"
        ),
        18 => format!(
            "UPDATE OR IGNORE edges SET relation = '{relation}', nli_edge_confidence = {confidence}
             WHERE id = 'v{a5}{b5}'"
        ),
        19 => format!("UPDATE OR IGNORE edges SET target_id = '{c}' WHERE id LIKE '_{a5}{b5}'", c = id(c)),
        20 => format!("DELETE FROM edges WHERE id LIKE '_{a5}{b5}'"),
        21 => format!(
            "INSERT INTO task_pages (task_id, page_id, reason, depth) VALUES ('t{task}', '{b5}', 'search', {d})
             ON CONFLICT DO UPDATE SET depth = excluded.depth",
            d = d % 3
        ),
        22 => match a % 6 {
            0 => format!("DELETE FROM claims WHERE id = '{b5}'"),
            1 => format!("DELETE FROM fragments WHERE id = '{b5}'"),
            2 => format!("DELETE FROM pages WHERE id = '{b5}'"),
            3 => format!("DELETE FROM task_pages WHERE page_id = '{b5}'"),
            4 => format!("DELETE FROM works WHERE canonical_id = '{b5}'"),
            _ => format!("DELETE FROM tasks WHERE id = 't{}'", b % 2),
        },
        _ => format!("INSERT OR IGNORE INTO tasks (id, hypothesis, created_at) VALUES ('t{task}', 'h', '')"),
    }
}

fn check(steps: &[Step]) {
    let db = empty();
    for (i, step) in steps.iter().enumerate() {
        // A refused statement writes nothing, triggers included.
        let _ = db.execute(&statement(*step), []);
        if step.1[3] % 3 == 0 {
            refresh(&db).unwrap();
        }
        if i == steps.len() / 2 {
            refresh(&db).unwrap();
            set_reference_year(&db, 2006).unwrap();
        }
    }
    refresh(&db).unwrap();
    let maintained = dump(&db);
    count_from_nothing(&db);
    assert!(!is_stale(&db).unwrap());
    assert_eq!(
        maintained,
        dump(&db),
        "{:#?}",
        steps.iter().map(|s| statement(*s)).collect::<Vec<_>>()
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_mix_of_writes_lets_the_counts_drift(
        steps in prop::collection::vec((any::<u8>(), any::<[u8; 4]>()), 1..120),
    ) {
        check(&steps);
    }
}

/// SQLite reuses a number when the claims that had it and all later ones are deleted.
#[test]
fn a_claim_with_the_number_of_one_that_is_gone_is_counted() {
    for goes in [
        "DELETE FROM claims WHERE id = 'b'; DELETE FROM claims WHERE id = 'a'",
        "DELETE FROM claims WHERE id = 'a'; DELETE FROM tasks WHERE id = 't1'",
        "UPDATE claims SET seq = 9 - seq; UPDATE claims SET seq = seq - 6",
    ] {
        let db = empty();
        let claim = |id: &str, task: &str| {
            format!(
                "INSERT INTO claims (id, task_id, claim_text, created_at)
                 VALUES ('{id}', '{task}', 'x', '');"
            )
        };
        db.execute_batch(&(claim("a", "t0") + &claim("b", "t1")))
            .unwrap();
        refresh(&db).unwrap();
        db.execute_batch(goes).unwrap();
        db.execute_batch(&claim("c", "t0")).unwrap();
        refresh(&db).unwrap();
        let maintained = dump(&db);
        count_from_nothing(&db);
        assert_eq!(maintained, dump(&db), "{goes}");
    }
}

#[test]
fn the_steps_reach_every_derived_table() {
    let db = empty();
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    let mut refused = 0;
    for _ in 0..400 {
        let step = (next(), [next(), next(), next(), next()]);
        refused += usize::from(step.0 % 24 != 22 && db.execute(&statement(step), []).is_err());
    }
    db.execute_batch(
        "INSERT INTO edges (id, source_type, source_id, target_type, target_id, relation, created_at)
         SELECT 'early', 'fragment', 'not yet', 'claim', id, 'supports', '' FROM claims LIMIT 1",
    )
    .unwrap();
    refresh(&db).unwrap();
    assert!(refused < 200, "most statements are written well: {refused}");
    let lines = dump(&db);
    for table in TABLES {
        assert!(
            lines.iter().any(|l| l.starts_with(table)),
            "{table} stays empty"
        );
    }
}
