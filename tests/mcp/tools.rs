//! The 19 tools: listing, success on a real graph, typed errors, schemas kept, sizes bounded.

use crate::client::Client;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/corpus");
pub(crate) const NO_TASK: &str = "task_00000000";

/// Bytes that the listing may take: a client puts it before its model in every session.
const LISTING_BYTES: usize = 24_000;

/// The schemas that a reply is checked against: the whole one of the file, and the listed one.
pub(crate) struct Checks {
    full: jsonschema::Validator,
    listed: jsonschema::Validator,
}

/// The output schemas, by tool.
pub(crate) fn schemas(client: &mut Client) -> BTreeMap<String, Checks> {
    let tools = client.request("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap();
    let compiled = tools.iter().map(|tool| {
        let name = tool["name"].as_str().unwrap();
        let checks = Checks {
            full: jsonschema::draft202012::new(&full(name)["output"]).unwrap(),
            listed: jsonschema::draft202012::new(&tool["outputSchema"]).unwrap(),
        };
        (name.to_owned(), checks)
    });
    compiled.collect()
}

/// The schemas of a tool as the files hold them: `input` and `output`.
pub(crate) fn full(tool: &str) -> Value {
    let read = |side: &str| {
        let file = format!("src/schemas/{tool}.{side}.json");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        serde_json::from_str::<Value>(&std::fs::read_to_string(path).unwrap()).unwrap()
    };
    json!({"input": read("input"), "output": read("output")})
}

/// The schemas of a tool as the server lists them: `input` and `output`.
pub(crate) fn listed(client: &mut Client, tool: &str) -> Value {
    let reply = client.request("tools/list", json!({}));
    let tools = reply["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|t| t["name"] == tool).unwrap();
    json!({"input": tool["inputSchema"], "output": tool["outputSchema"]})
}

/// Checks what every reply must keep to, good or bad.
pub(crate) fn check_reply(tool: &str, result: &Value, schemas: &BTreeMap<String, Checks>) {
    let body = &result["structuredContent"];
    for check in [&schemas[tool].full, &schemas[tool].listed] {
        if let Some(breach) = check.iter_errors(body).next() {
            panic!("{tool}: {breach} in {body}");
        }
    }
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(
        &serde_json::from_str::<Value>(text).unwrap(),
        body,
        "{tool}: text and structure"
    );
    assert!(text.len() <= 48 * 1024, "{tool}: {} bytes", text.len());
    assert_eq!(body["ok"], result["isError"] == false, "{tool}: {body}");
    if body["ok"] == false {
        assert!(
            body["error_code"].is_string() && body["error"].is_string(),
            "{tool}: {body}"
        );
        for leak in [env!("CARGO_MANIFEST_DIR"), "/tmp/", "src/", "panicked"] {
            assert!(!text.contains(leak), "{tool}: {text}");
        }
    }
}

#[test]
fn the_listing_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    let reply = client.request("tools/list", json!({}));
    let tools = reply["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 19);
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert!(
            tool["title"].is_string() && tool["description"].is_string(),
            "{name}"
        );
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        assert_eq!(tool["outputSchema"]["type"], "object", "{name}");
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(tool["annotations"][hint].is_boolean(), "{name}: {hint}");
        }
    }
}

