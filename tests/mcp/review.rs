//! The review on the command line: the commands of docs/review.md, the feed, and watching.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PAPER: &str =
    "# Nurses\n\nNight shift work shortened sleep by 74 minutes in 412 nurses of the trial.";

fn lyra(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lyra-mcp"))
        .args(arguments)
        .current_dir(folder)
        .env("LYRA_DB", "evidence.db")
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = lyra(folder, arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let papers = folder.path().join("corpus");
    std::fs::create_dir(&papers).unwrap();
    std::fs::write(papers.join("nurses.md"), PAPER).unwrap();
    std::fs::write(
        papers.join("guards.md"),
        "---\ntitle: Guards & <others>\n---\n\nNight shift work did not shorten sleep in 230 guards of the trial.",
    )
    .unwrap();
    folder
}

fn task_of(folder: &Path) -> String {
    let tasks = said(folder, &["tasks", "--format", "json"]);
    let newest: Value = serde_json::from_str(tasks.lines().next().unwrap()).unwrap();
    newest["task_id"].as_str().unwrap().to_owned()
}

/// A command line as a shell takes it apart, as far as the document needs it.
fn words(line: &str) -> Vec<String> {
    let mut parts = line.split('"');
    let mut words = Vec::new();
    while let Some(plain) = parts.next() {
        words.extend(plain.split_whitespace().map(str::to_owned));
        words.extend(parts.next().map(str::to_owned));
    }
    words
}

#[test]
fn the_commands_of_the_document_run() {
    let folder = folder();
    let document = include_str!("../../docs/review.md");
    let block = document
        .split("```sh\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    assert!(block.lines().count() >= 6);
    let source = url::Url::from_file_path(
        folder
            .path()
            .join("corpus/guards.md")
            .canonicalize()
            .unwrap(),
    );
    let source = source.unwrap().to_string();
    for line in block.lines() {
        let mut arguments = words(line);
        assert_eq!(arguments.remove(0), "lyra-mcp");
        for word in &mut arguments {
            match word.as_str() {
                "T" => *word = task_of(folder.path()),
                "SOURCE" => word.clone_from(&source),
                _ => {}
            }
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        said(folder.path(), &arguments);
    }
    let task = task_of(folder.path());
    let text = said(
        folder.path(),
        &["review", "--task", &task, "--since", "2026-01-01"],
    );
    for expected in [
        "Records identified: 16",
        "by a person: wrong population: 1",
        "exclude by ann: wrong population",
        "Sources included: 1",
        "run 2, ",
        "PRISMA-trAIce",
    ] {
        assert!(
            text.contains(expected),
            "{expected:?} is missing in\n{text}"
        );
    }
    // Every statement of the document counts what the view counts.
    let identified = document
        .matches("FROM review_records WHERE task_id")
        .count();
    assert_eq!(identified, 10);
    let flow = std::fs::read_to_string(folder.path().join("flow.svg")).unwrap();
    assert!(flow.contains("Records identified (n = 8)"), "{flow}");
}

#[test]
fn the_feed_is_whole_xml_whose_ids_stay() {
    let folder = folder();
    said(
        folder.path(),
        &[
            "research",
            "Night shift work shortens sleep",
            "--corpus",
            "corpus",
            "--no-page",
        ],
    );
    let task = task_of(folder.path());
    let feed = || {
        said(
            folder.path(),
            &["review", "--task", &task, "--format", "atom"],
        )
    };
    let first = feed();
    assert!(first.contains("Guards &amp; &lt;others&gt;"), "{first}");
    let entries = |xml: &str| -> Vec<(String, String)> {
        let parsed = roxmltree::Document::parse(xml).unwrap();
        let child = |node: roxmltree::Node<'_, '_>, name: &str| {
            let found = node
                .children()
                .find(|c| c.has_tag_name(("http://www.w3.org/2005/Atom", name)));
            found.and_then(|c| c.text()).unwrap_or_default().to_owned()
        };
        let root = parsed.root_element();
        assert!(!child(root, "id").is_empty() && !child(root, "updated").is_empty());
        let entries = root
            .children()
            .filter(|c| c.has_tag_name(("http://www.w3.org/2005/Atom", "entry")));
        entries
            .map(|e| (child(e, "id"), child(e, "updated")))
            .collect()
    };
    let before = entries(&first);
    assert!(before.len() >= 2, "{first}");
    std::fs::write(
        folder.path().join("corpus/pilots.md"),
        "# Pilots\n\nNight shift work shortened sleep by two hours in 96 pilots.",
    )
    .unwrap();
    let told = said(
        folder.path(),
        &[
            "watch", "--task", &task, "--once", "--corpus", "corpus", "--feed", "feed.xml",
        ],
    );
    assert!(
        told.contains("new sources (1)") && told.contains("Pilots"),
        "{told}"
    );
    let after = entries(&std::fs::read_to_string(folder.path().join("feed.xml")).unwrap());
    assert!(after.len() > before.len());
    for entry in &before {
        assert!(after.contains(entry), "{entry:?}");
    }
}

#[cfg(unix)]
#[test]
fn watching_ends_between_runs_when_it_is_told_to() {
    let folder = folder();
    said(
        folder.path(),
        &[
            "research",
            "Night shift work shortens sleep",
            "--corpus",
            "corpus",
            "--no-page",
        ],
    );
    let task = task_of(folder.path());
    let mut child = Command::new(env!("CARGO_BIN_EXE_lyra-mcp"))
        .args([
            "watch", "--task", &task, "--every", "2s", "--corpus", "corpus", "--format", "json",
        ])
        .current_dir(folder.path())
        .env("LYRA_DB", "evidence.db")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !said(folder.path(), &["review", "--task", &task]).contains("run 3:") {
        assert!(began.elapsed() < Duration::from_secs(90));
        std::thread::sleep(Duration::from_millis(200));
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success()
    );
    let ended = child.wait().unwrap();
    assert!(matches!(ended.code(), Some(0 | 130)), "{ended:?}");
    said(folder.path(), &["verify"]);
}
