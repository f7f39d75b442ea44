//! query_sql, query_view and list_views over the wire: every way in which they refuse, with the code
//! and the words that a caller can act on, and what they answer at the edges.

mod own_views;
mod sql;
mod views;

use crate::client::{Client, binary};
use crate::tools::Checks;
use crate::tools::{check_reply, schemas};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tempfile::TempDir;

const TASK: &str = "task_0000000a";

/// What is asked, the code of the answer, and parts of its message and of its hint.
type Refusal<'a> = (Value, &'a str, &'a str, &'a str);

/// A server over a small graph: a claim that one fragment supports and another refutes.
struct Server {
    folder: TempDir,
    client: Client,
    schemas: BTreeMap<String, Checks>,
}

impl Server {
    fn start() -> Self {
        let folder = graph();
        Self::over(folder, &[])
    }

    fn over(folder: TempDir, arguments: &[&str]) -> Self {
        let mut client = Client::connect(&folder.path().join("a.db"), arguments);
        let schemas = schemas(&mut client);
        Self {
            folder,
            client,
            schemas,
        }
    }

    /// The body of an answer, good or bad, which keeps to the schema of the tool.
    fn ask(&mut self, tool: &str, arguments: &Value) -> Value {
        let result = self.client.call(tool, arguments.clone());
        check_reply(tool, &result, &self.schemas);
        result["structuredContent"].clone()
    }

    fn sql(&mut self, sql: &str) -> Value {
        self.ask("query_sql", &json!({ "sql": sql }))
    }

    /// An empty `hint` asks for none.
    fn refuses(&mut self, tool: &str, cases: &[Refusal<'_>]) {
        for (arguments, code, error, hint) in cases {
            let body = self.ask(tool, arguments);
            let shown: String = arguments.to_string().chars().take(300).collect();
            assert_eq!(body["error_code"], *code, "{tool} {shown}: {body}");
            for (part, field) in [(error, "error"), (hint, "hint")] {
                let words = body[field].as_str().unwrap_or_default();
                assert!(words.contains(part), "{tool} {shown}: {field} of {body}");
            }
        }
    }

    fn answers(&mut self, cases: &[(Value, Value)]) {
        for (arguments, rows) in cases {
            let body = self.ask("query_sql", arguments);
            assert_eq!(body["rows"], *rows, "{arguments}: {body}");
            assert_eq!(body["row_count"], rows.as_array().unwrap().len());
        }
    }

    /// What was there at the start is still there, and nothing else.
    fn is_unchanged(&mut self) {
        let rows = self.sql(
            "SELECT (SELECT count(*) FROM claims) AS claims, (SELECT count(*) FROM edges) AS edges,
               (SELECT count(*) FROM sqlite_schema WHERE name = 'x') AS made",
        );
        assert_eq!(rows["rows"], json!([{"claims": 1, "edges": 3, "made": 0}]));
        assert!(!self.folder.path().join("x.db").exists());
    }
}

fn graph() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        json!({"type": "task", "id": TASK, "hypothesis": "Tea lowers blood pressure."}),
        json!({"type": "work", "canonical_id": "doi:10.1/w", "year": 2024}),
        json!({"type": "page", "id": "p1", "url": "https://example.org/a", "canonical_id": "doi:10.1/w"}),
        json!({"type": "page", "id": "p2", "url": "https://example.net/b"}),
        json!({"type": "fragment", "id": "f1", "page_id": "p1", "text_content": "Tea lowers it."}),
        json!({"type": "fragment", "id": "f2", "page_id": "p2", "text_content": "Tea raises it."}),
        json!({"type": "claim", "id": "c1", "task_id": TASK, "claim_text": "Tea lowers it."}),
        json!({"type": "edge", "id": "e1", "source_type": "fragment", "source_id": "f1",
            "target_type": "claim", "target_id": "c1", "relation": "supports"}),
        json!({"type": "edge", "id": "e2", "source_type": "fragment", "source_id": "f2",
            "target_type": "claim", "target_id": "c1", "relation": "refutes"}),
        json!({"type": "edge", "id": "e3", "source_type": "page", "source_id": "p1",
            "target_type": "page", "target_id": "p2", "relation": "cites"}),
        json!({"type": "task_page", "task_id": TASK, "page_id": "p1", "reason": "search"}),
    ];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let file = folder.path().join("graph.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let imported = binary(&folder.path().join("a.db"))
        .arg("import")
        .arg(&file)
        .output()
        .unwrap();
    assert!(imported.status.success(), "{imported:?}");
    folder
}
