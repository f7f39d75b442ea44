//! Tests with a large corpus of hostile and honest statements, if it is available. They were written for
//! another schema, so names are adapted; the attacks themselves are unchanged.

use super::tests::{Must, attack, hostile};
use super::{QueryGuard, SqlOptions, SqlRequest, fixture};
use serde_json::Value;
use std::time::Duration;

/// Names of the other schema and their replacements here, for hostile statements.
const HOSTILE_NAMES: [(&str, &str); 4] = [
    ("FROM jobs", "FROM claims_fts_idx"),
    ("input_json", "term"),
    ("session_data", "block"),
    ("intervention_queue", "claims_fts_data"),
];

/// The same, with a table that is public except for one column.
const PRIVATE_COLUMN: [(&str, &str); 1] = [("intervention_queue", "auth_queue")];

/// The same for honest statements.
const HONEST_NAMES: [(&str, &str); 12] = [
    ("is_relevant", "position > 0"),
    ("language = 'ja'", "query_type = 'search'"),
    (
        "domains d ON d.domain",
        "domain_rules d ON d.domain_pattern",
    ),
    ("d.domain_category", "d.rule"),
    ("parent_query_id", "cause_id"),
    ("timeline_json", "granularity"),
    ("q.engines_used", "json_array('a', 'b')"),
    ("verification_notes", "cause_id"),
    ("v_outdated_evidence", "v_emerging_consensus"),
    ("v_source_authority", "v_source_impact"),
    ("v_citation_flow", "v_source_impact"),
    ("v_orphan_sources", "v_source_impact"),
];

fn corpus(name: &str) -> Option<Vec<Value>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/sql-corpus/");
    let Ok(text) = std::fs::read_to_string(format!("{folder}{name}")) else {
        eprintln!("skipped: {folder}{name} is not there");
        return None;
    };
    Some(
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

fn adapt(sql: &str, names: &[(&str, &str)]) -> String {
    names.iter().fold(sql.to_owned(), |sql, (theirs, ours)| {
        replace_any_case(&sql, theirs, ours)
    })
}

fn replace_any_case(sql: &str, from: &str, to: &str) -> String {
    let lower = sql.to_ascii_lowercase();
    let mut adapted = String::new();
    let mut position = 0;
    for (index, _) in lower.match_indices(&from.to_ascii_lowercase()) {
        adapted.push_str(&sql[position..index]);
        adapted.push_str(to);
        position = index + from.len();
    }
    adapted.push_str(&sql[position..]);
    adapted
}

/// Runs one variant of all hostile statements; returns the failures and the longest time.
fn run_hostile(
    guard: &QueryGuard,
    cases: &[Value],
    names: &[(&str, &str)],
    bounded: bool,
) -> (usize, Vec<String>, Duration) {
    let mut failures = Vec::new();
    let mut worst = Duration::ZERO;
    let mut count = 0;
    for case in cases {
        let original = case["sql"].as_str().unwrap();
        let sql = adapt(original, names);
        if bounded && sql == original {
            continue;
        }
        count += 1;
        let must = if bounded {
            Must::Bounded
        } else {
            Must::parse(case["must"].as_str().unwrap())
        };
        let (wrong, took) = attack(guard, &sql, must);
        worst = worst.max(took);
        if took > Duration::from_millis(330) {
            eprintln!("  {} took {took:?}", case["id"]);
        }
        if let Some(wrong) = wrong {
            let sql: String = sql.chars().take(150).collect();
            failures.push(format!("{} {must:?} {sql}\n    {wrong}", case["id"]));
        }
    }
    (count, failures, worst)
}

#[test]
fn hostile_statements_of_the_corpus_are_stopped() {
    let Some(cases) = corpus("attacks.jsonl") else {
        return;
    };
    let guard = fixture::guard();
    let mut all = Vec::new();
    for (names, bounded) in [(&HOSTILE_NAMES[..], false), (&PRIVATE_COLUMN[..], true)] {
        let (count, failures, worst) = run_hostile(&guard, &cases, names, bounded);
        eprintln!(
            "{} of {count} stopped, worst {worst:?}",
            count - failures.len()
        );
        all.extend(failures);
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
    assert!(guard.query(&hostile("SELECT 1")).is_ok());
}

/// Prints how long after its deadline of 100 ms each expensive statement of the corpus was answered.
#[test]
#[ignore = "a measurement: cargo test --release -p lyra-core --lib how_late -- --ignored --nocapture"]
fn how_late_bombs_are_stopped() {
    let Some(cases) = corpus("attacks.jsonl") else {
        return;
    };
    let guard = fixture::guard();
    let timeout = Duration::from_millis(100);
    let mut late = Vec::new();
    for case in (0..5).flat_map(|_| &cases) {
        let mut request = hostile(&adapt(case["sql"].as_str().unwrap(), &HOSTILE_NAMES));
        request.options.timeout_ms = 100;
        let start = std::time::Instant::now();
        let outcome = guard.query(&request);
        let took = start.elapsed();
        let in_time = |error: &crate::Error| error.kind() == crate::ErrorKind::QueryInterrupted;
        if took >= timeout && outcome.as_ref().is_err_and(in_time) {
            late.push((took - timeout, case["id"].as_str().unwrap()));
        }
    }
    late.sort_unstable();
    assert!(!late.is_empty());
    let at = |share: f64| late[((late.len() - 1) as f64 * share) as usize].0;
    eprintln!(
        "{} answers after the deadline: p50 {:?}, p99 {:?}, max {:?}",
        late.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    // The guard abandons a worker 15 ms after the deadline.
    let left_behind = late
        .iter()
        .filter(|(late, _)| *late >= Duration::from_millis(15));
    eprintln!("workers left behind: {:?}", left_behind.collect::<Vec<_>>());
}

#[test]
fn honest_statements_of_the_corpus_are_answered() {
    let Some(cases) = corpus("benign.jsonl") else {
        return;
    };
    let guard = fixture::guard();
    let mut failures = Vec::new();
    for case in &cases {
        let sql = adapt(case["sql"].as_str().unwrap(), &HONEST_NAMES);
        let options = SqlOptions {
            limit: 200,
            timeout_ms: 2_000,
            max_vm_steps: 50_000_000,
            ..SqlOptions::default()
        };
        if let Err(error) = guard.query(&SqlRequest {
            sql: sql.clone(),
            options,
            ..Default::default()
        }) {
            let sql: String = sql.chars().take(150).collect();
            failures.push(format!("{} {sql}\n    {error:?}", case["id"]));
        }
    }
    eprintln!(
        "{} of {} answered",
        cases.len() - failures.len(),
        cases.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
