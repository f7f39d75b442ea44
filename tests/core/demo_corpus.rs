//! The whole way, over the documents that ship with the project.

use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::{Engine, EngineConfig, StatusDetail, TaskConfig, VectorRequest, ViewRequest};
use serde_json::json;
use std::path::Path;

fn sql(engine: &Engine, sql: &str) -> Vec<serde_json::Map<String, serde_json::Value>> {
    let options = SqlOptions {
        limit: 200,
        timeout_ms: 2000,
        ..SqlOptions::default()
    };
    let request = SqlRequest {
        sql: sql.to_owned(),
        params: SqlParams::None,
        options,
    };
    engine.query_sql(&request).unwrap().rows
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hypothesis_is_researched_over_the_demo_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = EngineConfig::new(folder.path().join("demo.db"));
    config
        .corpus
        .push(Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/corpus"));
    let engine = Engine::open(config).unwrap();
    let hypothesis = "DPP-4 inhibitors increase the risk of hospitalization for heart failure in patients with type 2 diabetes";
    let task = engine
        .create_task(hypothesis, TaskConfig::default())
        .unwrap();
    let targets = [
        json!("saxagliptin hospitalization for heart failure"),
        json!({"kind": "query", "query": "sitagliptin linagliptin heart failure neutral"}),
        json!("DPP-4阻害薬 心不全 入院"),
        json!("10.1056/NEJMoa1307684"),
    ];
    let queued = engine
        .queue_targets(&task.id, &targets, &Default::default())
        .unwrap();
    assert_eq!(queued.queued_count, 4);
    let again = engine
        .queue_targets(&task.id, &targets, &Default::default())
        .unwrap();
    assert_eq!((again.queued_count, again.skipped_count), (0, 4));

    let report = engine.run(&task.id, None).await.unwrap();
    assert!(report.milestones.citation_chase_ready && report.milestones.nli_verification_done);
    let full = engine.status(&task.id, StatusDetail::Full).unwrap();
    assert_eq!(full.recent_errors, Some(vec![]), "{full:#?}");
    let summary = report.evidence_summary.unwrap();
    assert!(
        summary.total_pages >= 20 && summary.total_claims >= 40,
        "{summary:?}"
    );
    assert!(
        summary.supporting_edges > 0 && summary.refuting_edges > 0,
        "{summary:?}"
    );

    let verified = engine.verify().unwrap();
    assert!(verified.violations.is_empty(), "{:#?}", verified.violations);

    // Every claim leads back to its exact characters.
    let untraced = sql(
        &engine,
        "SELECT c.id FROM claims c WHERE NOT EXISTS
           (SELECT 1 FROM edges e WHERE e.target_id = c.id AND e.relation = 'origin')",
    );
    assert!(untraced.is_empty(), "{untraced:?}");

    let contradictions = engine
        .query_view(&ViewRequest::new("v_contradictions").for_task(&task.id))
        .unwrap();
    assert!(contradictions.row_count > 0);
    let cites = sql(
        &engine,
        "SELECT count(*) AS n FROM edges WHERE relation = 'cites'",
    );
    assert!(cites[0]["n"].as_i64().unwrap() > 20, "{cites:?}");

    let found = engine
        .vector_search(&VectorRequest::new(
            "saxagliptin raised heart failure admissions",
        ))
        .await
        .unwrap();
    assert!(!found.results.is_empty());

    // A second task over the same pages has claims, edges and vectors of its own.
    let second = engine
        .create_task(hypothesis, TaskConfig::default())
        .unwrap();
    engine
        .queue_targets(&second.id, &targets[..1], &Default::default())
        .unwrap();
    let report = engine.run(&second.id, None).await.unwrap();
    assert!(report.metrics.total_claims > 10);
    let verified = engine.verify().unwrap();
    assert!(verified.violations.is_empty(), "{:#?}", verified.violations);
}
