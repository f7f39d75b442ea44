//! Texts that take long to read: nobody else waits for them, and they fail alone.

use lyra_core::documents::Documents;
use lyra_core::models::BuiltinClaimExtractor;
use lyra_core::ports::{
    ClaimExtractor, DocumentParser, ExtractedClaim, ExtractionRequest, ParsedDocument,
};
use lyra_core::research::pipeline::SearchOptions;
use lyra_core::{Engine, EngineConfig, Result, StatusDetail, TaskConfig};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Fails a test that hangs.
const WATCHDOG: Duration = Duration::from_secs(120);

/// Who comes here is held, thread and all, until the door is opened.
#[derive(Debug, Default)]
struct Door {
    /// Whether somebody has come, and whether it is open.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Door {
    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 = true;
        drop(self.changed.wait_while(state, |state| !state.1).unwrap());
    }

    fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    fn has_come(&self) -> bool {
        self.state.lock().unwrap().0
    }
}

/// Computes until the door opens, as the built-in extractor does over a hostile text.
#[derive(Debug)]
struct Slow(Arc<Door>);

#[async_trait::async_trait]
impl ClaimExtractor for Slow {
    fn extractor_id(&self) -> &str {
        "slow"
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn extract(&self, request: &ExtractionRequest) -> Result<Vec<ExtractedClaim>> {
        self.0.pass();
        BuiltinClaimExtractor.extract(request).await
    }
}

/// Does not come back from a document with a certain name while the door is shut.
#[derive(Debug)]
struct StuckParser(Arc<Door>);

impl DocumentParser for StuckParser {
    fn parse(&self, body: &[u8], content_type: Option<&str>, name: &str) -> Result<ParsedDocument> {
        if name.ends_with("stuck.md") {
            self.0.pass();
        }
        Documents.parse(body, content_type, name)
    }
}

const NOTE: &str = "# Nurses\n\nNight work shortened sleep by 74 minutes in 412 nurses.";

fn config(folder: &Path, files: &[(&str, &str)]) -> EngineConfig {
    let papers = folder.join("papers");
    std::fs::create_dir(&papers).unwrap();
    for (name, text) in files {
        std::fs::write(papers.join(name), text).unwrap();
    }
    let mut config = EngineConfig::new(folder.join("evidence.db"));
    config.corpus.push(papers);
    config
}

fn queued(engine: &Engine) -> String {
    let task = engine
        .create_task("Night work shortens sleep", TaskConfig::default())
        .unwrap();
    engine
        .queue_targets(&task.id, &["night work".into()], &Default::default())
        .unwrap();
    task.id
}

/// Whether the task has nothing left to do.
fn is_idle(engine: &Engine, task_id: &str) -> bool {
    let queue = engine
        .status(task_id, StatusDetail::Summary)
        .unwrap()
        .progress
        .queue;
    queue.depth + queue.running == 0
}

async fn until(mut holds: impl FnMut() -> bool) {
    let watched = tokio::time::timeout(WATCHDOG, async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    watched.await.expect("in time");
}

/// On one thread, which is the test's own: it gets here only if nothing else holds it.
#[tokio::test]
async fn a_status_is_answered_while_a_document_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let door = Arc::new(Door::default());
    let mut config = config(folder.path(), &[("a.md", NOTE)]);
    config.claim_extractor = Some(Arc::new(Slow(Arc::clone(&door))));
    let engine = Engine::open(config).unwrap();
    let task_id = queued(&engine);
    let workers = engine.start_workers(Arc::new(|error| panic!("{error}")));
    until(|| door.has_come()).await;
    let status = engine.status(&task_id, StatusDetail::Summary).unwrap();
    assert_eq!(status.progress.queue.running, 1);
    door.open();
    until(|| is_idle(&engine, &task_id)).await;
    let status = engine.status(&task_id, StatusDetail::Summary).unwrap();
    assert_eq!(status.metrics.total_pages, 1);
    assert!(status.metrics.total_claims > 0);
    workers.shutdown(WATCHDOG).await;
}

#[tokio::test]
async fn a_million_dots_and_a_million_of_one_letter_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let dots = format!("{}word", ".".repeat(1_000_000));
    let letters = format!("{} word", "y".repeat(1_000_000));
    let files = [
        ("a.md", NOTE),
        ("dots.txt", &dots),
        ("letters.txt", &letters),
        ("more dots.html", &format!("<p>血{dots}</p>")),
    ];
    let engine = Engine::open(config(folder.path(), &files)).unwrap();
    let task_id = queued(&engine);
    let workers = engine.start_workers(Arc::new(|error| panic!("{error}")));
    until(|| is_idle(&engine, &task_id)).await;
    let status = engine.status(&task_id, StatusDetail::Full).unwrap();
    assert_eq!(status.recent_errors.unwrap_or_default(), []);
    assert!(status.metrics.total_claims > 0);
    let report = engine.corpus_report().unwrap();
    assert_eq!(report.folders[0].documents, files.len(), "{report:?}");
    workers.shutdown(WATCHDOG).await;
}

#[tokio::test]
async fn a_document_that_takes_too_long_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("a.md", NOTE), ("stuck.md", NOTE), ("z.md", NOTE)];
    let config = config(folder.path(), &files);
    let papers = config.corpus[0].clone();
    let engine = Engine::open(config).unwrap();
    let door = Arc::new(Door::default());
    let mut pipeline = engine.pipeline().clone();
    pipeline.reading.parser = Arc::new(StuckParser(Arc::clone(&door)));
    pipeline.reading.text_time = Duration::from_millis(500);
    pipeline.providers.clear();
    let task = engine
        .create_task("Night work shortens sleep", TaskConfig::default())
        .unwrap();
    let mut outcomes = Vec::new();
    for (name, _) in files {
        let url = format!("file://{}/{name}", papers.canonicalize().unwrap().display());
        let target = lyra_core::store::model::Target::Url {
            url,
            depth: 0,
            reason: None,
        };
        let options = SearchOptions::default();
        let done = pipeline.run_target(&task.id, &target, &options, None);
        outcomes.push(tokio::time::timeout(WATCHDOG, done).await.expect("in time"));
    }
    door.open();
    let error = outcomes[1].as_ref().unwrap_err();
    assert_eq!(error.kind(), lyra_core::ErrorKind::Timeout, "{error}");
    assert!(error.to_string().contains("stuck.md"), "{error}");
    assert!(outcomes[0].is_ok() && outcomes[2].is_ok(), "{outcomes:?}");
}
