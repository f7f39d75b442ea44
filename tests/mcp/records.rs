//! What the server writes of its work: the log, and the audit.

use crate::client::{Client, binary};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// What a server writes to standard error for one refused query.
fn log_of(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let mut child = binary(&db)
        .args(arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "query_sql", "arguments": {"sql": "DELETE FROM claims"}}}),
    ] {
        writeln!(stdin, "{message}").unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_refused_query_stands_in_the_log_with_its_reason() {
    let text = log_of(&[], &[]);
    let line = text.lines().find(|line| line.contains("query refused"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    for part in ["WARN", "lyra_mcp", "tool=\"query_sql\"", "reason=", "Z "] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[test]
fn the_log_has_a_format_and_a_filter() {
    let text = log_of(&["--log-format", "json"], &[]);
    let lines: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let refused = lines.iter().find(|line| line["message"] == "query refused");
    let refused = refused.unwrap_or_else(|| panic!("{text}"));
    assert_eq!(
        (&refused["level"], &refused["tool"]),
        (&json!("WARN"), &json!("query_sql"))
    );
    assert!(refused["timestamp"].is_string() && refused["target"].is_string());

    assert_eq!(log_of(&[], &[("LYRA_LOG", "error")]), "");
    assert_eq!(log_of(&["--log", "off"], &[("LYRA_LOG", "debug")]), "");
    for (arguments, variables, wrong) in [
        (&["--log", "loud=x=y"][..], &[][..], "loud=x=y"),
        (&[], &[("LYRA_LOG_FORMAT", "pink")], "pink"),
    ] {
        let text = log_of(arguments, variables);
        assert!(text.contains("error: ") && text.contains(wrong), "{text}");
        assert!(text.contains("hint: "), "{text}");
    }
}

#[test]
fn what_an_agent_asked_is_recorded_where_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let mut client = Client::connect(&db, &[]);
    client.ok("list_views", json!({}));
    drop(client);

    let mut client = Client::connect(&db, &["--audit"]);
    client.ok(
        "query_sql",
        json!({"sql": "SELECT 1 AS one UNION SELECT 2"}),
    );
    client.call("query_sql", json!({"sql": "DROP TABLE claims"}));
    client.call(
        "resolve_auth",
        json!({"target": "item", "queue_id": "none", "action": "resolve",
        "session_data": {"cookies": [{"name": "sid", "value": "a-secret-cookie"}]}}),
    );
    let seen = client.ok(
        "query_sql",
        json!({"sql": "SELECT subject_id, details_json FROM event_log WHERE action = 'tool_call'"}),
    );
    assert_eq!(seen["rows"][0]["subject_id"], "query_sql");
    assert_eq!(seen["rows"][0]["details_json"], Value::Null);
    drop(client);

    let printed = binary(&db)
        .args(["audit", "--format", "json"])
        .output()
        .unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    let calls: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(calls.len(), 4, "{text}");
    let first = &calls[0]["details"];
    assert_eq!(first["arguments"]["sql"], "SELECT 1 AS one UNION SELECT 2");
    assert_eq!(
        (&first["rows"], &first["error_code"]),
        (&json!(2), &Value::Null)
    );
    assert!(first["elapsed_ms"].is_u64());
    assert_eq!(calls[1]["details"]["error_code"], "QUERY_REJECTED");
    assert!(!text.contains("a-secret-cookie"), "{text}");

    let both = binary(&db)
        .args(["--audit", "--read-only"])
        .output()
        .unwrap();
    let said = String::from_utf8(both.stderr).unwrap();
    assert!(!both.status.success() && said.contains("hint: "), "{said}");
}
