//! Random graphs: every view that can be recomputed naively must give the same rows, in its order.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::fixture::{Row, ask, assert_same_rows, catalog, graph_of, same, view};
use super::naive::Naive;
use crate::store::views::{ViewCatalog, ViewInfo, ViewParams};

/// A fragment→claim edge: fragment, claim, relation, confidence in eighths (8 and more: none).
type Link = (usize, usize, usize, u8);

#[derive(Debug, Clone)]
struct Shape {
    /// Year of each page's publication: none without a publication, 0 for an undated one.
    years: Vec<Option<u16>>,
    /// Page of each fragment.
    fragments: Vec<usize>,
    /// Task, whether adopted, and confidence in halves (3: none) of each claim.
    claims: Vec<(usize, bool, u8)>,
    origins: Vec<(usize, usize)>,
    links: Vec<Link>,
    citations: Vec<(usize, usize)>,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let year = prop_oneof![
        1 => Just(None),
        1 => Just(Some(0)),
        4 => (1995_u16..=2026).prop_map(Some),
        3 => (2021_u16..=2026).prop_map(Some),
    ];
    (
        prop::collection::vec(year, 1..9),
        prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        prop::collection::vec((0..2_usize, prop::bool::weighted(0.85), 0..4_u8), 0..9),
        prop::collection::vec((0..12_usize, 0..9_usize), 0..10),
        prop::collection::vec((0..12_usize, 0..9_usize, 0..3_usize, 0..11_u8), 0..40),
        prop::collection::vec((0..9_usize, 0..9_usize), 0..16),
    )
        .prop_map(
            |(years, fragments, claims, origins, links, citations)| Shape {
                fragments: fragments.iter().map(|i| i.index(years.len())).collect(),
                years,
                claims,
                origins,
                links,
                citations,
            },
        )
}

/// The graph of a shape. Ids are numbers that pages, fragments and claims share, so that a view that
/// ignores the type of an edge's end gives wrong results.
fn tables(shape: &Shape) -> Value {
    let mut works = Vec::new();
    let mut pages = Vec::new();
    for (i, year) in shape.years.iter().enumerate() {
        if let Some(year) = year {
            let year = Some(*year).filter(|y| *y > 0);
            works.push(json!({"canonical_id": format!("w{i}"), "year": year,
                "is_retracted": u8::from(i % 3 == 0)}));
        }
        let work = year.map(|_| format!("w{i}"));
        pages.push(
            json!({"id": i.to_string(), "url": format!("https://{i}.example/"),
            "title": format!("Title {}", i % 3), "domain": format!("{}.example", i % 2),
            "canonical_id": work}),
        );
    }
    let fragments: Vec<Value> = (shape.fragments.iter().enumerate())
        .map(|(i, page)| json!({"id": i.to_string(), "page_id": page.to_string(), "text_content": "x"}))
        .collect();
    let claims: Vec<Value> = (shape.claims.iter().enumerate())
        .map(|(i, (task, adopted, halves))| {
            let confidence = Some(f64::from(*halves) / 2.0).filter(|c| *c <= 1.0);
            let status = if *adopted { "adopted" } else { "not_adopted" };
            json!({"id": i.to_string(), "task_id": format!("t{task}"), "claim_text": format!("Claim {i}"),
                "llm_claim_confidence": confidence, "claim_adoption_status": status})
        })
        .collect();
    json!({
        "tasks": [{"id": "t0", "hypothesis": "h"}, {"id": "t1", "hypothesis": "h"}],
        "works": works, "pages": pages, "fragments": fragments, "claims": claims,
        "edges": edges(shape),
    })
}

/// Unique edges between existing nodes; the database would refuse any others.
fn edges(shape: &Shape) -> Vec<Value> {
    let mut edges: Vec<Value> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    let (f, c, p) = (shape.fragments.len(), shape.claims.len(), shape.years.len());
    let mut add =
        |kind: (&str, &str), ends: (usize, usize), relation: &str, confidence: Option<f64>| {
            let group = if ["origin", "cites"].contains(&relation) {
                relation
            } else {
                "verdict"
            };
            if seen.insert((group.to_owned(), ends)) {
                edges.push(json!({
                    "id": format!("e{}", edges.len()), "source_type": kind.0, "target_type": kind.1,
                    "source_id": ends.0.to_string(), "target_id": ends.1.to_string(),
                    "relation": relation, "nli_edge_confidence": confidence,
                }));
            }
        };
    for (fragment, claim) in shape.origins.iter().filter(|(a, b)| *a < f && *b < c) {
        add(("fragment", "claim"), (*fragment, *claim), "origin", None);
    }
    for (fragment, claim, relation, eighths) in &shape.links {
        if *fragment < f && *claim < c {
            let confidence = Some(f64::from(*eighths) / 8.0).filter(|x| *x <= 1.0);
            let relation = ["supports", "refutes", "neutral"][*relation];
            add(
                ("fragment", "claim"),
                (*fragment, *claim),
                relation,
                confidence,
            );
        }
    }
    // An edge between claims looks like evidence but is not.
    for (from, to) in shape.origins.iter().filter(|(a, b)| *a < c && *b < c) {
        add(("claim", "claim"), (*from, *to), "supports", Some(0.5));
    }
    for (citing, cited) in shape.citations.iter().filter(|(a, b)| *a < p && *b < p) {
        add(("page", "page"), (*citing, *cited), "cites", None);
    }
    edges
}

