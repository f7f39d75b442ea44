//! feedback, calibration_metrics and calibration_rollback as a client sees them.

use crate::client::{Client, binary};
use crate::tools::{check_reply, schemas};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tempfile::TempDir;

const TASK: &str = "task_00000001";
const CLAIM: &str = "Tea lowers blood pressure in adults.";
const JUDGE: &str = "judge-1";

struct Session {
    _folder: TempDir,
    client: Client,
    schemas: BTreeMap<String, crate::tools::Checks>,
}

impl Session {
    /// A claim with so many supporting edges, each from its own page, by a judge that is 0.95 sure.
    fn new(edges: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut lines = vec![
            json!({"type": "task", "id": TASK, "hypothesis": "Tea lowers blood pressure."}),
            json!({"type": "claim", "id": "c1", "task_id": TASK, "claim_text": CLAIM}),
            json!({"type": "claim", "id": "c2", "task_id": TASK, "claim_text": "Coffee keeps people awake."}),
        ];
        for nth in 0..edges {
            let (page, fragment) = (format!("p{nth}"), format!("f{nth}"));
            lines.extend([
                json!({"type": "page", "id": page, "url": format!("https://site{nth}.org/a"),
                       "title": format!("Page {nth}")}),
                json!({"type": "fragment", "id": fragment, "page_id": page,
                       "text_content": format!("In trial {nth}, tea lowered blood pressure.")}),
                json!({"type": "edge", "id": format!("e{nth}"), "source_type": "fragment",
                       "source_id": fragment, "target_type": "claim", "target_id": "c1",
                       "relation": "supports", "nli_edge_confidence": 0.95, "judge_id": JUDGE}),
                json!({"type": "task_page", "task_id": TASK, "page_id": page, "reason": "search"}),
            ]);
        }
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let (file, db) = (folder.path().join("g.jsonl"), folder.path().join("a.db"));
        std::fs::write(&file, lines.join("\n")).unwrap();
        let imported = binary(&db).arg("import").arg(&file).output().unwrap();
        assert!(imported.status.success(), "{imported:?}");
        let mut client = Client::connect(&db, &[]);
        let schemas = schemas(&mut client);
        Self {
            _folder: folder,
            client,
            schemas,
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.client.call(tool, arguments);
        check_reply(tool, &result, &self.schemas);
        result["structuredContent"].clone()
    }

    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let body = self.call(tool, arguments.clone());
        assert_eq!(body["ok"], true, "{arguments}: {body}");
        body
    }

    fn view(&mut self, name: &str) -> Value {
        self.done("query_view", json!({"view_name": name, "task_id": TASK}))["rows"].clone()
    }

    /// Whether the claim is in two views, in search by meaning and by words, and in the counts.
    fn sees_claim(&mut self) -> [bool; 5] {
        let names = |rows: &Value, field: &str| {
            let rows = rows.as_array().unwrap();
            rows.iter().any(|row| row[field] == "c1")
        };
        let summary = names(&self.view("v_claim_evidence_summary"), "claim_id");
        let chain = names(&self.view("v_evidence_chain"), "claim_id");
        let mut found = |mode: &str| {
            let body = self.done(
                "vector_search",
                json!({"query": CLAIM, "mode": mode, "task_id": TASK, "min_similarity": 0.3}),
            );
            names(&body["results"], "id")
        };
        let (semantic, lexical) = (found("semantic"), found("lexical"));
        let status = self.done("get_status", json!({"task_id": TASK, "wait": 0}));
        let counted = status["metrics"]["total_claims"] == 2;
        [summary, chain, semantic, lexical, counted]
    }
}

