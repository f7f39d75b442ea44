//! `serve --http`, over real connections to the real binary.

mod access;
mod gate;
mod life;
mod protocol;

use crate::client::{PATIENCE, binary};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

const ACCEPT: &str = "application/json, text/event-stream";

/// A running server and its folder.
struct Server {
    child: Child,
    /// `127.0.0.1:PORT`.
    address: String,
    log: Arc<Mutex<String>>,
    folder: tempfile::TempDir,
}

/// An answer of HTTP.
#[derive(Debug)]
struct Answer {
    status: u16,
    /// Lines of the head, the names in small letters.
    head: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let found = self.head.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The JSON-RPC message that has an id, out of the body or out of its events.
    fn message(&self) -> Value {
        let events = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"));
        let texts = std::iter::once(self.body.as_str()).chain(events);
        let messages = texts.filter_map(|text| serde_json::from_str::<Value>(text).ok());
        let mut answers = messages.filter(|message| message.get("id").is_some());
        answers
            .next()
            .unwrap_or_else(|| panic!("no message: {self:?}"))
    }
}

fn post(message: &Value) -> String {
    message.to_string()
}

impl Server {
    /// A server without tokens.
    fn open() -> Self {
        Self::start(tempfile::tempdir().unwrap(), &[], &[])
    }

    /// A server whose tokens were made in `folder`.
    fn start(folder: tempfile::TempDir, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let tokens = tokens_in(folder.path());
        let mut command = binary(&folder.path().join("a.db"));
        command.args(["serve", "--http", "127.0.0.1:0"]);
        if tokens.exists() {
            command.arg("--tokens").arg(tokens);
        }
        let mut child = command
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let lines = read_log(&mut child, Arc::clone(&log));
        let address = lines.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            let _ = child.kill();
            panic!("the server did not start: {}", log.lock().unwrap())
        });
        Self {
            child,
            address,
            log,
            folder,
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Sends a request and reads the whole answer.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.connect();
        let head = self.head(method, path, headers, Some(body.len()));
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses the head may close before it has the body.
        let _ = stream.write_all(body.as_bytes());
        read_answer(stream)
    }

    fn head(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        length: Option<usize>,
    ) -> String {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let mut line = |name: &str, value: &str| head += &format!("{name}: {value}\r\n");
        let is_given = |name: &str| headers.iter().any(|(given, _)| *given == name);
        for (name, value) in [
            ("Host", self.address.as_str()),
            ("Accept", ACCEPT),
            ("Content-Type", "application/json"),
        ] {
            if !is_given(name) {
                line(name, value);
            }
        }
        if let Some(length) = length {
            line("Content-Length", &length.to_string());
        }
        for (name, value) in headers {
            line(name, value);
        }
        head + "\r\n"
    }

    fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.send("GET", path, headers, "")
    }

    fn post(&self, headers: &[(&str, &str)], message: &Value) -> Answer {
        self.send("POST", "/mcp", headers, &post(message))
    }

    fn said(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits for a line of the log.
    fn wait_for(&self, text: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let said = self.said();
            if let Some(line) = said.lines().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            assert!(Instant::now() < end, "no {text:?} in the log:\n{said}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// A session of a revision with handshake.
    fn session<'a>(&'a self, token: Option<&str>, revision: &str) -> Session<'a> {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut session = Session {
            server: self,
            bearer,
            id: String::new(),
            revision: revision.to_owned(),
            next_id: 1,
        };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": revision, "capabilities": {},
            "clientInfo": {"name": "test-client", "version": "1"}}});
        let answer = session.post(&hello);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(
            answer.message()["result"]["protocolVersion"],
            revision,
            "{answer:?}"
        );
        session.id = answer.header("mcp-session-id").unwrap().to_owned();
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&ready).status, 202);
        session
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client with a session.
struct Session<'a> {
    server: &'a Server,
    bearer: Option<String>,
    id: String,
    revision: String,
    next_id: i64,
}

impl Session<'_> {
    fn headers(&self) -> Vec<(&str, &str)> {
        let mut headers = Vec::new();
        if let Some(bearer) = &self.bearer {
            headers.push(("Authorization", bearer.as_str()));
        }
        if !self.id.is_empty() {
            headers.push(("Mcp-Session-Id", self.id.as_str()));
            headers.push(("MCP-Protocol-Version", self.revision.as_str()));
        }
        headers
    }

    fn post(&self, message: &Value) -> Answer {
        self.server.post(&self.headers(), message)
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let answer =
            self.post(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let message = answer.message();
        assert_eq!(message["id"], id, "{answer:?}");
        message
    }

    /// The structured content of a call.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let message = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        message["result"]["structuredContent"].clone()
    }

    fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let body = self.call(tool, arguments);
        assert_eq!(body["ok"], true, "{tool}: {body}");
        body
    }

    /// The rows of a query.
    fn rows(&mut self, sql: &str) -> Value {
        self.ok("query_sql", json!({"sql": sql}))["rows"].clone()
    }

    fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        let name = |tool: Value| tool["name"].as_str().unwrap().to_owned();
        tools.into_iter().map(name).collect()
    }
}

fn tokens_in(folder: &Path) -> PathBuf {
    folder.join("tokens")
}

/// Makes a token with the command that users have.
fn token(folder: &Path, name: &str, scope: &str, tasks: &[&str]) -> String {
    let mut command = binary(&folder.join("a.db"));
    command.args(["token", "add", name, "--scope", scope, "--tokens"]);
    command.arg(tokens_in(folder));
    for task in tasks {
        command.args(["--task", task]);
    }
    let out = command.output().unwrap();
    assert!(out.status.success(), "{out:?}");
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

/// Keeps the log, and tells the address once it is there.
fn read_log(child: &mut Child, log: Arc<Mutex<String>>) -> Receiver<String> {
    let stderr = child.stderr.take().unwrap();
    let (tell, address) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines() {
            let Ok(line) = line else { return };
            if let Some((_, rest)) = line.split_once("serving MCP on http://") {
                let _ = tell.send(rest.trim_end_matches("/mcp").to_owned());
            }
            let mut log = log.lock().unwrap();
            log.push_str(&line);
            log.push('\n');
        }
    });
    address
}

fn read_answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A server that refuses an upload closes while it comes in, which is an error after the answer.
    let ended = stream.read_to_end(&mut bytes);
    let at = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer: {ended:?} {:?}", String::from_utf8_lossy(&bytes)));
    let text = String::from_utf8(bytes[..at].to_vec()).unwrap();
    let mut lines = text.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let pair = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_lowercase(), value.trim().to_owned())
    };
    let head: Vec<(String, String)> = lines.map(pair).collect();
    let is_chunked = head
        .iter()
        .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = &bytes[at + 4..];
    let body = match is_chunked {
        true => without_chunks(body),
        false => body.to_vec(),
    };
    Answer {
        status: status.parse().unwrap(),
        head,
        body: String::from_utf8(body).unwrap(),
    }
}

fn without_chunks(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(at) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..at]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&bytes[at + 2..at + 2 + size]);
        bytes = &bytes[at + 4 + size..];
    }
    body
}
