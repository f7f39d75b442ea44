//! `research` and `tasks`: a question of one's own, from the command line, and going on with it.

use crate::client::{Client, PATIENCE, binary};
use serde_json::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const HYPOTHESIS: &str = "Standing desks reduce back pain";

/// A folder with a database to be and three documents.
struct Desk {
    folder: TempDir,
    db: PathBuf,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("evidence.db");
        std::fs::create_dir(folder.path().join("papers")).unwrap();
        let desk = Self { folder, db };
        desk.write("a.md", "# Call centres\n\nIn 312 call-centre workers, standing desks reduced back pain by 1.3 points.");
        desk.write(
            "b.txt",
            "A bank\n\nIn a trial of 150 bank clerks, standing desks did not reduce back pain.",
        );
        desk.write("c.md", "# Offices\n\nStanding desks were associated with less back pain in 900 office workers.");
        desk
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join("papers").join(name), text).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        binary(&self.db).args(arguments).output().unwrap()
    }

    /// `research` over the papers; its report and what it said besides.
    fn research(&self, arguments: &[&str]) -> (String, String) {
        let all = [&["research", "--corpus", "papers"], arguments].concat();
        let out = self.run(&all);
        assert!(out.status.success(), "{}", text(&out.stderr));
        (text(&out.stdout), text(&out.stderr))
    }

    fn tasks(&self) -> Vec<serde_json::Value> {
        let out = self.run(&["tasks", "--format", "json"]);
        let lines = text(&out.stdout);
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The id of the task, which stands on a line of its own.
fn task_of(report: &str) -> String {
    let line = report.lines().find(|line| line.trim().starts_with("task_"));
    line.unwrap_or_else(|| panic!("no task in\n{report}"))
        .trim()
        .to_owned()
}

#[test]
fn a_question_of_one_s_own_is_answered_with_a_report_and_a_page() {
    let desk = Desk::new();
    let (report, said) = desk.research(&[HYPOTHESIS]);
    let task = task_of(&report);
    let page = desk.folder.path().join(format!("evidence-{task}.html"));
    for part in [
        "SUPPORTS THE HYPOTHESIS",
        "standing desks did not reduce back pain",
        &format!("research --task {task} --db evidence.db --corpus papers"),
        &format!("export --task {task} --db evidence.db --format markdown"),
        page.to_str().unwrap(),
    ] {
        assert!(report.contains(part), "{part:?} is missing in\n{report}");
    }
    assert!(
        said.contains("4 targets queued") && said.contains("jobs, 3 documents"),
        "{said}"
    );
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains(&task) && html.contains("900 office workers"));

    let listed = text(&desk.run(&["tasks"]).stdout);
    assert!(
        listed.starts_with(&task) && listed.contains("\t3 documents\t"),
        "{listed}"
    );
    let tasks = desk.tasks();
    assert_eq!(
        (tasks.len(), &tasks[0]["hypothesis"]),
        (1, &HYPOTHESIS.into())
    );
    assert_eq!(tasks[0]["unfinished"], 0);
}

