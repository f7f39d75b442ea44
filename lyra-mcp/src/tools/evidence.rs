//! show_evidence: the evidence page in a chat. Without a cursor the reply is a summary for the
//! model; the page shown by the client then requests its data in pieces.

use super::{Call, Outcome};
use crate::access::Access;
use crate::error::{Code, ToolError};
use crate::wire::{Reply, json_size};
use lyra_core::{EvidencePage, PageEvidence};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first cursor of a page.
const FIRST: &str = "0";

/// Maximum size of a page's data, in bytes of JSON: about 25 replies.
const PAGE_BYTES: usize = 1024 * 1024;

/// Maximum size of one piece, in bytes of JSON; a reply has room for little more.
const PIECE_BYTES: usize = 40 * 1024;

/// Maximum number of pages that are kept while their pieces are fetched.
const PAGES: usize = 16;

/// Number of claims of each side in a summary, and characters of their texts.
const CLAIMS: usize = 3;
const CLAIM_CHARS: usize = 300;

#[derive(Deserialize)]
struct Arguments {
    task_id: String,
    #[serde(default)]
    cursor: Option<String>,
}

/// The pages whose pieces are being fetched, so that all pieces of a page show the same state of
/// the graph.
#[derive(Default)]
pub(crate) struct Pages(Mutex<Held>);

#[derive(Default)]
struct Held {
    given: u64,
    pages: VecDeque<(u64, Arc<EvidencePage>)>,
}

impl Pages {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, page: &Arc<EvidencePage>) -> u64 {
        let mut held = self.held();
        held.given += 1;
        let number = held.given;
        held.pages.push_back((number, Arc::clone(page)));
        if held.pages.len() > PAGES {
            held.pages.pop_front();
        }
        number
    }

    fn get(&self, number: u64) -> Option<Arc<EvidencePage>> {
        let held = self.held();
        let found = held.pages.iter().find(|(known, _)| *known == number);
        found.map(|(_, page)| Arc::clone(page))
    }

    fn forget(&self, number: u64) {
        self.held().pages.retain(|(known, _)| *known != number);
    }
}

pub(super) async fn show(mut call: Call) -> Outcome {
    let Arguments { task_id, cursor } = call.parse()?;
    let can_correct =
        !call.engine.is_read_only() && call.access.as_deref().is_none_or(Access::may_correct);
    let mut reply = match cursor {
        None => {
            let page = load(&call, &task_id, usize::MAX).await?;
            summary(&page)
        }
        Some(cursor) => piece(&call, &task_id, &cursor).await?,
    };
    reply["task_id"] = json!(task_id);
    reply["can_correct"] = json!(can_correct);
    Reply::of(&reply)
}

async fn load(call: &Call, task_id: &str, bytes: usize) -> Result<EvidencePage, ToolError> {
    let task_id = task_id.to_owned();
    call.blocking(move |engine| engine.evidence_page(&task_id, bytes))
        .await
}

async fn piece(call: &Call, task_id: &str, cursor: &str) -> Result<Value, ToolError> {
    let (number, page, from) = if cursor == FIRST {
        let page = Arc::new(load(call, task_id, PAGE_BYTES).await?);
        (call.pages.keep(&page), page, 0)
    } else {
        let (number, from) = place(cursor)?;
        let page = call.pages.get(number);
        let page = page.filter(|page| page.task_id == task_id);
        (number, page.ok_or_else(|| gone(cursor))?, from)
    };
    let (piece, end) = piece_from(&page, from);
    let total = rows(&page);
    let next = match end < total {
        true => Some(format!("{number}@{end}")),
        false => {
            call.pages.forget(number);
            None
        }
    };
    Ok(json!({ "page": piece, "done": end, "total": total, "next_cursor": next }))
}

/// The page and the row that a cursor names.
fn place(cursor: &str) -> Result<(u64, usize), ToolError> {
    let parts = cursor.split_once('@');
    let read = parts.and_then(|(number, row)| Some((number.parse().ok()?, row.parse().ok()?)));
    read.ok_or_else(|| {
        ToolError::invalid("cursor is neither \"0\" nor a next_cursor of this tool")
            .with_hint("leave cursor out; only the evidence page itself uses it")
            .with_details(json!({ "field": "cursor" }))
    })
}

fn gone(cursor: &str) -> ToolError {
    let short: String = cursor.chars().take(64).collect();
    ToolError::new(
        Code::ResourceNotFound,
        format!("the page of cursor {short:?} is not kept any more"),
    )
    .with_hint("begin again with cursor \"0\"")
}

