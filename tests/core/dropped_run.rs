//! A run that its caller gives up: the job under way is free again at once.

use lyra_core::ports::{ClaimExtractor, ExtractedClaim, ExtractionRequest};
use lyra_core::{Engine, EngineConfig, Result, StatusDetail, TaskConfig};
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

#[tokio::test]
async fn a_dropped_run_gives_its_job_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).expect("made");
    std::fs::write(papers.join("a.md"), "# A\n\nNight work shortens sleep.").expect("written");
    let extractor = Arc::new(HangsOnce::default());
    let mut config = EngineConfig::new(folder.path().join("evidence.db"));
    config.corpus.push(papers);
    config.claim_extractor = Some(extractor.clone());
    let engine = Engine::open(config).expect("opens");
    let task = engine
        .create_task("Night work shortens sleep", TaskConfig::default())
        .expect("made");
    engine
        .queue_targets(&task.id, &["night work".into()], &Default::default())
        .expect("queued");

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
