//! Measures the value of an agent's judgements: an oracle that knows SciFact's labels judges the
//! pairs that are lent for each hypothesis, in the order in which they are lent and in a random
//! order.

use super::hypotheses::{Claim, kept_apart, verdicts};
use super::research::{engine, outcome, task};
use lyra_core::store::graph::{
    Judgement, JudgementFocus, JudgementRequest, LentPair, MOST_LENT, agent_judge_id,
};
use lyra_core::store::model::Relation;
use lyra_core::{Engine, Error, Result};
use std::collections::{BTreeMap, HashMap};

/// How often each verdict was given for each label.
type Matrix = BTreeMap<(&'static str, &'static str), usize>;

/// Numbers of judged pairs of a hypothesis at which the verdict is recorded.
const LOOKS: [usize; 6] = [0, 5, 10, 20, 50, 100];

/// The confidence that the oracle states.
const CONFIDENCE: f64 = 0.9;

const ORDERS: [&str; 2] = ["as lent", "random"];

pub(super) async fn run(data: &str, half: Option<&str>) -> Result<()> {
    let folder = tempfile::tempdir().map_err(|e| Error::internal(e.to_string()))?;
    let engine = engine(data, folder.path()).await?;
    let claims = kept_apart(data, half)?;
    let mut seen: BTreeMap<(&str, usize), Matrix> = BTreeMap::new();
    for claim in &claims {
        let task_id = task(&engine, &claim.text).await?;
        let mut pairs = all_pairs(&engine, &task_id)?;
        for order in ORDERS {
            if order == "random" {
                let key = |pair: &LentPair| {
                    crc32fast::hash(format!("{task_id}{:?}", pair.assertion).as_bytes())
                };
                pairs.sort_by_key(key);
            }
            for look in LOOKS {
                let verdict = after(&engine, claim, &task_id, &pairs[..look.min(pairs.len())])?;
                *seen
                    .entry((order, look))
                    .or_default()
                    .entry((claim.verdict(), verdict))
                    .or_default() += 1;
            }
        }
        check(&engine, claim, &task_id, &pairs)?;
    }
    for ((order, look), matrix) in &seen {
        println!(
            "{order}, {look} pairs judged of each of {} hypotheses:",
            claims.len()
        );
        verdicts(matrix);
    }
    Ok(())
}

/// The verdict on a hypothesis after these pairs are judged.
fn after(
    engine: &Engine,
    claim: &Claim,
    task_id: &str,
    judged: &[LentPair],
) -> Result<&'static str> {
    let mut outcome = outcome(engine, task_id)?;
    for told in &mut outcome.told {
        if judged
            .iter()
            .any(|pair| pair.assertion.as_ref() == Some(&told.claim))
        {
            told.relation = label(claim, &told.doc_id).to_string();
            told.confidence = CONFIDENCE;
        }
    }
    Ok(outcome.verdict())
}

/// Submits all judgements and checks that the graph's verdict equals the computed one.
fn check(engine: &Engine, claim: &Claim, task_id: &str, pairs: &[LentPair]) -> Result<()> {
    let expected = after(engine, claim, task_id, pairs)?;
    let told = outcome(engine, task_id)?.told;
    let documents: HashMap<String, String> = told
        .into_iter()
        .map(|told| (told.claim, told.doc_id))
        .collect();
    let judge_id = agent_judge_id("bench", "oracle")?;
    for batch in pairs.chunks(MOST_LENT) {
        let answers: Vec<Judgement> = batch
            .iter()
            .map(|pair| answer(pair, claim, &documents))
            .collect();
        let report = engine.submit_judgements(task_id, &judge_id, &answers)?;
        if report.stored < answers.len() {
            return Err(Error::internal(format!("refused: {:?}", report.refused)));
        }
    }
    let found = outcome(engine, task_id)?.verdict();
    match found == expected {
        true => Ok(()),
        false => Err(Error::internal(format!(
            "{}: {found}, not {expected}",
            claim.text
        ))),
    }
}

fn all_pairs(engine: &Engine, task_id: &str) -> Result<Vec<LentPair>> {
    let request = JudgementRequest {
        limit: MOST_LENT,
        focus: JudgementFocus::All,
        ..JudgementRequest::new(task_id)
    };
    let mut pairs = Vec::new();
    loop {
        let more = engine.lend_judgements(&request)?;
        if more.is_empty() {
            return Ok(pairs);
        }
        pairs.extend(more);
    }
}

/// The label: the side of the abstract, or neutral for an abstract that is not cited.
fn label(claim: &Claim, document: &str) -> Relation {
    match claim.gold.get(document) {
        Some(&"supports") => Relation::Supports,
        Some(_) => Relation::Refutes,
        None => Relation::Neutral,
    }
}

fn answer(pair: &LentPair, claim: &Claim, documents: &HashMap<String, String>) -> Judgement {
    let document = pair.assertion.as_ref().and_then(|text| documents.get(text));
    Judgement {
        pair_id: pair.pair_id.clone(),
        relation: document.map_or(Relation::Neutral, |document| label(claim, document)),
        quote: Some(pair.passage.clone()),
        confidence: Some(CONFIDENCE),
        reason: None,
    }
}
