//! What the calls of docs/tools.md are made to, and those of them that fail.

use serde_json::{Value, json};

/// The task that the calls are about.
pub(super) const TASK: &str = "task_0a1b2c3d";

/// Tool, code, reason, and a call that gives it.
pub(super) fn failures() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    const NO_TASK: (&str, &str) = ("TASK_NOT_FOUND", "no task with that id");
    let none = "task_ffffffff";
    vec![
        (
            "queue_targets",
            NO_TASK.0,
            NO_TASK.1,
            json!({"task_id": none, "targets": ["a"]}),
        ),
        (
            "queue_reference_candidates",
            NO_TASK.0,
            NO_TASK.1,
            json!({"task_id": none}),
        ),
        ("get_status", NO_TASK.0, NO_TASK.1, json!({"task_id": none})),
        ("stop_task", NO_TASK.0, NO_TASK.1, json!({"task_id": none})),
        (
            "check_report",
            NO_TASK.0,
            NO_TASK.1,
            json!({"text": "Tea helps.", "task_id": none}),
        ),
        (
            "claim_standing",
            NO_TASK.0,
            NO_TASK.1,
            json!({"text": "Tea helps.", "task_id": none}),
        ),
        (
            "query_sql",
            "QUERY_REJECTED",
            "not a read-only SELECT of public tables",
            json!({"sql": "DELETE FROM claims"}),
        ),
        (
            "query_sql",
            "QUERY_INTERRUPTED",
            "its time, steps or memory ran out",
            json!({"sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"}),
        ),
        (
            "vector_search",
            NO_TASK.0,
            NO_TASK.1,
            json!({"query": "a", "task_id": none}),
        ),
        (
            "query_view",
            NO_TASK.0,
            NO_TASK.1,
            json!({"view_name": "v_contradictions", "task_id": none}),
        ),
        (
            "query_view",
            "RESOURCE_NOT_FOUND",
            "no view of that name",
            json!({"view_name": "v_contradiction"}),
        ),
        (
            "show_evidence",
            NO_TASK.0,
            NO_TASK.1,
            json!({"task_id": none}),
        ),
        (
            "show_evidence",
            "RESOURCE_NOT_FOUND",
            "the server does not keep the page of that cursor any more; the page begins again",
            json!({"task_id": TASK, "cursor": "99@7"}),
        ),
        (
            "get_judgements",
            NO_TASK.0,
            NO_TASK.1,
            json!({"task_id": none}),
        ),
        (
            "submit_judgements",
            NO_TASK.0,
            NO_TASK.1,
            json!({"task_id": none, "model": "m", "judgements": [{"pair_id": "p", "relation": "neutral"}]}),
        ),
        (
            "get_auth_queue",
            NO_TASK.0,
            NO_TASK.1,
            json!({"task_id": none}),
        ),
        (
            "resolve_auth",
            "RESOURCE_NOT_FOUND",
            "no page waits under that id",
            json!({"queue_id": "iq_none", "action": "skip"}),
        ),
        (
            "feedback",
            "RESOURCE_NOT_FOUND",
            "no edge or claim with that id",
            json!({"action": "edge_correct", "edge_id": "edge_none", "correct_relation": "neutral"}),
        ),
        (
            "calibration_rollback",
            "RESOURCE_NOT_FOUND",
            "no such judge or version",
            json!({"source": "nobody", "reason": "a test"}),
        ),
        (
            "calibration_rollback",
            "CALIBRATION_ERROR",
            "nothing to roll back",
            json!({"source": "lyra-minilm-judge-v6", "reason": "a test"}),
        ),
        (
            "calibration_metrics",
            "RESOURCE_NOT_FOUND",
            "a judge that was never corrected",
            json!({"source": "nobody"}),
        ),
    ]
}

/// A task with sources that disagree, a citation to follow, and verdicts enough to calibrate.
pub(super) fn graph() -> String {
    let page = |id: &str, url: &str, title: &str| json!({"type": "page", "id": id, "url": url, "title": title, "fetched_at": "2026-02-01T08:00:00.000Z"});
    let fragment = |id: &str, page: &str, text: &str| json!({"type": "fragment", "id": id, "page_id": page, "text_content": text});
    let verdict = |id: &str, source: &str, relation: &str, sure: f64| json!({"type": "edge", "id": id, "source_type": "fragment", "source_id": source, "target_type": "claim", "target_id": "claim_night", "relation": relation, "nli_edge_confidence": sure, "judge_id": "judge-1"});
    let mut lines = vec![
        json!({"type": "task", "id": TASK, "hypothesis": "Night work shortens sleep"}),
        json!({"type": "claim", "id": "claim_night", "task_id": TASK, "claim_text": "Night work shortens sleep by an hour."}),
        page("page_nurses", "https://nurses.example/1", "Nurses"),
        page("page_guards", "https://guards.example/2", "Guards"),
        page("page_drivers", "https://drivers.example/3", "Drivers"),
        json!({"type": "page", "id": "page_cited", "url": "https://cited.example/4", "title": "An older cohort"}),
        fragment(
            "frag_nurses",
            "page_nurses",
            "Nurses who worked nights slept an hour less.",
        ),
        fragment(
            "frag_guards",
            "page_guards",
            "Night work did not shorten the sleep of guards.",
        ),
        fragment(
            "frag_drivers",
            "page_drivers",
            "Drivers slept 70 minutes less after night shifts.",
        ),
        json!({"type": "edge", "id": "edge_origin", "source_type": "fragment", "source_id": "frag_nurses", "target_type": "claim", "target_id": "claim_night", "relation": "origin"}),
        verdict("edge_refutes", "frag_guards", "refutes", 0.93),
        verdict("edge_supports", "frag_drivers", "supports", 0.88),
        json!({"type": "edge", "id": "edge_cites", "source_type": "page", "source_id": "page_nurses", "target_type": "page", "target_id": "page_cited", "relation": "cites", "citation_source": "html", "citation_context": "as an older cohort found"}),
    ];
    for id in ["page_nurses", "page_guards", "page_drivers"] {
        lines
            .push(json!({"type": "task_page", "task_id": TASK, "page_id": id, "reason": "search"}));
    }
    lines.push(
        json!({"type": "task", "id": "task_9f8e7d6c", "hypothesis": "Tea lowers blood pressure"}),
    );
    lines.push(json!({"type": "claim", "id": "claim_tea", "task_id": "task_9f8e7d6c", "claim_text": "Tea lowers blood pressure."}));
    for nth in 0..20 {
        lines.push(page(
            &format!("page_tea{nth:02}"),
            &format!("https://tea{nth}.example/"),
            "Tea",
        ));
        lines.push(fragment(
            &format!("frag_tea{nth:02}"),
            &format!("page_tea{nth:02}"),
            &format!("In trial {nth}, tea lowered blood pressure."),
        ));
        let mut edge = verdict(
            &format!("edge_judged{nth:02}"),
            &format!("frag_tea{nth:02}"),
            "supports",
            0.95,
        );
        edge["target_id"] = json!("claim_tea");
        lines.push(edge);
    }
    lines
        .iter()
        .map(Value::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
