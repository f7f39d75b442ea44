//! Large imports, which use a different method, compared with small ones.

use super::super::import::{MANY_ROWS, import_row_by_row};
use super::round_trip::large_graph;
use super::*;
use crate::store::database::Database;

/// Every row of every table, as text, without fields that distinguish one import from two.
fn everything(db: &Database) -> Vec<String> {
    db.read(|c| {
        let mut statement = c
            .prepare(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%_fts%'
               AND name NOT IN ('event_log', 'sqlite_sequence') ORDER BY name",
            )
            .db()?;
        let names = statement.query_map([], |r| r.get(0)).db()?;
        let names: Vec<String> = names.collect::<rusqlite::Result<_>>().db()?;
        let mut lines = Vec::new();
        for name in names {
            let mut statement = c.prepare(&format!("SELECT * FROM {name}")).db()?;
            let width = statement.column_count();
            let mut rows = statement.query([]).db()?;
            let mut of_table = Vec::new();
            while let Some(row) = rows.next().db()? {
                let cells: Vec<rusqlite::types::Value> =
                    (0..width).map(|i| row.get_unwrap(i)).collect();
                of_table.push(format!("{name} {cells:?}"));
            }
            of_table.sort();
            lines.extend(of_table);
        }
        Ok(lines)
    })
    .unwrap()
}

/// The rows that a full-text query finds, after SQLite's integrity check of both indexes.
fn full_text(db: &Database, query: &str) -> Vec<i64> {
    db.write(|t| {
        for index in ["fragments_fts", "claims_fts"] {
            let check =
                format!("INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)");
            t.execute(&check, []).db()?;
        }
        let mut statement = t
            .prepare("SELECT rowid FROM fragments_fts WHERE fragments_fts MATCH ?1 ORDER BY rowid")
            .db()?;
        let rows = statement.query_map([query], |r| r.get(0)).db()?;
        rows.collect::<rusqlite::Result<_>>().db()
    })
    .unwrap()
}

/// A graph with more claims, verdicts and citations than a batch of lines and than [`MANY_ROWS`], with
/// equivalent edges and duplicate lines.
fn graph_with_twins() -> Vec<String> {
    let mut lines = large_graph(450);
    for n in 0..200 {
        let (from, to) = (n % 220, (n * 7 + 1) % 220);
        lines.push(format!(r#"{{"type":"edge","id":"k{n}","source_type":"page","source_id":"p{from}","target_type":"page","target_id":"p{to}","relation":"cites","created_at":"2026-01-0{}T00:00:00Z"}}"#, n % 9 + 1));
        lines.push(format!(
            r#"{{"type":"task_page","task_id":"t","page_id":"p{n}","reason":"search"}}"#
        ));
    }
    // Edges for pairs that already have one, under another id.
    for (id, from, to, relation) in [
        ("a_twin", "f13", "c0", "supports"),
        ("z_twin", "f20", "c1", "refutes"),
        ("b_twin", "f0", "c0", "origin"),
    ] {
        lines.push(format!(r#"{{"type":"edge","id":"{id}","source_type":"fragment","source_id":"{from}","target_type":"claim","target_id":"{to}","relation":"{relation}","nli_edge_confidence":0.25}}"#));
    }
    lines.push(r#"{"type":"edge","id":"a_cite","source_type":"page","source_id":"p3","target_type":"page","target_id":"p22","relation":"cites"}"#.to_owned());
    lines.push(lines[7].clone());
    lines
}

/// The small graph, with ids that do not occur in the large one.
fn small_graph_apart() -> Vec<String> {
    let mut lines = small_graph();
    for line in &mut lines {
        for id in "t1 t2 p1 p2 f1 f2 f3 f4 c1 c2 e1 e2 e3 e4 m1 m2".split(' ') {
            *line = line.replace(&format!("\"{id}\""), &format!("\"small_{id}\""));
        }
    }
    lines
}

#[test]
fn a_large_import_leaves_what_small_ones_leave() {
    let lines = graph_with_twins();
    let (_folder, at_once) = empty();
    let rows_before = everything(&at_once).len();
    let report = import(&at_once, &lines).unwrap();
    assert!(report.total_inserted > MANY_ROWS, "{report:?}");
    assert_eq!(report.skipped["edge"], 4, "{report:?}");
    assert!(everything(&at_once).len() > rows_before);

    // In one transaction, so that equivalent rows meet as in one file, but row by row.
    let (_folder2, row_by_row) = empty();
    import_row_by_row(&row_by_row, NOW, lines.join("\n").as_bytes()).unwrap();
    assert_eq!(everything(&at_once), everything(&row_by_row));
    assert_eq!(
        full_text(&at_once, "glucose"),
        full_text(&row_by_row, "glucose")
    );
    assert!(verify(&at_once).unwrap().ok);

    // Into a non-empty graph, once with more new rows than old ones and once with fewer.
    let (_folder3, in_parts) = empty();
    let (_folder4, parts_row_by_row) = empty();
    let others = small_graph_apart();
    for part in [&others[..], &lines, &others[..1]] {
        import(&in_parts, part).unwrap();
        let bytes = part.join("\n");
        import_row_by_row(&parts_row_by_row, NOW, bytes.as_bytes()).unwrap();
    }
    assert_eq!(everything(&in_parts), everything(&parts_row_by_row));
    assert_eq!(
        full_text(&in_parts, "血糖"),
        full_text(&parts_row_by_row, "血糖")
    );
}

#[test]
fn a_large_import_that_fails_leaves_a_graph_that_counts() {
    let mut lines = graph_with_twins();
    lines.push(r#"{"type":"claim","id":"late","task_id":"nobody","claim_text":"x"}"#.to_owned());
    let (_folder, db) = with(&small_graph_apart());
    let before = everything(&db);
    let error = import(&db, &lines).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("line {}: ", lines.len())),
        "{error}"
    );
    assert_eq!(everything(&db), before);
    let (_folder2, other) = with(&small_graph_apart());
    let verdict = r#"{"type":"edge","id":"n","source_type":"fragment","source_id":"small_f2","target_type":"claim","target_id":"small_c1","relation":"refutes"}"#;
    for db in [&db, &other] {
        import(db, &[verdict]).unwrap();
    }
    assert_eq!(everything(&db), everything(&other), "triggers fire again");
}
