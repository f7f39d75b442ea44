//! The command line: data on standard output, words on standard error, exit codes.

use crate::client::binary;
use crate::embedders;
use std::path::Path;
use std::process::Output;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/corpus");

fn run(db: &Path, arguments: &[&str]) -> Output {
    binary(db).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_demo_reports_and_its_graph_verifies_and_travels() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("demo.db");
    let demo = run(&db, &["demo", "--corpus", CORPUS]);
    assert!(demo.status.success(), "{}", text(&demo.stderr));
    let report = text(&demo.stdout);
    for part in [
        "SUPPORTS THE HYPOTHESIS",
        "SPEAKS AGAINST IT",
        "REFUTED BY",
        "(superseded)",
        "replaced by ",
        "of the page equals the fragment: yes",
        "the quote lies inside the fragment: yes",
        "\"mcpServers\"",
        "doi:10.",
    ] {
        assert!(report.contains(part), "{part:?} is missing in\n{report}");
    }
    let page = folder.path().join("demo.html");
    assert!(report.contains(page.to_str().unwrap()), "{report}");
    let html = std::fs::read_to_string(&page).unwrap();
    let task = report.lines().find_map(|line| line.strip_prefix(" task_"));
    assert!(html.contains(&format!("task_{}", task.unwrap())));
    assert!(
        !report.contains('\u{1b}'),
        "no colour where there is no terminal"
    );

    let verified = run(&db, &["verify"]);
    assert!(verified.status.success(), "{}", text(&verified.stdout));
    assert!(
        text(&verified.stdout).contains("violations           0"),
        "{}",
        text(&verified.stdout)
    );

    let file = folder.path().join("graph.jsonl");
    let file = file.to_str().unwrap();
    let exported = run(&db, &["export", "--out", file]);
    assert!(exported.status.success() && exported.stdout.is_empty());
    let copy = folder.path().join("copy.db");
    let imported = run(&copy, &["import", file]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    let sorted = |db: &Path| {
        let out = run(db, &["export"]);
        let mut lines: Vec<String> = text(&out.stdout).lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&db), sorted(&copy));
}

#[test]
fn wrong_usage_exits_with_2_and_failure_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let config = folder.path().join("lyra.toml");
    std::fs::write(&config, "corpse = []\n").unwrap();
    let config = config.to_str().unwrap();
    let no_file = folder.path().join("none.jsonl");
    for (arguments, code, words) in [
        (vec!["nonsense"], 2, "nonsense"),
        (vec!["export", "--format", "docx"], 2, "docx"),
        (
            vec!["--config", config, "views"],
            2,
            "did you mean \"corpus\"?",
        ),
        (
            vec!["--config", "/nowhere.toml", "views"],
            2,
            "there is no configuration file",
        ),
        (vec!["verify"], 1, "there is no database"),
        (
            vec!["forget", "--task", "task_1"],
            1,
            "there is no database",
        ),
        (
            vec!["import", no_file.to_str().unwrap()],
            1,
            "cannot be read",
        ),
    ] {
        let out = binary_in(&folder, &db).args(&arguments).output().unwrap();
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
    assert!(!db.exists(), "nothing was made on the way");

    let views = run(&db, &["--config", &empty(folder.path()), "views"]);
    assert!(views.status.success());
    assert_eq!(text(&views.stdout).lines().count(), 28);
    let config = empty(folder.path());
    let export = |format: &str| run(&db, &["--config", &config, "export", "--format", format]);
    let other = export("word");
    assert_eq!(other.status.code(), Some(2));
    assert!(
        text(&other.stderr).contains("csl-json"),
        "the formats are listed"
    );
    let page = export("html");
    assert_eq!(page.status.code(), Some(1));
    assert!(
        text(&page.stderr).contains("--task"),
        "the page shows one task"
    );
    assert!(other.stdout.is_empty() && page.stdout.is_empty());
}

