//! A server and a command line over a graph that is open read-only: all 19 tools answer or refuse
//! with one error, and neither the file nor its folder changes.

use crate::client::{Client, PATIENCE, binary};
use crate::tools::{check_reply, schemas};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const HYPOTHESIS: &str = "Standing desks reduce back pain";

/// A researched graph alone in its folder.
struct Theirs {
    folder: tempfile::TempDir,
    elsewhere: tempfile::TempDir,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Theirs {
    fn new() -> Self {
        let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (name, text) in [
            (
                "a.md",
                "# A\n\nStanding desks reduced back pain in 312 call-centre workers.",
            ),
            (
                "b.md",
                "# B\n\nStanding desks did not reduce back pain in 90 office workers.",
            ),
        ] {
            std::fs::write(elsewhere.path().join(name), text).unwrap();
        }
        let mut theirs = Self {
            folder,
            elsewhere,
            before: BTreeMap::new(),
        };
        let corpus = theirs.elsewhere.path().to_str().unwrap().to_owned();
        let made = binary(&theirs.db())
            .args(["research", HYPOTHESIS, "--no-page", "--corpus", &corpus])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        theirs.before = bytes_of(theirs.folder.path());
        assert_eq!(theirs.before.len(), 1, "{:?}", theirs.before.keys());
        theirs
    }

    fn db(&self) -> PathBuf {
        self.folder.path().join("theirs.db")
    }

    fn check_unchanged(&self, after: &str) {
        let now = bytes_of(self.folder.path());
        assert!(now == self.before, "{after}: {:?}", now.keys());
    }

    /// Exit code and both outputs of a command that only looks.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let done = binary(&self.db())
            .current_dir(self.elsewhere.path())
            .arg("--read-only")
            .args(arguments)
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (done.status.code(), text(done.stdout), text(done.stderr))
    }
}

/// Every file of a folder with its bytes.
fn bytes_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), std::fs::read(&path).unwrap()))
        .collect()
}

/// Every tool with arguments that are good, and whether it only asks.
fn calls(task: &str) -> Vec<(&'static str, Value, bool)> {
    vec![
        ("create_task", json!({"hypothesis": "Tea helps."}), false),
        (
            "queue_targets",
            json!({"task_id": task, "targets": ["more"]}),
            false,
        ),
        (
            "queue_reference_candidates",
            json!({"task_id": task}),
            false,
        ),
        (
            "queue_reference_candidates",
            json!({"task_id": task, "dry_run": true}),
            true,
        ),
        ("get_status", json!({"task_id": task, "wait": 0}), true),
        (
            "get_status",
            json!({"task_id": task, "wait": 1, "detail": "full"}),
            true,
        ),
        (
            "stop_task",
            json!({"task_id": task, "reason": "session_completed"}),
            false,
        ),
        (
            "query_sql",
            json!({"sql": "SELECT t.hypothesis, c.claim_text FROM claims c
                JOIN tasks t ON t.id = c.task_id JOIN v_claim_origins o ON o.claim_id = c.id",
                "options": {"include_schema": true}}),
            true,
        ),
        (
            "query_sql",
            json!({"sql": "SELECT count(*) AS n FROM claims_fts WHERE claims_fts MATCH 'desks'"}),
            true,
        ),
        (
            "vector_search",
            json!({"query": "back pain", "target": "claims", "min_similarity": 0.0}),
            true,
        ),
        (
            "query_view",
            json!({"view_name": "v_evidence_chain", "task_id": task}),
            true,
        ),
        ("query_view", json!({"view_name": "v_contradictions"}), true),
        ("list_views", json!({}), true),
        ("show_evidence", json!({"task_id": task}), true),
        (
            "show_evidence",
            json!({"task_id": task, "cursor": "0"}),
            true,
        ),
        ("check_report", json!({"text": "Desks help backs."}), true),
        ("claim_standing", json!({"text": "Desks help backs."}), true),
        ("get_judgements", json!({"task_id": task}), false),
        (
            "submit_judgements",
            json!({"task_id": task, "model": "m", "judgements": [{"pair_id": "p", "relation": "neutral"}]}),
            false,
        ),
        ("get_auth_queue", json!({"task_id": task}), true),
        (
            "resolve_auth",
            json!({"target": "task", "task_id": task, "action": "skip"}),
            false,
        ),
        (
            "feedback",
            json!({"action": "domain_block", "domain_pattern": "a.org", "reason": "x"}),
            false,
        ),
        (
            "feedback",
            json!({"action": "claim_reject", "claim_id": "claim_0", "reason": "x"}),
            false,
        ),
        ("calibration_metrics", json!({"action": "get_stats"}), true),
        (
            "calibration_metrics",
            json!({"action": "get_evaluations"}),
            true,
        ),
        (
            "calibration_rollback",
            json!({"source": "builtin", "version": 0, "reason": "x"}),
            false,
        ),
    ]
}

