//! query_view and list_views with the built-in views.

use super::{Server, TASK};
use crate::tools::NO_TASK;
use serde_json::{Value, json};

#[test]
fn a_view_is_asked_with_what_it_takes() {
    let mut server = Server::start();
    let of = |view: &str, more: Value| {
        let mut arguments = json!({ "view_name": view });
        let more = more.as_object().unwrap().clone();
        arguments.as_object_mut().unwrap().extend(more);
        arguments
    };
    let invalid = "INVALID_PARAMS";
    let unknown = "RESOURCE_NOT_FOUND";
    let hub = "v_hub_pages";
    let candidates = "v_reference_candidates";
    server.refuses(
        "query_view",
        &[
            (json!({}), invalid, "\"view_name\" is missing", ""),
            (
                json!({"view": hub}),
                invalid,
                "\"view\" is not known",
                "\"view_name\"",
            ),
            (json!({"view_name": 5}), invalid, "expected a string", ""),
            (
                json!({"view_name": ""}),
                invalid,
                "expected a string of 1 to 128",
                "",
            ),
            (
                json!({"view_name": "v".repeat(129)}),
                invalid,
                "of 129 characters",
                "",
            ),
            (
                of("v_contradiction", json!({})),
                unknown,
                "no view",
                "did you mean v_contradictions?",
            ),
            (
                of("contradictions", json!({})),
                unknown,
                "no view",
                "did you mean v_contradictions?",
            ),
            (
                of("V_HUB_PAGES", json!({})),
                unknown,
                "no view",
                "did you mean v_hub_pages?",
            ),
            (
                of("v_hub_pages; DROP TABLE claims", json!({})),
                unknown,
                "no view",
                "v_hub_pages",
            ),
            (
                of("zzzz", json!({})),
                unknown,
                "no view \"zzzz\"",
                "views: v_bibliographic_coupling",
            ),
            (
                of("claims", json!({})),
                unknown,
                "no view \"claims\"",
                "views: ",
            ),
            (of(hub, json!({"limit": 0})), invalid, "from 1 to 200", ""),
            (of(hub, json!({"limit": 201})), invalid, "from 1 to 200", ""),
            (of(hub, json!({"limit": "5"})), invalid, "from 1 to 200", ""),
            (
                of(hub, json!({"offset": -1})),
                invalid,
                "from 0 to 1000000000",
                "",
            ),
            (
                of(hub, json!({"offset": 1_000_000_001})),
                invalid,
                "from 0 to 1000000000",
                "",
            ),
            (
                of(hub, json!({"params": [1]})),
                invalid,
                "expected an object",
                "",
            ),
            (
                of(hub, json!({"include_rejected": true})),
                invalid,
                "\"include_rejected\" is not known",
                "{\"params\": {\"include_rejected\": …}}",
            ),
            (
                of(hub, json!({"params": {"include_rejectd": true}})),
                invalid,
                "v_hub_pages has no parameter \"include_rejectd\"",
                "did you mean include_rejected?",
            ),
            (
                of(hub, json!({"params": {"zzzz": 1}})),
                invalid,
                "has no parameter \"zzzz\"",
                "parameters of this view: task_id, include_rejected",
            ),
            (
                of(hub, json!({"params": {"include_rejected": "yes"}})),
                invalid,
                "must be true or false, not a string",
                "",
            ),
            (
                of(hub, json!({"params": {"include_rejected": 1}})),
                invalid,
                "must be true or false, not the number 1",
                "",
            ),
            (
                of(
                    "v_evidence_freshness",
                    json!({"params": {"current_year": 2020.5}}),
                ),
                invalid,
                "must be a whole number, not the number 2020.5",
                "",
            ),
            (
                of(
                    "v_evidence_freshness",
                    json!({"params": {"current_year": [2020]}}),
                ),
                invalid,
                "\"params.current_year\" is an array of 1 items",
                "",
            ),
            (
                of(
                    "v_citation_flow",
                    json!({"params": {"include_rejected": true}}),
                ),
                invalid,
                "has no parameter \"include_rejected\"",
                "parameters of this view: task_id",
            ),
            (
                of(candidates, json!({})),
                invalid,
                "needs the parameter \"task_id\"",
                "give task_id",
            ),
        ],
    );
}

#[test]
fn a_view_knows_its_task() {
    let mut server = Server::start();
    let missing = "TASK_NOT_FOUND";
    let of = |view: &str, task: &str| json!({"view_name": view, "task_id": task});
    let hint = "lyra://tasks";
    let among = |task: Value| json!({"view_name": "v_hub_pages", "params": {"task_id": task}});
    server.refuses(
        "query_view",
        &[
            (of("v_hub_pages", NO_TASK), missing, "no task", hint),
            (of("v_reference_candidates", NO_TASK), missing, "no task", hint),
            (of("v_citation_flow", NO_TASK), missing, "no task", hint),
            (of("v_hub_pages", "x' OR 1 = 1 --"), missing, "no task", hint),
            (of("v_hub_pages", ""), "INVALID_PARAMS", "of 1 to 64 characters", ""),
            (of("v_hub_pages", &"t".repeat(65)), "INVALID_PARAMS", "65 characters", ""),
            // The same where the task stands among the parameters.
            (among(json!(NO_TASK)), missing, "no task", hint),
            (among(json!("x' OR 1 = 1 --")), missing, "no task", hint),
            (among(json!(5)), "INVALID_PARAMS", "must be a string, not the number 5", ""),
            (
                json!({"view_name": "v_hub_pages", "task_id": TASK, "params": {"task_id": NO_TASK}}),
                "INVALID_PARAMS",
                "params.task_id",
                "give the task once",
            ),
        ],
    );
    for (arguments, rows) in [
        (of("v_contradictions", TASK), 1),
        (json!({"view_name": "v_contradictions"}), 1),
        (among(json!(TASK)), 1),
        (among(json!(null)), 1),
        (of("v_reference_candidates", TASK), 1),
        // A view of the whole graph takes a task, and looks at the whole graph all the same.
        (of("v_citation_flow", TASK), 1),
        (of("v_unsupported_claims", TASK), 0),
    ] {
        let body = server.ask("query_view", &arguments);
        assert_eq!(body["row_count"], rows, "{arguments}: {body}");
    }
    server.is_unchanged();
}

