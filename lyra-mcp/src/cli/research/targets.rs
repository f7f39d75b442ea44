//! The targets: named by the user, derived from the hypothesis, or those of an earlier run.

use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::store::model::Target;
use lyra_core::store::text::is_cjk;
use lyra_core::store::text::targets::parse_target_text;
use lyra_core::{Engine, Error, Result};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Words that are added to a hypothesis to find evidence for it, against it, and summaries.
const SIDES: [&str; 4] = ["", "evidence against", "no effect", "review"];
const SIDES_JA: [&str; 4] = ["", "反証", "効果なし", "レビュー"];

/// Maximum number of targets per call.
pub(super) const AT_ONCE: usize = 200;

/// The targets that the user named.
pub(super) fn asked(queries: &[String], targets: &[String]) -> Vec<Value> {
    let queries = queries.iter().map(|words| query(words));
    queries
        .chain(targets.iter().map(|target| target.as_str().into()))
        .collect()
}

fn query(words: &str) -> Value {
    json!({ "kind": "query", "query": words })
}

/// Refuses targets that are neither an address nor a DOI: these would be searched for as words,
/// although they are mistakes or file names.
pub(super) fn check(targets: &[String]) -> Result<()> {
    for target in targets {
        if let Target::Query { query } = parse_target_text(target)? {
            return Err(not_an_address(&query));
        }
    }
    Ok(())
}

fn not_an_address(text: &str) -> Error {
    let hint = match Path::new(text).exists() {
        true => "documents of your own are read in the folder that --corpus names",
        false => "words to search for are given with --query",
    };
    Error::invalid(format!("{text:?} is neither an address nor a DOI")).with_hint(hint)
}

/// The hypothesis itself, and queries for both of its sides.
pub(in crate::cli) fn of_hypothesis(hypothesis: &str) -> Vec<Value> {
    let bare = hypothesis.trim().trim_end_matches(['.', '。']);
    let sides = if bare.chars().any(is_cjk) {
        SIDES_JA
    } else {
        SIDES
    };
    sides
        .iter()
        .map(|side| query(format!("{bare} {side}").trim()))
        .collect()
}

/// The targets of the task: those left over from an interruption or, if there are none, all of them
/// again. Documents that were followed from citations are not repeated.
pub(super) fn of_task(engine: &Engine, task_id: &str) -> Result<Vec<Value>> {
    let hypothesis = engine.graph().read(|r| r.task(task_id))?.hypothesis;
    let mut known: Vec<(Value, bool)> = Vec::new();
    for row in jobs(engine, task_id)? {
        let text = row
            .get("target")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let target = serde_json::from_str(text)
            .map_err(|error| Error::internal("a target is not JSON").with_source(error))?;
        known.push((
            target,
            row.get("state").is_some_and(|state| state == "cancelled"),
        ));
    }
    let is_any_left = known.iter().any(|(_, is_left)| *is_left);
    known.retain(|(_, is_left)| *is_left == is_any_left);
    if known.is_empty() {
        return Ok(of_hypothesis(&hypothesis));
    }
    Ok(known.into_iter().map(|(target, _)| target).collect())
}

/// The targets of the task, each with its latest outcome.
fn jobs(engine: &Engine, task_id: &str) -> Result<Vec<Map<String, Value>>> {
    let mut rows = Vec::new();
    loop {
        let options = SqlOptions {
            limit: AT_ONCE,
            offset: rows.len(),
            timeout_ms: 2_000,
            max_bytes: 1 << 20,
            ..SqlOptions::default()
        };
        // SQLite takes the state from the row with the greatest number.
        let request = SqlRequest {
            sql: "SELECT input_json -> '$.target' AS target, state, max(rowid) AS last FROM jobs
                  WHERE task_id = :task AND kind = 'target_queue'
                    AND coalesce(input_json ->> '$.target.reason', '') <> 'citation_chase'
                  GROUP BY target ORDER BY last"
                .to_owned(),
            params: SqlParams::Named([("task".to_owned(), json!(task_id))].into_iter().collect()),
            options,
        };
        let reply = engine.query_sql(&request)?;
        rows.extend(reply.rows);
        if !reply.truncated {
            return Ok(rows);
        }
    }
}

/// A short description of the targets.
pub(super) fn told(asked: &[Value]) -> String {
    let name = |target: &Value| {
        let text = target
            .get("query")
            .or(target.get("url"))
            .or(target.get("doi"));
        text.unwrap_or(target)
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let names: Vec<String> = asked
        .iter()
        .take(4)
        .map(|t| format!("\"{}\"", name(t)))
        .collect();
    let more = if asked.len() > 4 { ", …" } else { "" };
    super::super::layout::plain(&format!("{}{more}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_of_a_hypothesis_are_asked_for_in_its_language() {
        for (hypothesis, first, last) in [
            (
                "Night work shortens sleep. ",
                "Night work shortens sleep",
                "Night work shortens sleep review",
            ),
            (
                "夜勤は睡眠を短くする。",
                "夜勤は睡眠を短くする",
                "夜勤は睡眠を短くする レビュー",
            ),
        ] {
            let asked = of_hypothesis(hypothesis);
            assert_eq!(asked.len(), 4);
            assert_eq!(asked[0]["query"], first);
            assert_eq!(asked[3]["query"], last);
        }
    }

    #[test]
    fn a_file_is_no_address() {
        assert!(check(&["https://example.org/".to_owned(), "10.1234/a".to_owned()]).is_ok());
        for (target, hint) in [
            (env!("CARGO_MANIFEST_DIR"), "--corpus"),
            ("back pain", "--query"),
        ] {
            let error = check(&[target.to_owned()]).unwrap_err();
            assert!(
                error.hint().is_some_and(|said| said.contains(hint)),
                "{target}"
            );
        }
    }
}
