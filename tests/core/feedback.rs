//! Corrections by a human bite: in views, search, status, queueing, reading and verification.

use lyra_core::ports::testing::{FakeClaimExtractor, FakeEmbedder, FakeFetcher, FakeStanceJudge};
use lyra_core::ports::{Clock, FetchedDocument, SystemClock, Validators, Verdict};
use lyra_core::store::graph::{Feedback, FeedbackReport};
use lyra_core::store::guard::SqlRequest;
use lyra_core::store::model::{EmbeddingTarget, Relation};
use lyra_core::{
    Engine, EngineConfig, ErrorKind, SearchMode, StatusDetail, TaskConfig, VectorRequest,
    ViewRequest,
};
use serde_json::{Value, json};
use std::sync::Arc;

const PAGES: &[(&str, &str)] = &[
    (
        "https://a.example.org/1",
        "Drug X increased the risk of falls in older adults.",
    ),
    (
        "https://www.b.net/2",
        "Drug X increased the risk of falls in frail older adults.",
    ),
    (
        "https://c.com/3",
        "Drug X increased the risk of falls in many older adults.",
    ),
];
/// Redirects to another domain.
const MOVED: (&str, &str) = ("https://short.example/4", "https://news.tabloid.com/4");

pub(crate) struct World {
    _folder: tempfile::TempDir,
    pub(crate) engine: Engine,
    pub(crate) task: String,
    judge: Arc<FakeStanceJudge>,
    fetcher: Arc<FakeFetcher>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::at(Arc::new(SystemClock))
    }

    fn at(clock: Arc<dyn Clock>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(folder.path().join("a.db"));
        config.clock = clock;
        let mut fetcher = FakeFetcher::new();
        for (url, text) in PAGES {
            fetcher = fetcher.with_text(url, "text/plain", text);
        }
        let moved = FetchedDocument::Found {
            final_url: MOVED.1.to_owned(),
            status: Some(200),
            content_type: Some("text/plain".to_owned()),
            body: b"Drug X cures falls in all older adults.".to_vec(),
            known: Box::default(),
            validators: Validators::default(),
        };
        let fetcher = Arc::new(fetcher.with(MOVED.0, moved));
        let judge = Arc::new(FakeStanceJudge::new(|_| {
            Verdict::new(Relation::Supports, 0.8)
        }));
        config.fetchers.push(Arc::clone(&fetcher) as _);
        config.embedder = Some(Arc::new(FakeEmbedder::default()));
        config.claim_extractor = Some(Arc::new(FakeClaimExtractor::of_every_sentence()));
        config.stance_judge = Some(Arc::clone(&judge) as _);
        let engine = Engine::open(config).unwrap();
        let task = engine
            .create_task("Drug X increases the risk of falls", TaskConfig::default())
            .unwrap();
        Self {
            _folder: folder,
            engine,
            task: task.id,
            judge,
            fetcher,
        }
    }

    pub(crate) async fn researched() -> Self {
        Self::researched_at(Arc::new(SystemClock)).await
    }

    pub(crate) async fn researched_at(clock: Arc<dyn Clock>) -> Self {
        let world = Self::at(clock);
        for (url, _) in PAGES {
            world.queue(url);
        }
        world.run().await;
        world
    }

    fn queue(&self, url: &str) -> Vec<String> {
        let report = self
            .engine
            .queue_targets(&self.task, &[json!(url)], &Default::default())
            .unwrap();
        report.skipped.into_iter().map(|s| s.reason).collect()
    }

    async fn run(&self) {
        self.engine.run(&self.task, None).await.unwrap();
    }

    fn give(&self, feedback: &Feedback) -> FeedbackReport {
        let report = self.engine.feedback(feedback, "alice").unwrap();
        let verified = self.engine.verify().unwrap();
        assert!(verified.violations.is_empty(), "{:#?}", verified.violations);
        report
    }

    fn refused(&self, feedback: &Feedback) -> lyra_core::Error {
        let before = self.rows("SELECT count(*) AS n FROM feedback_log");
        let error = self.engine.feedback(feedback, "alice").unwrap_err();
        assert_eq!(self.rows("SELECT count(*) AS n FROM feedback_log"), before);
        error
    }

    pub(crate) fn rows(&self, sql: &str) -> Vec<Value> {
        let rows = self.engine.query_sql(&SqlRequest::new(sql)).unwrap().rows;
        rows.into_iter().map(Value::Object).collect()
    }

    pub(crate) fn value(&self, sql: &str) -> Value {
        let first = self.rows(sql).into_iter().next().expect("a row");
        first.as_object().unwrap().values().next().unwrap().clone()
    }

    /// Whether any cell of any row of any view names this.
    fn views_that_name(&self, text: &str) -> Vec<String> {
        let names = self.engine.list_views();
        let mut found = Vec::new();
        for view in names {
            let request = ViewRequest::new(&view.name).for_task(&self.task);
            let rows = self.engine.query_view(&request).unwrap().rows;
            if serde_json::to_string(&rows).unwrap().contains(text) {
                found.push(view.name);
            }
        }
        found
    }

    async fn is_found(&self, claim_id: &str, text: &str, mode: SearchMode) -> bool {
        let mut request = VectorRequest::new(text);
        request.target = EmbeddingTarget::Claim;
        request.task_id = Some(self.task.clone());
        request.mode = mode;
        let reply = self.engine.vector_search(&request).await.unwrap();
        reply.results.iter().any(|hit| hit.id == claim_id)
    }

    fn total_claims(&self) -> Value {
        let report = self.engine.status(&self.task, StatusDetail::Full).unwrap();
        let report = serde_json::to_value(report).unwrap();
        assert_eq!(
            report["metrics"]["total_claims"],
            report["evidence_summary"]["total_claims"]
        );
        report["metrics"]["total_claims"].clone()
    }

    fn first_claim(&self) -> (String, String) {
        let rows = self.rows("SELECT id, claim_text FROM claims ORDER BY id LIMIT 1");
        let text = |name: &str| rows[0][name].as_str().unwrap().to_owned();
        (text("id"), text("claim_text"))
    }
}

