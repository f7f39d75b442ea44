//! Jobs that are given back: by a run that its caller gives up, and where others hold the database.

use lyra_core::ports::{ClaimExtractor, ExtractedClaim, ExtractionRequest};
use lyra_core::store::model::TaskRecord;
use lyra_core::{Engine, EngineConfig, Error, ErrorKind, Result, StatusDetail, TaskConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Never ends the first time; finds nothing afterwards.
#[derive(Debug, Default)]
struct HangsOnce(AtomicUsize);

#[async_trait::async_trait]
impl ClaimExtractor for HangsOnce {
    fn extractor_id(&self) -> &str {
        "hangs-once"
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn extract(&self, _: &ExtractionRequest) -> Result<Vec<ExtractedClaim>> {
        if self.0.fetch_add(1, Ordering::SeqCst) == 0 {
            std::future::pending::<()>().await;
        }
        Ok(Vec::new())
    }
}

/// Meets a database that others hold, so many times; finds nothing afterwards.
#[derive(Debug)]
struct MeetsABusyDatabase(usize, AtomicUsize);

#[async_trait::async_trait]
impl ClaimExtractor for MeetsABusyDatabase {
    fn extractor_id(&self) -> &str {
        "meets-a-busy-database"
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn extract(&self, _: &ExtractionRequest) -> Result<Vec<ExtractedClaim>> {
        match self.1.fetch_add(1, Ordering::SeqCst) < self.0 {
            true => Err(Error::new(ErrorKind::Busy, "others write")),
            false => Ok(Vec::new()),
        }
    }
}

/// A task over one document with a query that waits to be run.
fn queued(extractor: Arc<dyn ClaimExtractor>) -> (Engine, TaskRecord, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).expect("made");
    std::fs::write(papers.join("a.md"), "# A\n\nNight work shortens sleep.").expect("written");
    let mut config = EngineConfig::new(folder.path().join("evidence.db"));
    config.corpus.push(papers);
    config.claim_extractor = Some(extractor);
    let engine = Engine::open(config).expect("opens");
    let task = engine
        .create_task("Night work shortens sleep", TaskConfig::default())
        .expect("made");
    engine
        .queue_targets(&task.id, &["night work".into()], &Default::default())
        .expect("queued");
    (engine, task, folder)
}

#[tokio::test]
async fn a_job_that_meets_a_busy_database_is_taken_up_again() {
    for (times, attempts, failed) in [(2, 3, 0), (99, 3, 1)] {
        let extractor = Arc::new(MeetsABusyDatabase(times, AtomicUsize::new(0)));
        let (engine, task, _folder) = queued(extractor);
        engine.run(&task.id, None).await.expect("runs");
        let status = engine.status(&task.id, StatusDetail::Full);
        let status = status.expect("a status");
        let phases = &status.progress.jobs_by_phase;
        assert_eq!(phases.exploration.failed, failed, "{times}");
        assert_eq!(phases.exploration.completed, 1 - failed, "{times}");
        assert_eq!(status.queue_items.expect("full")[0].attempts, attempts);
    }
}

#[tokio::test]
async fn a_dropped_run_gives_its_job_back() {
    let extractor = Arc::new(HangsOnce::default());
    let (engine, task, _folder) = queued(extractor.clone());
    let run = engine.run(&task.id, None);
    let ended = tokio::time::timeout(Duration::from_secs(3), run).await;
    assert!(ended.is_err(), "the extractor hangs");
    let status = engine
        .status(&task.id, StatusDetail::Full)
        .expect("a status");
    let queue = &status.progress.queue;
    assert_eq!((queue.depth, queue.running), (1, 0));
    assert_eq!(status.queue_items.expect("full")[0].attempts, 0);

    let run = engine.run(&task.id, None);
    let status = tokio::time::timeout(Duration::from_secs(10), run).await;
    let status = status.expect("nobody waits for a lease").expect("runs");
    assert_eq!(status.progress.queue.depth, 0);
    assert_eq!(extractor.0.load(Ordering::SeqCst), 2);
}
