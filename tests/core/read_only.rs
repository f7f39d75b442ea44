//! A graph that is open read-only: everything that asks answers, everything that would change it is
//! refused with one error, and neither the file nor its folder changes.

use lyra_core::store::graph::Feedback;
use lyra_core::store::guard::SqlRequest;
use lyra_core::store::model::TaskBudget;
use lyra_core::{
    AuthAction, AuthTarget, CandidateRequest, Engine, EngineConfig, Error, ErrorKind, ExportFormat,
    SearchMode, StatusDetail, StopRequest, TaskConfig, VectorRequest, ViewRequest,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const PAPERS: &[(&str, &str)] = &[
    (
        "a.md",
        "# Trial A\n\nDrug X increased the risk of falls in older adults.",
    ),
    (
        "b.md",
        "# Trial B\n\nDrug X did not increase the risk of falls in older adults.",
    ),
];

/// A researched graph alone in its folder, closed; its papers are elsewhere.
struct Theirs {
    folder: tempfile::TempDir,
    _papers: tempfile::TempDir,
    task: String,
}

impl Theirs {
    async fn new() -> Self {
        let (folder, papers) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (name, text) in PAPERS {
            std::fs::write(papers.path().join(name), text).unwrap();
        }
        let mut config = EngineConfig::new(folder.path().join("g.db"));
        config.corpus.push(papers.path().to_owned());
        let engine = Engine::open(config).unwrap();
        let task = engine
            .create_task("Drug X increases the risk of falls", TaskConfig::default())
            .unwrap()
            .id;
        engine
            .queue_targets(&task, &["drug X falls".into()], &Default::default())
            .unwrap();
        engine.run(&task, None).await.unwrap();
        Self {
            folder,
            _papers: papers,
            task,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("g.db")
    }

    fn config(&self) -> EngineConfig {
        let mut config = EngineConfig::new(self.path());
        config.read_only = true;
        config
    }

    fn looked_at(&self) -> Engine {
        Engine::open(self.config()).unwrap()
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

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_asks_answers_and_the_folder_stays_as_it_is() {
    let theirs = Theirs::new().await;
    let before = bytes_of(theirs.folder.path());
    assert_eq!(before.len(), 1, "{:?}", before.keys());
    let engine = theirs.looked_at();
    assert!(engine.is_read_only());
    let task = &theirs.task;
    assert_eq!(engine.tasks().unwrap().len(), 1);
    let status = engine.status(task, StatusDetail::Full).unwrap();
    assert_eq!(status.metrics.total_pages, 2);
    let waited = engine.wait_status(task, Duration::from_secs(1), StatusDetail::Summary);
    assert_eq!(waited.await.unwrap().task_id, *task);
    for view in engine.list_views() {
        let mut request = ViewRequest::new(&view.name).for_task(task);
        if view
            .parameters
            .iter()
            .any(|p| p.name == "page_id" && p.required)
        {
            request.params.insert("page_id".into(), "p".into());
        }
        match engine.query_view(&request) {
            Ok(_) => {}
            Err(e) if e.kind() == ErrorKind::InvalidInput => {}
            Err(e) => panic!("{}: {e:?}", view.name),
        }
    }
    let sql = |text: &str| {
        let request = SqlRequest {
            sql: text.to_owned(),
            ..SqlRequest::default()
        };
        engine.query_sql(&request).unwrap()
    };
    assert!(sql("SELECT * FROM v_claim_evidence_summary").row_count > 0);
    let found = sql("SELECT rowid FROM fragments_fts WHERE fragments_fts MATCH 'falls'");
    assert_eq!(found.row_count, 2);
    let slices = sql("SELECT page_text_slice(page_id, version, 0, 5) AS s FROM page_texts");
    assert_eq!(slices.row_count, 2);
    for mode in [
        SearchMode::Semantic,
        SearchMode::Lexical,
        SearchMode::Hybrid,
    ] {
        let mut request = VectorRequest::new("falls of older adults");
        (request.mode, request.min_similarity) = (mode, Some(0.0));
        let found = engine.vector_search(&request).await.unwrap();
        assert!(!found.results.is_empty(), "{mode:?}");
    }
    assert!(engine.auth_queue(None).unwrap().is_empty());
    engine.calibration_stats(None).unwrap();
    engine.calibration_evaluations(None, 10).unwrap();
    for (name, format) in ExportFormat::ALL {
        let report = engine.export(&mut std::io::sink(), format, Some(task));
        assert!(report.unwrap().total_written > 0, "{name}");
    }
    engine.changes_since("2020-01-01", None).unwrap();
    let verified = engine.verify().unwrap();
    assert!(verified.ok, "{:?}", verified.violations);
    assert!(verified.notes.iter().any(|note| note.check == "full_text"));
    let dry = CandidateRequest {
        dry_run: true,
        ..CandidateRequest::default()
    };
    engine.queue_reference_candidates(task, &dry).unwrap();
    let database = &engine.doctor()[0];
    assert!(database.ok && database.detail.ends_with("; open read-only"));
    drop(engine);
    assert!(bytes_of(theirs.folder.path()) == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_writes_is_refused_with_one_error() {
    let theirs = Theirs::new().await;
    let before = bytes_of(theirs.folder.path());
    let mut config = theirs.config();
    config.corpus.push(theirs._papers.path().to_owned());
    let engine = Engine::open(config).unwrap();
    let task = theirs.task.as_str();
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let hear = Arc::clone(&heard);
    let workers = engine.start_workers(Arc::new(move |error: &Error| {
        hear.lock().unwrap().push(error.to_string());
    }));
    let reject = Feedback::ClaimReject {
        claim_id: "c".into(),
        reason: "x".into(),
    };
    let line = br#"{"type":"task","id":"t","hypothesis":"h"}"#;
    let refused: Vec<(&str, Result<(), Error>)> = vec![
        (
            "create_task",
            engine.create_task("h", TaskConfig::default()).map(drop),
        ),
        (
            "set_budget",
            engine.set_budget(
                task,
                TaskBudget {
                    max_pages: 5,
                    max_seconds: 5,
                },
            ),
        ),
        (
            "queue_targets",
            engine
                .queue_targets(task, &["more".into()], &Default::default())
                .map(drop),
        ),
        (
            "queue_reference_candidates",
            engine
                .queue_reference_candidates(task, &CandidateRequest::default())
                .map(drop),
        ),
        (
            "resolve_auth",
            engine
                .resolve_auth(&AuthTarget::Task(task.into()), &AuthAction::Skip)
                .map(drop),
        ),
        (
            "stop_task",
            engine
                .stop_task(task, &StopRequest::default())
                .await
                .map(drop),
        ),
        ("run", engine.run(task, None).await.map(drop)),
        ("sync_corpus", engine.sync_corpus(&|_| ()).await.map(drop)),
        (
            "import_jsonl",
            engine.import_jsonl(line.as_slice()).await.map(drop),
        ),
        (
            "add_records",
            engine.add_records(line.as_slice()).await.map(drop),
        ),
        ("forget", engine.forget(task, true).map(drop)),
        ("feedback", engine.feedback(&reject, "a").map(drop)),
        (
            "rollback_calibration",
            engine
                .rollback_calibration("builtin", Some(0), "x", "a")
                .map(drop),
        ),
        ("write", engine.graph().write(|_| Ok(()))),
    ];
    for (what, result) in refused {
        let error = result.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{what}: {error}");
        assert_eq!(error.message(), Error::read_only().message(), "{what}");
        assert!(error.hint().unwrap().contains("--read-only"), "{what}");
    }
    workers.shutdown(Duration::from_secs(1)).await;
    assert!(heard.lock().unwrap().is_empty(), "{heard:?}");
    drop(engine);
    assert!(bytes_of(theirs.folder.path()) == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_program_writes_meanwhile_is_seen() {
    let theirs = Theirs::new().await;
    // Opened on a file that nobody writes to, and asked, so that connections stand open.
    let engine = theirs.looked_at();
    let count = || {
        let request = SqlRequest {
            sql: "SELECT (SELECT count(*) FROM tasks) AS tasks,
                    page_text_slice((SELECT min(page_id) FROM page_texts), 1, 0, 3) AS slice"
                .to_owned(),
            ..SqlRequest::default()
        };
        let reply = engine.query_sql(&request).unwrap();
        assert!(reply.rows[0]["slice"].is_string());
        let tasks = engine.tasks().unwrap().len();
        assert_eq!(reply.rows[0]["tasks"], tasks);
        tasks
    };
    assert_eq!(count(), 1);
    let owner = Engine::open(EngineConfig::new(theirs.path())).unwrap();
    let add = |name: &str| owner.create_task(name, TaskConfig::default()).unwrap().id;
    let second = add("two");
    assert_eq!(count(), 2);
    owner
        .queue_targets(&second, &["tea".into()], &Default::default())
        .unwrap();
    let long = Duration::from_secs(60);
    let wait = engine.wait_status(&second, long, StatusDetail::Summary);
    let (waited, ()) = tokio::join!(wait, async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        owner
            .queue_targets(&second, &["coffee".into()], &Default::default())
            .unwrap();
    });
    assert!(waited.unwrap().changed);
    add("three");
    drop(owner);
    assert_eq!(count(), 3);
    drop(engine);
    // The log may have stayed: whoever looks next reads through it.
    let engine = theirs.looked_at();
    assert_eq!(engine.tasks().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_with_a_graph_that_is_looked_at_changes_neither() {
    let (before, now) = (Theirs::new().await, Theirs::new().await);
    let (first, second) = (bytes_of(before.folder.path()), bytes_of(now.folder.path()));
    let diff = now.looked_at().diff(&before.path(), None).unwrap();
    assert!(diff.total() > 0);
    assert!(bytes_of(before.folder.path()) == first && bytes_of(now.folder.path()) == second);
}

#[test]
fn no_file_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = EngineConfig::new(folder.path().join("none.db"));
    config.read_only = true;
    let error = Engine::open(config).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(bytes_of(folder.path()).is_empty());
}

/// A replica is a copy that is made again and again; read-only servers follow it.
#[tokio::test]
async fn a_replica_follows_its_primary_and_tells_how_old_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let primary = Engine::open(EngineConfig::new(folder.path().join("primary.db"))).unwrap();
    let copy = folder.path().join("replica.db");
    primary.update_copy(&copy).unwrap();
    let mut config = EngineConfig::new(&copy);
    config.read_only = true;
    let replica = Engine::open(config).unwrap();
    let task = primary
        .create_task("Night work shortens sleep", TaskConfig::default())
        .unwrap();
    assert!(replica.status(&task.id, StatusDetail::Summary).is_err());
    primary.update_copy(&copy).unwrap();
    let status = replica.status(&task.id, StatusDetail::Summary).unwrap();
    assert!(status.as_of.is_some_and(|time| time.starts_with("20")));
    let own = primary.status(&task.id, StatusDetail::Summary).unwrap();
    assert_eq!(own.as_of, None, "the primary is as of now");

    let other = folder.path().join("letter.txt");
    std::fs::write(&other, "Dear reader").unwrap();
    for (path, reason) in [
        (folder.path().join("primary.db"), "is open for writing"),
        (other, "letter.txt"),
    ] {
        let before = std::fs::read(&path).unwrap();
        let error = primary.update_copy(&path).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
