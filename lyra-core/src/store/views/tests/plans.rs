//! SQLite's query plans for the views: a task's view must read only that task's rows.

use regex::Regex;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::fixture::{catalog, empty_graph, graph_of};
use crate::store::views::ViewParams;

/// Tables that grow with the graph.
const LARGE: &str = "edges|claims|fragments|pages|works|work_authors|task_pages|stat_claims|\
    stat_evidence|stat_years|stat_eras|stat_task_pages|stat_references";

/// Views that read views of the schema, whose plans use other names.
const OF_A_REVIEW: [&str; 4] = [
    "v_prisma",
    "v_review_records",
    "v_screening",
    "v_screening_agreement",
];

/// The steps of a statement's plan; no values are bound, because the plan does not depend on them.
fn plan(graph: &Connection, sql: &str) -> Vec<String> {
    let mut statement = graph.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = statement.raw_query();
    let mut steps = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        steps.push(row.get(3).unwrap());
    }
    steps
}

/// The steps of the plan that scan a large table completely.
fn full_scans(graph: &Connection, sql: &str) -> Vec<String> {
    let names = Regex::new(&format!(r"\b(?:{LARGE}) AS (\w+)")).unwrap();
    let aliases: Vec<&str> = names
        .captures_iter(sql)
        .map(|c| c.get(1).unwrap().as_str())
        .collect();
    assert!(
        !aliases.is_empty(),
        "every table has an alias, so that the plan can be read\n{sql}"
    );
    let scans = |step: &str| {
        let what = step.strip_prefix("SCAN ").and_then(|s| s.split(' ').next());
        what.is_some_and(|w| aliases.contains(&w) || LARGE.split('|').any(|t| t == w))
    };
    plan(graph, sql).into_iter().filter(|s| scans(s)).collect()
}

/// A graph of 40 tasks with statistics, which may change the planner's choice.
fn analysed() -> Connection {
    let id = |kind: &str, i: usize| format!("{kind}{i}");
    let rows = |n: usize, f: &dyn Fn(usize) -> Value| (0..n).map(f).collect::<Vec<_>>();
    let evidence = |i: usize| {
        let relation = ["supports", "refutes", "neutral", "origin"][i % 4];
        json!({"id": id("e", i), "source_type": "fragment", "source_id": id("f", i % 397),
            "target_type": "claim", "target_id": id("c", i % 800), "relation": relation})
    };
    let citation = |i: usize| {
        json!({"id": id("k", i), "source_type": "page", "source_id": id("p", i % 100),
            "target_type": "page", "target_id": id("p", i % 97), "relation": "cites"})
    };
    let mut edges = rows(4_000, &evidence);
    edges.extend(rows(500, &citation));
    let graph = graph_of(&json!({
        "tasks": rows(40, &|i| json!({"id": id("t", i), "hypothesis": "h"})),
        "works": rows(80, &|i| json!({"canonical_id": id("w", i), "year": 1990 + i % 36})),
        "pages": rows(100, &|i| json!({"id": id("p", i), "url": id("https://", i),
            "canonical_id": (i < 80).then(|| id("w", i))})),
        "fragments": rows(400, &|i| json!({"id": id("f", i), "page_id": id("p", i % 100),
            "text_content": "x"})),
        "claims": rows(800, &|i| json!({"id": id("c", i), "task_id": id("t", i % 40),
            "claim_text": "x"})),
        "edges": edges,
        "task_pages": rows(400, &|i| json!({"task_id": id("t", i % 40), "page_id": id("p", i / 4),
            "reason": "search"})),
    }));
    graph.execute_batch("ANALYZE").unwrap();
    graph
}

#[test]
fn a_task_is_answered_without_a_full_scan() {
    for graph in [empty_graph(), analysed()] {
        let views = catalog().list().into_iter();
        for view in views.filter(|v| v.is_task_scoped() && !OF_A_REVIEW.contains(&v.name.as_str()))
        {
            for include_rejected in [false, true] {
                let mut params = ViewParams::new(2026).with_task("t1");
                if view.parameters.iter().any(|p| p.name == "include_rejected") {
                    params = params.with("include_rejected", include_rejected);
                }
                let sql = catalog().render(&view.name, &params).unwrap().sql;
                let scans = full_scans(&graph, &sql);
                assert!(
                    scans.is_empty(),
                    "{} {include_rejected}: {scans:?}",
                    view.name
                );
            }
        }
    }
}

