//! docs/tools.md: written by this test out of the schemas that the server lists and out of calls
//! to it. `LYRA_UPDATE_DOCS=1 cargo test -p lyra-mcp --test mcp docs::` writes it anew.

use super::graph::{TASK, failures, graph};
use crate::client::{Client, PATIENCE, binary};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpListener;
use std::time::Instant;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/tools.md");

/// Fields of every reply, told once.
const COMMON: [&str; 7] = [
    "ok",
    "error_code",
    "error",
    "hint",
    "details",
    "truncated",
    "_lyra_meta",
];

/// Entries of a list that an example shows.
const SHOWN: usize = 2;

const HEAD: &str = "# The tools

What the MCP server offers, tool by tool. The tables are those of the schemas ([`lyra-mcp/src/schemas`](../lyra-mcp/src/schemas)), which both arguments and replies are checked against; the calls were made, and their replies shortened to two entries a list. This page is written by a test, which also says when it is out of date. [mcp.md](mcp.md) says how a client is set up and which way leads through the tools.

An optional argument may be left out or null. An argument that is not named here is refused with `INVALID_PARAMS`.

## Every reply

| field | type | holds |
|---|---|---|
";

const ERRORS: &str = "
Under **errors** stands what a tool answers with for its own reasons. Every tool besides may answer `INTERNAL_ERROR` (a defect of ours, or a database that cannot be used) and `TIMEOUT` (the client cancelled, or the server ended). [errors.md](errors.md) says what to do about each.
";

#[test]
fn the_page_of_the_tools_is_the_server_s() {
    let mut session = Session::new();
    let tools = session.client.request("tools/list", json!({}))["result"]["tools"].clone();
    let tools = tools.as_array().unwrap();
    let mut page = HEAD.to_owned();
    let query_sql = crate::tools::full("query_sql");
    for name in COMMON {
        let mut rows = Rows::default();
        let field = &query_sql["output"]["properties"][name];
        rows.field(name, field, None);
        page.push_str(&rows.table);
    }
    page.push_str(ERRORS);
    for tool in tools {
        page.push_str(&section(tool, &mut session));
    }
    super::compare(PAGE, &page);
}

fn section(tool: &Value, session: &mut Session) -> String {
    let name = tool["name"].as_str().unwrap();
    let mut text = format!(
        "\n## {name}\n\n**{}.** {}\n\n{}\n",
        tool["title"].as_str().unwrap(),
        tool["description"].as_str().unwrap(),
        character(&tool["annotations"])
    );
    let schemas = crate::tools::full(name);
    let mut arguments = Rows::default();
    arguments.object("", &schemas["input"], true);
    match arguments.table.is_empty() {
        true => text.push_str("\nIt takes no arguments.\n"),
        false => write!(
            text,
            "\n| argument | type | default | means |\n|---|---|---|---|\n{}",
            arguments.table
        )
        .unwrap(),
    }
    let mut reply = Rows::default();
    reply.object("", &schemas["output"], false);
    write!(
        text,
        "\n| reply | type | holds |\n|---|---|---|\n{}",
        reply.table
    )
    .unwrap();
    let errors = session.errors(name);
    let errors: Vec<String> = errors
        .iter()
        .map(|(code, why)| format!("`{code}` ({why})"))
        .collect();
    write!(text, "\n**Errors**: {}.\n", errors.join(", ")).unwrap();
    let (arguments, reply) = session.example(name);
    write!(
        text,
        "\n```json\n{}\n```\n\n```json\n{}\n```\n",
        json!({"name": name, "arguments": arguments}),
        serde_json::to_string_pretty(&reply).unwrap()
    )
    .unwrap();
    text
}

/// What a tool does to the world, in words.
fn character(annotations: &Value) -> String {
    let is = |hint: &str| annotations[hint] == true;
    let what = match (is("readOnlyHint"), is("destructiveHint")) {
        (true, _) => "Reads only.",
        (_, true) => "Takes something back.",
        _ => "Adds, and takes nothing away.",
    };
    let again = if is("idempotentHint") && !is("readOnlyHint") {
        " Doing it twice is doing it once."
    } else {
        ""
    };
    let world = if is("openWorldHint") {
        " May lead to the network."
    } else {
        ""
    };
    format!("*{what}{again}{world}*")
}

