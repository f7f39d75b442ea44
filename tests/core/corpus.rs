//! Local documents that change, collide with imports, or are not what they should be.

use lyra_core::store::guard::SqlRequest;
use lyra_core::{Engine, EngineConfig, TaskConfig, VectorRequest};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const PAPER: &str = "---\ntitle: Trial of coffee\nauthors: [Ann Lee]\nyear: 2020\ndoi: 10.1234/coffee\n---\n\n# Results\n\nCoffee increased blood pressure in adults (hazard ratio 1.30, 95% CI 1.10 to 1.60). The effect lasted for two hours in most participants of the trial.\n";

pub(crate) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("papers")).unwrap();
        Self { folder }
    }

    pub(crate) fn papers(&self) -> PathBuf {
        self.folder.path().join("papers")
    }

    pub(crate) fn engine(&self) -> Engine {
        let mut config = EngineConfig::new(self.folder.path().join("graph.db"));
        config.corpus.push(self.papers());
        Engine::open(config).unwrap()
    }
}

pub(crate) fn number(engine: &Engine, sql: &str) -> i64 {
    let rows = engine.query_sql(&SqlRequest::new(sql)).unwrap().rows;
    rows[0].values().next().and_then(Value::as_i64).unwrap()
}

pub(crate) async fn research(engine: &Engine, task: &str, query: &str) {
    engine
        .queue_targets(task, &[query.into()], &Default::default())
        .unwrap();
    let report = engine.run(task, None).await.unwrap();
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

fn lines(rows: &[Value]) -> Vec<u8> {
    rows.iter()
        .flat_map(|row| format!("{row}\n").into_bytes())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_changes_keeps_its_claims_and_gets_a_new_text() {
    let world = World::new();
    let path = world.papers().join("coffee.md");
    std::fs::write(&path, PAPER).unwrap();
    let engine = world.engine();
    let task = engine
        .create_task("Coffee increases blood pressure", TaskConfig::default())
        .unwrap();
    research(&engine, &task.id, "coffee blood pressure").await;
    let claims = number(&engine, "SELECT count(*) FROM claims");
    assert!(claims >= 1);

    std::fs::write(&path, PAPER.replace("# Results", "# Findings of the trial")).unwrap();
    research(&engine, &task.id, "coffee pressure adults").await;
    assert_eq!(number(&engine, "SELECT max(version) FROM page_texts"), 2);
    assert_eq!(
        number(&engine, "SELECT count(*) FROM claims"),
        claims,
        "the words are the same"
    );
    assert!(engine.verify().unwrap().violations.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn imported_pages_survive_a_file_with_the_same_doi_or_address() {
    let world = World::new();
    let path = world.papers().join("coffee.md");
    std::fs::write(&path, PAPER).unwrap();
    let address = url::Url::from_file_path(path.canonicalize().unwrap())
        .unwrap()
        .to_string();
    let engine = world.engine();
    let rows = [
        json!({"type": "work", "canonical_id": "doi:10.1234/coffee", "doi": "10.1234/coffee", "title": "Trial of coffee"}),
        json!({"type": "page", "id": "p1", "url": "https://example.org/coffee", "canonical_id": "doi:10.1234/coffee"}),
        json!({"type": "page_text", "page_id": "p1", "version": 1, "text": "Coffee was studied."}),
        json!({"type": "fragment", "id": "f1", "page_id": "p1", "text_content": "Coffee was studied.", "char_start": 0, "char_end": 19}),
        json!({"type": "page", "id": "p2", "url": address}),
    ];
    let report = engine.import_jsonl(lines(&rows).as_slice()).await.unwrap();
    assert_eq!(report.total_inserted, 5);
    let read = engine.sync_corpus(&|_| ()).await.unwrap().unwrap();
    assert_eq!((read.read, read.failed), (1, vec![]));
    assert_eq!(
        number(&engine, "SELECT count(*) FROM fragments WHERE id = 'f1'"),
        1
    );
    assert!(
        number(
            &engine,
            "SELECT count(*) FROM fragments WHERE page_id = 'p2'"
        ) > 0
    );
    assert_eq!(number(&engine, "SELECT count(*) FROM pages"), 2);
    let report = engine.verify().unwrap();
    assert!(report.violations.is_empty(), "{:?}", report.violations);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_imported_without_vectors_is_found() {
    let world = World::new();
    let engine = world.engine();
    let rows = [
        json!({"type": "task", "id": "task_00000001", "hypothesis": "Tea calms"}),
        json!({"type": "claim", "id": "c1", "task_id": "task_00000001", "claim_text": "Green tea lowered the heart rate."}),
    ];
    engine.import_jsonl(lines(&rows).as_slice()).await.unwrap();
    let found = engine
        .vector_search(&VectorRequest::new("green tea and the heart"))
        .await
        .unwrap();
    assert_eq!(found.results[0].id, "c1");
    assert_eq!(found.skipped, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_document_fails_alone() {
    let world = World::new();
    let write = |name: &str, text: &[u8]| std::fs::write(world.papers().join(name), text).unwrap();
    write("good.md", PAPER.as_bytes());
    write("empty.txt", b"");
    write("broken.pdf", b"%PDF-1.7 and nothing else");
    write("list.jsonl", b"{\"id\": \"R&D 100%\", \"title\": \"A\", \"text\": \"Salt increased thirst.\"}\nnot json\n{\"id\": \"R&D 100%\", \"text\": \"Again.\"}\n");
    let engine = world.engine();
    for pass in 0..2 {
        let report = engine.sync_corpus(&|_| ()).await.unwrap().unwrap();
        let expected = if pass == 0 { 2 } else { 0 };
        assert_eq!(report.read, expected, "pass {pass}: {report:?}");
        assert_eq!(report.failed.len(), 4, "pass {pass}: {report:?}");
    }
    let pages = number(&engine, "SELECT count(*) FROM pages");
    assert_eq!(pages, 2);
    let task = engine
        .create_task("Salt increases thirst", TaskConfig::default())
        .unwrap();
    engine
        .queue_targets(&task.id, &["salt thirst".into()], &Default::default())
        .unwrap();
    let report = engine.run(&task.id, None).await.unwrap();
    assert_eq!(report.warnings.len(), 2, "{:?}", report.warnings);
    assert!(engine.verify().unwrap().violations.is_empty());
    assert!(Path::new(engine.graph().path()).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_side_file_or_front_matter_costs_no_text_and_is_named() {
    for (name, beside, want) in [
        ("a.md", "{bad", "not one JSON object"),
        ("a.txt", "", "the file is empty"),
        ("a.md", "[]", "found a list"),
        (
            "a.md",
            r#"{"title": "x", "year": "soon"}"#,
            "year: expected a year",
        ),
        ("a.txt", r#"{"title": "x", "doi": "nonsense"}"#, "is no DOI"),
        ("a.md", r#"{"titel": "x"}"#, "did you mean title?"),
    ] {
        let world = World::new();
        std::fs::write(world.papers().join(name), PAPER).unwrap();
        let side_file = world.papers().join(format!("{name}.meta.json"));
        std::fs::write(side_file, beside).unwrap();
        let engine = world.engine();
        let check = |engine: &Engine| {
            let doctor = engine.doctor();
            let found = doctor.iter().find(|check| check.name == "corpus").unwrap();
            assert!(found.ok && found.detail.contains(want), "{found:?}");
        };
        check(&engine);
        for pass in 0..2 {
            engine.sync_corpus(&|_| ()).await.unwrap();
            let report = engine.corpus_report().unwrap();
            let folder = &report.folders[0];
            assert_eq!(
                (folder.files, folder.documents),
                (1, 1),
                "{beside}: {folder:?}"
            );
            assert_eq!(folder.notes[0].name, name, "pass {pass}");
            let warnings = report.warnings();
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].contains(want), "{warnings:?}");
        }
        check(&engine);
    }
    let world = World::new();
    let paper = PAPER.replace("title:", "titel:");
    std::fs::write(world.papers().join("a.md"), paper).unwrap();
    let engine = world.engine();
    for _ in 0..2 {
        engine.sync_corpus(&|_| ()).await.unwrap();
        let warnings = engine.corpus_report().unwrap().warnings();
        assert!(warnings[0].contains("titel: no such key; did you mean title?"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_file_that_is_not_read_is_accounted_for() {
    let world = World::new();
    let write = |name: &str, text: &[u8]| std::fs::write(world.papers().join(name), text).unwrap();
    write("good.md", PAPER.as_bytes());
    write("none.pdf", b"");
    write("noise.pdf", b"\x07\x91\xc3random\x00bytes");
    write("empty.md", b"");
    write("blank.md", b" \n\n");
    write(
        "part.jsonl",
        b"{\"id\": 1, \"text\": \"Salt.\"}\nnot json\nnor this\n",
    );
    write("bad.jsonl", b"not json\n");
    write("report.DOCX", b"PK");
    write("table.csv", b"a,b");
    write("figure.png", b"png");
    write(".hidden", b"x");
    std::os::unix::fs::symlink("nowhere.md", world.papers().join("dangling.md")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", world.papers().join("outside.txt")).unwrap();
    let engine = world.engine();
    let expected = [
        ("bad.jsonl", "line 1: not one JSON object"),
        ("blank.md", "no text"),
        ("dangling.md", "a link to what is not there"),
        ("empty.md", "the file is empty"),
        ("noise.pdf", "does not start like one"),
        ("none.pdf", "the file is empty"),
        ("outside.txt", "leads out of the folder"),
    ];
    let doctor = engine.doctor();
    let found = doctor.iter().find(|check| check.name == "corpus").unwrap();
    let counts = ": 12 files, 2 documents readable, 7 skipped: ";
    assert!(found.ok && found.detail.contains(counts), "{found:?}");
    for part in [
        "and 2 more",
        "3 of a kind that is not read (.csv, .docx, .png)",
    ] {
        assert!(found.detail.contains(part), "{found:?}");
    }
    assert_eq!(engine.corpus_report(), None);
    engine.sync_corpus(&|_| ()).await.unwrap();
    let mut folder = engine.corpus_report().unwrap().folders.remove(0);
    folder.skipped.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!((folder.files, folder.documents), (12, 2));
    assert_eq!(folder.skipped.len(), expected.len(), "{folder:?}");
    for (note, (name, reason)) in folder.skipped.iter().zip(expected) {
        assert_eq!(note.name, name);
        assert!(note.problem.contains(reason), "{note:?}");
        assert!(!note.problem.contains("file:"), "{note:?}");
    }
    assert_eq!(folder.notes.len(), 1, "{folder:?}");
    assert!(
        folder.notes[0].problem.ends_with(", and 1 more"),
        "{folder:?}"
    );

    let task = engine.create_task("Salt", TaskConfig::default()).unwrap();
    let status = engine.status(&task.id, Default::default()).unwrap();
    let wait = std::time::Duration::from_millis(50);
    let waited = engine.wait_status(&task.id, wait, Default::default());
    assert_eq!(waited.await.unwrap().warnings, status.warnings);
    let line = status.warnings.iter().find(|w| w.contains("were not read"));
    let line = line.unwrap_or_else(|| panic!("{:?}", status.warnings));
    assert!(
        line.starts_with("7 of 12 files of the corpus were not read: "),
        "{line}"
    );
    assert!(!line.contains(".docx"), "{line}");
    let unread = engine.corpus_report().unwrap().unread_kinds();
    assert_eq!(
        unread.as_deref(),
        Some("the corpus holds 2 files of a kind that is not read (.csv, .docx)")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_file_that_has_not_changed_is_not_read_again() {
    let world = World::new();
    std::fs::write(world.papers().join("salt.md"), "# Salt\n\nSalt is salty.").unwrap();
    let side_file = world.papers().join("salt.md.meta.json");
    let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let write = |text: &str, modified| {
        std::fs::write(&side_file, text).unwrap();
        let file = std::fs::File::options().write(true).open(&side_file);
        file.unwrap().set_modified(modified).unwrap();
    };
    let engine = world.engine();
    let notes = async || {
        engine.sync_corpus(&|_| ()).await.unwrap();
        let found = engine.corpus_report().unwrap().folders.remove(0).notes;
        let looked_at = engine.doctor();
        let looked_at = looked_at
            .iter()
            .find(|check| check.name == "corpus")
            .unwrap();
        assert_eq!(looked_at.detail.contains("left out"), !found.is_empty());
        found.len()
    };
    write(r#"{"year": "soon"}"#, then);
    assert_eq!(notes().await, 1);
    // As long and as old as the one that was read: nothing says that it has changed.
    write(r#"{"year":  2001 }"#, then);
    assert_eq!(notes().await, 1);
    write(
        r#"{"year":  2001 }"#,
        then + std::time::Duration::from_secs(1),
    );
    assert_eq!(notes().await, 0);
    write("{", then);
    assert_eq!(notes().await, 1);
    std::fs::remove_file(&side_file).unwrap();
    assert_eq!(notes().await, 0);
}

#[test]
fn an_empty_folder_is_not_well_and_a_missing_one_makes_no_database() {
    let world = World::new();
    std::fs::write(world.papers().join("a.docx"), "x").unwrap();
    let doctor = world.engine().doctor();
    let found = doctor.iter().find(|check| check.name == "corpus").unwrap();
    assert!(!found.ok && found.advice.is_some(), "{found:?}");

    let db = world.folder.path().join("new.db");
    let mut config = EngineConfig::new(&db);
    config.corpus.push(world.folder.path().join("nope"));
    let error = Engine::open(config).unwrap_err();
    assert!(error.hint().unwrap().contains("corpus= in Python"));
    assert!(!db.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_budget_is_never_overrun() {
    let world = World::new();
    for n in 0..6 {
        let text = PAPER.replace("10.1234/coffee", &format!("10.1234/coffee.{n}"));
        std::fs::write(world.papers().join(format!("{n}.md")), text).unwrap();
    }
    let engine = world.engine();
    let config: TaskConfig = serde_json::from_value(json!({"budget": {"max_pages": 2}})).unwrap();
    let task = engine
        .create_task("Coffee increases blood pressure", config)
        .unwrap();
    let targets = ["coffee".into(), "blood pressure".into()];
    engine
        .queue_targets(&task.id, &targets, &Default::default())
        .unwrap();
    let workers = engine.start_workers(std::sync::Arc::new(|_| ()));
    let report = engine.run(&task.id, None).await.unwrap();
    workers.shutdown(std::time::Duration::from_secs(30)).await;
    assert_eq!(report.budget.pages_used, 2, "{report:?}");
    assert!(
        report.warnings.iter().any(|w| w.contains("budget")),
        "{:?}",
        report.warnings
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_on_another_site_is_no_second_source() {
    let first = "Coffee increased blood pressure in adults (hazard ratio 1.30, 95% CI 1.10 to 1.60). The effect lasted for two hours in most participants of the trial.";
    let second = "In a cohort of nurses, coffee raised blood pressure only among those who drank it rarely; no such increase was seen in adults who drank it daily.";
    for (last, sources) in [(first, 1.0), (second, 2.0)] {
        let world = World::new();
        for (name, text) in [("alpha", first), ("beta", last)] {
            let page = format!(
                "---\ntitle: Notes of {name}\nurl: https://{name}.com/coffee\n---\n\n# Coffee by {name}\n\n{text}\n"
            );
            std::fs::write(world.papers().join(format!("{name}.md")), page).unwrap();
        }
        let engine = world.engine();
        let task = engine
            .create_task("Coffee increases blood pressure", TaskConfig::default())
            .unwrap();
        research(&engine, &task.id, "coffee blood pressure adults").await;
        let sql = "SELECT pages_fetched, satisfaction_score FROM queries";
        let row = &engine.query_sql(&SqlRequest::new(sql)).unwrap().rows[0];
        assert_eq!(row["pages_fetched"], 2);
        let found = row["satisfaction_score"].as_f64().unwrap();
        assert!(
            (found - 0.7 * sources / 3.0).abs() < 1e-9,
            "{sources}: {found}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_graph_full_of_other_pages_does_not_starve_the_corpus() {
    let world = World::new();
    std::fs::write(world.papers().join("coffee.md"), PAPER).unwrap();
    let engine = world.engine();
    // What other tasks read: each of it nearer to the query than the user's own paper.
    let mut rows = Vec::new();
    for n in 0..400 {
        let text =
            format!("Coffee and blood pressure in adults: coffee, blood pressure, adults ({n}).");
        let url = format!("https://elsewhere.org/{n}");
        rows.push(json!({ "type": "page", "id": format!("p{n}"), "url": url }));
        rows.push(
            json!({ "type": "fragment", "id": format!("f{n}"), "page_id": format!("p{n}"),
                          "text_content": text }),
        );
    }
    engine.import_jsonl(&lines(&rows)[..]).await.unwrap();
    let task = engine
        .create_task("Coffee increases blood pressure", TaskConfig::default())
        .unwrap();
    research(&engine, &task.id, "coffee blood pressure adults").await;
    let found =
        "SELECT count(*) FROM serp_items WHERE engine = 'corpus' AND url LIKE 'file:%coffee.md'";
    assert_eq!(number(&engine, found), 1);
    assert_eq!(
        number(&engine, "SELECT count(*) FROM serp_items"),
        1,
        "and nobody else's"
    );
}

/// Notes with one heading are not one publication: each is a source of its own.
#[tokio::test(flavor = "multi_thread")]
async fn documents_that_share_only_a_title_speak_to_each_other() {
    let world = World::new();
    for (name, finding) in [
        (
            "a.md",
            "Coffee increased blood pressure in 300 adults of the trial.",
        ),
        (
            "b.md",
            "Coffee did not increase blood pressure in 900 adults of the trial.",
        ),
        (
            "c.txt",
            "Coffee increased blood pressure by 5 mmHg in adults in every trial.",
        ),
    ] {
        let heading = if name == "c.txt" {
            "Abstract"
        } else {
            "# Abstract"
        };
        let text = format!("{heading}\n\n{finding} The adults were followed for two years.\n");
        std::fs::write(world.papers().join(name), text).unwrap();
    }
    let engine = world.engine();
    let task = engine
        .create_task("Coffee increases blood pressure", TaskConfig::default())
        .unwrap();
    research(&engine, &task.id, "coffee blood pressure adults").await;
    assert_eq!(number(&engine, "SELECT count(*) FROM pages"), 3);
    assert_eq!(number(&engine, "SELECT count(*) FROM works"), 0);
    let verdicts = "SELECT count(*) FROM edges WHERE relation IN ('supports', 'refutes')";
    assert!(number(&engine, verdicts) >= 2);
}

/// A book takes neither every place in a search nor every place among a claim's candidates.
#[tokio::test(flavor = "multi_thread")]
async fn one_long_document_hides_no_other() {
    let world = World::new();
    let book: String = (0..400)
        .map(|n| format!("Coffee increased blood pressure in {n} adults of trial {n}, as chapter {n} of this book on coffee tells.\n\n"))
        .collect();
    std::fs::write(world.papers().join("book.txt"), book).unwrap();
    for (n, place) in ["Oslo", "Lima", "Kyoto", "Accra", "Perth"]
        .iter()
        .enumerate()
    {
        let text = format!(
            "# {place} trial\n\nIn {place}, coffee did not increase blood pressure in {n}00 adults. They were followed for a year.\n"
        );
        std::fs::write(world.papers().join(format!("{place}.md")), text).unwrap();
    }
    let engine = world.engine();
    let task = engine
        .create_task("Coffee increases blood pressure", TaskConfig::default())
        .unwrap();
    research(&engine, &task.id, "coffee blood pressure").await;
    assert_eq!(number(&engine, "SELECT count(*) FROM task_pages"), 6);
    // Verdicts that the judge is too unsure of make no edge.
    let judged = "SELECT count(DISTINCT other.page_id) FROM nli_verdicts v
        JOIN fragments other ON other.id = v.fragment_id
        JOIN edges o ON o.target_id = v.claim_id AND o.relation = 'origin'
        JOIN fragments f ON f.id = o.source_id JOIN pages p ON p.id = f.page_id WHERE p.url LIKE '%book.txt'";
    assert_eq!(number(&engine, judged), 5);
}

/// Nothing that a corpus or a target names is read but regular files inside the folder; the rest is
/// named, and nobody waits for it.
#[cfg(unix)]
#[tokio::test]
async fn links_pipes_and_devices_are_named_and_not_read() {
    use std::os::unix::fs::symlink;
    let world = World::new();
    let papers = world.papers();
    let foreign = world.folder.path().join("foreign.json");
    std::fs::write(&foreign, r#"{"title": "Foreign title", "year": 1999}"#).unwrap();
    let make_pipe = |name: &str| {
        let made = std::process::Command::new("mkfifo")
            .arg(papers.join(name))
            .status();
        assert!(made.unwrap().success());
    };
    let beside = |name: &str| papers.join(format!("{name}.meta.json"));
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        let text = format!("Coffee increased blood pressure in the adults of trial {name}.");
        std::fs::write(papers.join(name), text).unwrap();
    }
    symlink(&foreign, beside("a.txt")).unwrap();
    symlink("/dev/zero", beside("b.txt")).unwrap();
    make_pipe("c.txt.meta.json");
    std::fs::File::create(beside("d.txt"))
        .unwrap()
        .set_len(2 << 20)
        .unwrap();
    make_pipe("pipe.md");
    std::fs::File::create(papers.join("large.jsonl"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let engine = world.engine();
    let task = engine
        .create_task("Coffee increases blood pressure", TaskConfig::default())
        .unwrap();
    let of_pipe = format!(
        "file://{}",
        papers.canonicalize().unwrap().join("pipe.md").display()
    );
    let targets = ["coffee blood pressure".into(), of_pipe.into()];
    engine
        .queue_targets(&task.id, &targets, &Default::default())
        .unwrap();
    let run = engine.run(&task.id, None);
    let report = tokio::time::timeout(std::time::Duration::from_secs(60), run).await;
    report.expect("nobody waits for a pipe").unwrap();
    let status = engine
        .status(&task.id, lyra_core::StatusDetail::Full)
        .unwrap();
    let errors = status.recent_errors.unwrap();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].error.contains("not a regular file"), "{errors:?}");
    assert_eq!(
        number(
            &engine,
            "SELECT count(*) FROM pages WHERE title = 'Foreign title'"
        ),
        0
    );
    assert_eq!(number(&engine, "SELECT count(*) FROM pages"), 4);
    {
        let report = engine.corpus_report().unwrap();
        let folder = &report.folders[0];
        let all = [&folder.skipped[..], &folder.notes[..]].concat();
        for (name, problem) in [
            ("a.txt", "a link that leads out of the folder"),
            ("b.txt", "a link that leads out of the folder"),
            ("c.txt", "not a regular file"),
            ("d.txt", "more than 1048576 bytes"),
            ("pipe.md", "neither a file nor a folder"),
            ("large.jsonl", "more than"),
        ] {
            let told = all
                .iter()
                .any(|note| note.name == name && note.problem.contains(problem));
            assert!(told, "{name}: {all:?}");
        }
    }
}
