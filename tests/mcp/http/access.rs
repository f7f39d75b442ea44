//! What a token allows, and that the log of the graph knows who it was.

use super::{Server, token, tokens_in};
use crate::app::{OTHER, TASK, graph};
use crate::client::binary;
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs a command of `token`; its standard output.
fn command(folder: &Path, arguments: &[&str]) -> (bool, String, String) {
    let out = binary(&folder.join("a.db"))
        .arg("token")
        .args(arguments)
        .arg("--tokens")
        .arg(tokens_in(folder))
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (out.status.success(), text(out.stdout), text(out.stderr))
}

#[test]
fn the_file_holds_hashes_and_the_commands_change_it() {
    let folder = tempfile::tempdir().unwrap();
    let alice = token(folder.path(), "alice", "write", &[]);
    let ci = token(folder.path(), "ci", "read", &["task_1", "task_2"]);
    assert_ne!(alice, ci);
    let text = std::fs::read_to_string(tokens_in(folder.path())).unwrap();
    for token in [&alice, &ci] {
        assert!(token.starts_with("lyra_") && token.len() == 69, "{token}");
        assert!(!text.contains(&token[5..]), "{text}");
    }
    let (good, listed, _) = command(folder.path(), &["list"]);
    assert!(good);
    assert_eq!(listed, "alice write *\nci read task_1,task_2\n");

    for (arguments, expected) in [
        (
            &["add", "alice", "--scope", "read"][..],
            "a token \"alice\" already",
        ),
        (
            &["add", "user", "--scope", "read"],
            "is reserved in the log",
        ),
        (&["add", "a b", "--scope", "read"], "cannot be a token's"),
        (&["remove", "alise"], "did you mean \"alice\"?"),
    ] {
        let (good, out, said) = command(folder.path(), arguments);
        assert!(!good && out.is_empty(), "{arguments:?}: {out}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    assert!(command(folder.path(), &["remove", "alice"]).0);
    let (_, listed, _) = command(folder.path(), &["list"]);
    assert_eq!(listed, "ci read task_1,task_2\n");
}

#[test]
fn a_removed_token_is_refused_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let alice = token(folder.path(), "alice", "read", &[]);
    let bob = token(folder.path(), "bob", "read", &[]);
    let server = Server::start(folder, &[], &[]);
    let status = |token: &str| {
        let bearer = format!("Bearer {token}");
        server.get("/metrics", &[("Authorization", &bearer)]).status
    };
    assert_eq!((status(&alice), status(&bob)), (200, 200));
    assert!(command(server.folder.path(), &["remove", "alice"]).0);
    let end = Instant::now() + crate::client::PATIENCE;
    while status(&alice) == 200 {
        assert!(Instant::now() < end, "the token still counts");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!((status(&alice), status(&bob)), (401, 200));
    // One that is added counts, too.
    let carol = token(server.folder.path(), "carol", "read", &[]);
    while status(&carol) == 401 {
        assert!(Instant::now() < end, "the token does not count");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn scope_read_calls_what_reads_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let alice = token(folder.path(), "alice", "write", &[]);
    let ci = token(folder.path(), "ci", "read", &[]);
    let server = Server::start(folder, &[], &[]);
    let mut writer = server.session(Some(&alice), "2025-11-25");
    let task = writer.ok("create_task", json!({"hypothesis": "Tea is good for you."}));
    let task = task["task_id"].as_str().unwrap().to_owned();

    let listed = writer.request("tools/list", json!({}));
    let mut reader = server.session(Some(&ci), "2025-11-25");
    let seen = reader.tools();
    let mut refused = 0;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let reads = tool["annotations"]["readOnlyHint"] == true;
        assert_eq!(seen.iter().any(|seen| seen == name), reads, "{name}");
        let arguments = smallest(name, &task);
        let body = reader.call(name, arguments);
        let is_denied = body["error_code"] == "ACCESS_DENIED";
        assert_eq!(is_denied, !reads, "{name}: {body}");
        if is_denied {
            let said = body["error"].as_str().unwrap();
            assert!(
                said.contains("scope read") && said.contains("\"ci\""),
                "{said}"
            );
            assert!(body["hint"].is_string());
            refused += 1;
        }
    }
    assert!(refused >= 8, "{refused}");
    // Nothing was written by those.
    let count = writer.rows("SELECT count(*) AS n FROM event_log WHERE actor <> 'alice'");
    assert_eq!(count, json!([{"n": 0}]));
}

/// Arguments that the tool's schema accepts.
fn smallest(tool: &str, task: &str) -> Value {
    match tool {
        "create_task" => json!({"hypothesis": "Coffee is good for you."}),
        "queue_targets" => json!({"task_id": task, "targets": ["tea"]}),
        "query_sql" => json!({"sql": "SELECT 1"}),
        "vector_search" => json!({"query": "tea"}),
        "query_view" => json!({"view_name": "v_contradictions", "task_id": task}),
        "check_report" => json!({"text": "Tea is good."}),
        "claim_standing" => json!({"text": "Tea is good for you."}),
        "submit_judgements" => json!({"task_id": task, "model": "m", "judgements": [
            {"pair_id": "p", "relation": "neutral"}]}),
        "resolve_auth" => json!({"target": "task", "task_id": task, "action": "skip"}),
        "feedback" => json!({"action": "claim_restore", "claim_id": "c"}),
        "calibration_rollback" => json!({"source": "s", "reason": "r"}),
        "get_auth_queue" | "list_views" | "calibration_metrics" => json!({}),
        _ => json!({"task_id": task}),
    }
}

#[test]
fn a_token_for_a_task_sees_that_task_only() {
    let folder = tempfile::tempdir().unwrap();
    let alice = token(folder.path(), "alice", "write", &[]);
    let server = Server::start(folder, &[], &[]);
    let mut owner = server.session(Some(&alice), "2025-11-25");
    let mut made = ["Tea is good for you.", "Coffee is good for you."].map(|hypothesis| {
        let task = owner.ok("create_task", json!({"hypothesis": hypothesis}));
        task["task_id"].as_str().unwrap().to_owned()
    });
    made.sort();
    let [mine, other] = made;
    let guest = token(server.folder.path(), "guest", "write", &[&mine]);
    // The server looks at the file once a second.
    let end = Instant::now() + crate::client::PATIENCE;
    let bearer = format!("Bearer {guest}");
    while server.get("/metrics", &[("Authorization", &bearer)]).status == 401 {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut session = server.session(Some(&guest), "2025-11-25");
    let tools = session.tools();
    assert!(tools.contains(&"get_status".to_owned()) && !tools.contains(&"query_sql".to_owned()));

    session.ok("get_status", json!({"task_id": mine, "wait": 0}));
    session.ok(
        "query_view",
        json!({"view_name": "v_contradictions", "task_id": mine}),
    );
    session.ok("list_views", json!({}));
    for (tool, arguments, expected) in [
        (
            "get_status",
            json!({"task_id": other, "wait": 0}),
            "not for task",
        ),
        ("stop_task", json!({"task_id": other}), "not for task"),
        ("vector_search", json!({"query": "tea"}), "without task_id"),
        (
            "vector_search",
            json!({"query": "tea", "task_id": other}),
            "not for task",
        ),
        (
            "query_sql",
            json!({"sql": "SELECT * FROM tasks"}),
            "not limited to a task",
        ),
        (
            "create_task",
            json!({"hypothesis": "Tea is bad for you."}),
            "not limited to a task",
        ),
        ("calibration_metrics", json!({}), "not limited to a task"),
        (
            "query_view",
            json!({"view_name": "v_contradictions", "params": {"task_id": other}, "task_id": mine}),
            "not for task",
        ),
        (
            "query_view",
            json!({"view_name": "v_citation_flow", "task_id": mine}),
            "the whole graph",
        ),
    ] {
        let body = session.call(tool, arguments.clone());
        assert_eq!(
            body["error_code"], "ACCESS_DENIED",
            "{tool} {arguments}: {body}"
        );
        let said = body["error"].as_str().unwrap();
        assert!(said.contains(expected), "{tool} {arguments}: {said}");
        assert_eq!(body["details"]["tasks"], json!([mine]));
    }
    let sql = session.call("query_sql", json!({"sql": "SELECT 1"}));
    assert!(
        sql["hint"].as_str().unwrap().contains("query_view"),
        "{sql}"
    );

    let listed = session.request("resources/list", json!({})).to_string();
    assert!(
        listed.contains(&mine) && !listed.contains(&other),
        "{listed}"
    );
    let all = session
        .request("resources/read", json!({"uri": "lyra://tasks"}))
        .to_string();
    assert!(all.contains(&mine) && !all.contains(&other), "{all}");
    let uri = format!("lyra://task/{other}");
    let hidden = session.request("resources/read", json!({"uri": uri}));
    assert_eq!(hidden["error"]["code"], -32002, "{hidden}");
}

#[test]
fn a_token_sees_its_tasks_and_is_told_whether_it_may_correct() {
    let folder = tempfile::tempdir().unwrap();
    graph(folder.path());
    let mine = token(folder.path(), "mine", "write", &[TASK]);
    let reader = token(folder.path(), "reader", "read", &[]);
    let writer = token(folder.path(), "writer", "write", &[]);
    let server = Server::start(folder, &[], &[]);
    for (token, can_correct) in [(&mine, false), (&reader, false), (&writer, true)] {
        let mut session = server.session(Some(token), "2025-11-25");
        let body = session.ok("show_evidence", json!({ "task_id": TASK }));
        assert_eq!(body["can_correct"], can_correct, "{body}");
        let page = json!({"uri": format!("ui://lyra/evidence/{OTHER}")});
        let page = session.request("resources/read", page);
        assert_eq!(page.get("error").is_some(), token == &mine);
    }
    let mut session = server.session(Some(&mine), "2025-11-25");
    let body = session.call("show_evidence", json!({ "task_id": OTHER }));
    assert_eq!(body["error_code"], "ACCESS_DENIED", "{body}");
}

#[test]
fn the_log_of_the_graph_names_the_token() {
    let folder = tempfile::tempdir().unwrap();
    let alice = token(folder.path(), "alice", "write", &[]);
    let bob = token(folder.path(), "bob", "write", &[]);
    let server = Server::start(folder, &["--audit"], &[]);
    let mut session = server.session(Some(&alice), "2025-06-18");
    let task = session.ok("create_task", json!({"hypothesis": "Tea is good for you."}));
    let mut session = server.session(Some(&bob), "2025-11-25");
    session.ok(
        "queue_targets",
        json!({"task_id": task["task_id"], "targets": ["tea"]}),
    );
    session.ok(
        "stop_task",
        json!({"task_id": task["task_id"], "mode": "immediate"}),
    );
    let block = |by: &str, domain: &str| json!({"action": "domain_block", "domain_pattern": domain, "reason": "adverts", "by": by});
    session.ok("feedback", block("user", "a.example.org"));
    session.ok("feedback", block("agent", "b.example.org"));

    let rows = session.rows(
        "SELECT action, actor FROM event_log WHERE actor NOT IN ('worker', 'system') \
         AND action <> 'tool_call' ORDER BY id",
    );
    assert_eq!(
        rows,
        json!([
            {"action": "task_created", "actor": "alice"},
            {"action": "targets_queued", "actor": "bob"},
            {"action": "task_stopped", "actor": "bob"},
            {"action": "domain_block", "actor": "bob"},
            {"action": "domain_block", "actor": "agent:bob"},
        ])
    );
    let calls = session.rows(
        "SELECT actor, subject_id AS tool FROM event_log WHERE action = 'tool_call' ORDER BY id LIMIT 2",
    );
    assert_eq!(
        calls,
        json!([{"actor": "alice", "tool": "create_task"}, {"actor": "bob", "tool": "queue_targets"}])
    );
    let line = server.wait_for("tool=\"create_task\"");
    assert!(
        line.contains("token=\"alice\"") && line.contains("outcome=\"ok\""),
        "{line}"
    );
}

#[test]
fn a_session_answers_to_its_own_token_only() {
    let folder = tempfile::tempdir().unwrap();
    let alice = token(folder.path(), "alice", "write", &[]);
    let bob = token(folder.path(), "bob", "write", &[]);
    let server = Server::start(folder, &[], &[]);
    let session = server.session(Some(&alice), "2025-11-25");
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    let bearer = format!("Bearer {bob}");
    let stolen = [
        ("Authorization", bearer.as_str()),
        ("Mcp-Session-Id", session.id.as_str()),
    ];
    assert_eq!(server.post(&stolen, &ping).status, 404);
    assert_eq!(server.send("GET", "/mcp", &stolen, "").status, 404);
    assert_eq!(server.send("DELETE", "/mcp", &stolen, "").status, 404);
    assert_eq!(session.post(&ping).status, 200);
}