#[test]
fn a_task_that_goes_on_asks_again_and_finds_what_is_new() {
    let desk = Desk::new();
    // One page for a query: of what is known it uses up nothing when it is asked again.
    let (report, _) = desk.research(&[HYPOTHESIS, "--query", "standing desks", "--no-page"]);
    let task = task_of(&report);
    let first = desk.tasks();
    desk.write(
        "d.md",
        "# Programmers\n\nIn 88 programmers, standing desks reduced back pain by 2 points.",
    );
    desk.write(
        "c.md",
        "# Offices\n\nStanding desks were associated with less back pain in 950 office workers.",
    );
    let (report, said) = desk.research(&["--task", &task, "--no-page"]);
    assert_eq!(task_of(&report), task);
    assert!(
        said.contains("1 target queued: \"standing desks\""),
        "{said}"
    );
    assert!(said.contains("new: 1 document, 2 claims"), "{said}");
    assert!(!said.contains("evidence page"), "{said}");
    let second = desk.tasks();
    assert_eq!(second.len(), 1);
    assert_eq!(first[0]["documents"], 3);
    assert_eq!(second[0]["documents"], 4);

    // The same words without the task are another task, and that is said.
    let (_, said) = desk.research(&[HYPOTHESIS, "--no-page"]);
    assert!(
        said.contains(&format!("{task} has the same hypothesis")),
        "{said}"
    );

    // Nothing new: nothing doubles.
    let (_, said) = desk.research(&["--task", &task, "--no-page"]);
    assert!(said.contains("new: 0 documents, 0 claims"), "{said}");
    // Words of today are asked alone.
    let (_, said) = desk.research(&["--task", &task, "--no-page", "--query", "programmers"]);
    assert!(said.contains("1 target queued: \"programmers\""), "{said}");
    assert!(desk.run(&["verify"]).status.success());
}

/// What is new may rank behind more documents than a query reads.
#[test]
fn what_is_new_is_found_behind_all_that_is_known() {
    let desk = Desk::new();
    for number in 0..30 {
        let name = format!("known{number}.md");
        desk.write(&name, &format!("# Office {number}\n\nIn office {number}, standing desks reduced back pain: back pain was less with standing desks."));
    }
    let (report, _) = desk.research(&[
        HYPOTHESIS,
        "--query",
        "standing desks back pain",
        "--no-page",
        "--limit",
        "hits_per_query=20",
        "--limit",
        "pages_per_query=20",
    ]);
    let task = task_of(&report);
    let before = desk.tasks()[0]["documents"].as_u64().unwrap();
    assert_eq!(before, 20, "what one query reads");
    let mut long = String::from("# A survey of furniture\n\nStanding desks were rare.\n\n");
    for number in 0..40 {
        write!(
            long,
            "Paragraph {number} is about chairs, lamps and shelves.\n\n"
        )
        .unwrap();
    }
    desk.write("new.md", &long);
    let few = [
        "--limit",
        "hits_per_query=20",
        "--limit",
        "pages_per_query=20",
    ];
    desk.research(&[&["--task", &task, "--no-page"], &few[..]].concat());
    let after = desk.tasks()[0]["documents"].as_u64().unwrap();
    assert_eq!(after, 21, "what was passed over stays so");
    let titles = desk.run(&["export", "--task", &task]);
    assert!(text(&titles.stdout).contains("A survey of furniture"));
}

#[test]
fn a_budget_that_is_used_up_is_said_and_can_be_raised() {
    let desk = Desk::new();
    let (report, said) = desk.research(&[HYPOTHESIS, "--max-pages", "1", "--no-page"]);
    let task = task_of(&report);
    assert!(said.contains("the budget is used up"), "{said}");
    assert_eq!(desk.tasks()[0]["documents"], 1);
    desk.research(&["--task", &task, "--max-pages", "10", "--no-page"]);
    assert_eq!(desk.tasks()[0]["documents"], 3);
}

#[test]
fn a_page_of_somebody_else_is_left_alone() {
    let desk = Desk::new();
    let page = desk.folder.path().join("evidence.html");
    std::fs::write(&page, "<title>My own</title>").unwrap();
    let out = desk.run(&["demo", "--corpus", "papers", "--hypothesis", HYPOTHESIS]);
    assert!(out.status.success());
    assert!(
        text(&out.stderr).contains("is there already and is no evidence page"),
        "{}",
        text(&out.stderr)
    );
    assert_eq!(
        std::fs::read_to_string(&page).unwrap(),
        "<title>My own</title>"
    );

    let own = desk.folder.path().join("shown.html");
    let arguments = [
        "demo",
        "--corpus",
        "papers",
        "--hypothesis",
        HYPOTHESIS,
        "--page",
        "shown.html",
    ];
    assert!(desk.run(&arguments).status.success());
    std::fs::remove_file(&page).unwrap();
    std::fs::rename(&own, &page).unwrap();
    let again = desk.run(&arguments[..5]);
    let report = text(&again.stdout);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(
        html.contains(&task_of(&report)),
        "an older page of ours is replaced"
    );
}