/// A client pays for the listing in every session. What it leaves out is in the resource.
#[test]
fn the_listing_is_short_and_the_whole_schemas_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &["--tools", "all"]);
    let all = client.request("tools/list", json!({}))["result"].clone();
    let mut standard = Client::connect(&folder.path().join("a.db"), &[]);
    let result = standard.request("tools/list", json!({}))["result"].clone();
    let bytes = result.to_string().len();
    assert!(bytes <= LISTING_BYTES, "{bytes} bytes");
    for tool in all["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let full = full(name);
        let whole = client.request(
            "resources/read",
            json!({"uri": format!("lyra://tools/{name}")}),
        );
        let text = whole["result"]["contents"][0]["text"].as_str().unwrap();
        let whole: Value = serde_json::from_str(text).unwrap();
        assert_eq!(whole["input_schema"], full["input"], "{name}");
        assert_eq!(whole["output_schema"], full["output"], "{name}");
        for (listed, whole) in [
            ("inputSchema", &full["input"]),
            ("outputSchema", &full["output"]),
        ] {
            let names = |schema: &Value| -> Vec<String> {
                schema["properties"]
                    .as_object()
                    .unwrap()
                    .keys()
                    .cloned()
                    .collect()
            };
            let mut expected = names(whole);
            if listed == "outputSchema" {
                let told_once = ["error_code", "error", "hint", "details", "_lyra_meta"];
                expected.retain(|name| !told_once.contains(&name.as_str()));
            }
            assert_eq!(names(&tool[listed]), expected, "{name}");
            for field in expected {
                assert_eq!(
                    tool[listed]["properties"][&field]["type"], whole["properties"][&field]["type"],
                    "{name}.{field}"
                );
            }
            assert_eq!(tool[listed]["required"], whole["required"], "{name}");
        }
    }
    let none = client.request("resources/read", json!({"uri": "lyra://tools/nothing"}));
    assert_eq!(none["error"]["code"], -32002, "{none}");
}

/// The listed schemas are weaker than the whole ones, not empty: a wrong type breaks them.
#[test]
fn a_listed_schema_refuses_wrong_types() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    for (tool, checks) in schemas(&mut client) {
        assert!(
            !checks.listed.is_valid(&json!({})),
            "{tool}: ok is required"
        );
        assert!(!checks.listed.is_valid(&json!({"ok": "yes"})), "{tool}");
        let fields = full(&tool)["output"]["properties"].clone();
        let wrong = fields.as_object().unwrap().iter().filter(|(name, field)| {
            *name != "ok"
                && field["type"].as_str().is_some_and(|kind| kind != "object")
                && !["error_code", "error", "hint", "details", "_lyra_meta"]
                    .contains(&name.as_str())
        });
        for (name, _) in wrong {
            assert!(
                !checks.listed.is_valid(&json!({"ok": true, name: {}})),
                "{tool}.{name}"
            );
        }
    }
}