#[test]
fn a_view_is_paged_to_its_end() {
    let mut server = Server::start();
    let mut page = |offset: i64| {
        server.ask(
            "query_view",
            &json!({"view_name": "v_evidence_chain", "task_id": TASK, "limit": 1, "offset": offset}),
        )
    };
    let (first, second, beyond) = (page(0), page(1), page(9));
    assert_eq!(
        (&first["truncated"], &first["next_offset"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(second["truncated"], false);
    assert_ne!(first["rows"], second["rows"]);
    assert_eq!(
        (&beyond["row_count"], &beyond["truncated"]),
        (&json!(0), &json!(false))
    );
}

#[test]
fn list_views_takes_a_filter_and_tells_all() {
    let mut server = Server::start();
    server.refuses(
        "list_views",
        &[
            (
                json!({"verbose": true}),
                "INVALID_PARAMS",
                "expected one of filter",
                "",
            ),
            (
                json!({"task_id": null}),
                "INVALID_PARAMS",
                "expected one of filter",
                "",
            ),
        ],
    );
    let body = server.ask("list_views", &json!({}));
    assert_eq!(body["count"], 28);
    for view in body["views"].as_array().unwrap() {
        assert!(!view["columns"].as_array().unwrap().is_empty(), "{view}");
    }
}

#[test]
fn a_view_has_its_main_columns_unless_all_are_asked_for() {
    let mut server = Server::start();
    let ask = |server: &mut Server, columns: &str| {
        let arguments =
            json!({"view_name": "v_claim_evidence_summary", "task_id": TASK, "columns": columns});
        server.ask("query_view", &arguments)
    };
    let (main, all) = (ask(&mut server, "main"), ask(&mut server, "all"));
    let names = |reply: &Value| -> Vec<String> {
        serde_json::from_value(reply["columns"].clone()).unwrap()
    };
    for left_out in ["task_id", "nli_claim_support_ratio", "support_weight"] {
        assert!(!names(&main).contains(&left_out.to_owned()), "{left_out}");
        assert!(names(&all).contains(&left_out.to_owned()), "{left_out}");
    }
    let digits = |value: &Value| {
        value
            .to_string()
            .trim_start_matches(['0', '.'])
            .replace('.', "")
            .len()
    };
    let (short, long) = (&main["rows"], &all["rows"]);
    assert_eq!(
        short.as_array().unwrap().len(),
        long.as_array().unwrap().len()
    );
    assert!(!short.as_array().unwrap().is_empty());
    for (a, b) in short
        .as_array()
        .unwrap()
        .iter()
        .zip(long.as_array().unwrap())
    {
        assert_eq!(a["claim_id"], b["claim_id"]);
        assert!(digits(&a["uncertainty"]) <= 3, "{a}");
        let difference = a["uncertainty"].as_f64().unwrap() - b["uncertainty"].as_f64().unwrap();
        assert!(difference.abs() < 0.001, "{a} {b}");
    }
    let unscoped = server.ask(
        "query_view",
        &json!({"view_name": "v_claim_evidence_summary"}),
    );
    assert_eq!(unscoped["columns"][0], "task_id");
}

#[test]
fn views_and_tables_are_listed_by_what_is_in_their_name() {
    let mut server = Server::start();
    let all = server.ask("list_views", &json!({}));
    let some = server.ask("list_views", &json!({"filter": "contradict"}));
    let count = |reply: &Value| reply["count"].as_u64().unwrap();
    assert!(0 < count(&some) && count(&some) < count(&all), "{some}");
    assert!(some.to_string().contains("v_contradictions"));

    let arguments =
        json!({"sql": "SELECT 1", "options": {"include_schema": true, "schema_filter": "CLAIM"}});
    let schema = server.ask("query_sql", &arguments)["schema"]["tables"].clone();
    let tables = schema.as_array().unwrap();
    assert!(tables.iter().any(|table| table["name"] == "claims"));
    for table in tables {
        assert!(table["name"].as_str().unwrap().contains("claim"), "{table}");
        assert!(table["description"].is_string(), "{table}");
    }
}

#[test]
fn the_models_are_named_once() {
    let mut server = Server::start();
    let meta = |server: &mut Server| server.sql("SELECT 1")["_lyra_meta"].clone();
    assert_eq!(meta(&mut server)["models"]["builtin"], true);
    assert!(meta(&mut server).get("models").is_none());
}
