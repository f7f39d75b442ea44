//! Research with a language model, from the query to what is stored.

use super::*;

fn engine(folder: &Path, extractor: LlmClaimExtractor, judge: Option<LlmStanceJudge>) -> Engine {
    let papers = folder.join("papers");
    std::fs::create_dir_all(&papers).unwrap();
    for (name, text) in [
        (
            "a.md",
            "# Trial A\n\nDrug X increased the risk of falls in older adults by 23 percent.",
        ),
        (
            "b.md",
            "# Trial B\n\nDrug X did not increase the risk of falls in older adults at all.",
        ),
    ] {
        std::fs::write(papers.join(name), text).unwrap();
    }
    let mut config = EngineConfig::new(folder.join("g.db"));
    config.corpus.push(papers);
    config.claim_extractor = Some(Arc::new(extractor));
    if let Some(judge) = judge {
        config.stance_judge = Some(Arc::new(judge));
    }
    Engine::open(config).unwrap()
}

/// Extractors of the claims, judges of the edges, and the output of the job.
async fn research(engine: &Engine) -> (Vec<String>, Vec<String>, Value) {
    let hypothesis = "Drug X increases the risk of falls in older adults";
    let task = engine
        .create_task(hypothesis, TaskConfig::default())
        .unwrap();
    let targets = ["drug X falls".into()];
    engine
        .queue_targets(&task.id, &targets, &Default::default())
        .unwrap();
    engine.run(&task.id, None).await.unwrap();
    let column = |sql: &str| -> Vec<String> {
        let request = lyra_core::store::guard::SqlRequest::new(sql);
        let reply = engine.query_sql(&request).unwrap();
        let text = |row: &serde_json::Map<String, Value>| row["v"].as_str().unwrap().to_owned();
        reply.rows.iter().map(text).collect()
    };
    let extractors = column("SELECT DISTINCT extractor_id AS v FROM claims");
    let judges = column("SELECT DISTINCT judge_id AS v FROM edges WHERE judge_id IS NOT NULL");
    let output = column("SELECT output_json AS v FROM jobs WHERE kind = 'target_queue'");
    (
        extractors,
        judges,
        serde_json::from_str(&output[0]).unwrap(),
    )
}

#[tokio::test]
async fn research_with_a_model_stores_whose_claims_and_verdicts_these_are() {
    let server = Server::start(careful).await;
    let folder = tempfile::tempdir().unwrap();
    let extractor = LlmClaimExtractor::new(options(&server, ChatApi::Ollama)).unwrap();
    let judge = LlmStanceJudge::new(options(&server, ChatApi::Ollama)).unwrap();
    let ids = [
        extractor.extractor_id().to_owned(),
        judge.judge_id().to_owned(),
    ];
    let engine = engine(folder.path(), extractor, Some(judge));
    let (extractors, judges, output) = research(&engine).await;
    assert_eq!(
        (extractors, judges),
        (vec![ids[0].clone()], vec![ids[1].clone()])
    );
    assert_eq!(output["errors"], json!([]));
    assert!(engine.verify().unwrap().ok, "quotes are exact");
    let doctor = engine.doctor();
    let check = doctor
        .iter()
        .find(|check| check.name == "claim extractor")
        .unwrap();
    let place = format!("some-model at http://{}/, no key", server.address);
    assert!(check.ok && check.detail.contains(&place), "{check:?}");
}

#[tokio::test]
async fn a_model_that_fails_is_noted_and_the_builtin_reads() {
    let server = Server::start(|_, r| says(r, "[broken", "stop")).await;
    let folder = tempfile::tempdir().unwrap();
    let extractor = LlmClaimExtractor::new(options(&server, ChatApi::OpenAi)).unwrap();
    let engine = engine(folder.path(), extractor, None);
    let (extractors, _, output) = research(&engine).await;
    assert_eq!(extractors, [BuiltinClaimExtractor.extractor_id()]);
    let errors = output["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 2, "one for each document: {errors:?}");
    for error in errors {
        let error = error.as_str().unwrap();
        for part in [
            "file://",
            "claim extraction failed",
            "was used instead",
            "twice: it holds no JSON",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
    assert_eq!(
        server.requests().len(),
        4,
        "two documents, each asked twice"
    );
}