/// SQLite's order of two cells: null, numbers, text.
fn compare(a: &Value, b: &Value) -> Ordering {
    let rank = |v: &Value| match v {
        Value::Null => 0,
        Value::Number(_) => 1,
        _ => 2,
    };
    rank(a)
        .cmp(&rank(b))
        .then_with(|| match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => a.as_str().cmp(&b.as_str()),
        })
}

/// Fails if adjacent rows are not in the order that the view's header states, or have equal keys: the
/// order must be total.
fn assert_ordered(view: &ViewInfo, rows: &[Row]) {
    let order = view
        .order
        .as_deref()
        .unwrap_or_else(|| panic!("{} has no order", view.name));
    let keys: Vec<(&str, bool)> = order
        .split(", ")
        .map(|key| {
            let mut words = key.split(' ');
            (
                words.next().unwrap_or_default(),
                words.next() == Some("desc"),
            )
        })
        .collect();
    for pair in rows.windows(2) {
        let order = keys
            .iter()
            .fold(Ordering::Equal, |so_far, (column, descending)| {
                let here = compare(&pair[0][*column], &pair[1][*column]);
                so_far.then(if *descending { here.reverse() } else { here })
            });
        assert_eq!(
            order,
            Ordering::Less,
            "{}: {:?} before {:?}",
            view.name,
            pair[0],
            pair[1]
        );
    }
}

