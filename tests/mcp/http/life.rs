//! Health, numbers, and the end of the server.

use super::{Server, post};
use crate::client::PATIENCE;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Instant;

#[test]
fn health_is_told_to_everybody() {
    let server = Server::open();
    // Probes name the address that they know.
    let answer = server.get("/healthz", &[("Host", "10.1.2.3")]);
    assert_eq!(answer.status, 200);
    let body: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(
        body,
        json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")})
    );
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let refused = server.send("POST", "/healthz", &[], "{}");
    assert_eq!(
        (refused.status, refused.header("allow")),
        (405, Some("GET, HEAD"))
    );
}

#[test]
fn the_numbers_follow_the_calls() {
    let server = Server::open();
    let mut session = server.session(None, "2025-11-25");
    session.ok("list_views", json!({}));
    session.ok("list_views", json!({}));
    let refused = session.call("query_sql", json!({"sql": "DROP TABLE claims"}));
    assert_eq!(refused["error_code"], "QUERY_REJECTED");
    server.send("POST", "/mcp", &[], "{");
    let page = server.get("/metrics", &[]);
    assert!(
        page.header("content-type")
            .unwrap()
            .starts_with("text/plain; version=0.0.4")
    );
    for line in [
        "lyra_tool_calls_total{tool=\"list_views\",outcome=\"ok\"} 2",
        "lyra_tool_calls_total{tool=\"query_sql\",outcome=\"QUERY_REJECTED\"} 1",
        "lyra_tool_call_duration_seconds_count{tool=\"list_views\"} 2",
        "lyra_http_requests_total{path=\"/mcp\",method=\"POST\",status=\"400\"} 1",
        "lyra_http_requests_total{path=\"/mcp\",method=\"POST\",status=\"202\"} 1",
        "lyra_http_sessions 1",
        "lyra_tool_calls_in_flight 0",
    ] {
        assert!(
            page.body.lines().any(|given| given == line),
            "{line}\n{}",
            page.body
        );
    }
    // Every number has its kind, as the format asks.
    for line in page.body.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let of_histogram = ["_bucket", "_sum", "_count"];
        let base = of_histogram.iter().find_map(|end| name.strip_suffix(end));
        let base = base.filter(|base| page.body.contains(&format!("# TYPE {base} histogram")));
        let kind = format!("# TYPE {} ", base.unwrap_or(name));
        assert!(page.body.contains(&kind), "{line}");
    }
}

#[test]
fn other_paths_and_methods_are_refused() {
    let server = Server::open();
    for (method, path, status) in [
        ("GET", "/", 404),
        ("POST", "/mcp/", 404),
        ("POST", "/metrics", 405),
        ("PUT", "/mcp", 405),
        ("GET", "/mcp", 400),
    ] {
        let answer = server.send(method, path, &[], "");
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
    }
}

#[cfg(unix)]
fn terminate(server: &Server) {
    let pid = server.child.id().to_string();
    let killed = std::process::Command::new("kill")
        .arg(pid)
        .status()
        .unwrap();
    assert!(killed.success());
}

#[cfg(unix)]
fn exit_code(server: &mut Server) -> Option<i32> {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if let Some(status) = server.child.try_wait().unwrap() {
            return status.code();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    None
}

#[cfg(unix)]
/// Sends a request, and reads so much of its answer that it must have begun.
fn begin(server: &Server, headers: &[(&str, &str)], method: &str, body: &str) -> TcpStream {
    let mut stream = server.connect();
    let length = (method == "POST").then_some(body.len());
    let head = server.head(method, "/mcp", headers, length);
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

#[cfg(unix)]
#[test]
fn sigterm_lets_answers_go_out_and_nothing_else_wait() {
    // Longer than the test is patient: what waits for it to pass fails the test.
    let drain = [("LYRA_HTTP_DRAIN_SECONDS", "300")];
    let mut server = Server::start(tempfile::tempdir().unwrap(), &[], &drain);
    let mut session = server.session(None, "2025-11-25");
    let task = session.ok("create_task", json!({"hypothesis": "Tea is good for you."}));
    session.ok("get_status", json!({"task_id": task["task_id"], "wait": 0}));
    let wait = json!({"jsonrpc": "2.0", "id": 88, "method": "tools/call", "params": {
        "name": "get_status", "arguments": {"task_id": task["task_id"], "wait": 45}}});
    let headers: Vec<(String, String)> = session
        .headers()
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    // A client that listens only, a call that waits, and a connection that says nothing.
    let _listens = begin(&server, &headers, "GET", "");
    let mut waits = begin(&server, &headers, "POST", &post(&wait));
    let _silent = server.connect();
    terminate(&server);

    // The call waits for longer than the test is patient, unless the end of the server ends it.
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut answer = String::new();
        let _ = waits.read_to_string(&mut answer);
        let _ = tell.send(answer);
    });
    let answer = told.recv_timeout(PATIENCE).expect("the wait goes on");
    assert!(
        answer.contains("\"id\":88") && answer.contains("\\\"ok\\\":true"),
        "{answer}"
    );
    assert_eq!(exit_code(&mut server), Some(0), "{}", server.said());
    let said = server.said();
    assert!(
        said.contains("SIGTERM: ending") && !said.contains("cut off"),
        "{said}"
    );
    assert!(
        TcpStream::connect(&server.address).is_err(),
        "nothing listens any more"
    );
}

#[cfg(unix)]
#[test]
fn the_end_comes_in_bounded_time() {
    let drain = [("LYRA_HTTP_DRAIN_SECONDS", "1")];
    let mut server = Server::start(tempfile::tempdir().unwrap(), &[], &drain);
    // A client that never sends all of its request.
    let mut stream = server.connect();
    let head = server.head("POST", "/mcp", &[], Some(100));
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"{").unwrap();
    let end = Instant::now() + PATIENCE;
    while !server
        .get("/metrics", &[])
        .body
        .contains("lyra_http_requests_in_flight 2")
    {
        assert!(Instant::now() < end, "the request did not begin");
    }
    terminate(&server);
    assert_eq!(exit_code(&mut server), Some(0), "{}", server.said());
    assert!(
        server.said().contains("not complete in time"),
        "{}",
        server.said()
    );
}
