//! The protocol itself: handshakes, broken input, unknown names, resources, prompts, the end.

use crate::client::Client;
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn every_revision_in_use_shakes_hands() {
    let folder = tempfile::tempdir().unwrap();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::start(&folder.path().join("a.db"), &[]);
        let reply = client.handshake(version);
        assert_eq!(reply["result"]["protocolVersion"], version);
        assert_eq!(reply["result"]["serverInfo"]["name"], "lyra");
        assert!(
            reply["result"]["instructions"]
                .as_str()
                .unwrap()
                .contains("create_task")
        );
        assert_eq!(tools(&mut client, json!({})).len(), 19);
    }
}

#[test]
fn the_stateless_revision_needs_no_handshake() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::start(&folder.path().join("a.db"), &[]);
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}}});
    assert_eq!(tools(&mut client, meta.clone()).len(), 19);
    let mut call = meta;
    call["name"] = json!("list_views");
    call["arguments"] = json!({});
    let reply = client.request("tools/call", call);
    assert_eq!(reply["result"]["structuredContent"]["ok"], true, "{reply}");
}

fn tools(client: &mut Client, params: Value) -> Vec<Value> {
    client.request("tools/list", params)["result"]["tools"]
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn broken_lines_are_answered_and_survived() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    for (line, id, code) in [
        (
            "{\"jsonrpc\": \"2.0\", \"id\": 900, ".to_owned(),
            Value::Null,
            -32700,
        ),
        ("hello".to_owned(), Value::Null, -32700),
        ("[".repeat(50_000), Value::Null, -32700),
        ("[]".to_owned(), Value::Null, -32600),
        ("{\"id\": 901}".to_owned(), json!(901), -32600),
        (
            json!({"jsonrpc": "2.0", "id": 902, "method": "no/such"}).to_string(),
            json!(902),
            -32601,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 903, "method": "tools/call", "params": {"name": 5}})
                .to_string(),
            json!(903),
            -32602,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 904, "method": "tools/call"}).to_string(),
            json!(904),
            -32602,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 905, "method": "tools/call",
                   "params": {"name": "query_sq", "arguments": {}}})
            .to_string(),
            json!(905),
            -32602,
        ),
    ] {
        client.say(&line);
        let label: String = line.chars().take(80).collect();
        let reply = client
            .message(Duration::from_secs(30))
            .unwrap_or_else(|| panic!("{label}"));
        assert_eq!(
            (&reply["id"], &reply["error"]["code"]),
            (&id, &json!(code)),
            "{label}"
        );
        if code == -32602 && id == 905 {
            assert!(
                reply["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("did you mean query_sql")
            );
        }
    }
    // Odd notifications get no answer, and the server is still there.
    client.say("{\"jsonrpc\": \"2.0\", \"method\": \"notifications/odd\", \"params\": 5}");
    client.ok("list_views", json!({}));
    assert_eq!(client.aside, Vec::<Value>::new());
}

#[test]
fn resources_and_prompts_can_be_listed_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    let task = client.ok("create_task", json!({"hypothesis": "Tea is good for you."}));
    let task = task["task_id"].as_str().unwrap().to_owned();

    let listed = client.request("resources/list", json!({}));
    let listed = listed["result"]["resources"].as_array().unwrap().clone();
    assert!(
        listed
            .iter()
            .any(|r| r["uri"] == format!("lyra://task/{task}"))
    );
    for resource in &listed {
        let uri = resource["uri"].as_str().unwrap();
        let reply = client.request("resources/read", json!({"uri": uri}));
        let text = reply["result"]["contents"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{reply}"));
        // The evidence page is HTML.
        let is_json = resource["mimeType"] == "application/json";
        assert_eq!(is_json, !uri.starts_with("ui://"), "{uri}");
        let body = serde_json::from_str::<Value>(text);
        assert_eq!(is_json, body.is_ok_and(|body| body.is_object()), "{uri}");
    }
    for uri in [
        "lyra://task/task_00000000",
        "lyra://views/v_none",
        "lyra://x",
        "file:///etc/passwd",
    ] {
        let reply = client.request("resources/read", json!({"uri": uri}));
        assert_eq!(reply["error"]["code"], -32002, "{uri}: {reply}");
    }

    let prompts = client.request("prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"].as_array().unwrap().len(), 2);
    let given = json!({"name": "research_session", "arguments": {"hypothesis": "Tea is good."}});
    let prompt = client.request("prompts/get", given);
    let text = prompt["result"]["messages"][0]["content"]["text"]
        .as_str()
        .unwrap();
    assert!(text.contains("Tea is good.") && text.contains("queue_targets"));
    for wrong in [
        json!({"name": "none"}),
        json!({"name": "contradiction_review"}),
    ] {
        assert_eq!(
            client.request("prompts/get", wrong)["error"]["code"],
            -32602
        );
    }
}

#[test]
fn the_end_of_input_is_the_end_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    for connected in [true, false] {
        let db = folder.path().join("a.db");
        let mut client = if connected {
            Client::connect(&db, &[])
        } else {
            Client::start(&db, &[])
        };
        if connected {
            client.ok("create_task", json!({"hypothesis": "Tea is good for you."}));
        }
        client.hang_up();
        assert_eq!(
            client.exit(Duration::from_secs(20)),
            Some(0),
            "connected: {connected}"
        );
    }
}

#[test]
fn what_was_asked_before_the_end_of_input_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    let id = client.send_call("query_sql", json!({"sql": "SELECT 1 AS one"}));
    client.hang_up();
    let reply = client.answer(id);
    assert_eq!(reply["result"]["structuredContent"]["rows"][0]["one"], 1);
}

#[cfg(unix)]
#[test]
fn sigterm_ends_the_server_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let mut client = Client::connect(&db, &[]);
    let task = client.ok("create_task", json!({"hypothesis": "Tea is good for you."}));
    let kill = std::process::Command::new("kill")
        .arg(client.pid().to_string())
        .status()
        .unwrap();
    assert!(kill.success());
    assert_eq!(client.exit(Duration::from_secs(20)), Some(0));
    // What was answered is there.
    let mut again = Client::connect(&db, &[]);
    again.ok("get_status", json!({"task_id": task["task_id"], "wait": 0}));
}
