//! What a request has to pass: host, origin, token, rate, size.

use super::{Server, token, tokens_in};
use serde_json::{Value, json};
use std::io::Write;

fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})
}

fn guarded(arguments: &[&str], variables: &[(&str, &str)]) -> (Server, String) {
    let folder = tempfile::tempdir().unwrap();
    let token = token(folder.path(), "alice", "write", &[]);
    let server = Server::start(folder, arguments, variables);
    (server, format!("Bearer {token}"))
}

#[test]
fn without_a_valid_token_nothing_is_answered() {
    let (server, bearer) = guarded(&[], &[]);
    let raw = bearer.trim_start_matches("Bearer ").to_owned();
    let (basic, cut) = (format!("Basic {raw}"), &bearer[..bearer.len() - 1]);
    let in_query = format!("/mcp?access_token={raw}");
    for (path, headers, challenge) in [
        ("/mcp", vec![], "Bearer realm=\"lyra\""),
        ("/metrics", vec![], "Bearer realm=\"lyra\""),
        ("/else", vec![], "Bearer realm=\"lyra\""),
        (in_query.as_str(), vec![], "Bearer realm=\"lyra\""),
        (
            "/mcp",
            vec![("Authorization", basic.as_str())],
            "Bearer realm=\"lyra\"",
        ),
        (
            "/mcp",
            vec![("Authorization", "Bearer lyra_00")],
            "invalid_token",
        ),
        ("/mcp", vec![("Authorization", cut)], "invalid_token"),
        (
            "/mcp",
            vec![("Authorization", &bearer), ("Authorization", cut)],
            "realm",
        ),
    ] {
        let answer = server.send("POST", path, &headers, &ping().to_string());
        assert_eq!(answer.status, 401, "{path} {headers:?}: {answer:?}");
        let given = answer.header("www-authenticate").unwrap();
        assert!(given.contains(challenge), "{path} {headers:?}: {given}");
        assert!(answer.message()["error"]["data"]["hint"].is_string());
    }
    let allowed = server.get("/metrics", &[("Authorization", &bearer)]);
    assert_eq!(allowed.status, 200, "{allowed:?}");
    let lower = bearer.replacen("Bearer", "bearer", 1);
    assert_eq!(
        server.get("/metrics", &[("Authorization", &lower)]).status,
        200
    );
    // Neither the token nor what stands in a query gets into the log.
    server.wait_for("status=401");
    let log = server.said();
    assert!(
        !log.contains(&raw) && !log.contains("access_token"),
        "{log}"
    );
    assert!(!log.contains(&raw[..20]), "{log}");
}

#[test]
fn unknown_hosts_and_origins_are_refused() {
    let arguments = [
        "--allow-origin",
        "https://app.example.org",
        "--allow-host",
        "lyra.example.org",
    ];
    let (server, bearer) = guarded(&arguments, &[]);
    let own = format!("http://{}", server.address);
    for (host, origin, status) in [
        ("evil.org", None, 403),
        ("lyra.example.org", None, 200),
        ("localhost:1", None, 200),
        (server.address.as_str(), Some("https://evil.org"), 403),
        (server.address.as_str(), Some("null"), 403),
        (
            server.address.as_str(),
            Some("https://app.example.org"),
            200,
        ),
        (server.address.as_str(), Some(own.as_str()), 200),
        ("evil.org", Some("http://evil.org"), 403),
    ] {
        let mut headers = vec![("Host", host), ("Authorization", bearer.as_str())];
        headers.extend(origin.map(|origin| ("Origin", origin)));
        let answer = server.get("/metrics", &headers);
        assert_eq!(answer.status, status, "{host} {origin:?}: {answer:?}");
        if status == 200 {
            assert_eq!(answer.header("access-control-allow-origin"), origin);
        }
    }
    // A browser asks first, without the token.
    let origin = ("Origin", "https://app.example.org");
    let asked = server.send("OPTIONS", "/mcp", &[origin], "");
    assert_eq!(asked.status, 204, "{asked:?}");
    let allowed = asked.header("access-control-allow-headers").unwrap();
    assert!(allowed.contains("Authorization") && allowed.contains("Mcp-Session-Id"));
    let refused = server.send("OPTIONS", "/mcp", &[("Origin", "https://evil.org")], "");
    assert_eq!(refused.status, 403);
}

#[test]
fn a_body_beyond_the_limit_is_refused() {
    let (server, bearer) = guarded(&[], &[("LYRA_HTTP_MAX_BODY", "1")]);
    let mut message = ping();
    message["params"] = json!({"x": "x".repeat(1024 * 1024)});
    let headers = [("Authorization", bearer.as_str())];
    let answer = server.post(&headers, &message);
    assert_eq!(answer.status, 413, "{answer:?}");
    assert!(answer.body.contains("1048576 bytes"), "{answer:?}");

    // One whose length nobody said.
    let mut stream = server.connect();
    let chunked = [headers[0], ("Transfer-Encoding", "chunked")];
    stream
        .write_all(server.head("POST", "/mcp", &chunked, None).as_bytes())
        .unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..17 {
        let _ = stream.write_all(chunk.as_bytes());
    }
    let _ = stream.write_all(b"0\r\n\r\n");
    assert_eq!(super::read_answer(stream).status, 413);

    let small = server.post(
        &headers,
        &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                   "clientInfo": {"name": "t", "version": "1"}}}),
    );
    assert_eq!(small.status, 200, "{small:?}");
}

#[test]
fn a_token_that_asks_too_often_has_to_wait() {
    let folder = tempfile::tempdir().unwrap();
    let eager = token(folder.path(), "eager", "read", &[]);
    let other = token(folder.path(), "other", "read", &[]);
    let limits = [("LYRA_HTTP_RATE", "1"), ("LYRA_HTTP_BURST", "4")];
    let server = Server::start(folder, &[], &limits);
    let ask = |token: &str| {
        let bearer = format!("Bearer {token}");
        server.get("/metrics", &[("Authorization", &bearer)])
    };
    // A slow machine may let the bucket fill up in between, but not as fast as this.
    let refused = (0..200)
        .map(|_| ask(&eager))
        .find(|answer| answer.status == 429);
    let refused = refused.expect("the rate is limited");
    assert_eq!(refused.header("retry-after"), Some("1"), "{refused:?}");
    assert_eq!(ask(&other).status, 200, "a bucket of its own");
}

#[test]
fn other_machines_are_served_with_tokens_only() {
    for (file, arguments, expected) in [
        (None, &["--http", "0.0.0.0:0"][..], "there are no tokens"),
        (None, &["--http", "[::]:0"], "there are no tokens"),
        (
            None,
            &["--http", "127.0.0.1:0", "--tokens", "none"],
            "cannot be read",
        ),
        (
            Some("# empty\n"),
            &["--http", "127.0.0.1:0", "--tokens", "tokens"],
            "holds no token",
        ),
        (
            Some("alice write\n"),
            &["--http", "127.0.0.1:0", "--tokens", "tokens"],
            "line 1: the line has 2 fields",
        ),
        (None, &["--http", "8765"], "is not an address with a port"),
        (
            None,
            &["--http", "127.0.0.1:0", "--allow-host", "https://a.org"],
            "is not a host",
        ),
        (
            None,
            &["--http", "127.0.0.1:0", "--allow-origin", "a.org"],
            "is not an origin",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        if let Some(text) = file {
            std::fs::write(tokens_in(folder.path()), text).unwrap();
        }
        let out = crate::client::binary(&folder.path().join("a.db"))
            .arg("serve")
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(said.contains("hint: "), "{arguments:?}: {said}");
    }
}
