//! The answers of the Python original on its own fixture. Intended differences are listed in
//! `reference_differences.json`, row by row, with the reason.

use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};

use super::fixture::{Row, assert_same_rows, cells, graph_of, unmatched, view};
use crate::store::views::ViewParams;

fn reference(file: &str) -> Option<String> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/data/reference-cases"
    );
    let path = PathBuf::from(folder).join(file);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        eprintln!("skipped: no {}", path.display());
    }
    text
}

/// The original's rows in our schema: no HTML paths, no ids where our schema has none, and `serp` is
/// called `search`.
fn adapted(mut tables: Value) -> Value {
    let unknown = [
        ("pages", "html_path"),
        ("work_authors", "id"),
        ("task_pages", "id"),
    ];
    for (table, column) in unknown {
        for row in tables[table].as_array_mut().unwrap() {
            row.as_object_mut().unwrap().remove(column);
        }
    }
    for row in tables["task_pages"].as_array_mut().unwrap() {
        if row["reason"] == "serp" {
            row["reason"] = json!("search");
        }
    }
    tables
}

#[derive(serde::Deserialize)]
struct Difference {
    view: String,
    /// Whether the whole view answers a different question.
    #[serde(default)]
    whole: bool,
    /// Rows (with the given columns) that only the original has.
    #[serde(default)]
    theirs: Vec<Row>,
    /// Rows (with the given columns) that only ours has.
    #[serde(default)]
    ours: Vec<Row>,
    reason: String,
}

fn differences() -> Vec<Difference> {
    let text = include_str!("../../../../../tests/data/views/reference_differences.json");
    serde_json::from_str(text).unwrap()
}

/// Removes from `rows` one row for each of `listed`; returns the listed rows that were not found.
fn strike(rows: &mut Vec<Row>, listed: &[Row]) -> Vec<Row> {
    let mut absent = Vec::new();
    for wanted in listed {
        let columns: Vec<&str> = wanted.keys().map(String::as_str).collect();
        let matches = |row: &Row| {
            unmatched(&[cells(row, &columns)], std::slice::from_ref(wanted))
                .0
                .is_empty()
        };
        match rows.iter().position(matches) {
            Some(at) => drop(rows.swap_remove(at)),
            None => absent.push(wanted.clone()),
        }
    }
    absent
}

/// Compares one answer of the original with ours; returns whether there was anything to compare.
fn check(graph: &Connection, year: i32, case: &Value, differences: &[Difference]) -> bool {
    let name = case["view"].as_str().unwrap();
    let task = case["task_id"].as_str();
    let listed: Vec<&Difference> = differences.iter().filter(|d| d.view == name).collect();
    assert!(listed.iter().all(|d| !d.reason.is_empty()));
    if listed.iter().any(|d| d.whole) {
        return false;
    }
    let mut params = ViewParams::new(year);
    if let Some(task) = task {
        params = params.with_task(task);
    }
    if name == "v_reference_candidates" {
        params = params.with("every_citation", true);
    }
    let columns = case["columns"].as_array().unwrap();
    let columns: Vec<&str> = columns.iter().filter_map(Value::as_str).collect();
    let ours: Vec<Row> = (view(graph, name, &params).iter())
        .map(|r| cells(r, &columns))
        .collect();
    let theirs: Vec<Row> = (case["rows"].as_array().unwrap().iter())
        .map(|r| {
            let mut row = cells(r.as_object().unwrap(), &columns);
            if row.get("citing_reason") == Some(&json!("serp")) {
                row.insert("citing_reason".into(), json!("search"));
            }
            row
        })
        .collect();
    let (mut only_ours, mut only_theirs) = unmatched(&ours, &theirs);
    // A task without data has none of the differing rows.
    if !(only_ours.is_empty() && only_theirs.is_empty()) {
        for difference in &listed {
            for (rows, listed) in [
                (&mut only_ours, &difference.ours),
                (&mut only_theirs, &difference.theirs),
            ] {
                let absent = strike(rows, listed);
                assert!(
                    absent.is_empty(),
                    "{name} {task:?}: listed, but not so: {absent:?}"
                );
            }
        }
    }
    assert_same_rows(&format!("{name} for {task:?}"), &only_ours, &only_theirs);
    true
}

#[test]
fn views_answer_as_the_original_did() {
    let (Some(fixture), Some(expected)) = (
        reference("views_fixture.json"),
        reference("views_expected.jsonl"),
    ) else {
        return;
    };
    let fixture: Value = serde_json::from_str(&fixture).unwrap();
    let year = i32::try_from(fixture["current_year"].as_i64().unwrap()).unwrap();
    let graph = graph_of(&adapted(fixture["tables"].clone()));
    let differences = differences();
    let cases = expected
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap());
    let compared = cases
        .filter(|case| check(&graph, year, case, &differences))
        .count();
    assert!(
        compared >= 30,
        "only {compared} answers of the original were compared"
    );
}