/// Rows of a table about a schema.
#[derive(Default)]
struct Rows {
    table: String,
}

impl Rows {
    fn object(&mut self, path: &str, schema: &Value, is_input: bool) {
        let Some(properties) = schema["properties"].as_object() else {
            return;
        };
        for (name, field) in properties {
            if path.is_empty()
                && !is_input
                && COMMON.contains(&name.as_str())
                && name != "truncated"
            {
                continue;
            }
            let required = schema["required"]
                .as_array()
                .is_some_and(|list| list.contains(&json!(name)));
            self.field(
                &format!("{path}{name}"),
                field,
                is_input.then_some(required),
            );
        }
    }

    /// One row, and those of what is inside; `required` for arguments only.
    fn field(&mut self, path: &str, schema: &Value, required: Option<bool>) {
        let means = schema["description"]
            .as_str()
            .unwrap_or_else(|| panic!("{path} is not described"));
        let default = match (required, schema.get("default")) {
            (None, _) => String::new(),
            (Some(true), _) => " required |".to_owned(),
            (_, Some(value)) if *value == json!({}) || *value == json!([]) => " |".to_owned(),
            (_, Some(value)) => format!(" `{value}` |"),
            (_, None) => " |".to_owned(),
        };
        writeln!(
            self.table,
            "| `{path}` | {} |{default} {} |",
            kind(schema),
            means.replace('|', "\\|")
        )
        .unwrap();
        let inner = match schema.get("items") {
            Some(items) => (format!("{path}[]."), items),
            None => (format!("{path}."), schema),
        };
        self.object(&inner.0, inner.1, required.is_some());
        for choice in inner.1["anyOf"].as_array().into_iter().flatten() {
            self.object(&inner.0, choice, required.is_some());
        }
    }
}

/// A type in words.
fn kind(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> = words
            .iter()
            .map(|word| format!("`{}`", word.as_str().unwrap()))
            .collect();
        return words.join(", ");
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        return choices.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let one = |name: &str| match name {
        "array" => match schema.get("items") {
            Some(items) => format!("list of {}", kind(items)),
            None => "list".to_owned(),
        },
        "string" => "text".to_owned(),
        other => other.to_owned(),
    };
    let name = match &schema["type"] {
        Value::String(name) => one(name),
        Value::Array(names) => names
            .iter()
            .map(|name| one(name.as_str().unwrap()))
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "any".to_owned(),
    };
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(low), Some(high)) => format!("{name}, {low} to {high}"),
        (Some(low), None) => format!("{name}, from {low}"),
        _ => name,
    }
}

/// A server over a small graph, in which each of the tools has something to say.
struct Session {
    client: Client,
    folder: tempfile::TempDir,
    port: u16,
    /// The task that the examples make.
    made: String,
    names: BTreeMap<String, String>,
}

/// A page that asks for a login, whoever comes.
fn closed_site() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 1024];
            let read = stream.read(&mut head).unwrap_or(0);
            let status = match head[..read].starts_with(b"GET /robots.txt") {
                true => "404 Not Found",
                false => "401 Unauthorized",
            };
            let body = "<html><body>Log in.</body></html>";
            let reply = format!(
                "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    port
}

