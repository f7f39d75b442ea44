//! Pairs on loan: who may answer, what an answer needs, and whose verdict is the edge.

use crate::feedback::World;
use lyra_core::ports::ManualClock;
use lyra_core::store::graph::{
    Feedback, HUMAN_JUDGE, Judgement, JudgementFocus, JudgementReport, JudgementRequest, LentPair,
    PairKind, agent_judge_id,
};
use lyra_core::store::model::Relation;
use lyra_core::{Engine, EngineConfig, ErrorKind};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const AGENT: &str = "agent:test-client:test-model";

fn lend(world: &World, focus: JudgementFocus, limit: usize) -> Vec<LentPair> {
    let request = JudgementRequest {
        focus,
        limit,
        ..JudgementRequest::new(&world.task)
    };
    world.engine.lend_judgements(&request).unwrap()
}

fn judgement(pair: &LentPair, relation: Relation, quote: Option<&str>) -> Judgement {
    Judgement {
        pair_id: pair.pair_id.clone(),
        relation,
        quote: quote.map(str::to_owned),
        confidence: None,
        reason: None,
    }
}

fn submit(world: &World, judge: &str, judgements: &[Judgement]) -> JudgementReport {
    let report = world
        .engine
        .submit_judgements(&world.task, judge, judgements)
        .unwrap();
    let checked = world.engine.verify().unwrap();
    assert!(checked.violations.is_empty(), "{:?}", checked.violations);
    report
}