#[test]
fn a_stored_view_filtered_by_task_is_answered_without_a_full_scan() {
    for graph in [empty_graph(), analysed()] {
        for (name, sql) in catalog().temp_views(2026) {
            // The window function over decades prevents the filter from being pushed down to the claims.
            let exempt = name == "v_controversy_by_era" || OF_A_REVIEW.contains(&name.as_str());
            if exempt || !catalog().info(&name).unwrap().is_task_scoped() {
                continue;
            }
            let filtered = format!("SELECT * FROM ({sql}) WHERE task_id = 't1'");
            let scans = full_scans(&graph, &filtered);
            assert!(
                scans.is_empty(),
                "{name}: {scans:?} {:?}",
                plan(&graph, &filtered)
            );
        }
    }
}

/// The log of other tasks is not read for one task: `s` and `f` are people's decisions and the providers
/// of a hit; the other scanned tables are intermediate results.
#[test]
fn the_records_of_a_task_are_found_without_those_of_others() {
    for graph in [empty_graph(), analysed()] {
        let steps = plan(&graph, "SELECT * FROM review_records WHERE task_id = 't1'");
        let scans = |alias: &str| {
            let scan = format!("SCAN {alias}");
            steps
                .iter()
                .any(|step| *step == scan || step.starts_with(&format!("{scan} USING")))
        };
        for alias in ["q", "j", "t", "p", "u", "n", "g", "e", "c", "y"] {
            assert!(!scans(alias), "{alias}: {steps:#?}");
        }
    }
}

#[test]
fn full_scans_are_seen() {
    let graph = empty_graph();
    for sql in [
        "SELECT * FROM edges AS e",
        "SELECT * FROM claims AS c JOIN edges AS e ON e.id > c.id",
    ] {
        assert!(!full_scans(&graph, sql).is_empty(), "{sql}");
    }
}

/// Whether a step sorts all rows before it returns the first one.
fn is_sort(step: &str) -> bool {
    // "LAST 2 TERMS": only the rows of each claim are sorted.
    step.contains("TEMP B-TREE FOR ORDER BY") && !step.contains("LAST")
}

/// The evidence of all tasks is also read from an index in the order of the view.
#[test]
fn the_first_evidence_of_the_whole_graph_is_answered_without_sorting() {
    for graph in [empty_graph(), analysed()] {
        for (name, sql) in catalog().temp_views(2026) {
            if name == "v_evidence_chain" {
                let first = format!("SELECT * FROM ({sql}) LIMIT 10");
                let steps = plan(&graph, &first);
                assert!(!steps.iter().any(|step| is_sort(step)), "{steps:?}");
                let scan = "SCAN s USING COVERING INDEX stat_evidence_by_confidence";
                assert!(steps.iter().any(|step| step == scan), "{steps:?}");
            }
        }
    }
}

/// A task's rows are read from an index in the order of the view, so the first fifty rows cost only
/// fifty.
#[test]
fn a_task_is_answered_without_sorting() {
    for graph in [empty_graph(), analysed()] {
        let mut stored = catalog().temp_views(2026);
        stored.retain(|(name, _)| catalog().info(name).unwrap().is_task_scoped());
        for (name, sql) in stored {
            let params = ViewParams::new(2026).with_task("t1");
            let of_task = catalog().render(&name, &params).unwrap().sql;
            // With a LIMIT, SQLite chooses a plan without sorting.
            let filtered = format!("SELECT * FROM ({sql}) WHERE task_id = 't1' LIMIT 51");
            let of_task = format!("SELECT * FROM ({of_task}) LIMIT 51");
            // A window over the decades of a task, which are few rows, and values that depend on the
            // whole task.
            let exempt = [
                "v_controversy_by_era",
                "v_judge_agreement",
                "v_open_judgements",
            ]
            .contains(&name.as_str())
                || OF_A_REVIEW.contains(&name.as_str());
            for sql in [of_task, filtered] {
                let steps = plan(&graph, &sql);
                // The half that applies to a year other than the current one may sort.
                let steps = match name.as_str() {
                    "v_emerging_consensus" => first_half(steps),
                    _ => steps,
                };
                let sorts: Vec<_> = steps.iter().filter(|s| is_sort(s)).collect();
                // The passages on both sides of one claim.
                let allowed = if name == "v_contradictions" { 2 } else { 0 };
                assert!(
                    exempt || sorts.len() <= allowed,
                    "{name}: {steps:#?}\n{sql}"
                );
            }
        }
    }
}