fn block(pattern: &str) -> Feedback {
    Feedback::DomainBlock {
        domain_pattern: pattern.to_owned(),
        reason: "adverts".to_owned(),
    }
}

fn unblock(pattern: &str) -> Feedback {
    Feedback::DomainUnblock {
        domain_pattern: pattern.to_owned(),
        reason: "looked again".to_owned(),
    }
}

fn clear(pattern: &str) -> Feedback {
    Feedback::DomainClearOverride {
        domain_pattern: pattern.to_owned(),
        reason: "no opinion".to_owned(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_claim_leaves_everything_and_comes_back() {
    let world = World::researched().await;
    let (claim, text) = world.first_claim();
    let named = world.views_that_name(&claim);
    assert!(
        named.contains(&"v_claim_evidence_summary".to_owned()),
        "{named:?}"
    );
    assert_eq!(world.total_claims(), 3);
    let counted = world.rows("SELECT * FROM v_claim_evidence_summary ORDER BY 1");

    let rejected = world.give(&Feedback::ClaimReject {
        claim_id: claim.clone(),
        reason: "an advertisement".to_owned(),
    });
    assert_eq!(rejected.previous.as_deref(), Some("adopted"));
    assert_eq!(rejected.current.as_deref(), Some("not_adopted"));
    assert_eq!(world.views_that_name(&claim), [""; 0]);
    assert_eq!(world.total_claims(), 2);
    for mode in [
        SearchMode::Semantic,
        SearchMode::Lexical,
        SearchMode::Hybrid,
    ] {
        assert!(!world.is_found(&claim, &text, mode).await, "{mode:?}");
    }

    // New evidence comes: the rejected claim is not compared with it.
    assert!(world.queue(MOVED.0).is_empty());
    world.run().await;
    let judged = "SELECT count(*) FROM nli_verdicts v JOIN fragments f ON f.id = v.fragment_id
                  JOIN pages p ON p.id = f.page_id WHERE p.url = 'https://short.example/4'";
    let judged_claim = format!("{judged} AND v.claim_id = '{claim}'");
    assert_eq!(world.value(judged), 2);
    assert_eq!(world.value(&judged_claim), 0);

    let restored = world.give(&Feedback::ClaimRestore {
        claim_id: claim.clone(),
        reason: None,
    });
    assert_eq!(
        (restored.affected_count, restored.current.as_deref()),
        (1, Some("adopted"))
    );
    assert_eq!(world.views_that_name(&claim), named);
    assert_eq!(world.total_claims(), 4);
    for mode in [
        SearchMode::Semantic,
        SearchMode::Lexical,
        SearchMode::Hybrid,
    ] {
        assert!(world.is_found(&claim, &text, mode).await, "{mode:?}");
    }
    world
        .engine
        .pipeline()
        .verify(&world.task, None)
        .await
        .unwrap();
    assert_eq!(world.value(&judged_claim), 1);
    assert_eq!(
        world.value("SELECT claim_rejection_reason FROM claims ORDER BY id LIMIT 1"),
        Value::Null
    );
    // What it had before it was rejected is what it has now, plus the new evidence.
    assert_eq!(
        counted.len() + 1,
        world.rows("SELECT * FROM v_claim_evidence_summary").len()
    );

    let log =
        world.rows("SELECT action, actor, reason, previous_json FROM feedback_log ORDER BY id");
    assert_eq!(log.len(), 2);
    assert_eq!(log[0]["actor"], "alice");
    assert_eq!(log[0]["reason"], "an advertisement");
    let before: Value = serde_json::from_str(log[1]["previous_json"].as_str().unwrap()).unwrap();
    assert_eq!(before["claim_rejection_reason"], "an advertisement");
    assert_eq!(
        world.value("SELECT count(*) FROM event_log WHERE actor = 'alice'"),
        2
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_corrected_edge_counts_as_corrected_and_survives_verification() {
    let world = World::researched().await;
    let edge = world.value("SELECT id FROM edges WHERE relation = 'supports' ORDER BY id LIMIT 1");
    let edge = edge.as_str().unwrap();
    let summary = format!(
        "SELECT support_count, refute_count FROM v_claim_evidence_summary
         WHERE claim_id = (SELECT target_id FROM edges WHERE id = '{edge}')"
    );
    assert_eq!(
        world.rows(&summary),
        [json!({"support_count": 2, "refute_count": 0})]
    );
    let correct = |relation| Feedback::EdgeCorrect {
        edge_id: edge.to_owned(),
        correct_relation: relation,
        reason: Some("read it again".to_owned()),
    };
    let report = world.give(&correct(Relation::Refutes));
    assert_eq!(report.previous.as_deref(), Some("supports"));
    assert_eq!(
        world.rows(&summary),
        [json!({"support_count": 1, "refute_count": 1})]
    );
    assert!(
        world
            .views_that_name(edge)
            .contains(&"v_evidence_chain".to_owned())
    );

    let asked = world.judge.pairs();
    world
        .engine
        .pipeline()
        .verify(&world.task, None)
        .await
        .unwrap();
    assert_eq!(world.judge.pairs(), asked, "nothing is judged twice");
    assert_eq!(
        world.rows(&summary),
        [json!({"support_count": 1, "refute_count": 1})]
    );
    let row = world.rows(&format!(
        "SELECT relation, nli_label, nli_edge_confidence, edge_human_corrected, edge_correction_reason
         FROM edges WHERE id = '{edge}'"
    ));
    assert_eq!(
        row,
        [
            json!({"relation": "refutes", "nli_label": "supports", "nli_edge_confidence": 1.0,
                "edge_human_corrected": 1, "edge_correction_reason": "read it again"})
        ]
    );
    // What the judge thought is kept, also when the human thinks again.
    world.give(&correct(Relation::Neutral));
    let corrections = world.rows(
        "SELECT predicted_relation, predicted_confidence, correct_relation, judge_id FROM nli_corrections
         ORDER BY created_at, rowid",
    );
    let of = |relation: &str| {
        json!({"predicted_relation": "supports", "predicted_confidence": 0.8,
               "correct_relation": relation, "judge_id": "fake-stance-v1"})
    };
    assert_eq!(corrections, [of("refutes"), of("neutral")]);
    let premise = world.value("SELECT premise FROM nli_corrections LIMIT 1");
    assert!(premise.as_str().unwrap().starts_with("Drug X"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_domain_is_neither_queued_nor_read_nor_believed() {
    let world = World::new();
    world.give(&block("tabloid.com"));
    world.give(&block("*.b.net"));
    let reasons = world.queue(PAGES[1].0);
    assert!(
        reasons.len() == 1
            && reasons[0].starts_with("blocked_domain: ")
            && reasons[0].contains("*.b.net"),
        "{reasons:?}"
    );
    // Where it leads is known only when it is read.
    assert!(world.queue(MOVED.0).is_empty());
    world.run().await;
    let failed = world.rows("SELECT state, error_message FROM jobs WHERE kind = 'target_queue'");
    assert_eq!(failed[0]["state"], "failed", "{failed:?}");
    let message = failed[0]["error_message"].as_str().unwrap();
    assert!(
        message.contains("blocked") && message.contains("tabloid.com"),
        "{message}"
    );
    assert_eq!(world.value("SELECT count(*) FROM pages"), 0);

    // Queued first and blocked afterwards: it is not even asked for.
    assert!(world.queue(PAGES[0].0).is_empty());
    world.give(&block("example.org"));
    let asked = world.fetcher.requests().len();
    world.run().await;
    assert_eq!(world.fetcher.requests().len(), asked);
    assert_eq!(world.value("SELECT count(*) FROM pages"), 0);

    let full = world
        .engine
        .status(&world.task, StatusDetail::Full)
        .unwrap();
    let blocked = full.blocked_domains.unwrap();
    assert!(
        blocked.contains(&"example.org".to_owned()) && blocked.len() == 3,
        "{blocked:?}"
    );

    // The newest rule wins; what a rule said before stays in the table.
    let lifted = world.give(&unblock("example.org"));
    assert_eq!(
        (lifted.previous.as_deref(), lifted.current.as_deref()),
        (Some("block"), Some("allow"))
    );
    assert!(world.queue("https://www.example.org/other").is_empty());
    let cleared = world.give(&clear("*.b.net"));
    assert_eq!(
        (cleared.previous.as_deref(), cleared.current),
        (Some("block"), None)
    );
    assert!(world.queue(PAGES[1].0).is_empty());
    world.give(&block("example.org"));
    assert_eq!(world.queue("https://www.example.org/third").len(), 1);
    assert_eq!(world.value("SELECT count(*) FROM domain_rules"), 5);
    assert_eq!(world.value("SELECT count(*) FROM feedback_log"), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_evidence_of_a_blocked_domain_is_not_used() {
    let world = World::new();
    world.queue(PAGES[0].0);
    world.queue(PAGES[1].0);
    // Read before it was blocked, verified after.
    let pipeline = world.engine.pipeline();
    for (url, _) in &PAGES[..2] {
        let target = lyra_core::store::model::Target::Url {
            url: (*url).to_owned(),
            depth: 0,
            reason: None,
        };
        pipeline
            .run_target(&world.task, &target, &Default::default(), None)
            .await
            .unwrap();
    }
    world.give(&block("b.net"));
    pipeline.verify(&world.task, None).await.unwrap();
    let verdicts = "SELECT p.url FROM nli_verdicts v JOIN fragments f ON f.id = v.fragment_id
                    JOIN pages p ON p.id = f.page_id";
    assert_eq!(world.rows(verdicts), [json!({"url": PAGES[0].0})]);
    world.give(&clear("b.net"));
    pipeline.verify(&world.task, None).await.unwrap();
    assert_eq!(world.rows(verdicts).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_that_is_there_leaves_with_its_domain_and_comes_back() {
    const VERDICTS: &str = "SELECT * FROM edges WHERE relation <> 'origin' ORDER BY id";
    const OF_B: &str = "SELECT e.id FROM edges e JOIN fragments f ON f.id = e.source_id
        JOIN pages p ON p.id = f.page_id
        WHERE e.relation <> 'origin' AND p.url = 'https://www.b.net/2' ORDER BY e.id";
    let world = World::researched().await;
    let of_b = world.rows(OF_B);
    assert!(!of_b.is_empty());
    world.give(&Feedback::EdgeCorrect {
        edge_id: of_b[0]["id"].as_str().unwrap().to_owned(),
        correct_relation: Relation::Refutes,
        reason: Some("read it again".to_owned()),
    });
    let summary = || {
        let request = ViewRequest::new("v_claim_evidence_summary").for_task(&world.task);
        serde_json::to_value(world.engine.query_view(&request).unwrap().rows).unwrap()
    };
    let counted = || {
        let rows = summary();
        let counts = rows.as_array().unwrap().iter();
        counts
            .map(|row| row["evidence_count"].as_u64().unwrap())
            .sum::<u64>()
    };
    let (before, shown) = (world.rows(VERDICTS), summary());
    assert_eq!(counted(), before.len() as u64);

    let report = world.give(&block("b.net"));
    assert!(
        report.message.contains(&format!("{} verdict", of_b.len())),
        "{}",
        report.message
    );
    assert!(world.rows(OF_B).is_empty());
    assert_eq!(counted(), (before.len() - of_b.len()) as u64);
    assert!(world.views_that_name("refutes").is_empty());
    let pipeline = world.engine.pipeline();
    pipeline.verify(&world.task, None).await.unwrap();
    assert!(world.rows(OF_B).is_empty());

    // Either way back, to the byte.
    for lift in [unblock("www.b.net"), clear("b.net")] {
        world.give(&block("b.net"));
        assert!(world.rows(OF_B).is_empty());
        world.give(&lift);
        assert_eq!(world.rows(VERDICTS), before);
        assert_eq!(summary(), shown);
    }
    // What is gone for good does not come back.
    world.give(&block("b.net"));
    world.engine.forget(&world.task, true).unwrap();
    world.give(&clear("b.net"));
    assert!(world.rows(VERDICTS).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_or_makes_no_sense_changes_nothing() {
    let world = World::researched().await;
    let (claim, _) = world.first_claim();
    let origin = world.value("SELECT id FROM edges WHERE relation = 'origin' LIMIT 1");
    let correct = |edge_id: &str, correct_relation| Feedback::EdgeCorrect {
        edge_id: edge_id.to_owned(),
        correct_relation,
        reason: None,
    };
    let reject = |claim_id: &str, reason: &str| Feedback::ClaimReject {
        claim_id: claim_id.to_owned(),
        reason: reason.to_owned(),
    };
    let restore = Feedback::ClaimRestore {
        claim_id: "claim_none".to_owned(),
        reason: None,
    };
    use ErrorKind::{InvalidInput, NotFound};
    for (feedback, kind, named) in [
        (
            correct("edge_none", Relation::Supports),
            NotFound,
            "edge_none",
        ),
        (
            correct(origin.as_str().unwrap(), Relation::Supports),
            InvalidInput,
            "edge_id",
        ),
        (
            correct("edge_none", Relation::Cites),
            InvalidInput,
            "correct_relation",
        ),
        (reject("claim_none", "r"), NotFound, "claim_none"),
        (reject(&claim, " "), InvalidInput, "reason"),
        (restore, NotFound, "claim_none"),
        (block("*.com"), InvalidInput, "domain_pattern"),
        (unblock("co.uk"), InvalidInput, "domain_pattern"),
        (clear("io"), InvalidInput, "domain_pattern"),
        (clear("example.org"), NotFound, "example.org"),
    ] {
        let error = world.refused(&feedback);
        assert_eq!(error.kind(), kind, "{feedback:?}: {error}");
        assert!(error.message().contains(named), "{error}");
        assert!(kind == InvalidInput || error.hint().is_some(), "{error}");
    }
    // Saying the same twice is no mistake.
    let again = world.give(&Feedback::ClaimRestore {
        claim_id: claim,
        reason: None,
    });
    assert_eq!(
        (again.affected_count, again.previous.as_deref()),
        (0, Some("adopted"))
    );
}