/// The working folder of `binary` holds the broken configuration; this one does not.
fn binary_in(folder: &tempfile::TempDir, db: &Path) -> std::process::Command {
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let mut command = binary(db);
    command.current_dir(elsewhere);
    command
}

fn empty(folder: &Path) -> String {
    let path = folder.join("empty.toml");
    std::fs::write(&path, "").unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_bad_import_writes_nothing_and_names_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let file = folder.path().join("bad.jsonl");
    std::fs::write(
        &file,
        "{\"type\": \"task\", \"id\": \"task_00000001\", \"hypothesis\": \"Tea is good.\"}\n{\"type\": \"nonsense\"}\n",
    )
    .unwrap();
    let out = run(&db, &["import", file.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text(&out.stderr).contains("line 2"),
        "{}",
        text(&out.stderr)
    );
    let exported = run(&db, &["export"]);
    assert!(exported.stdout.is_empty(), "{}", text(&exported.stdout));
}

#[test]
fn doctor_creates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("p.db");
    let out = run(&db, &["doctor", "--corpus", CORPUS]);
    let said = text(&out.stdout);
    assert!(out.status.success(), "{said}{}", text(&out.stderr));
    let line = format!("ok    database: {} does not exist yet;", db.display());
    assert!(said.contains(&line), "{said}");
    assert!(said.contains("`lyra-mcp demo` shows an example"), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

    let nowhere = folder.path().join("no-such-folder").join("p.db");
    let mut command = binary(&nowhere);
    command.current_dir(folder.path());
    let out = command
        .args(["doctor", "--corpus", CORPUS])
        .output()
        .unwrap();
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.contains("FAIL  database: the folder of "), "{said}");
    assert!(said.contains("give another place with --db PATH"), "{said}");
}

#[test]
fn services_are_asked_only_when_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("p.db");
    let quiet = text(&run(&db, &["doctor", "--corpus", CORPUS]).stdout);
    assert!(!quiet.contains("provider "), "{quiet}");
    let doctor = binary(&db)
        .args(["doctor", "--corpus", CORPUS])
        .env("LYRA_PROVIDERS", "openalex, brave,semantic_scholar")
        .env("LYRA_SEMANTIC_SCHOLAR_KEY", "not-to-be-shown")
        .output()
        .unwrap();
    let said = text(&doctor.stdout);
    for part in [
        "ok    provider openalex: https://api.openalex.org/, no key",
        "ok    provider semantic_scholar: https://api.semanticscholar.org/graph/v1, key from LYRA_SEMANTIC_SCHOLAR_KEY",
        "FAIL  provider brave: https://api.search.brave.com/res/v1, needs a key and has none",
    ] {
        assert!(said.contains(part), "{part:?} is missing in\n{said}");
    }
    assert!(!said.contains("not-to-be-shown"), "{said}");
    let wrong = run(&db, &["doctor", "--provider", "altavista"]);
    assert_eq!(wrong.status.code(), Some(2));
    let said = text(&wrong.stderr);
    assert!(
        said.contains("no provider \"altavista\"; there are: openalex"),
        "{said}"
    );
}

