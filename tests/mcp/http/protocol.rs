//! The protocol over HTTP: sessions of the older revisions, requests alone in the newest one.

use super::{Server, post};
use serde_json::{Value, json};

#[test]
fn every_revision_with_a_handshake_has_a_session() {
    let server = Server::open();
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut session = server.session(None, revision);
        assert_eq!(session.tools().len(), 19, "{revision}");
        let created = session.ok("create_task", json!({"hypothesis": "Tea is good for you."}));
        assert!(created["task_id"].as_str().unwrap().starts_with("task_"));
        let uri = format!("lyra://task/{}", created["task_id"].as_str().unwrap());
        let read = session.request("resources/read", json!({"uri": uri}));
        assert!(read["result"]["contents"].is_array(), "{read}");

        let headers = session.headers();
        let ended = server.send("DELETE", "/mcp", &headers, "");
        assert!((200..300).contains(&ended.status), "{ended:?}");
        let late = session.post(&json!({"jsonrpc": "2.0", "id": 9, "method": "ping"}));
        assert_eq!(late.status, 404, "{late:?}");
    }
}

/// Clients before 2025-11-25 take an event without data for a broken message.
#[test]
fn only_clients_that_know_it_get_an_event_without_data() {
    let server = Server::open();
    for (revision, is_primed) in [
        ("2025-03-26", false),
        ("2025-06-18", false),
        ("2025-11-25", true),
    ] {
        let session = server.session(None, revision);
        let answer = session.post(&json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}));
        let mut data = answer
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"));
        let has_empty = data.any(|data| data.trim().is_empty());
        assert_eq!(has_empty, is_primed, "{revision}: {answer:?}");
    }
}

fn stateless(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

#[test]
fn the_stateless_revision_needs_no_session() {
    let server = Server::open();
    let headers = |method| {
        [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ]
    };
    let listed = server.post(&headers("tools/list"), &stateless("tools/list", json!({})));
    let tools = listed.message()["result"]["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 19, "{listed:?}");
    assert_eq!(listed.header("mcp-session-id"), None);

    let [version, method] = headers("tools/call");
    let call = stateless("tools/call", json!({"name": "list_views", "arguments": {}}));
    let answer = server.post(&[version, method, ("Mcp-Name", "list_views")], &call);
    assert_eq!(
        answer.message()["result"]["structuredContent"]["ok"],
        true,
        "{answer:?}"
    );
    // A header that says something else than the body is refused.
    let wrong = server.post(&[version, method, ("Mcp-Name", "query_sql")], &call);
    assert_eq!(wrong.status, 400, "{wrong:?}");
    assert_eq!(wrong.message()["error"]["code"], -32020, "{wrong:?}");
}

#[test]
fn broken_messages_are_answered_as_on_standard_input() {
    let server = Server::open();
    for (body, code) in [
        ("{\"jsonrpc\": ".to_owned(), -32700),
        ("hello".to_owned(), -32700),
        ("[]".to_owned(), -32600),
        ("{\"id\": 5}".to_owned(), -32600),
        (
            "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": 5}"
                .to_owned(),
            -32600,
        ),
    ] {
        let answer = server.send("POST", "/mcp", &[], &body);
        assert_eq!(answer.status, 400, "{body}: {answer:?}");
        assert_eq!(answer.message()["error"]["code"], code, "{body}");
    }
    let session = server.session(None, "2025-11-25");
    for (message, code) in [
        (
            json!({"jsonrpc": "2.0", "id": 7, "method": "no/such"}),
            -32601,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": 5}}),
            -32602,
        ),
        (
            json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                   "params": {"name": "query_sq", "arguments": {}}}),
            -32602,
        ),
    ] {
        let answer = session.post(&message);
        assert_eq!(answer.message()["error"]["code"], code, "{answer:?}");
    }
}

/// The answers to two requests with one id could not be told apart.
#[test]
fn an_id_without_an_answer_is_not_taken_twice() {
    use std::io::Write;
    let server = Server::open();
    let mut session = server.session(None, "2025-11-25");
    let task = session.ok("create_task", json!({"hypothesis": "Tea is good for you."}));
    session.ok("get_status", json!({"task_id": task["task_id"], "wait": 0}));
    let wait = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {
        "name": "get_status", "arguments": {"task_id": task["task_id"], "wait": 40}}});
    let body = post(&wait);
    let mut waiting = server.connect();
    let head = server.head("POST", "/mcp", &session.headers(), Some(body.len()));
    waiting.write_all(head.as_bytes()).unwrap();
    waiting.write_all(body.as_bytes()).unwrap();
    // The first bytes of its answer show that it is there.
    let mut first = [0; 8];
    std::io::Read::read_exact(&mut waiting, &mut first).unwrap();

    let ping = json!({"jsonrpc": "2.0", "id": 77, "method": "ping"});
    let refused = session.post(&ping);
    assert_eq!(refused.status, 400, "{refused:?}");
    assert_eq!(refused.message()["error"]["code"], -32600);
    assert_eq!(refused.message()["id"], 77);

    session.ok("stop_task", json!({"task_id": task["task_id"]}));
    let rest = {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut waiting, &mut text).unwrap();
        text
    };
    assert!(rest.contains("\"id\":77"), "{rest}");
    // Free again.
    assert_eq!(session.post(&ping).status, 200);
}
