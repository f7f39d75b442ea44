//! Names, titles and claims with characters that affect a terminal, deceive the reader or break a
//! format.

use super::*;
use crate::security::display::{harmless, is_harmful};

const NAMES: [&str; 50] = [
    "\u{1b}[31mRed\u{1b}[0m Ann",
    "Ann\u{1b}[2J\u{1b}[H",
    "\u{1b}]0;title\u{7}Lee",
    "\u{1b}]8;;http://e/\u{1b}\\Lee\u{1b}]8;;\u{1b}\\",
    "Lee\u{9b}31m",
    "Lee\u{90}q\u{9c}",
    "Bell\u{7}\u{7}",
    "Back\u{8}\u{8}\u{8}\u{8}Kim",
    "Feed\u{c}Kim",
    "Vertical\u{b}Kim",
    "Delete\u{7f}Kim",
    "Return\rKim",
    "Next\u{85}Kim",
    "Line\u{2028}Kim",
    "Paragraph\u{2029}Kim",
    "\u{202e}nomiS ,rekraP",
    "Ann \u{202d}Lee\u{202c}",
    "\u{202a}Ann\u{202b}",
    "Ann\u{2066}Lee\u{2069}",
    "\u{2067}Ann\u{2068}Lee",
    "Ann\u{200e}\u{200f}Lee",
    "Ann\u{61c}Lee",
    "Ann\u{206a}\u{206f}Lee",
    "\u{fff9}Ann\u{fffa}Lee\u{fffb}",
    "Ann\u{e0001}\u{e0041}\u{e007f}",
    "Lee, \u{1b}[1mAnn",
    "\u{1b}[31m, \u{202e}",
    "Ann\nLee",
    "Ann\n# Heading",
    "Ann\n\n- item",
    "Ann\r\nER  - \r\nTY  - JOUR",
    "Ann\n@misc{evil,",
    "}\n@misc{evil, title={x}",
    "{{{unbalanced",
    "unbalanced}}}",
    "trailing\\",
    "\\input{/etc/passwd}",
    "\\write18{x} $a^b$ % comment",
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"><svg onload=alert(1)>",
    "<!-- comment",
    "]]><x>",
    "[x](javascript:alert(1))",
    "![x](http://e.example/p.png)",
    "`code` **bold** | cell |",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "\t-2+3",
];

/// A work, its author and a claim in it for each name.
fn graph_of(names: &[String]) -> (tempfile::TempDir, EvidenceGraph) {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let graph = EvidenceGraph::open(&folder.path().join("a.db"), clock).unwrap();
    let mut lines =
        vec![r#"{"type":"task","id":"task_00000001","hypothesis":"It helps"}"#.to_owned()];
    for (n, name) in names.iter().enumerate() {
        let name = Value::String(name.clone());
        let id = format!("meta:{n:04}");
        for line in [
            format!(
                r#"{{"type":"work","canonical_id":"{id}","title":{name},"venue":{name},"year":2020}}"#
            ),
            format!(r#"{{"type":"work_author","canonical_id":"{id}","position":0,"name":{name}}}"#),
            format!(
                r#"{{"type":"page","id":"p{n}","url":"https://a.example/{n}","title":{name},"canonical_id":"{id}"}}"#
            ),
            format!(
                r#"{{"type":"fragment","id":"f{n}","page_id":"p{n}","text_content":"Said {n}."}}"#
            ),
            format!(
                r#"{{"type":"claim","id":"c{n}","task_id":"task_00000001","claim_text":{name}}}"#
            ),
            format!(
                r#"{{"type":"edge","id":"e{n}","source_type":"fragment","source_id":"f{n}","target_type":"claim","target_id":"c{n}","relation":"supports","nli_edge_confidence":0.9,"judge_id":"j"}}"#
            ),
        ] {
            lines.push(line);
        }
    }
    let now = graph.clock().now();
    crate::store::graph::import_jsonl(graph.database(), &now, lines.join("\n").as_bytes()).unwrap();
    (folder, graph)
}

/// The structural elements of a text, as its format counts them.
fn structure(format: &str, text: &str) -> Vec<usize> {
    let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    match format {
        "bibtex" => {
            let depth = text.replace("\\{", "").replace("\\}", "");
            vec![
                lines("@"),
                lines("}"),
                depth.matches('{').count() - depth.matches('}').count(),
            ]
        }
        "ris" => vec![lines("TY  - "), lines("ER  - "), lines("AU  - ")],
        "csl-json" => vec![
            serde_json::from_str::<Value>(text)
                .unwrap()
                .as_array()
                .unwrap()
                .len(),
        ],
        "prov" => {
            serde_json::from_str::<Value>(text).unwrap();
            Vec::new()
        }
        "graphml" => vec![
            roxmltree::Document::parse(text)
                .unwrap()
                .descendants()
                .filter(|node| node.is_element())
                .count(),
        ],
        "markdown" => vec![
            lines("#"),
            lines("- "),
            text.matches("](").count() - text.matches("\\](").count(),
        ],
        "html" => vec![
            text.to_lowercase().matches("<script").count(),
            text.to_lowercase().matches("</script").count(),
            text.matches("<svg").count(),
        ],
        "csv" => {
            let mut rows = csv::Reader::from_reader(text.as_bytes());
            let mut count = 0;
            for row in rows.records() {
                for cell in &row.unwrap() {
                    let bare = cell.trim_start();
                    assert!(!bare.starts_with(['=', '+', '-', '@']), "{cell:?}");
                }
                count += 1;
            }
            vec![count]
        }
        _ => vec![text.lines().count()],
    }
}

#[test]
fn fifty_hostile_names_stay_text_in_every_export() {
    let hostile: Vec<String> = NAMES.iter().map(|name| (*name).to_owned()).collect();
    let plain: Vec<String> = (0..NAMES.len()).map(|n| format!("Lee{n}, Ann")).collect();
    let (_a, hostile) = graph_of(&hostile);
    let (_b, plain) = graph_of(&plain);
    for (format, _) in ExportFormat::ALL {
        let task = Some("task_00000001");
        let (text, _) = exported(&hostile, format, task);
        let shown = text.replace("\r\n", "\n");
        let raw: Vec<char> = shown.chars().filter(|c| is_harmful(*c)).collect();
        assert!(raw.is_empty(), "{format}: {raw:?}");
        let (expected, _) = exported(&plain, format, task);
        assert_eq!(
            structure(format, &text),
            structure(format, &expected),
            "{format}\n{text}"
        );
    }
    for name in NAMES {
        let shown = harmless(name).replace("\r\n", "\n");
        assert!(!shown.contains(is_harmful), "{name:?}");
    }
}