#[test]
fn documents_that_are_not_read_are_named() {
    let desk = Desk::new();
    let (_, said) = desk.research(&[HYPOTHESIS, "--no-page"]);
    assert!(!said.contains("of the corpus"), "{said}");
    for (name, text) in [
        ("a.md.meta.json", "{bad"),
        ("none.pdf", ""),
        ("notes.docx", "PK"),
        ("lines.jsonl", "{\"text\": \"Desks.\"}\nnot json\n"),
    ] {
        desk.write(name, text);
    }
    let (report, said) = desk.research(&[HYPOTHESIS, "--no-page"]);
    assert!(report.contains("312 call-centre workers"), "{report}");
    for (line, parts) in [
        (
            "warning: 1 of 6 files of the corpus was not read: ",
            ["“none.pdf”", "(the file is empty)"],
        ),
        (
            "note: the corpus holds 1 file ",
            ["of a kind that is not read", "(.docx)"],
        ),
        (
            "warning: in the corpus, something was left out of 2 files: ",
            ["“a.md” (its .meta.json: ", "“lines.jsonl” (line 2: "],
        ),
    ] {
        let told: Vec<&str> = said.lines().filter(|l| l.contains(line)).collect();
        assert_eq!(told.len(), 1, "{said}");
        assert!(parts.iter().all(|part| told[0].contains(part)), "{said}");
    }
    let doctor = desk.run(&["doctor", "--corpus", "papers"]);
    assert!(doctor.status.success(), "{}", text(&doctor.stdout));
    let found = "ok    corpus: papers: 6 files, 4 documents readable, 1 skipped: “none.pdf”";
    assert!(
        text(&doctor.stdout).contains(found),
        "{}",
        text(&doctor.stdout)
    );

    std::fs::create_dir(desk.folder.path().join("nothing")).unwrap();
    let doctor = desk.run(&["doctor", "--corpus", "nothing"]);
    assert_eq!(doctor.status.code(), Some(1));
    let found = "FAIL  corpus: nothing: 0 files, 0 documents readable";
    assert!(
        text(&doctor.stdout).contains(found),
        "{}",
        text(&doctor.stdout)
    );
}

#[test]
fn what_cannot_be_researched_is_refused_with_a_hint() {
    let desk = Desk::new();
    // Creates the database, in which tasks are then looked for.
    desk.run(&["import", "-"]);
    assert!(desk.db.exists());
    for (arguments, code, words) in [
        (vec!["research"], 2, "HYPOTHESIS"),
        (
            vec!["research", "Tea helps sleep", "--task", "task_1"],
            2,
            "cannot be used with",
        ),
        (
            vec!["research", "Tea helps sleep", "--max-pages", "0"],
            2,
            "--max-pages",
        ),
        (vec!["research", "Tea helps sleep"], 1, "--corpus DIR"),
        (
            vec!["research", "Tea helps sleep", "--corpus", "nowhere"],
            1,
            "there is no folder nowhere",
        ),
        (
            vec!["research", "Tea helps sleep", "--corpus", "papers/a.md"],
            1,
            "papers/a.md is a file; a folder of documents is expected",
        ),
        (
            vec!["research", "Tea helps sleep", "--target", "papers/a.md"],
            1,
            "--corpus",
        ),
        (
            vec!["research", "  ", "--corpus", "papers"],
            1,
            "hypothesis is empty",
        ),
        (
            vec![
                "research",
                "Tea helps sleep",
                "--corpus",
                "papers",
                "--page",
                "papers/a.md",
            ],
            1,
            "papers/a.md is there already and is no evidence page",
        ),
        (
            vec!["research", "Tea helps sleep", "--target", "ftp://a"],
            1,
            "use an http, https or file URL",
        ),
        (
            vec!["research", "--task", "task_1", "--corpus", "papers"],
            1,
            "task_1",
        ),
    ] {
        let out = desk.run(&arguments);
        assert_eq!(
            out.status.code(),
            Some(code),
            "{arguments:?}: {}",
            text(&out.stderr)
        );
        assert!(
            text(&out.stderr).contains(words),
            "{arguments:?}: {}",
            text(&out.stderr)
        );
        assert!(out.stdout.is_empty(), "{arguments:?}");
    }
    let elsewhere = desk.folder.path().join("none.db");
    let out = binary(&elsewhere)
        .args(["research", "--task", "task_1"])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(
        !elsewhere.exists(),
        "no database is made for a task that cannot be in it"
    );
}