fn check(shape: &Shape) {
    let tables = tables(shape);
    let graph = graph_of(&tables);
    for view in catalog().list() {
        for (task, include_rejected) in [
            (None, false),
            (None, true),
            (Some("t0"), false),
            (Some("t1"), true),
        ] {
            let mut params = ViewParams::new(2026);
            if let Some(task) = task {
                params = params.with_task(task);
            }
            if view.parameters.iter().any(|p| p.name == "include_rejected") {
                params = params.with("include_rejected", include_rejected);
            } else if include_rejected {
                continue;
            }
            if task.is_none() && view.parameters.iter().any(|p| p.required) {
                continue;
            }
            let rendered = catalog().render(&view.name, &params).unwrap();
            let (_, rows) = ask(&graph, &rendered.sql, &rendered.bindings);
            assert_ordered(&view, &rows);
            let naive = Naive {
                tables: &tables,
                year: 2026,
                task,
                include_rejected,
            };
            if let Some(answer) = naive.answer(&view.name) {
                let what = format!("{} {task:?} {include_rejected}", view.name);
                assert_same_rows(&what, &rows, &answer);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn views_equal_their_formulas(shape in shapes()) {
        check(&shape);
    }
}

/// The same views as plain SQL over the stored rows alone.
fn plain() -> &'static ViewCatalog {
    static CATALOG: LazyLock<ViewCatalog> = LazyLock::new(|| {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/views/plain");
        let builtin = ViewCatalog::builtin().unwrap();
        builtin.with_folder(Path::new(folder)).unwrap()
    });
    &CATALOG
}

/// Compares row for row, in order; numbers may differ in the last digits.
fn assert_as_plain(graph: &Connection, name: &str, params: &ViewParams) {
    let ours = view(graph, name, params);
    let plain = plain().render(name, params).unwrap();
    let theirs = ask(graph, &plain.sql, &plain.bindings).1;
    assert_eq!(ours.len(), theirs.len(), "{name} {params:?}");
    for (a, b) in ours.iter().zip(&theirs) {
        let equal = a.len() == b.len() && a.iter().all(|(k, v)| same(v, &b[k]));
        assert!(equal, "{name} {params:?}\n{a:?}\n{b:?}");
    }
}

/// With `claim_id` or `page_id`, the view returns exactly the rows of that claim or page.
fn assert_narrowed(graph: &Connection, info: &ViewInfo, params: &ViewParams) {
    for (parameter, column) in [
        ("claim_id", "claim_id"),
        ("page_id", "page_id"),
        ("page_id", "citing_page_id"),
    ] {
        let has = info.parameters.iter().any(|p| p.name == parameter);
        if !(has && info.columns.iter().any(|c| c == column)) {
            continue;
        }
        let wide = match column {
            "citing_page_id" => params.clone().with("every_citation", true),
            _ => params.clone(),
        };
        let all = view(graph, &info.name, &wide);
        let ids: BTreeSet<&str> = all.iter().filter_map(|row| row[column].as_str()).collect();
        for id in ids {
            let about: Vec<&Row> = all.iter().filter(|row| row[column] == id).collect();
            let narrowed = view(graph, &info.name, &wide.clone().with(parameter, id));
            assert_eq!(
                narrowed.iter().collect::<Vec<_>>(),
                about,
                "{} {parameter}",
                info.name
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// The current year may be the counted one or another.
    #[test]
    fn maintained_views_equal_plain_ones(shape in shapes(), year in 2000..2030_i32) {
        let graph = graph_of(&tables(&shape));
        for info in catalog().list() {
            let has = |name: &str| info.parameters.iter().any(|p| p.name == name);
            for (year, include_rejected) in [(2026, false), (year, true), (year, false)] {
                let mut params = ViewParams::new(year);
                if has("include_rejected") {
                    params = params.with("include_rejected", include_rejected);
                }
                if has("task_id") {
                    let params = params.clone().with_task("t0");
                    assert_as_plain(&graph, &info.name, &params);
                    if has("every_citation") {
                        let params = params.clone().with("every_citation", true);
                        assert_as_plain(&graph, &info.name, &params);
                    }
                    assert_narrowed(&graph, &info, &params);
                }
                if !info.parameters.iter().any(|p| p.required) {
                    assert_as_plain(&graph, &info.name, &params);
                }
            }
        }
    }
}

/// Long chains and stars with unfavourable id orders, which three passes of labels cannot merge.
#[test]
fn clusters_are_right_on_awkward_graphs() {
    let thread = |n: usize, step: usize| -> Vec<(usize, usize)> {
        (0..n - 1)
            .map(|i| (i * step % n, (i + 1) * step % n))
            .collect()
    };
    let star = |n: usize, centre: usize| -> Vec<(usize, usize)> {
        (0..n)
            .filter(|i| *i != centre)
            .map(|i| (i, centre))
            .collect()
    };
    let two_rings: Vec<(usize, usize)> =
        (0..40).map(|i| (i, (i + 2) % 40)).chain([(3, 3)]).collect();
    for citations in [
        thread(61, 1),
        thread(61, 17),
        star(50, 0),
        star(50, 49),
        star(50, 25),
        two_rings,
    ] {
        let pages: Vec<Value> = (0..61)
            .map(|i| json!({"id": i.to_string(), "url": format!("https://{i}.example/")}))
            .collect();
        let edges: Vec<Value> = citations
            .iter()
            .enumerate()
            .map(|(i, (a, b))| {
                json!({"id": format!("e{i}"), "source_type": "page", "source_id": a.to_string(),
                    "target_type": "page", "target_id": b.to_string(), "relation": "cites"})
            })
            .collect();
        let tables = json!({"pages": pages, "edges": edges});
        let graph = graph_of(&tables);
        let rendered = catalog()
            .render("v_citation_clusters", &ViewParams::new(2026))
            .unwrap();
        let (_, rows) = ask(&graph, &rendered.sql, &rendered.bindings);
        let naive = Naive {
            tables: &tables,
            year: 2026,
            task: None,
            include_rejected: false,
        };
        assert_same_rows(
            "clusters",
            &rows,
            &naive.answer("v_citation_clusters").unwrap(),
        );
    }
}

/// The id list of a huge group is truncated, but its size is not.
#[test]
fn a_huge_cluster_lists_its_first_thousand_pages() {
    let id = |i: usize| format!("p{i:05}");
    let pages: Vec<Value> = (0..1_500)
        .map(|i| json!({"id": id(i), "url": format!("https://{i}.example/")}))
        .collect();
    let edges: Vec<Value> = (1..1_500)
        .map(|i| {
            json!({"id": format!("e{i}"), "source_type": "page", "source_id": id(i),
                "target_type": "page", "target_id": id(i / 2), "relation": "cites"})
        })
        .collect();
    let graph = graph_of(&json!({"pages": pages, "edges": edges}));
    let rendered = catalog()
        .render("v_citation_clusters", &ViewParams::new(2026))
        .unwrap();
    let (_, rows) = ask(&graph, &rendered.sql, &rendered.bindings);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["cluster_size"], json!(1_500));
    assert_eq!(rows[0]["internal_citations"], json!(1_499));
    let ids: Vec<String> = serde_json::from_str(rows[0]["page_ids"].as_str().unwrap()).unwrap();
    assert_eq!(ids, (0..1_000).map(id).collect::<Vec<_>>());
}
