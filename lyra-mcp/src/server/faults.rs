//! Tools that misbehave, in a separate server: a second process, driven through its standard input
//! and output, whose log is read.

use crate::error::ToolError;
use crate::tools::{Call, Hints, Outcome, Tool};
use crate::wire::{Reply, ToolSchema};
use lyra_core::ports::SystemClock;
use lyra_core::{Engine, EngineConfig};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Names the database of the second process, and marks the process as such.
const ROLE: &str = "LYRA_TEST_FAULTY_SERVER";

const SCHEMA: &str = r#"{"type": "object", "properties": {"ok": {"type": "boolean"},
    "n": {"type": "integer"}}, "additionalProperties": false}"#;

async fn panics(_: Call) -> Outcome {
    panic!("a defect in an asynchronous part");
}

async fn panics_below(call: Call) -> Outcome {
    call.blocking(|_| -> lyra_core::Result<()> { panic!("a defect in a blocking part") })
        .await?;
    Err(ToolError::internal("unreachable"))
}

async fn breaks_schema(_: Call) -> Outcome {
    Ok(Reply::default().with("n", "not a number"))
}

async fn never_ends(_: Call) -> Outcome {
    std::future::pending().await
}

async fn blocks_for_ever(call: Call) -> Outcome {
    call.blocking(|_| {
        loop {
            std::thread::park();
        }
    })
    .await
}

async fn works(_: Call) -> Outcome {
    Ok(Reply::default().with("n", 1))
}

macro_rules! faulty {
    ($run:ident, $limit:expr) => {
        Tool {
            name: stringify!($run),
            title: stringify!($run),
            description: "a tool of a test",
            hints: Hints {
                read_only: true,
                destructive: false,
                idempotent: true,
                open_world: false,
            },
            takes_turn: true,
            limit: $limit,
            stored_text: false,
            bare: false,
            lists: &[],
            schema: ToolSchema::parse(SCHEMA, SCHEMA).unwrap(),
            run: |call| Box::pin($run(call)),
        }
    };
}

fn tools() -> Vec<Tool> {
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(55));
    vec![
        faulty!(panics, long),
        faulty!(panics_below, long),
        faulty!(breaks_schema, long),
        faulty!(never_ends, short),
        faulty!(blocks_for_ever, short),
        faulty!(works, long),
    ]
}

/// The second process; does nothing in an ordinary test run.
#[test]
fn the_server_of_the_other_tests() {
    let Some(db) = std::env::var_os(ROLE) else {
        return;
    };
    crate::log::start(crate::log::Format::Text, "info").unwrap();
    let engine = Engine::open(EngineConfig::new(db)).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let tools = Box::leak(tools().into_boxed_slice());
    let service = super::Service {
        engine,
        clock: Arc::new(SystemClock),
        tools,
        audit: false,
    };
    let served = runtime.block_on(super::serve(service));
    runtime.shutdown_timeout(Duration::from_millis(100));
    served.unwrap();
}

struct Faulty {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next_id: i64,
    _folder: tempfile::TempDir,
}

impl Faulty {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "server::faults::the_server_of_the_other_tests"])
            .arg("--nocapture")
            .env(ROLE, folder.path().join("a.db"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut this = Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
            next_id: 0,
            _folder: folder,
        };
        let client = json!({"name": "test", "version": "1"});
        let hello =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        this.send("initialize", hello);
        this.answer();
        this.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        this
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn send(&mut self, method: &str, params: Value) -> i64 {
        self.next_id += 1;
        let id = self.next_id;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    fn send_call(&mut self, tool: &str) -> i64 {
        self.send("tools/call", json!({"name": tool, "arguments": {}}))
    }

    /// The next message; output of the test harness is skipped.
    fn answer(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "no answer");
            if line.starts_with('{') {
                return serde_json::from_str(&line).unwrap();
            }
        }
    }

    /// Ends the session; returns the log of the server.
    fn end(mut self) -> String {
        self.input = None;
        std::io::copy(&mut self.output, &mut std::io::sink()).unwrap();
        let mut log = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        assert!(self.child.wait().unwrap().success(), "{log}");
        log
    }
}

/// The log line that contains the error id of a reply.
fn logged<'a>(log: &'a str, reply: &Value) -> &'a str {
    let body = &reply["result"]["structuredContent"];
    let id = body["details"]["error_id"].as_str().unwrap();
    log.lines()
        .find(|line| line.contains(id))
        .unwrap_or_else(|| panic!("{id} is not in the log:\n{log}"))
}

#[test]
fn a_tool_that_fails_its_caller_ends_as_a_typed_error_that_the_log_knows() {
    let mut server = Faulty::start();
    let mut replies = Vec::new();
    for (tool, code, in_log) in [
        (
            "panics",
            "INTERNAL_ERROR",
            "a defect in an asynchronous part",
        ),
        (
            "panics_below",
            "INTERNAL_ERROR",
            "a defect in a blocking part",
        ),
        (
            "breaks_schema",
            "INTERNAL_ERROR",
            "breaks its schema at \"/n\"",
        ),
        ("never_ends", "TIMEOUT", "never_ends was cut off"),
        ("blocks_for_ever", "TIMEOUT", "blocks_for_ever was cut off"),
    ] {
        server.send_call(tool);
        let reply = server.answer();
        let body = &reply["result"]["structuredContent"];
        assert_eq!(reply["result"]["isError"], true, "{tool}: {reply}");
        assert_eq!(body["error_code"], code, "{tool}: {reply}");
        let text = reply["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), body);
        assert!(!text.contains("defect") && !text.contains(".rs"), "{text}");
        replies.push((reply, in_log));
        // The server continues.
        server.send_call("works");
        assert_eq!(server.answer()["result"]["structuredContent"]["n"], 1);
    }
    let log = server.end();
    for (reply, in_log) in &replies {
        let line = logged(&log, reply);
        assert!(line.contains(in_log), "{line}");
    }
}

#[test]
fn a_call_that_outlives_its_client_is_named_in_the_log() {
    let mut server = Faulty::start();
    let call = server.send_call("panics_below");
    assert_eq!(server.answer()["id"], call);
    let call = server.send_call("never_ends");
    let cancel = json!({"requestId": call, "reason": "enough"});
    server.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel}));
    let works = server.send_call("works");
    assert_eq!(server.answer()["id"], works);
    // The client sends a call and disconnects before the answer.
    server.send_call("blocks_for_ever");
    let log = server.end();
    assert!(
        log.contains("never_ends was cut off: its client cancelled it"),
        "{log}"
    );
    assert!(
        log.contains("blocks_for_ever was cut off: it did not end"),
        "{log}"
    );
}
