//! A query that is asked again: what is new is found, and what is known costs nothing twice.

use lyra_core::models::BuiltinClaimExtractor;
use lyra_core::ports::{ClaimExtractor, ExtractedClaim, ExtractionRequest};
use lyra_core::{Engine, EngineConfig, QueueOptions, Result, TaskConfig};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what it is asked.
#[derive(Debug, Default)]
struct Counting(AtomicUsize);

#[async_trait::async_trait]
impl ClaimExtractor for Counting {
    fn extractor_id(&self) -> &str {
        "counting"
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn extract(&self, request: &ExtractionRequest) -> Result<Vec<ExtractedClaim>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        BuiltinClaimExtractor.extract(request).await
    }
}

#[tokio::test]
async fn only_what_is_new_is_read_for_claims() {
    let folder = tempfile::tempdir().unwrap();
    let papers = folder.path().join("papers");
    std::fs::create_dir(&papers).unwrap();
    let write = |name: &str, text: &str| std::fs::write(papers.join(name), text).unwrap();
    write(
        "a.md",
        "# Nurses\n\nNight work shortened sleep by 74 minutes in 412 nurses.",
    );
    write(
        "b.md",
        "# Guards\n\nIn 230 guards, night work did not shorten sleep.",
    );
    let extractor = Arc::new(Counting::default());
    let mut config = EngineConfig::new(folder.path().join("evidence.db"));
    config.corpus.push(papers.clone());
    config.claim_extractor = Some(extractor.clone());
    let engine = Engine::open(config).unwrap();
    let task = engine
        .create_task("Night work shortens sleep", TaskConfig::default())
        .unwrap();

    let ask = async |repeat: bool| {
        let options = QueueOptions {
            repeat,
            ..QueueOptions::default()
        };
        let queued = engine
            .queue_targets(&task.id, &["night work sleep".into()], &options)
            .unwrap();
        let status = engine.run(&task.id, None).await.unwrap();
        (
            queued.queued_count,
            extractor.0.swap(0, Ordering::Relaxed),
            status.metrics.total_pages,
        )
    };
    assert_eq!(ask(false).await, (1, 2, 2));
    assert_eq!(ask(false).await, (0, 0, 2), "what is done is skipped");
    assert_eq!(ask(true).await, (1, 0, 2), "nothing is new");
    write(
        "c.md",
        "# Pilots\n\nNight work shortened sleep by two hours in 96 pilots.",
    );
    write(
        "a.md",
        "# Nurses\n\nNight work shortened sleep by 68 minutes in 412 nurses, it says now.",
    );
    assert_eq!(
        ask(true).await,
        (1, 2, 3),
        "one is new, and one has changed"
    );
    assert_eq!(ask(true).await, (1, 0, 3));

    // The jobs that found something are still there to say so.
    let jobs = lyra_core::store::guard::SqlRequest::new(
        "SELECT count(DISTINCT c.cause_id) AS causes, count(DISTINCT j.id) AS jobs
         FROM claims c LEFT JOIN jobs j ON j.id = c.cause_id",
    );
    let row = &engine.query_sql(&jobs).unwrap().rows[0];
    assert_eq!((&row["causes"], &row["jobs"]), (&2.into(), &2.into()));
    assert!(engine.verify().unwrap().violations.is_empty());
}