#[test]
fn every_tool_answers_or_refuses_and_not_a_byte_changes() {
    let theirs = Theirs::new();
    let mut client = Client::start(&theirs.db(), &["--read-only"]);
    let hello = client.handshake("2025-11-25");
    let told = hello["result"]["instructions"].as_str().unwrap();
    assert!(told.contains("open read-only"), "{told}");
    let schemas = schemas(&mut client);
    let tasks = client.ok("query_sql", json!({"sql": "SELECT id FROM tasks"}));
    let task = tasks["rows"][0]["id"].as_str().unwrap().to_owned();
    let calls = calls(&task);
    let tools: std::collections::BTreeSet<_> = calls.iter().map(|(tool, ..)| *tool).collect();
    assert_eq!(tools.len(), 19);
    for (tool, arguments, asks) in calls {
        let result = client.call(tool, arguments.clone());
        check_reply(tool, &result, &schemas);
        let body = &result["structuredContent"];
        if asks {
            assert_eq!(body["ok"], true, "{tool} {arguments}: {body}");
        } else {
            assert_eq!(body["error_code"], "PIPELINE_ERROR", "{tool}: {body}");
            let error = body["error"].as_str().unwrap();
            assert!(error.contains("open read-only"), "{tool}: {body}");
            let hint = body["hint"].as_str().unwrap();
            assert!(hint.contains("--read-only"), "{tool}: {body}");
        }
        theirs.check_unchanged(tool);
    }
    let resource = json!({"uri": format!("lyra://task/{task}")});
    let read = client.request("resources/read", resource);
    assert!(read.get("error").is_none(), "{read}");
    client.hang_up();
    assert_eq!(client.exit(PATIENCE), Some(0));
    theirs.check_unchanged("the end");
}

#[test]
fn commands_that_ask_answer_and_those_that_write_end_at_once() {
    let theirs = Theirs::new();
    let (code, listed, _) = theirs.run(&["tasks"]);
    assert_eq!(code, Some(0));
    let task = listed.split('\t').next().unwrap().to_owned();
    for (arguments, words) in [
        (vec!["views"], "v_contradictions"),
        (vec!["verify"], "violations           0"),
        (vec!["diff", "--since", "2020-01-01"], "new claims"),
        (vec!["export"], "\"type\":\"claim\""),
        (vec!["export", "--format", "html"], "Standing desks"),
        (vec!["export", "--format", "bibtex"], "@"),
        (vec!["models", "list"], "built-in"),
    ] {
        let (code, out, said) = theirs.run(&arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
        assert!(out.contains(words), "{arguments:?}: {out}");
        theirs.check_unchanged(arguments[0]);
    }
    let corpus = theirs.elsewhere.path().to_str().unwrap();
    let (code, out, said) = theirs.run(&["doctor", "--corpus", corpus]);
    assert_eq!(code, Some(0), "{out}{said}");
    assert!(out.contains("; open read-only"), "{out}");
    theirs.check_unchanged("doctor");
    for arguments in [
        vec!["demo"],
        vec!["research", "h", "--corpus", corpus],
        vec!["import", "-"],
        vec!["feedback", "domain_block", "a.org", "--reason", "x"],
        vec!["forget", "--task", &task],
    ] {
        let (code, out, said) = theirs.run(&arguments);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(
            said.contains("error: the graph is open read-only"),
            "{said}"
        );
        assert!(said.contains("hint: "), "{said}");
        theirs.check_unchanged(arguments[0]);
    }
}

#[test]
fn the_setting_comes_from_all_three_places_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("none.db");
    let file = folder.path().join("some.toml");
    std::fs::write(&file, "read_only = true\n").unwrap();
    let sources = [
        (vec!["--read-only"], "0"),
        (vec![], "1"),
        (vec!["--config", file.to_str().unwrap()], ""),
    ];
    for (flags, variable) in sources {
        for command in ["views", "serve", "models"] {
            let rest: &[&str] = if command == "models" { &["list"] } else { &[] };
            let done = binary(&db)
                .args(&flags)
                .env("LYRA_READ_ONLY", variable)
                .arg(command)
                .args(rest)
                .output()
                .unwrap();
            let said = String::from_utf8(done.stderr).unwrap();
            assert_eq!(done.status.code(), Some(1), "{flags:?} {command}: {said}");
            assert!(said.contains("there is no database at"), "{said}");
            assert!(!db.exists(), "{flags:?} {command}");
        }
    }
}

/// The command line as somebody who may not write to the file; none where that cannot be had.
#[cfg(unix)]
fn as_a_stranger(db: &Path, arguments: &[&str]) -> Option<std::process::Output> {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    let mut command = binary(db);
    command.args(arguments);
    // Root may write anywhere; nobody may not.
    if std::fs::metadata(db).unwrap().uid() == 0 {
        command.uid(65_534).gid(65_534);
    }
    command.output().ok()
}

#[cfg(unix)]
#[test]
fn who_may_not_write_is_told_how_to_look_and_leaves_nothing_behind() {
    use std::os::unix::fs::PermissionsExt;
    let theirs = Theirs::new();
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(&theirs.db(), 0o444);
    for folder_mode in [0o555, 0o777] {
        allow(theirs.folder.path(), folder_mode);
        let Some(refused) = as_a_stranger(&theirs.db(), &["tasks"]) else {
            eprintln!("skipped: nobody may not start {:?}", binary(&theirs.db()));
            break;
        };
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{said}");
        assert!(said.contains("cannot be written"), "{said}");
        assert!(said.contains("--read-only"), "{said}");
        theirs.check_unchanged("without the setting");
        for command in ["tasks", "verify", "export", "views", "doctor"] {
            let done = as_a_stranger(&theirs.db(), &["--read-only", command]).unwrap();
            let out = String::from_utf8(done.stdout).unwrap();
            // Without a corpus, doctor finds that there is nothing to search.
            let code = i32::from(command == "doctor");
            assert_eq!(done.status.code(), Some(code), "{command}: {out}");
            assert!(!out.is_empty(), "{command}");
            theirs.check_unchanged(command);
        }
    }
    allow(theirs.folder.path(), 0o755);
}
