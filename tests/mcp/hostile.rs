//! A client that does everything wrong: too much at once, the wrong types, broken lines, pipes
//! closed at one end, a signal in the middle of a write. Nothing that was answered may be lost, and
//! the log says what happened.

use crate::client::{Client, PATIENCE, binary};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

const ENDLESS: &str =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS n FROM c";

/// A server with all three of its streams in hand.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    log: std::thread::JoinHandle<String>,
}

impl Server {
    fn start(db: &Path) -> Self {
        let mut child = binary(db)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let mut server = Self {
            input: child.stdin.take(),
            output: child.stdout.take().map(BufReader::new),
            child,
            log: std::thread::spawn(move || {
                let mut log = String::new();
                stderr.read_to_string(&mut log).unwrap();
                log
            }),
        };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                           "clientInfo": {"name": "hostile", "version": "1"}});
        server.say(&request(0, "initialize", &hello)).unwrap();
        assert_eq!(server.message().unwrap()["id"], 0);
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        server.say(&done.to_string()).unwrap();
        server
    }

    fn say(&mut self, line: &str) -> std::io::Result<()> {
        writeln!(self.input.as_mut().unwrap(), "{line}")
    }

    /// The next message; none at the end of the output.
    fn message(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        (read > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Closes the server's input; for the rest see [`Self::last_words`].
    fn end(mut self) -> (Vec<Value>, String) {
        self.input = None;
        self.last_words()
    }

    /// Everything that is still said, and then the log; the server must end in order.
    fn last_words(mut self) -> (Vec<Value>, String) {
        let mut rest = Vec::new();
        while self.output.is_some()
            && let Some(message) = self.message()
        {
            rest.push(message);
        }
        let end = Instant::now() + 4 * PATIENCE;
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            if Instant::now() > end {
                self.child.kill().unwrap();
                panic!("the server did not end: {}", self.log.join().unwrap());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let log = self.log.join().unwrap();
        assert_eq!(code, Some(0), "{log}");
        assert!(!log.contains("panicked"), "{log}");
        (rest, log)
    }
}

fn request(id: i64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

fn call(id: i64, tool: &str, arguments: &Value) -> String {
    request(
        id,
        "tools/call",
        &json!({"name": tool, "arguments": arguments}),
    )
}

fn verify(db: &Path) {
    let output = binary(db).arg("verify").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn count(db: &Path, sql: &str) -> i64 {
    let mut client = Client::connect(db, &[]);
    let reply = client.ok("query_sql", json!({"sql": sql}));
    reply["rows"][0]["n"].as_i64().unwrap()
}

/// One line of the mixture, and what must come back: an error code, or nothing for success.
fn mixture(n: i64) -> (String, Option<&'static str>) {
    let id = n + 1;
    match n % 10 {
        0 => (
            call(
                id,
                "create_task",
                &json!({"hypothesis": format!("Tea number {n} helps.")}),
            ),
            None,
        ),
        1 => (
            call(
                id,
                "query_sql",
                &json!({"sql": "SELECT ? AS n", "params": [n], "options": {"timeout_ms": 2000}}),
            ),
            None,
        ),
        2 => (
            call(
                id,
                "query_view",
                &json!({"view_name": "v_contradictions", "task_id": 5}),
            ),
            Some("INVALID_PARAMS"),
        ),
        3 => (
            call(id, "vector_search", &json!({"query": "tea"})),
            Some("RESOURCE_NOT_FOUND"),
        ),
        4 => (call(id, "query_tables", &json!({})), Some("-32602")),
        5 => (request(id, "tools/destroy", &json!({})), Some("-32601")),
        6 => (
            call(
                id,
                "create_task",
                &json!({"hypothesis": "x".repeat(20_000)}),
            ),
            Some("INVALID_PARAMS"),
        ),
        7 => (
            call(
                id,
                "get_status",
                &json!({"task_id": "task_00000000", "wait": 300}),
            ),
            Some("TASK_NOT_FOUND"),
        ),
        8 if n % 100 == 8 => (
            call(id, "query_sql", &json!({"sql": ENDLESS})),
            Some("QUERY_INTERRUPTED"),
        ),
        8 => (request(id, "ping", &json!({})), None),
        _ => (call(id, "list_views", &json!({})), None),
    }
}

fn outcome(reply: &Value) -> Option<String> {
    if let Some(error) = reply.get("error") {
        return Some(error["code"].to_string());
    }
    let body = &reply["result"]["structuredContent"];
    body["error_code"].as_str().map(str::to_owned)
}

#[test]
fn a_thousand_calls_written_before_one_answer_is_read() {
    const CALLS: i64 = 1_000;
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let mut server = Server::start(&db);
    let mut expected = BTreeMap::new();
    for n in 0..CALLS {
        if n % 50 == 7 {
            server.say("{\"jsonrpc\": \"2.0\", \"id\": ").unwrap();
        }
        let (line, code) = mixture(n);
        expected.insert(n + 1, code);
        server.say(&line).unwrap();
    }
    let (replies, log) = server.end();
    let mut broken = 0;
    for reply in &replies {
        let Some(id) = reply["id"].as_i64() else {
            assert_eq!(reply["error"]["code"], -32700, "{reply}");
            broken += 1;
            continue;
        };
        let code = expected.remove(&id);
        let code = code.unwrap_or_else(|| panic!("answered twice: {reply}"));
        assert_eq!(outcome(reply).as_deref(), code, "{reply}");
        if id % 10 == 2 {
            assert_eq!(reply["result"]["structuredContent"]["rows"][0]["n"], id - 1);
        }
    }
    assert_eq!((expected.len(), broken), (0, 20));
    assert!(log.contains("the message is not JSON"), "{log}");
    assert_eq!(count(&db, "SELECT count(*) AS n FROM tasks"), CALLS / 10);
    verify(&db);
}

#[test]
fn a_client_that_closes_its_input_hears_every_answer_that_it_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(&folder.path().join("a.db"));
    // Together they take longer than the few seconds that are usually left to stragglers.
    for id in 1..=120 {
        server
            .say(&call(id, "query_sql", &json!({"sql": ENDLESS})))
            .unwrap();
    }
    let (replies, _) = server.end();
    let ids: BTreeSet<i64> = replies
        .iter()
        .filter_map(|reply| reply["id"].as_i64())
        .collect();
    assert_eq!(ids, (1..=120).collect());
    for reply in &replies {
        assert_eq!(
            outcome(reply).as_deref(),
            Some("QUERY_INTERRUPTED"),
            "{reply}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_client_that_stops_reading_ends_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let mut server = Server::start(&db);
    server
        .say(&call(
            1,
            "create_task",
            &json!({"hypothesis": "Tea helps."}),
        ))
        .unwrap();
    assert_eq!(outcome(&server.message().unwrap()), None);
    server.output = None;
    let end = Instant::now() + PATIENCE;
    // The server finds out when it writes; its own end of our pipe is closed soon after.
    while server.say(&call(2, "list_views", &json!({}))).is_ok() {
        assert!(Instant::now() < end, "still listening");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (_, log) = server.end();
    assert!(log.contains("does not read its answers any more"), "{log}");
    assert_eq!(count(&db, "SELECT count(*) AS n FROM tasks"), 1);
}

#[cfg(unix)]
#[test]
fn sigterm_in_the_middle_of_writes_loses_nothing_that_was_answered() {
    const TARGETS: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let mut client = Client::connect(&db, &[]);
    let task = client.ok("create_task", json!({"hypothesis": "Tea helps."}));
    let task = task["task_id"].as_str().unwrap().to_owned();
    drop(client);
    let mut promised = 0;
    for round in 0..8_u64 {
        let mut server = Server::start(&db);
        for id in 1..=30 {
            let targets: Vec<String> = (0..TARGETS)
                .map(|n| format!("tea {round} {id} {n}"))
                .collect();
            let arguments = json!({"task_id": task, "targets": targets});
            server.say(&call(id, "queue_targets", &arguments)).unwrap();
        }
        let first = server.message().unwrap();
        promised += first["result"]["structuredContent"]["queued_count"]
            .as_i64()
            .unwrap();
        std::thread::sleep(Duration::from_millis(round * 7));
        let pid = server.child.id().to_string();
        let kill = std::process::Command::new("kill")
            .arg(pid)
            .status()
            .unwrap();
        assert!(kill.success());
        let (replies, log) = server.last_words();
        assert!(log.contains("SIGTERM"), "{log}");
        for reply in &replies {
            let body = &reply["result"]["structuredContent"];
            promised += body["queued_count"].as_i64().unwrap_or(0);
        }
        verify(&db);
        let sql = format!(
            "SELECT count(*) AS n FROM jobs WHERE kind = 'target_queue' AND task_id = '{task}'"
        );
        let stored = count(&db, &sql);
        assert!(stored >= promised, "{stored} of {promised}");
        assert_eq!(
            stored % i64::try_from(TARGETS).unwrap(),
            0,
            "a call was stored in part"
        );
    }
}

/// Values that no argument expects, or nearly none.
fn odd_values() -> Vec<Value> {
    let deep = (0..100).fold(json!("x"), |inner, _| json!([inner]));
    vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1e308),
        json!(u64::MAX),
        json!(0.5),
        json!(""),
        json!(" "),
        json!("\u{0}"),
        json!("x'; DROP TABLE claims; --"),
        json!("\u{202e}\u{200b}"),
        json!("9".repeat(100_000)),
        json!("🦀".repeat(2_000)),
        json!([]),
        json!([null]),
        json!({}),
        json!({"a": {"b": []}}),
        deep,
        json!(vec![json!("x"); 5_000]),
    ]
}

/// The smallest arguments that each tool takes.
fn smallest(tool: &str, task: &str) -> Value {
    match tool {
        "create_task" => json!({"hypothesis": "Tea helps."}),
        "queue_targets" => json!({"task_id": task, "targets": ["tea"]}),
        "query_sql" => json!({"sql": "SELECT 1"}),
        "vector_search" => json!({"query": "tea"}),
        "query_view" => json!({"view_name": "v_contradictions", "task_id": task}),
        "list_views" => json!({}),
        "check_report" | "claim_standing" => json!({"text": "Tea helps."}),
        "submit_judgements" => {
            json!({"task_id": task, "model": "m", "judgements": [{"pair_id": "p", "relation": "neutral"}]})
        }
        "resolve_auth" => json!({"action": "skip", "target": "task", "task_id": task}),
        "feedback" => json!({"action": "domain_block", "domain_pattern": "example.org"}),
        "calibration_metrics" => json!({"action": "get_stats"}),
        "calibration_rollback" => json!({"source": "judge", "reason": "a test"}),
        _ => json!({"task_id": task}),
    }
}

#[test]
fn every_argument_of_every_tool_takes_odd_values_with_a_typed_answer() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let mut client = Client::connect(&db, &[]);
    let task = client.ok("create_task", json!({"hypothesis": "Tea helps."}));
    let task = task["task_id"].as_str().unwrap().to_owned();
    let schemas = crate::tools::schemas(&mut client);
    let listed = client.request("tools/list", json!({}));
    let mut tried = 0;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        for argument in properties
            .keys()
            .map(String::as_str)
            .chain(["no_such_argument"])
        {
            for value in odd_values() {
                let mut arguments = smallest(name, &task);
                arguments[argument] = value;
                let result = client.call(name, arguments);
                crate::tools::check_reply(name, &result, &schemas);
                let code = &result["structuredContent"]["error_code"];
                assert_ne!(code, "INTERNAL_ERROR", "{name}.{argument}: {result}");
                tried += 1;
            }
        }
    }
    assert!(tried > 800, "{tried}");
    drop(client);
    verify(&db);
}