#[test]
fn every_error_is_typed_and_keeps_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    let schemas = schemas(&mut client);
    let task = client.ok("create_task", json!({"hypothesis": "Tea is good for you."}));
    let task = task["task_id"].as_str().unwrap();
    for (tool, arguments, code) in [
        ("create_task", json!({}), "INVALID_PARAMS"),
        (
            "create_task",
            json!({"hypothesis": " \u{200b}\u{2060}"}),
            "INVALID_PARAMS",
        ),
        ("create_task", json!({"hypothesis": "\0"}), "INVALID_PARAMS"),
        (
            "create_task",
            json!({"hypothesis": "a\0b"}),
            "INVALID_PARAMS",
        ),
        (
            "create_task",
            json!({"hypothesis": "   "}),
            "INVALID_PARAMS",
        ),
        (
            "create_task",
            json!({"hypothesis": "x", "config": {"budget": {"max_pages": 0}}}),
            "INVALID_PARAMS",
        ),
        (
            "queue_targets",
            json!({"task_id": NO_TASK, "targets": ["tea"]}),
            "TASK_NOT_FOUND",
        ),
        (
            "queue_targets",
            json!({"task_id": task, "targets": "tea"}),
            "INVALID_PARAMS",
        ),
        (
            "queue_targets",
            json!({"task_id": task, "targets": [{"kind": "doi", "doi": "x"}]}),
            "INVALID_PARAMS",
        ),
        (
            "queue_reference_candidates",
            json!({"task_id": NO_TASK}),
            "TASK_NOT_FOUND",
        ),
        (
            "queue_reference_candidates",
            json!({"task_id": task, "include_ids": ["a"], "exclude_ids": ["b"]}),
            "INVALID_PARAMS",
        ),
        ("get_status", json!({"task_id": NO_TASK}), "TASK_NOT_FOUND"),
        (
            "get_status",
            json!({"task_id": task, "wait": 301}),
            "INVALID_PARAMS",
        ),
        ("stop_task", json!({"task_id": NO_TASK}), "TASK_NOT_FOUND"),
        (
            "stop_task",
            json!({"task_id": task, "mode": "hard"}),
            "INVALID_PARAMS",
        ),
        (
            "query_sql",
            json!({"sql": "DELETE FROM claims"}),
            "QUERY_REJECTED",
        ),
        (
            "query_sql",
            json!({"sql": "SELECT 1; SELECT 2"}),
            "QUERY_REJECTED",
        ),
        (
            "query_sql",
            json!({"sql": "SELECT session_data FROM auth_queue, event_log_x"}),
            "QUERY_REJECTED",
        ),
        (
            "query_sql",
            json!({"sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
                   "options": {"timeout_ms": 50}}),
            "QUERY_INTERRUPTED",
        ),
        (
            "vector_search",
            json!({"query": "tea", "top_k": 51}),
            "INVALID_PARAMS",
        ),
        (
            "vector_search",
            json!({"query": "tea", "task_id": NO_TASK}),
            "TASK_NOT_FOUND",
        ),
        (
            "query_view",
            json!({"view_name": "v_contradiction"}),
            "RESOURCE_NOT_FOUND",
        ),
        (
            "query_view",
            json!({"view_name": "v_contradictions", "task_id": NO_TASK}),
            "TASK_NOT_FOUND",
        ),
        ("list_views", json!({"verbose": true}), "INVALID_PARAMS"),
        (
            "check_report",
            json!({"text": "Tea helps.", "task_id": NO_TASK}),
            "TASK_NOT_FOUND",
        ),
        (
            "check_report",
            json!({"text": "Tea helps.", "bibliography": "@article{"}),
            "INVALID_PARAMS",
        ),
        (
            "claim_standing",
            json!({"text": "Tea helps.", "task_id": NO_TASK}),
            "TASK_NOT_FOUND",
        ),
        ("claim_standing", json!({"text": ""}), "INVALID_PARAMS"),
        (
            "show_evidence",
            json!({"task_id": NO_TASK}),
            "TASK_NOT_FOUND",
        ),
        (
            "show_evidence",
            json!({"task_id": task, "cursor": "next"}),
            "INVALID_PARAMS",
        ),
        (
            "show_evidence",
            json!({"task_id": task, "cursor": "99@7"}),
            "RESOURCE_NOT_FOUND",
        ),
        (
            "get_judgements",
            json!({"task_id": NO_TASK}),
            "TASK_NOT_FOUND",
        ),
        (
            "get_judgements",
            json!({"task_id": task, "focus": "easy"}),
            "INVALID_PARAMS",
        ),
        (
            "submit_judgements",
            json!({"task_id": NO_TASK, "model": "m", "judgements": [{"pair_id": "p", "relation": "neutral"}]}),
            "TASK_NOT_FOUND",
        ),
        (
            "submit_judgements",
            json!({"task_id": task, "model": "m", "judgements": [{"pair_id": "p", "relation": "origin"}]}),
            "INVALID_PARAMS",
        ),
        (
            "get_auth_queue",
            json!({"task_id": NO_TASK}),
            "TASK_NOT_FOUND",
        ),
        (
            "get_auth_queue",
            json!({"group_by": "url"}),
            "INVALID_PARAMS",
        ),
        (
            "resolve_auth",
            json!({"action": "complete"}),
            "INVALID_PARAMS",
        ),
        (
            "resolve_auth",
            json!({"action": "skip", "target": "task", "task_id": NO_TASK}),
            "TASK_NOT_FOUND",
        ),
        (
            "feedback",
            json!({"action": "claim_reject", "claim_id": "c"}),
            "INVALID_PARAMS",
        ),
        ("feedback", json!({"action": "praise"}), "INVALID_PARAMS"),
        (
            "calibration_metrics",
            json!({"action": "fit"}),
            "INVALID_PARAMS",
        ),
        (
            "calibration_rollback",
            json!({"source": "s"}),
            "INVALID_PARAMS",
        ),
    ] {
        let result = client.call(tool, arguments.clone());
        check_reply(tool, &result, &schemas);
        let body = &result["structuredContent"];
        assert_eq!(body["error_code"], code, "{tool} {arguments}: {body}");
    }
}