/// Number of rows of a page, of all kinds.
fn rows(page: &EvidencePage) -> usize {
    page.claims.len() + page.sources.len() + page.evidence.len() + page.citations.len()
}

/// The rows from a given one that fit a piece, and the number of the next row. The first piece also
/// contains the page's header.
fn piece_from(page: &EvidencePage, from: usize) -> (Value, usize) {
    let mut body = Map::new();
    if from == 0 {
        body.insert("task_id".into(), json!(page.task_id));
        body.insert("hypothesis".into(), json!(page.hypothesis));
        body.insert("made_by".into(), json!(page.made_by));
        body.insert("left_out".into(), json!(page.left_out));
    }
    let (mut at, mut size) = (from, json_size(&body));
    while at < rows(page) {
        let (list, row) = row(page, at);
        let of_row = json_size(&row) + 1;
        if size + of_row > PIECE_BYTES && at > from {
            break;
        }
        size += of_row;
        let list = body.entry(list).or_insert_with(|| json!([]));
        list.as_array_mut()
            .into_iter()
            .for_each(|l| l.push(row.clone()));
        at += 1;
    }
    (Value::Object(body), at)
}

/// A row by its number among all rows, with the list that it belongs to.
fn row(page: &EvidencePage, at: usize) -> (&'static str, Value) {
    let sources = page.claims.len();
    let evidence = sources + page.sources.len();
    let citations = evidence + page.evidence.len();
    match at {
        at if at < sources => ("claims", json!(page.claims[at])),
        at if at < evidence => ("sources", json!(page.sources[at - sources])),
        at if at < citations => ("evidence", json!(page.evidence[at - evidence])),
        at => ("citations", json!(page.citations[at - citations])),
    }
}

fn summary(page: &EvidencePage) -> Value {
    let (supports, refutes) = (page.count_sides("supports"), page.count_sides("refutes"));
    let possible = supports.1 + refutes.1;
    let others = page.claims.len() - supports.0 - refutes.0 - possible;
    let possibly = match possible {
        0 => String::new(),
        _ => format!(", {possible} possibly do one or the other"),
    };
    let passages = page.evidence.len() + page.left_out.map_or(0, |left_out| left_out.passages);
    let retracted = page.sources.iter().filter(|s| s.is_retracted).count();
    let summary = format!(
        "Of {} claims, {} support the hypothesis, {} refute it{possibly}, {others} are neutral or not \
         judged. {passages} passages from {} sources, {retracted} of them retracted.",
        page.claims.len(),
        supports.0,
        refutes.0,
        page.sources.len(),
    );
    let claims: Vec<Value> = ["supports", "refutes"]
        .into_iter()
        .flat_map(|stance| strongest(page, stance))
        .collect();
    json!({ "hypothesis": page.hypothesis, "summary": summary, "claims": claims })
}

/// The claims of a side of which the judge is most certain.
fn strongest<'a>(page: &'a EvidencePage, stance: &'a str) -> impl Iterator<Item = Value> + 'a {
    let claims = page.sides(stance).into_iter().take(CLAIMS);
    claims.map(move |at| {
        let claim = &page.claims[at];
        let mut told = json!({
            "claim_id": claim.id, "stance": stance, "confidence": claim.stance_confidence,
            "text": short(&claim.in_context()),
            "supports": claim.supports, "refutes": claim.refutes,
        });
        if let Some(best) = best_passage(page, at) {
            let source = &page.sources[best.source];
            told["relation"] = json!(best.relation);
            told["quote"] = json!(short(&best.quote));
            told["source"] = json!(short(&source.title));
            told["url"] = json!(source.url);
        }
        told
    })
}

/// The most certain passage that takes a side, otherwise the origin of the claim.
fn best_passage(page: &EvidencePage, claim: usize) -> Option<&PageEvidence> {
    let rank = |e: &&PageEvidence| match e.relation.as_str() {
        "supports" | "refutes" => 1.0 + e.confidence.unwrap_or(0.0),
        "origin" => 0.5,
        _ => 0.0,
    };
    let passages = page.evidence.iter().filter(|e| e.claim == claim);
    passages.max_by(|a, b| rank(a).total_cmp(&rank(b)))
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(CLAIM_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_names_a_page_and_a_row() {
        assert_eq!(place("7@120").expect("a cursor"), (7, 120));
        for wrong in ["", "7", "7@", "@7", "7@x", "x@7", "-1@7"] {
            let error = place(wrong).expect_err(wrong);
            assert_eq!(error.code, Code::InvalidParams, "{wrong}");
        }
    }
}