const EDGE: &str = "SELECT e.relation, e.judge_id, e.edge_human_corrected AS corrected,
    substr(t.text, e.quote_start + 1, e.quote_end - e.quote_start) AS quote
  FROM edges e JOIN fragments f ON f.id = e.source_id
    JOIN page_texts t ON t.page_id = f.page_id AND t.version = f.page_version
  WHERE e.relation IN ('supports', 'refutes', 'neutral')
    AND e.judge_id LIKE 'agent:%' OR e.edge_human_corrected";

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_verdict_takes_the_place_of_the_machines_and_is_no_humans() {
    let world = World::researched().await;
    let pairs = lend(&world, JudgementFocus::All, 20);
    let passage = pairs
        .iter()
        .find(|pair| pair.kind == PairKind::Passage)
        .unwrap();
    let words: String = passage.passage.chars().take(30).collect();
    let before = world.rows("SELECT count(*) AS n FROM nli_verdicts");
    let report = submit(
        &world,
        AGENT,
        &[judgement(passage, Relation::Refutes, Some(&words))],
    );
    assert_eq!(
        (report.stored, report.outranked, report.refused.len()),
        (1, 0, 0)
    );
    assert_eq!(report.moved.len(), 1);
    assert_eq!(report.moved[0].refutes[1], report.moved[0].refutes[0] + 1);
    assert_eq!(
        world.rows(EDGE),
        [json!({"relation": "refutes", "judge_id": AGENT, "corrected": 0, "quote": words.trim()})]
    );
    // The machine's verdict is kept beside it.
    let after = world.rows("SELECT count(*) AS n FROM nli_verdicts");
    assert_eq!(
        after[0]["n"].as_i64(),
        before[0]["n"].as_i64().map(|n| n + 1)
    );
    assert_eq!(
        world.rows("SELECT * FROM nli_corrections"),
        Vec::<Value>::new()
    );
    // Verification leaves it alone.
    world
        .engine
        .pipeline()
        .verify(&world.task, None)
        .await
        .unwrap();
    assert_eq!(world.rows(EDGE)[0]["judge_id"], AGENT);
    // To say it again is to say it once.
    let again = submit(
        &world,
        AGENT,
        &[judgement(passage, Relation::Refutes, Some(&words))],
    );
    assert_eq!((again.stored, again.moved.len()), (1, 0));
    assert_eq!(world.rows("SELECT count(*) AS n FROM nli_verdicts"), after);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_side_needs_words_of_the_passage() {
    let world = World::researched().await;
    let pairs = lend(&world, JudgementFocus::All, 20);
    let [first, second] = [&pairs[0], &pairs[1]];
    let foreign = "these words stand nowhere in any of the passages";
    let last_word = first.passage.split_whitespace().last().unwrap();
    let report = submit(
        &world,
        AGENT,
        &[
            judgement(first, Relation::Supports, None),
            judgement(first, Relation::Refutes, Some(foreign)),
            judgement(
                first,
                Relation::Refutes,
                Some(&format!("{foreign} {last_word}")),
            ),
            judgement(first, Relation::Origin, None),
            Judgement {
                confidence: Some(1.5),
                ..judgement(first, Relation::Neutral, None)
            },
            Judgement {
                pair_id: "pair_0000000000000000".into(),
                ..judgement(first, Relation::Neutral, None)
            },
            judgement(second, Relation::Neutral, None),
        ],
    );
    assert_eq!((report.stored, report.refused.len()), (1, 6));
    let begins = [
        "quote: supports",
        "quote: these",
        "quote: these",
        "relation",
        "confidence",
        "pair_id",
    ];
    for (refused, begin) in report.refused.iter().zip(begins) {
        assert!(refused.reason.starts_with(begin), "{refused:?}");
    }
    assert!(
        report.refused[2]
            .nearest
            .as_deref()
            .is_some_and(|near| first.passage.contains(near))
    );
    for judge in ["lyra-minilm-judge-v6", "someone", ""] {
        let refused = world.engine.submit_judgements(&world.task, judge, &[]);
        assert_eq!(
            refused.unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "{judge}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_pair_is_held_twice_and_a_loan_that_ran_out_is_lent_again() {
    let clock = Arc::new(ManualClock::new(1_790_000_000_000));
    let world = World::researched_at(Arc::clone(&clock) as _).await;
    let all = lend(&world, JudgementFocus::All, 20);
    let request = JudgementRequest {
        limit: 20,
        ..JudgementRequest::new(&world.task)
    };
    assert!(world.engine.lend_judgements(&request).unwrap().is_empty());
    let ids: BTreeSet<&str> = all.iter().map(|pair| pair.pair_id.as_str()).collect();
    assert_eq!(ids.len(), all.len());
    clock.advance(601_000);
    let again = world.engine.lend_judgements(&request).unwrap();
    assert_eq!(again.len(), all.len());
    // The first agent comes too late: its pair is somebody else's now.
    let late = submit(
        &world,
        AGENT,
        &[judgement(&all[0], Relation::Neutral, None)],
    );
    assert_eq!((late.stored, late.refused.len()), (0, 1));
    let judgements: Vec<Judgement> = again
        .iter()
        .map(|p| judgement(p, Relation::Neutral, None))
        .collect();
    let report = submit(&world, AGENT, &judgements);
    assert_eq!((report.stored, report.open), (judgements.len(), 0));
    clock.advance(601_000);
    assert!(world.engine.lend_judgements(&request).unwrap().is_empty());
    for (limit, lease_seconds) in [(0, 600), (21, 600), (10, 9), (10, 86_401)] {
        let request = JudgementRequest {
            limit,
            lease_seconds,
            ..request.clone()
        };
        let refused = world.engine.lend_judgements(&request).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_humans_word_outranks_an_agents_whoever_comes_last() {
    let world = World::researched().await;
    let edges =
        "SELECT id FROM edges WHERE relation IN ('supports', 'refutes', 'neutral') ORDER BY id";
    let edge_id = world.rows(edges)[0]["id"].as_str().unwrap().to_owned();
    let correct = |relation, actor: &str| {
        let correction = Feedback::EdgeCorrect {
            edge_id: edge_id.clone(),
            correct_relation: relation,
            reason: Some("read it".into()),
        };
        world.engine.feedback(&correction, actor).unwrap()
    };
    let state = |world: &World| {
        let sql = format!(
            "SELECT relation, edge_human_corrected AS corrected FROM edges WHERE id = '{edge_id}'"
        );
        world.rows(&sql)[0].clone()
    };
    let quoted = |world: &World| {
        let sql = format!("SELECT quote_start, quote_end FROM edges WHERE id = '{edge_id}'");
        world.rows(&sql)[0].clone()
    };
    let before = quoted(&world);
    assert!(before["quote_start"].is_i64(), "{before}");
    let agents = agent_judge_id("client", "model").unwrap();
    let report = correct(Relation::Refutes, &agents);
    assert_eq!(
        (report.current.as_deref(), report.affected_count),
        (Some("refutes"), 1)
    );
    assert_eq!(
        state(&world),
        json!({"relation": "refutes", "corrected": 0})
    );
    assert!(world.rows("SELECT 1 FROM nli_corrections").is_empty());
    correct(Relation::Neutral, "user");
    assert_eq!(
        state(&world),
        json!({"relation": "neutral", "corrected": 1})
    );
    let report = correct(Relation::Supports, &agents);
    assert_eq!(
        (report.current.as_deref(), report.affected_count),
        (Some("neutral"), 0)
    );
    assert!(
        report.message.contains("a human has said neutral"),
        "{}",
        report.message
    );
    assert_eq!(
        state(&world),
        json!({"relation": "neutral", "corrected": 1})
    );
    let agreement = "SELECT pair_count, agreement_count FROM v_judge_agreement
                     WHERE judge_a = 'agent:client:model' AND judge_b = 'human'";
    assert_eq!(
        world.rows(agreement),
        [json!({"pair_count": 1, "agreement_count": 0})]
    );
    let log = "SELECT actor FROM feedback_log ORDER BY id";
    let actors: Vec<Value> = world
        .rows(log)
        .iter()
        .map(|row| row["actor"].clone())
        .collect();
    assert_eq!(actors, [json!(agents), json!("user"), json!(agents)]);
    assert!(world.engine.verify().unwrap().ok);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_places_claims_on_the_hypothesis() {
    let world = World::researched().await;
    let pairs = lend(&world, JudgementFocus::Hypothesis, 20);
    assert!(!pairs.is_empty());
    assert!(
        pairs
            .iter()
            .all(|pair| pair.kind == PairKind::Hypothesis && pair.assertion.is_some())
    );
    let pair = &pairs[0];
    let words: String = pair.passage.chars().take(30).collect();
    let report = submit(
        &world,
        AGENT,
        &[judgement(pair, Relation::Refutes, Some(&words))],
    );
    assert_eq!(report.moved[0].stance[1], Some(Relation::Refutes));
    let stances = "SELECT relation, judge_id FROM hypothesis_stances WHERE judge_id LIKE 'agent:%'";
    let expected = [json!({"relation": "refutes", "judge_id": AGENT})];
    assert_eq!(world.rows(stances), expected);
    world
        .engine
        .pipeline()
        .verify(&world.task, None)
        .await
        .unwrap();
    assert_eq!(world.rows(stances), expected);
    // A human has the last word here, too.
    submit(
        &world,
        HUMAN_JUDGE,
        &[judgement(pair, Relation::Supports, Some(&words))],
    );
    let late = submit(
        &world,
        AGENT,
        &[judgement(pair, Relation::Refutes, Some(&words))],
    );
    assert_eq!((late.stored, late.outranked), (1, 1));
    assert_eq!(
        world.rows("SELECT relation FROM hypothesis_stances WHERE judge_id = 'human'"),
        [json!({"relation": "supports"})]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_lent_first_is_what_the_view_puts_first() {
    let world = World::researched().await;
    let expected = world.rows(&format!(
        "SELECT v.claim_id, c.claim_text, v.fragment_id FROM v_open_judgements v JOIN claims c ON c.id = v.claim_id
         WHERE c.task_id = '{}' ORDER BY v.gain DESC, v.claim_id, v.fragment_id LIMIT 20",
        world.task
    ));
    let lent = lend(&world, JudgementFocus::All, 20);
    assert_eq!(lent.len(), expected.len());
    for (pair, row) in lent.iter().zip(&expected) {
        assert_eq!(
            pair.kind == PairKind::Hypothesis,
            row["fragment_id"].is_null()
        );
        let claim = pair.assertion.as_ref().unwrap_or(&pair.claim);
        assert_eq!(row["claim_text"], json!(claim));
    }
}

/// A file may hold an agent's verdict beside a model's edge: nobody is asked of that pair again.
#[tokio::test]
async fn what_an_import_leaves_inconsistent_stops_no_loan() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(EngineConfig::new(folder.path().join("a.db"))).unwrap();
    let lines = [
        r#"{"type":"task","id":"task_00000001","hypothesis":"Tea lowers pressure."}"#,
        r#"{"type":"page","id":"p","url":"https://a.org/"}"#,
        r#"{"type":"fragment","id":"f","page_id":"p","text_content":"Tea lowered pressure in adults."}"#,
        r#"{"type":"claim","id":"c","task_id":"task_00000001","claim_text":"Tea lowers pressure."}"#,
        r#"{"type":"edge","source_type":"fragment","source_id":"f","target_type":"claim","target_id":"c","relation":"neutral","nli_edge_confidence":0.5,"judge_id":"m"}"#,
        r#"{"type":"verdict","fragment_id":"f","claim_id":"c","judge_id":"agent:a:m","relation":"supports","confidence":0.9}"#,
    ];
    engine
        .import_jsonl(lines.join("\n").as_bytes())
        .await
        .unwrap();
    let request = JudgementRequest::new("task_00000001");
    assert!(engine.lend_judgements(&request).unwrap().is_empty());
}

/// Eight agents in threads of their own empty a task: every pair is answered by one of them.
#[tokio::test(flavor = "multi_thread")]
async fn agents_that_ask_at_once_never_hold_the_same_pair() {
    let world = World::researched().await;
    let open = world.rows("SELECT count(*) AS n FROM v_open_judgements")[0]["n"]
        .as_u64()
        .unwrap();
    let path = world.engine.graph().path().to_owned();
    let task = world.task.clone();
    let agents: Vec<_> = (0..8)
        .map(|n| {
            let (path, task) = (path.clone(), task.clone());
            std::thread::spawn(move || {
                let engine = Engine::open(EngineConfig::new(&path)).unwrap();
                let judge = agent_judge_id("client", &format!("model {n}")).unwrap();
                let request = JudgementRequest {
                    limit: 2,
                    ..JudgementRequest::new(&task)
                };
                let mut ids = Vec::new();
                loop {
                    let pairs = engine.lend_judgements(&request).unwrap();
                    if pairs.is_empty() {
                        return ids;
                    }
                    let answers: Vec<Judgement> = pairs
                        .iter()
                        .map(|p| judgement(p, Relation::Neutral, None))
                        .collect();
                    let report = engine.submit_judgements(&task, &judge, &answers).unwrap();
                    assert_eq!(report.stored, answers.len());
                    ids.extend(answers.into_iter().map(|a| a.pair_id));
                }
            })
        })
        .collect();
    let ids: Vec<String> = agents
        .into_iter()
        .flat_map(|agent| agent.join().unwrap())
        .collect();
    assert_eq!(ids.len() as u64, open);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    let doubles = "SELECT claim_id FROM nli_verdicts WHERE judge_kind = 'agent'
                   GROUP BY claim_id, fragment_id HAVING count(*) > 1";
    assert!(world.rows(doubles).is_empty());
    assert!(world.engine.verify().unwrap().ok);
}

#[test]
fn the_name_of_an_agent_is_one_of_an_agent() {
    assert_eq!(
        agent_judge_id("claude code", "opus").unwrap(),
        "agent:claude-code:opus"
    );
    assert_eq!(
        agent_judge_id("a:b", "human\u{202e}").unwrap(),
        "agent:a-b:human"
    );
    for (client, model) in [("", "m"), ("c", ""), ("\u{200b}", "m")] {
        assert_eq!(
            agent_judge_id(client, model).unwrap_err().kind(),
            ErrorKind::InvalidInput
        );
    }
}