/// Ctrl-C pauses the task, says how to go on, and the same command takes up what is left over.
#[cfg(unix)]
#[test]
fn an_interruption_pauses_the_task() {
    let desk = Desk::new();
    for number in 0..40 {
        desk.write(&format!("{number}.md"), &long_paper(number));
    }
    let child = binary(&desk.db)
        .args(["research", HYPOTHESIS, "--corpus", "papers"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + PATIENCE;
    while !is_under_way(&desk.db) {
        assert!(Instant::now() < end, "the research never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let out = child.wait_with_output().unwrap();
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(130), "{said}");
    assert!(out.stdout.is_empty(), "a report would be of half the work");
    assert!(said.contains("interrupted: the task is paused"), "{said}");
    let tasks = desk.tasks();
    assert_eq!(tasks[0]["status"], "paused");
    let task = tasks[0]["task_id"].as_str().unwrap();
    assert!(
        said.contains(&format!(
            "research --task {task} --db evidence.db --corpus papers"
        )),
        "{said}"
    );

    let (_, said) = desk.research(&["--task", task, "--no-page"]);
    assert!(
        said.contains(&format!("\"{HYPOTHESIS} review\"")),
        "what was left over is asked: {said}"
    );
    assert_eq!(desk.tasks()[0]["unfinished"], 0);
    assert!(desk.run(&["verify"]).status.success());
}

#[cfg(unix)]
fn long_paper(number: usize) -> String {
    let mut paper = format!("# Office {number}\n\n");
    for part in 0..8 {
        write!(paper, "In part {part} of office {number}, standing desks reduced back pain in {} workers.\n\n", number + part).unwrap();
    }
    paper
}

/// Whether a job of the task runs.
#[cfg(unix)]
fn is_under_way(db: &Path) -> bool {
    if !db.exists() {
        return false;
    }
    let out = binary(db)
        .args(["tasks", "--format", "json"])
        .output()
        .unwrap();
    text(&out.stdout).contains("\"status\":\"exploring\"")
}

/// A human reads the report, and corrects by the ids in it.
#[test]
fn a_verdict_is_corrected_by_the_id_in_the_report() {
    let desk = Desk::new();
    desk.write(
        "d.txt",
        "A survey\n\nStanding desks do not reduce back pain.",
    );
    desk.research(&[HYPOTHESIS, "--no-page"]);
    let report = || text(&desk.run(&["export", "--format", "markdown"]).stdout);
    let before = report();
    let verdict = before
        .lines()
        .find(|line| line.starts_with("- Against"))
        .unwrap();
    let edge = verdict.rsplit('`').nth(1).unwrap();
    assert!(edge.starts_with("edge_"), "{verdict}");
    let correct = [
        "feedback",
        "edge_correct",
        edge,
        "supports",
        "--reason",
        "read it",
        "--actor",
        "Ada",
    ];
    let out = desk.run(&correct);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let done: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(
        (&done["previous"], &done["current"]),
        (&"refutes".into(), &"supports".into())
    );
    let after = report();
    // Among the contradictions and under its claim.
    let told: Vec<_> = after.lines().filter(|l| l.contains(edge)).collect();
    let is_right = |line: &&str| {
        line.trim_start().starts_with("- For (1.00)") && line.contains("corrected by a human")
    };
    assert!(told.len() == 2 && told.iter().all(is_right), "{told:?}");

    let claim = before
        .split('`')
        .find(|word| word.starts_with("claim_"))
        .unwrap();
    let refused = desk.run(&["feedback", "claim_reject", claim]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains("reason"),
        "{}",
        text(&refused.stderr)
    );
    assert!(
        desk.run(&["feedback", "claim_reject", claim, "--reason", "off topic"])
            .status
            .success()
    );
    assert!(!report().contains(claim));
    assert!(
        desk.run(&["feedback", "claim_restore", claim])
            .status
            .success()
    );
    assert!(report().contains(claim));
    let unknown = desk.run(&["feedback", "edge_correct", "edge_none", "neutral"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert_eq!(
        desk.run(&["feedback", "edge_correct", edge, "maybe"])
            .status
            .code(),
        Some(2)
    );
}

/// The same over MCP: what is done is skipped, unless it is asked again; what waits is never doubled.
#[test]
fn an_assistant_asks_again_what_is_done() {
    let desk = Desk::new();
    let (report, _) = desk.research(&[HYPOTHESIS, "--query", "standing desks", "--no-page"]);
    let task = task_of(&report);
    let mut client = Client::connect(&desk.db, &["--corpus", "papers"]);
    let mut queue = |options: serde_json::Value| {
        let targets = json!(["Standing  desks"]);
        client.ok(
            "queue_targets",
            json!({"task_id": task, "targets": targets, "options": options}),
        )
    };
    let skipped = queue(json!({}));
    assert_eq!(
        (&skipped["queued_count"], &skipped["skipped_count"]),
        (&json!(0), &json!(1))
    );
    let again = queue(json!({"repeat": true, "priority": "low"}));
    assert_eq!(again["queued_count"], 1);
    // Spelt in another way, it is the same query, and it is known that it is asked again.
    let job = again["target_ids"][0].as_str().unwrap();
    let asked = client.ok(
        "query_sql",
        json!({"sql": "SELECT input_json -> '$.options.repeat' AS again FROM jobs WHERE id = ?",
               "params": [job]}),
    );
    assert_eq!(asked["rows"][0]["again"], "true", "{asked}");
}

#[test]
fn what_failed_in_an_earlier_run_is_not_told_again() {
    let desk = Desk::new();
    // An assistant's server had no documents, so that the query failed.
    let mut client = Client::connect(&desk.db, &[]);
    let task = client.ok("create_task", json!({"hypothesis": HYPOTHESIS}));
    let task = task["task_id"].as_str().unwrap().to_owned();
    let query = json!({"task_id": task, "targets": ["standing desks back pain"]});
    client.ok("queue_targets", query);
    let end = Instant::now() + PATIENCE;
    let failed = |status: &serde_json::Value| {
        status["progress"]["jobs_by_phase"]["exploration"]["failed"] == 1
    };
    while !failed(&client.ok("get_status", json!({"task_id": task, "wait": 5}))) {
        assert!(Instant::now() < end, "the job did not fail");
    }
    drop(client);

    // The same from the command line is refused at once, as for a new question.
    let out = desk.run(&["research", "--task", &task]);
    assert!(!out.status.success());
    let said = text(&out.stderr);
    assert!(
        said.contains("there is nothing to search") && said.contains("--corpus DIR"),
        "{said}"
    );

    // A new question leaves no empty database behind.
    let new = Desk::new();
    let out = new.run(&["research", HYPOTHESIS]);
    assert!(text(&out.stderr).contains("there is nothing to search"));
    assert!(!new.db.exists());

    let (report, said) = desk.research(&["--task", &task]);
    assert!(
        report.contains("standing desks did not reduce back pain"),
        "{report}"
    );
    assert!(!said.contains("warning"), "{said}");
}