#[test]
fn a_claim_is_rejected_and_restored() {
    let mut session = Session::new(2);
    assert_eq!(session.sees_claim(), [true; 5]);
    let reply = session.done(
        "feedback",
        json!({"action": "claim_reject", "claim_id": "c1", "reason": "an advertisement"}),
    );
    assert_eq!(reply["previous"], "adopted");
    assert_eq!(
        (&reply["current"], &reply["affected_count"]),
        (&json!("not_adopted"), &json!(1))
    );
    assert_eq!(session.sees_claim(), [false; 5]);
    session.done(
        "feedback",
        json!({"action": "claim_restore", "claim_id": "c1"}),
    );
    assert_eq!(session.sees_claim(), [true; 5]);
    let log = session.done(
        "query_sql",
        json!({"sql": "SELECT action, actor, reason FROM feedback_log ORDER BY id"}),
    );
    assert_eq!(
        log["rows"],
        json!([{"action": "claim_reject", "actor": "user", "reason": "an advertisement"},
               {"action": "claim_restore", "actor": "user", "reason": null}])
    );
}

#[test]
fn an_edge_is_corrected_and_the_views_count_it() {
    let mut session = Session::new(2);
    let counts = |session: &mut Session| {
        let row = session.view("v_claim_evidence_summary")[0].clone();
        assert_eq!(row["claim_id"], "c1");
        [row["support_count"].clone(), row["refute_count"].clone()]
    };
    assert_eq!(counts(&mut session), [2, 0]);
    let reply = session.done(
        "feedback",
        json!({"action": "edge_correct", "edge_id": "e0", "correct_relation": "refutes"}),
    );
    assert_eq!(
        (&reply["edge_id"], &reply["previous"], &reply["current"]),
        (&json!("e0"), &json!("supports"), &json!("refutes"))
    );
    assert_eq!(counts(&mut session), [1, 1]);
    assert_eq!(session.view("v_contradictions")[0]["claim_id"], "c1");
}