/// Citations are also returned one by one if an index has their order.
#[test]
fn citations_are_listed_without_sorting_them_all() {
    let graph = empty_graph();
    for name in ["v_citation_flow", "v_citation_chains"] {
        let sql = catalog().render(name, &ViewParams::new(2026)).unwrap().sql;
        let steps = plan(&graph, &sql);
        assert!(!steps.iter().any(|s| is_sort(s)), "{name}: {steps:#?}");
    }
}

/// The steps of the first half of a UNION ALL that is merged in order.
fn first_half(steps: Vec<String>) -> Vec<String> {
    let halves = steps
        .iter()
        .filter(|s| *s == "LEFT" || *s == "RIGHT")
        .count();
    assert_eq!(halves, 2, "merged, not sorted: {steps:#?}");
    steps.into_iter().take_while(|s| s != "RIGHT").collect()
}

/// In views that count by claim, rows are grouped in the order of an index and not sorted.
#[test]
fn claims_are_not_sorted_to_be_grouped() {
    let graph = empty_graph();
    for params in [ViewParams::new(2026), ViewParams::new(2026).with_task("t1")] {
        let sql = catalog()
            .render("v_emerging_consensus", &params)
            .unwrap()
            .sql;
        let steps = plan(&graph, &sql);
        assert!(
            !steps.iter().any(|s| s.contains("TEMP B-TREE FOR GROUP BY")),
            "{steps:?}"
        );
    }
}

/// Each view fits into the SQL guard's limits for one statement.
#[test]
fn views_fit_the_guard() {
    let graph = empty_graph();
    for (name, sql) in catalog().temp_views(2026) {
        let mut statement = graph.prepare(&format!("EXPLAIN {sql}")).unwrap();
        let steps = statement.query_map([], |_| Ok(())).unwrap().count();
        assert!(steps < 3_000, "{name}: {steps} steps of byte code");
        assert!(sql.len() < 8_192, "{name}: {} bytes", sql.len());
    }
}

/// A value is data, whatever it contains.
#[test]
fn a_hostile_value_is_only_a_value() {
    let tables: Value =
        serde_json::from_str(include_str!("../../../../../tests/data/views/graph.json")).unwrap();
    let graph = graph_of(&tables);
    let hostile = [
        "x' OR 1=1 --",
        "'; DROP TABLE claims; --",
        "{{ 7 * 7 }}",
        "{% raw %}",
        ":task_id",
        "t1\0",
        "",
    ];
    for view in catalog().list().into_iter().filter(|v| v.is_task_scoped()) {
        for value in hostile {
            let params = ViewParams::new(2026).with_task(value);
            let rendered = catalog().render(&view.name, &params).unwrap();
            assert_eq!(rendered.bindings["task_id"], json!(value));
            assert!(value.is_empty() || value == ":task_id" || !rendered.sql.contains(value));
            let rows = super::fixture::ask(&graph, &rendered.sql, &rendered.bindings).1;
            assert!(rows.is_empty(), "{} {value:?}: {rows:?}", view.name);
        }
    }
    let claims: i64 = graph
        .query_row("SELECT count(*) FROM claims", [], |r| r.get(0))
        .unwrap();
    assert_eq!(claims, 5);
}