impl Session {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("a.db");
        // With one worker the same jobs run every time, in the same order.
        std::fs::write(folder.path().join("lyra.toml"), "workers = 1\n").unwrap();
        let file = folder.path().join("graph.jsonl");
        std::fs::write(&file, graph()).unwrap();
        let imported = binary(&db).arg("import").arg(&file).output().unwrap();
        assert!(
            imported.status.success(),
            "{}",
            String::from_utf8_lossy(&imported.stderr)
        );
        let papers = folder.path().join("papers");
        std::fs::create_dir(&papers).unwrap();
        std::fs::write(
            papers.join("a.md"),
            "# Nurses\n\nIn 200 nurses, night work shortened sleep by one hour.",
        )
        .unwrap();
        let corpus = papers.to_str().unwrap().to_owned();
        let mut client = Client::connect(&db, &["--allow-private-hosts", "--corpus", &corpus]);
        for nth in 0..20 {
            let relation = if nth < 15 { "supports" } else { "neutral" };
            client.ok("feedback", json!({"action": "edge_correct", "edge_id": format!("edge_judged{nth:02}"), "correct_relation": relation}));
        }
        Self {
            client,
            folder,
            port: closed_site(),
            made: String::new(),
            names: BTreeMap::new(),
        }
    }

    /// A call that shows the tool at work, and its reply.
    fn example(&mut self, tool: &str) -> (Value, Value) {
        let arguments = self.arguments(tool);
        let mut reply = self.client.ok(tool, arguments.clone());
        if tool == "create_task" {
            self.made = reply["task_id"].as_str().unwrap().to_owned();
        }
        if tool == "queue_targets" {
            let task = self.made.clone();
            self.drain(&task);
        }
        let mut arguments = arguments;
        self.settle("", &mut arguments);
        self.settle("", &mut reply);
        (arguments, reply)
    }

    fn arguments(&mut self, tool: &str) -> Value {
        let made = self.made.clone();
        match tool {
            "create_task" => {
                json!({"hypothesis": "Night work shortens sleep", "config": {"budget": {"max_pages": 50}}})
            }
            "queue_targets" => {
                json!({"task_id": made, "targets": ["night work sleep duration", "night work no effect on sleep", "Night work  sleep duration"]})
            }
            "get_status" => json!({"task_id": made, "wait": 0}),
            "stop_task" => json!({"task_id": made}),
            "queue_reference_candidates" => json!({"task_id": TASK, "limit": 5, "dry_run": true}),
            "query_sql" => {
                json!({"sql": "SELECT c.claim_text, e.relation, p.url FROM claims c JOIN edges e ON e.target_id = c.id JOIN fragments f ON f.id = e.source_id JOIN pages p ON p.id = f.page_id WHERE c.task_id = :task AND e.relation IN ('supports', 'refutes') ORDER BY e.id", "params": {"task": TASK}, "options": {"limit": 2}})
            }
            "vector_search" => {
                json!({"query": "sleep is shorter with shift work", "task_id": TASK, "min_similarity": 0.3, "top_k": 2})
            }
            "query_view" => json!({"view_name": "v_contradictions", "task_id": TASK, "limit": 5}),
            "list_views" | "calibration_metrics" => json!({}),
            "show_evidence" => json!({"task_id": TASK}),
            "check_report" => {
                json!({"text": "Night shifts shorten sleep, say most studies. Is that so?", "detail": "problems"})
            }
            "claim_standing" => json!({"text": "Night work shortens sleep"}),
            "get_auth_queue" => {
                let url = format!("http://127.0.0.1:{}/paper", self.port);
                self.client
                    .ok("queue_targets", json!({"task_id": TASK, "targets": [url]}));
                self.drain(TASK);
                json!({"task_id": TASK})
            }
            "resolve_auth" => {
                let waiting = self.client.ok("get_auth_queue", json!({"task_id": TASK}));
                json!({"queue_id": waiting["items"][0]["queue_id"], "action": "skip"})
            }
            "feedback" => {
                json!({"action": "edge_correct", "edge_id": "edge_refutes", "correct_relation": "neutral", "reason": "it is about naps"})
            }
            "get_judgements" => json!({"task_id": TASK, "limit": 1}),
            "submit_judgements" => {
                let lent = self
                    .client
                    .ok("get_judgements", json!({"task_id": TASK, "limit": 1}));
                let pair = &lent["pairs"][0];
                json!({"task_id": TASK, "model": "a-model", "judgements": [{"pair_id": pair["pair_id"],
                    "relation": "refutes", "quote": pair["passage"], "reason": "it measures the opposite"}]})
            }
            "calibration_rollback" => {
                json!({"source": "judge-1", "version": 0, "reason": "too few corrections yet"})
            }
            other => panic!("{other} has no example"),
        }
    }

    /// Waits until nothing of the task is under way.
    fn drain(&mut self, task: &str) {
        let end = Instant::now() + PATIENCE;
        loop {
            let status = self
                .client
                .ok("get_status", json!({"task_id": task, "wait": 0}));
            let phases = status["progress"]["jobs_by_phase"].as_object().unwrap();
            let is_idle = phases
                .values()
                .all(|phase| phase["queued"] == 0 && phase["running"] == 0);
            if is_idle && status["progress"]["queue"]["depth"] == 0 {
                return;
            }
            assert!(Instant::now() < end, "{status}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// Makes what differs from run to run the same, and long lists short.
    fn settle(&mut self, name: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    self.settle(name, field);
                }
            }
            Value::Array(items) => {
                let more = items.len().saturating_sub(SHOWN);
                items.truncate(SHOWN);
                items.iter_mut().for_each(|item| self.settle("", item));
                if more > 0 {
                    items.push(json!(format!("… and {more} more")));
                }
            }
            Value::Number(number)
                if name == "elapsed_ms"
                    || name.contains("seconds")
                        && !name.contains("limit")
                        && !name.starts_with("max") =>
            {
                *number = 1.into();
            }
            Value::Number(number) if number.is_f64() => {
                let rounded = (number.as_f64().unwrap() * 1000.0).round() / 1000.0;
                *value = json!(rounded);
            }
            Value::String(text) => {
                if matches!(name, "timestamp" | "lease_until") || name.ends_with("_at") {
                    *text = "2026-03-01T12:00:00.000Z".to_owned();
                }
                *text = text.replace(&format!("127.0.0.1:{}", self.port), "journal.example");
                *text = text.replace(self.folder.path().to_str().unwrap(), "/home/ada");
                self.rename(text);
            }
            _ => {}
        }
    }

    /// Gives ids that are made by chance names that are not.
    fn rename(&mut self, text: &mut String) {
        let Some((kind @ ("task" | "job" | "iq" | "s" | "pair" | "page" | "frag"), rest)) =
            text.split_once('_')
        else {
            return;
        };
        if text == TASK || !rest.chars().all(|c| c.is_ascii_hexdigit()) {
            return;
        }
        let known = self.names.len();
        let new = format!("{kind}_{:0width$x}", 0x5e + known, width = rest.len());
        *text = self.names.entry(text.clone()).or_insert(new).clone();
    }

    /// The codes of the failures that this tool has reasons of its own for, each provoked.
    fn errors(&mut self, tool: &str) -> Vec<(String, &'static str)> {
        let mut found = vec![self.provoke(
            tool,
            json!({"psychic": 1}),
            "INVALID_PARAMS",
            "the arguments",
        )];
        for (of, code, why, arguments) in failures() {
            if of == tool {
                found.push(self.provoke(tool, arguments, code, why));
            }
        }
        found
    }

    fn provoke(
        &mut self,
        tool: &str,
        arguments: Value,
        code: &str,
        why: &'static str,
    ) -> (String, &'static str) {
        let reply = self.client.fails(tool, arguments.clone());
        assert_eq!(reply["error_code"], code, "{tool} {arguments}: {reply}");
        (code.to_owned(), why)
    }
}

/// Nothing but the schemas' own words is in them: no field without a description.
#[test]
fn every_field_of_every_schema_is_described() {
    fn walk(place: &str, schema: &Map<String, Value>) {
        for (name, field) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            assert!(
                field["description"]
                    .as_str()
                    .is_some_and(|words| words.len() > 3),
                "{place}.{name} is not described"
            );
            walk(&format!("{place}.{name}"), field.as_object().unwrap());
        }
        for inner in ["items"] {
            if let Some(items) = schema.get(inner).and_then(Value::as_object) {
                walk(&format!("{place}[]"), items);
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &["--tools", "all"]);
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let schemas = crate::tools::full(name);
        for side in ["input", "output"] {
            walk(
                &format!("{name} {side}"),
                schemas[side].as_object().unwrap(),
            );
        }
    }
}
