//! The catalog: headers compared with statements, stored views, a user's folder, and the document.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::fixture::{ask, assert_same_rows, catalog, empty_graph, graph_of, view};
use crate::ErrorKind;
use crate::store::views::{ViewCatalog, ViewParams};

fn small_graph() -> rusqlite::Connection {
    let tables: Value =
        serde_json::from_str(include_str!("../../../../../tests/data/views/graph.json")).unwrap();
    graph_of(&tables)
}

#[test]
fn every_header_is_complete_and_true() {
    let graph = empty_graph();
    let views = catalog().list();
    assert_eq!(views.len(), 28);
    for view in &views {
        let name = &view.name;
        assert!(
            view.description.ends_with('.'),
            "{name}: {}",
            view.description
        );
        assert!(
            view.order.as_deref().is_some_and(|o| !o.is_empty()),
            "{name} has no order"
        );
        assert_eq!(view.columns.len(), view.column_descriptions.len(), "{name}");
        for (column, description) in &view.column_descriptions {
            assert!(description.ends_with('.'), "{name}.{column}: {description}");
        }
        for parameter in &view.parameters {
            assert!(
                parameter.description.ends_with('.'),
                "{name} :{}",
                parameter.name
            );
        }
        // With and without a task, alone and inside another query.
        for params in [ViewParams::new(2026).with_task("t1"), ViewParams::new(2026)] {
            let Ok(rendered) = catalog().render(name, &params) else {
                assert_eq!(name, "v_reference_candidates");
                continue;
            };
            let (columns, _) = ask(&graph, &rendered.sql, &rendered.bindings);
            assert_eq!(columns, view.columns, "{name}");
            let inside = format!("WITH x AS ({}) SELECT * FROM x", rendered.sql);
            assert_eq!(
                ask(&graph, &inside, &rendered.bindings).0,
                view.columns,
                "{name}"
            );
        }
        if view.is_task_scoped() {
            assert!(
                view.columns.iter().any(|c| c == "task_id"),
                "{name} has no task_id column"
            );
        }
    }
}

#[test]
fn stored_views_answer_as_the_rendered_ones() {
    let graph = small_graph();
    let stored = catalog().temp_views(2026);
    assert_eq!(stored.len(), 28);
    for (name, sql) in &stored {
        graph
            .execute_batch(&format!("CREATE TEMP VIEW {name} AS {sql}"))
            .unwrap();
        let all = ask(
            &graph,
            &format!("SELECT * FROM {name}"),
            &json!({}).as_object().unwrap().clone(),
        )
        .1;
        if !catalog().info(name).unwrap().is_task_scoped() {
            assert_same_rows(name, &all, &view(&graph, name, &ViewParams::new(2026)));
            continue;
        }
        for task in ["t1", "t2"] {
            let one = json!({"task": task}).as_object().unwrap().clone();
            let rows = ask(
                &graph,
                &format!("SELECT * FROM {name} WHERE task_id = :task"),
                &one,
            )
            .1;
            let rendered = view(&graph, name, &ViewParams::new(2026).with_task(task));
            assert_same_rows(&format!("{name} {task}"), &rows, &rendered);
        }
    }
}