#[test]
fn a_session_on_real_documents_goes_from_hypothesis_to_quotes() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &["--corpus", CORPUS]);
    let schemas = schemas(&mut client);
    let mut run = |tool: &str, arguments: Value| {
        let result = client.call(tool, arguments);
        check_reply(tool, &result, &schemas);
        let body = result["structuredContent"].clone();
        assert_eq!(body["ok"], true, "{tool}: {body}");
        body
    };
    let task = run(
        "create_task",
        json!({"hypothesis":
        "DPP-4 inhibitors increase the risk of hospitalization for heart failure."}),
    );
    let task = task["task_id"].clone();
    let targets = [
        "saxagliptin heart failure hospitalization",
        "sitagliptin no increase in heart failure",
    ];
    let queued = run(
        "queue_targets",
        json!({"task_id": task, "targets": targets}),
    );
    assert_eq!(queued["queued_count"], 2);
    let again = run(
        "queue_targets",
        json!({"task_id": task, "targets": targets}),
    );
    assert_eq!(
        (&again["queued_count"], &again["skipped_count"]),
        (&json!(0), &json!(2))
    );

    let end = Instant::now() + Duration::from_secs(400);
    let status = loop {
        let status = run(
            "get_status",
            json!({"task_id": task, "wait": 20, "detail": "full"}),
        );
        if status["milestones"]["nli_verification_done"] == true {
            break status;
        }
        assert!(Instant::now() < end, "never done: {status}");
    };
    assert!(
        status["metrics"]["total_claims"].as_i64().unwrap() > 10,
        "{status}"
    );
    assert_eq!(status["queue_items"].as_array().unwrap().len(), 2);

    let disputed = run(
        "query_view",
        json!({"view_name": "v_contradictions", "task_id": task}),
    );
    assert!(
        disputed["row_count"].as_i64().unwrap() > 0,
        "the corpus is about a real dispute"
    );
    let quotes = run(
        "query_sql",
        json!({
        "sql": "SELECT f.text_content = substr(t.text, f.char_start + 1, f.char_end - f.char_start) AS exact
                FROM claims c JOIN edges e ON e.target_id = c.id AND e.relation = 'origin'
                JOIN fragments f ON f.id = e.source_id
                JOIN page_texts t ON t.page_id = f.page_id AND t.version = f.page_version
                WHERE c.task_id = ?", "params": [task], "options": {"limit": 200}}),
    );
    let rows = quotes["rows"].as_array().unwrap();
    assert!(rows.len() > 10 && rows.iter().all(|row| row["exact"] == 1));
    for mode in ["semantic", "hybrid", "lexical"] {
        for target in ["claims", "fragments"] {
            let found = run(
                "vector_search",
                json!({"query": "hospitalization for heart failure",
                "task_id": task, "target": target, "mode": mode, "min_similarity": 0.2}),
            );
            assert!(
                !found["results"].as_array().unwrap().is_empty(),
                "{mode} {target}"
            );
        }
    }
    let views = run("list_views", json!({}));
    assert_eq!(views["count"], 28);
    for view in views["views"].as_array().unwrap() {
        run(
            "query_view",
            json!({"view_name": view["name"], "task_id": task}),
        );
    }
    run("get_auth_queue", json!({"group_by": "domain"}));
    let stopped = run("stop_task", json!({"task_id": task}));
    assert_eq!(stopped["final_status"], "paused");
}

#[test]
fn a_large_reply_is_cut_and_can_be_paged_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    let sql = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 149)
               SELECT i, hex(zeroblob(400)) AS wide FROM n";
    let mut seen = Vec::new();
    let mut offset = 0;
    let mut pages = 0;
    loop {
        let result = client.call(
            "query_sql",
            json!({"sql": sql,
            "options": {"limit": 200, "offset": offset, "max_bytes": 1_048_576}}),
        );
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() <= 48 * 1024, "{} bytes", text.len());
        let body = &result["structuredContent"];
        assert_eq!(body["row_count"], body["rows"].as_array().unwrap().len());
        seen.extend(
            body["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["i"].as_i64().unwrap()),
        );
        pages += 1;
        if body["truncated"] == false {
            break;
        }
        offset = body["next_offset"].as_i64().unwrap();
    }
    assert!(pages > 2, "{pages}");
    assert_eq!(seen, (0..150).collect::<Vec<i64>>());
}
