//! A client that says exactly what a test wants it to say, well-formed or not.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long an answer may take before a test gives up; machines that build at the same time are slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running server.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    next_id: i64,
    /// What came while something else was waited for.
    pub(crate) aside: Vec<Value>,
}

/// The binary with its environment cleared of what a developer may have set.
pub(crate) fn binary(db: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lyra-mcp"));
    for name in [
        "LYRA_DB",
        "LYRA_READ_ONLY",
        "LYRA_AUDIT",
        "LYRA_TOOLS",
        "LYRA_LOG",
        "LYRA_LOG_FORMAT",
        "RUST_LOG",
        "LYRA_CORPUS",
        "LYRA_CONFIG",
        "LYRA_VIEWS_DIR",
        "LYRA_ALLOW_PRIVATE_HOSTS",
        "LYRA_WORKERS",
        "LYRA_PARSER",
        "LYRA_PARSER_MEMORY",
        "LYRA_PARSER_SECONDS",
        "LYRA_EMBEDDER",
        "LYRA_EMBEDDER_URL",
        "LYRA_EMBEDDER_KEY",
        "LYRA_EMBEDDER_KEY_FILE",
        "LYRA_EMBEDDER_DIMENSION",
        "LYRA_EMBEDDER_TIMEOUT",
        "LYRA_ONNX_RUNTIME",
        "ORT_DYLIB_PATH",
        "LYRA_JUDGE",
        "LYRA_JUDGE_URL",
        "LYRA_JUDGE_KEY",
        "LYRA_JUDGE_KEY_FILE",
        "LYRA_LLM",
        "LYRA_LLM_URL",
        "LYRA_LLM_KEY",
        "LYRA_LLM_KEY_FILE",
        "LYRA_LLM_TIMEOUT",
        "LYRA_LLM_AT_ONCE",
        "LYRA_CLAIM_EXTRACTOR",
        "LYRA_STANCE_JUDGE",
        "LYRA_PROVIDERS",
        "LYRA_MAILTO",
        "LYRA_RETRACTIONS_CSV",
        "LYRA_HTTP_TOKENS",
        "LYRA_HTTP_ALLOW_ORIGINS",
        "LYRA_HTTP_ALLOW_HOSTS",
        "LYRA_HTTP_RATE",
        "LYRA_HTTP_BURST",
        "LYRA_HTTP_MAX_BODY",
        "LYRA_HTTP_DRAIN_SECONDS",
        "HF_ENDPOINT",
        "HF_TOKEN",
    ] {
        command.env_remove(name);
    }
    let nowhere = db.parent().unwrap().join("no-config");
    command
        .env("XDG_CONFIG_HOME", nowhere)
        .current_dir(db.parent().unwrap());
    command.arg("--db").arg(db);
    command
}

impl Client {
    /// Starts a server; nothing has been said to it yet.
    pub(crate) fn start(db: &Path, arguments: &[&str]) -> Self {
        let mut child = binary(db)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { return };
                let value = serde_json::from_str(&line).expect("every line of output is JSON");
                if tell.send(value).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self {
            child,
            stdin,
            lines,
            next_id: 1,
            aside: Vec::new(),
        }
    }

    /// Starts a server and shakes hands.
    pub(crate) fn connect(db: &Path, arguments: &[&str]) -> Self {
        let mut client = Self::start(db, arguments);
        client.handshake("2025-11-25");
        client
    }

    pub(crate) fn handshake(&mut self, version: &str) -> Value {
        let reply = self.request(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {},
                   "clientInfo": {"name": "test", "version": "1"}}),
        );
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        reply
    }

    /// Sends one line as it is.
    pub(crate) fn say(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
    }

    /// Sends a request and gives its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(&message.to_string());
        id
    }

    /// The answer to a request; what comes before it is laid aside.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        self.answer_within(id, PATIENCE)
            .unwrap_or_else(|| panic!("no answer to request {id}"))
    }

    pub(crate) fn answer_within(&mut self, id: i64, patience: Duration) -> Option<Value> {
        if let Some(at) = self.aside.iter().position(|message| message["id"] == id) {
            return Some(self.aside.remove(at));
        }
        let end = Instant::now() + patience;
        loop {
            let message = self.message(end.saturating_duration_since(Instant::now()))?;
            if message["id"] == id {
                return Some(message);
            }
            self.aside.push(message);
        }
    }

    /// The next message, whatever it is.
    pub(crate) fn message(&mut self, patience: Duration) -> Option<Value> {
        self.lines.recv_timeout(patience).ok()
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    pub(crate) fn send_call(&mut self, tool: &str, arguments: Value) -> i64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The result of a tool call.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.send_call(tool, arguments);
        let reply = self.answer(id);
        assert!(reply.get("error").is_none(), "{tool}: {reply}");
        reply["result"].clone()
    }

    /// The structured content of a call that must succeed.
    pub(crate) fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let body = result["structuredContent"].clone();
        assert_eq!(body["ok"], true, "{tool}: {body}");
        body
    }

    /// The structured content of a call that must fail.
    pub(crate) fn fails(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the server's input.
    pub(crate) fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Waits for the server to end; its exit code.
    pub(crate) fn exit(&mut self, patience: Duration) -> Option<i32> {
        let end = Instant::now() + patience;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        None
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