#[test]
fn the_year_that_counts_as_now_is_the_callers() {
    let graph = small_graph();
    let age = |params: ViewParams| {
        let rows = view(&graph, "v_outdated_evidence", &params.with_task("t1"));
        rows.iter()
            .map(|r| r["years_since_update"].as_i64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(age(ViewParams::new(2026)), [2, 0]);
    assert_eq!(age(ViewParams::new(2030)), [6, 4]);
    assert_eq!(
        age(ViewParams::new(2026).with("current_year", 2030)),
        [6, 4]
    );
}

#[test]
fn an_unknown_view_gets_the_nearest_name_and_all_names() {
    for (asked, nearest) in [
        ("v_contradiction", Some("v_contradictions")),
        ("contradictions", Some("v_contradictions")),
        ("V_HUB_PAGES", Some("v_hub_pages")),
        ("zzz", None),
    ] {
        let error = catalog().render(asked, &ViewParams::new(2026)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let hint = error.hint().unwrap();
        assert!(hint.contains("v_unsupported_claims"), "{hint}");
        match nearest {
            Some(nearest) => assert!(
                hint.starts_with(&format!("did you mean {nearest}?")),
                "{hint}"
            ),
            None => assert!(hint.starts_with("views: "), "{hint}"),
        }
    }
}

#[test]
fn reference_candidates_need_a_task() {
    let error = catalog()
        .render("v_reference_candidates", &ViewParams::new(2026))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("task_id"), "{error}");
}

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

const OWN: &str = "\
-- Claims that mention a word, of at least some confidence.
-- Parameters:
--   task_id (text, optional): Only this task.
--   word (text, required): What to look for.
--   floor (number, default 0.25): Least confidence.
-- Columns:
--   claim_id: Id of the claim.

SELECT c.id AS claim_id
FROM claims AS c
WHERE instr(c.claim_text, :word) > 0 AND c.llm_claim_confidence >= :floor
{% if task_id %}
  AND c.task_id = :task_id
{% endif %}
-- The end.
";

#[test]
fn a_folder_adds_and_overrides() {
    let hub = OWN
        .replace(":word", "'glucose'")
        .replace("--   word (text, required): What to look for.\n", "");
    let files: [(&str, &[u8]); 3] = [
        ("v_mentions.sql.j2", OWN.as_bytes()),
        ("v_hub_pages.sql.j2", hub.as_bytes()),
        ("notes.txt", b"not a view"),
    ];
    let dir = folder(&files);
    let catalog = ViewCatalog::builtin()
        .unwrap()
        .with_folder(dir.path())
        .unwrap();
    assert_eq!(catalog.list().len(), 29);
    assert_eq!(catalog.info("v_hub_pages").unwrap().columns, ["claim_id"]);
    let graph = small_graph();
    let ask_for = |params: ViewParams| {
        let rendered = catalog.render("v_mentions", &params).unwrap();
        let sql = format!("WITH x AS ({}) SELECT * FROM x", rendered.sql);
        ask(&graph, &sql, &rendered.bindings).1.len()
    };
    let params = ViewParams::new(2026).with("word", "Walking");
    assert_eq!(ask_for(params.clone()), 3);
    assert_eq!(ask_for(params.clone().with("floor", 0)), 4);
    assert_eq!(ask_for(params.with_task("t1").with("floor", 0.75)), 1);
    // A view that requires more than a task cannot be stored; a view that requires only a task can.
    let stored = catalog.temp_views(2026);
    assert!(!stored.iter().any(|(name, _)| name == "v_mentions"));
    let (_, hub) = stored
        .iter()
        .find(|(name, _)| name == "v_hub_pages")
        .unwrap();
    assert!(hub.contains("(0.25)"), "{hub}");
    assert_eq!(
        ask(&graph, hub, &json!({}).as_object().unwrap().clone())
            .1
            .len(),
        1
    );
}

#[test]
fn a_bad_file_is_named_with_line_and_reason() {
    let header = "-- What.\n-- Columns:\n--   x: The x.\n";
    let cases: &[(&str, String, usize, &str)] = &[
        (
            "v_a.sql.j2",
            "SELECT 1 AS x".into(),
            1,
            "must start with a comment",
        ),
        (
            "claims.sql.j2",
            format!("{header}SELECT 1 AS x"),
            1,
            "must start with v_",
        ),
        (
            "v_B.sql.j2",
            format!("{header}SELECT 1 AS x"),
            1,
            "must start with v_",
        ),
        (
            "v_a.sql.j2",
            format!("{header}SELECT 1\nAS x;"),
            5,
            "semicolon",
        ),
        (
            "v_a.sql.j2",
            format!("{header}SELECT\n:y AS x"),
            5,
            "does not declare the parameter :y",
        ),
        (
            "v_a.sql.j2",
            format!("{header}SELECT ? AS x"),
            4,
            "written :name",
        ),
        (
            "v_a.sql.j2",
            format!("{header}\nDELETE FROM claims"),
            5,
            "must start with SELECT",
        ),
        (
            "v_a.sql.j2",
            format!("{header}SELECT 1\n{{% if %}}"),
            5,
            "unexpected",
        ),
        (
            "v_a.sql.j2",
            format!("{header}SELECT 1\n{{% if y %}}{{% endif %}}"),
            5,
            "undefined",
        ),
        (
            "v_a.sql.j2",
            "-- What.\n-- Parameters:\n--   y (text, optional): Y.\n-- Columns:\n--   x: X.\nSELECT\n'{{ y }}' AS x"
                .into(),
            7,
            "bound, not rendered",
        ),
        (
            "v_a.sql.j2",
            format!("{header}SELECT 1 AS x {}", " ".repeat(40_000)),
            1,
            "too long",
        ),
    ];
    for (name, text, line, reason) in cases {
        let dir = folder(&[(*name, text.as_bytes())]);
        let error = ViewCatalog::builtin()
            .unwrap()
            .with_folder(dir.path())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
        let message = error.message();
        assert!(message.contains(name), "{message}");
        assert!(
            message.contains(&format!("line {line}: ")),
            "{message}\n{text}"
        );
        assert!(message.contains(reason), "{message}\n{text}");
    }
    let dir = folder(&[("v_a.sql.j2", b"-- a\n-- b\xff\n")]);
    let error = ViewCatalog::builtin()
        .unwrap()
        .with_folder(dir.path())
        .unwrap_err();
    assert!(
        error.message().contains("line 2: the text is not UTF-8"),
        "{error}"
    );
    let error = ViewCatalog::builtin()
        .unwrap()
        .with_folder(Path::new("/no/such/folder"))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn the_built_in_views_pass_the_checks_of_a_user_s_files() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/views/sql");
    let catalog = ViewCatalog::builtin().unwrap().with_folder(&sources);
    assert_eq!(
        catalog.unwrap().list(),
        ViewCatalog::builtin().unwrap().list()
    );
}

#[test]
fn files_from_windows_are_read() {
    let text = format!("\u{feff}{}", OWN.replace('\n', "\r\n"));
    let dir = folder(&[("v_mentions.sql.j2", text.as_bytes())]);
    let catalog = ViewCatalog::builtin()
        .unwrap()
        .with_folder(dir.path())
        .unwrap();
    assert_eq!(catalog.info("v_mentions").unwrap().columns, ["claim_id"]);
}

#[test]
fn what_a_view_is_goes_out_as_json() {
    let info = serde_json::to_value(catalog().info("v_contradictions").unwrap()).unwrap();
    assert_eq!(info["name"], "v_contradictions");
    assert_eq!(
        info["parameters"][1],
        json!({"name": "include_rejected", "type": "boolean", "required": false,
            "description": "Also the claims that a reviewer has rejected.", "default": false})
    );
    assert_eq!(info["columns"][1], "claim_id");
    assert_eq!(info["column_descriptions"]["claim_id"], "Id of the claim.");
}

/// docs/views.md must have a section for every view with all its parameters and columns, and no others.
#[test]
fn the_document_is_complete() {
    let document = include_str!("../../../../../docs/views.md");
    let sections: Vec<&str> = document.split("\n### ").skip(1).collect();
    let title = |s: &str| {
        s.lines()
            .next()
            .unwrap_or_default()
            .trim_matches('`')
            .to_owned()
    };
    let documented: BTreeSet<String> = sections.iter().map(|s| title(s)).collect();
    let views = catalog().list();
    assert_eq!(documented, views.iter().map(|v| v.name.clone()).collect());
    for view in &views {
        let section = sections.iter().find(|s| title(s) == view.name).unwrap();
        let rows = section.lines().filter_map(|line| {
            let (name, holds) = line.strip_prefix("| `")?.split_once("` | ")?;
            Some((name.to_owned(), holds.strip_suffix(" |")?.to_owned()))
        });
        let info = catalog().info(&view.name).unwrap();
        let described = info.columns.iter().map(|name| {
            let words = &info.column_descriptions[name];
            let mark = if info.extra_columns.contains(name) {
                " *(all)*"
            } else {
                ""
            };
            (name.clone(), words.replace('|', "\\|") + mark)
        });
        assert_eq!(
            rows.collect::<Vec<_>>(),
            described.collect::<Vec<_>>(),
            "{}: columns",
            view.name
        );
        let listed = section.lines().filter_map(|line| {
            let (name, rest) = line.strip_prefix("- `")?.split_once("` (")?;
            Some((name.to_owned(), rest.split_once("): ")?.1.to_owned()))
        });
        let parameters = info
            .parameters
            .iter()
            .map(|p| (p.name.clone(), p.description.clone()));
        assert_eq!(
            listed.collect::<Vec<_>>(),
            parameters.collect::<Vec<_>>(),
            "{}: parameters",
            view.name
        );
        for part in ["**Order**", "**Formula**", "```sql"] {
            assert!(section.contains(part), "{}: no {part}", view.name);
        }
    }
}

/// The examples of the document must run.
#[test]
fn the_examples_of_the_document_run() {
    let document = include_str!("../../../../../docs/views.md");
    let graph = small_graph();
    for (name, sql) in catalog().temp_views(2026) {
        graph
            .execute_batch(&format!("CREATE TEMP VIEW {name} AS {sql}"))
            .unwrap();
    }
    let examples: Vec<&str> = document
        .split("```sql\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(examples.len() >= 28);
    for example in examples {
        let sql = example
            .trim()
            .trim_end_matches(';')
            .replace("'task_0a1b2c3d'", "'t1'");
        graph.prepare(&sql).unwrap_or_else(|e| panic!("{e}\n{sql}"));
    }
}