#[test]
fn a_domain_is_blocked_unblocked_and_cleared() {
    let mut session = Session::new(0);
    let mut feedback = |action: &str, pattern: &str| {
        session.done(
            "feedback",
            json!({"action": action, "domain_pattern": pattern, "reason": "r"}),
        )
    };
    let blocked = feedback("domain_block", "Example.org");
    assert_eq!(blocked["domain_pattern"], "example.org");
    assert_eq!(
        (&blocked["previous"], &blocked["current"]),
        (&json!(null), &json!("block"))
    );
    assert_eq!(
        feedback("domain_unblock", "good.example.org")["current"],
        "allow"
    );
    let targets = ["https://www.example.org/a", "https://good.example.org/b"];
    let queued = session.done(
        "queue_targets",
        json!({"task_id": TASK, "targets": targets}),
    );
    assert_eq!(
        (&queued["queued_count"], &queued["skipped_count"]),
        (&json!(1), &json!(1))
    );
    let reason = queued["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("blocked_domain: "), "{reason}");
    let status = session.done(
        "get_status",
        json!({"task_id": TASK, "wait": 0, "detail": "full"}),
    );
    assert_eq!(status["blocked_domains"], json!(["example.org"]));
    let cleared = session.done(
        "feedback",
        json!({"action": "domain_clear_override", "domain_pattern": "example.org", "reason": "r"}),
    );
    assert_eq!(
        (&cleared["previous"], &cleared["current"]),
        (&json!("block"), &json!(null))
    );
    let queued = session.done(
        "queue_targets",
        json!({"task_id": TASK, "targets": [targets[0]]}),
    );
    assert_eq!(queued["queued_count"], 1);
}

#[test]
fn a_judge_is_calibrated_measured_and_rolled_back() {
    let mut session = Session::new(21);
    let empty = session.done("calibration_metrics", json!({}));
    assert_eq!(empty["action"], "get_stats");
    assert_eq!(empty["sources"][0]["active_version"], 0);
    for nth in 0..21 {
        let relation = ["supports", "refutes"][nth % 2];
        session.done(
            "feedback",
            json!({"action": "edge_correct", "edge_id": format!("e{nth}"), "correct_relation": relation}),
        );
    }
    let stats = session.done("calibration_metrics", json!({"source": JUDGE}));
    let judge = &stats["sources"][0];
    assert_eq!(
        (&judge["source"], &judge["active_version"]),
        (&json!(JUDGE), &json!(2))
    );
    assert!(judge["brier_after"].as_f64().unwrap() < judge["brier_before"].as_f64().unwrap());
    let measured = session.done(
        "calibration_metrics",
        json!({"action": "get_evaluations", "limit": 1}),
    );
    assert_eq!(
        (
            &measured["truncated"],
            &measured["evaluations"][0]["version"]
        ),
        (&json!(true), &json!(2))
    );
    let measured = session.done("calibration_metrics", json!({"action": "get_evaluations"}));
    assert_eq!(measured["evaluations"].as_array().map(Vec::len), Some(2));
    assert_eq!(measured["truncated"], false);

    let back = session.done(
        "calibration_rollback",
        json!({"source": JUDGE, "reason": "odd"}),
    );
    assert_eq!(
        (&back["from_version"], &back["to_version"], &back["reason"]),
        (&json!(2), &json!(1), &json!("odd"))
    );
    let back = session.done(
        "calibration_rollback",
        json!({"source": JUDGE, "version": 2, "reason": "try"}),
    );
    assert_eq!(back["to_version"], 2);
    for (arguments, code) in [
        (
            json!({"source": JUDGE, "version": 2, "reason": "r"}),
            "CALIBRATION_ERROR",
        ),
        (
            json!({"source": JUDGE, "version": 77, "reason": "r"}),
            "RESOURCE_NOT_FOUND",
        ),
        (
            json!({"source": "nobody", "reason": "r"}),
            "RESOURCE_NOT_FOUND",
        ),
        (
            json!({"source": JUDGE, "version": -1, "reason": "r"}),
            "INVALID_PARAMS",
        ),
        (json!({"source": JUDGE, "reason": " "}), "INVALID_PARAMS"),
    ] {
        let body = session.call("calibration_rollback", arguments.clone());
        assert_eq!(body["error_code"], code, "{arguments}: {body}");
    }
    let unknown = session.call("calibration_metrics", json!({"source": "nobody"}));
    assert_eq!(unknown["error_code"], "RESOURCE_NOT_FOUND");
    assert!(unknown["hint"].as_str().unwrap().contains(JUDGE));
}

#[test]
fn what_is_wrong_is_named() {
    let mut session = Session::new(1);
    for (arguments, code, field) in [
        (
            json!({"action": "edge_correct", "edge_id": "none", "correct_relation": "neutral"}),
            "RESOURCE_NOT_FOUND",
            "edge_id",
        ),
        (
            json!({"action": "claim_reject", "claim_id": "none", "reason": "r"}),
            "RESOURCE_NOT_FOUND",
            "claim_id",
        ),
        (
            json!({"action": "claim_restore", "claim_id": "none"}),
            "RESOURCE_NOT_FOUND",
            "claim_id",
        ),
        (
            json!({"action": "domain_clear_override", "domain_pattern": "a.org", "reason": "r"}),
            "RESOURCE_NOT_FOUND",
            "domain_pattern",
        ),
        (
            json!({"action": "edge_correct", "edge_id": "e0", "correct_relation": "cites"}),
            "INVALID_PARAMS",
            "correct_relation",
        ),
        (
            json!({"action": "claim_reject", "claim_id": "c1"}),
            "INVALID_PARAMS",
            "reason",
        ),
        (
            json!({"action": "claim_reject", "claim_id": "c1", "edge_id": "e0", "reason": "r"}),
            "INVALID_PARAMS",
            "edge_id",
        ),
        (
            json!({"action": "domain_block", "domain_pattern": "*.co.uk", "reason": "r"}),
            "INVALID_PARAMS",
            "domain_pattern",
        ),
        (
            json!({"action": "domain_unblock", "domain_pattern": "io", "reason": "r"}),
            "INVALID_PARAMS",
            "domain_pattern",
        ),
    ] {
        let body = session.call("feedback", arguments.clone());
        assert_eq!(body["error_code"], code, "{arguments}: {body}");
        let text = body.to_string();
        assert!(text.contains(field), "{arguments}: {body}");
        assert!(
            code == "INVALID_PARAMS" || body["hint"].is_string(),
            "{body}"
        );
    }
    let log = session.done(
        "query_sql",
        json!({"sql": "SELECT count(*) AS n FROM feedback_log"}),
    );
    assert_eq!(log["rows"], json!([{"n": 0}]));
}
