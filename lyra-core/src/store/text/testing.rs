//! Test data outside the repository.

use serde_json::Value;

/// The rows of a table of reference cases; none, with a note, if the tables are not available.
pub(crate) fn reference_cases(table: &str) -> Vec<Value> {
    shared_lines(&format!("reference-cases/{table}.jsonl"))
}

/// The lines of a shared JSONL file; none, with a note, if it is not available.
pub(crate) fn shared_lines(path: &str) -> Vec<Value> {
    let Some(text) = shared_text(path) else {
        return Vec::new();
    };
    text.lines()
        .map(|line| serde_json::from_str(line).expect(path))
        .collect()
}

/// A shared file; `None`, with a note, if it is not available.
pub(crate) fn shared_text(path: &str) -> Option<String> {
    let path = format!("{}/../../shared/data/{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        eprintln!("skipped: {path} is not there");
    }
    text
}