#[test]
fn diff_says_what_changed_and_why() {
    let folder = tempfile::tempdir().unwrap();
    let (before, now) = (
        folder.path().join("before.db"),
        folder.path().join("now.db"),
    );
    let import = |db: &Path, name: &str, lines: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, lines).unwrap();
        let out = run(db, &["import", file.to_str().unwrap()]);
        assert!(out.status.success(), "{}", text(&out.stderr));
    };
    import(
        &before,
        "first.jsonl",
        r#"{"type":"task","id":"task_00000001","hypothesis":"Night work shortens sleep"}
{"type":"page","id":"p1","url":"https://a.example/1"}
{"type":"fragment","id":"f1","page_id":"p1","text_content":"It does."}
{"type":"claim","id":"c1","task_id":"task_00000001","claim_text":"It shortens sleep"}"#,
    );
    // A program that has ended leaves all it wrote in the one file.
    std::fs::copy(&before, &now).unwrap();
    import(
        &now,
        "later.jsonl",
        r#"{"type":"edge","id":"e1","source_type":"fragment","source_id":"f1","target_type":"claim","target_id":"c1","relation":"refutes","nli_edge_confidence":0.9,"judge_id":"someone"}"#,
    );
    let a = before.to_str().unwrap();
    let told = run(&now, &["diff", a]);
    assert!(told.status.success(), "{}", text(&told.stderr));
    for part in [
        ": 2 changes\n",
        "confidence that moved (1)\n  c1  0.50 -> 0.34  It shortens sleep",
        "e1 added refutes 0.90, https://a.example/1 (because: judge someone)",
        "claims refuted by new verdicts (1)",
    ] {
        let told = text(&told.stdout);
        assert!(told.contains(part), "{part:?} is missing in\n{told}");
    }
    let b = now.to_str().unwrap();
    let json = run(
        &before,
        &["diff", a, b, "--format", "json", "--task", "task_00000001"],
    );
    let diff: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(diff["moved_claims"][0]["edges"][0]["event"], "added");
    let since = run(&before, &["diff", "--since", "2999-01-01", b]);
    assert!(
        text(&since.stdout).ends_with(": 0 changes\n"),
        "{}",
        text(&since.stdout)
    );
    for (arguments, code, words) in [
        (vec!["diff"], 2, "<A>"),
        (vec!["diff", a, b, "--since", "2026-11-01"], 2, "--since"),
        (
            vec!["diff", "none.db"],
            1,
            "there is no database at none.db",
        ),
        (vec!["diff", a, "none.db"], 1, "there is no database"),
        (vec!["diff", a, "--task", "task_f"], 1, "no task"),
        (
            vec!["diff", "--since", "soon"],
            1,
            "expected a day or a time",
        ),
    ] {
        let out = run(&now, &arguments);
        assert_eq!(out.status.code(), Some(code), "{arguments:?}");
        assert!(
            text(&out.stderr).contains(words),
            "{arguments:?}: {}",
            text(&out.stderr)
        );
    }
}

#[test]
#[cfg(all(feature = "http", target_os = "linux"))]
fn a_system_without_certificates_reads_its_own_documents() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let nowhere = folder.path().join("nowhere");
    let env = [
        ("SSL_CERT_FILE", nowhere.as_path()),
        ("SSL_CERT_DIR", nowhere.as_path()),
    ];
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).unwrap();
    let paper = "# Naps\n\nNaps improved the alertness of 80 drivers.\n";
    std::fs::write(papers.join("a.md"), paper).unwrap();
    let corpus = ["--corpus", papers.to_str().unwrap()];
    let research = ["research", "Naps improve alertness"];
    let (code, out, err) = embedders::run(&db, &env, &[&research[..], &corpus].concat());
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("Documents read: 1"), "{out}");
    let draft = folder.path().join("draft.md");
    std::fs::write(
        &draft,
        "Naps helped 80 drivers ([a](https://example.org/a)).",
    )
    .unwrap();
    let check = ["check", draft.to_str().unwrap(), "--fetch"];
    let (code, _, err) = embedders::run(&db, &env, &check);
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("no web client can be built"), "{err}");
    let (code, out, _) = embedders::run(&db, &env, &[&["doctor"][..], &corpus].concat());
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("ca-certificates"), "{out}");
}

#[test]
fn research_in_an_empty_folder_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let (db, papers) = (folder.path().join("a.db"), folder.path().join("papers"));
    std::fs::create_dir_all(papers.join("2024")).unwrap();
    let research = [
        "research",
        "Naps improve alertness",
        "--corpus",
        papers.to_str().unwrap(),
    ];
    let out = run(&db, &research);
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text(&out.stderr).contains("there is no document in"),
        "{}",
        text(&out.stderr)
    );
    assert!(!db.exists());
}
