//! What an agent's judgements are worth: an oracle that knows SciFact's labels judges the pairs that are lent
//! for each hypothesis, in the order in which they are lent and in a random order.

use super::hypotheses::{Claim, kept_apart, verdicts};
use super::research::{engine, outcome, task};
use lyra_core::graph::{
    Judgement, JudgementFocus, JudgementRequest, LentPair, MOST_LENT, agent_judge_id,
};
use lyra_core::model::Relation;
use lyra_core::{Engine, Error, Result};
use std::collections::{BTreeMap, HashMap};

/// Pairs judged of each hypothesis when the verdict is looked at.
const LOOKS: [usize; 6] = [0, 5, 10, 20, 50, 100];

pub(super) async fn run(data: &str, half: Option<&str>) -> Result<()> {
    let folder = tempfile::tempdir().map_err(|e| Error::internal(e.to_string()))?;
    let engine = engine(data, folder.path()).await?;
    let claims = kept_apart(data, half)?;
    for order in ["as lent", "random"] {
        let mut told: Vec<BTreeMap<(&str, &str), usize>> = vec![BTreeMap::new(); LOOKS.len()];
        for claim in &claims {
            let task_id = task(&engine, &claim.text).await?;
            let seen = judged(&engine, claim, &task_id, order == "random")?;
            for (look, verdict) in told.iter_mut().zip(seen) {
                *look.entry((claim.verdict(), verdict)).or_default() += 1;
            }
        }
        for (count, matrix) in LOOKS.iter().zip(&told) {
            println!(
                "{order}, {count} pairs judged of each of {} hypotheses:",
                claims.len()
            );
            verdicts(matrix);
        }
    }
    Ok(())
}

/// The verdict on a hypothesis after each number of judgements.
fn judged(
    engine: &Engine,
    claim: &Claim,
    task_id: &str,
    random: bool,
) -> Result<Vec<&'static str>> {
    let told = outcome(engine, task_id)?.told;
    let documents: HashMap<String, String> = told
        .into_iter()
        .map(|told| (told.claim, told.doc_id))
        .collect();
    let mut pairs = all_pairs(engine, task_id)?;
    if random {
        pairs.sort_by_key(|pair| {
            crc32fast::hash(format!("{task_id}{:?}", pair.assertion).as_bytes())
        });
    }
    let judge_id = agent_judge_id("bench", "oracle")?;
    let (mut verdicts, mut done) = (Vec::new(), 0);
    for look in LOOKS {
        let next = &pairs[done.min(pairs.len())..look.min(pairs.len())];
        let answers: Vec<Judgement> = next
            .iter()
            .map(|pair| answer(pair, claim, &documents))
            .collect();
        let report = engine.submit_judgements(task_id, &judge_id, &answers)?;
        if report.stored < answers.len() {
            return Err(Error::internal(format!("refused: {:?}", report.refused)));
        }
        done = look;
        verdicts.push(outcome(engine, task_id)?.verdict());
    }
    Ok(verdicts)
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

/// What the labels say: the side of the abstract, neutral for one that is not cited.
fn answer(pair: &LentPair, claim: &Claim, documents: &HashMap<String, String>) -> Judgement {
    let document = pair.assertion.as_ref().and_then(|text| documents.get(text));
    let relation = match document.and_then(|document| claim.gold.get(document)) {
        Some(&"supports") => Relation::Supports,
        Some(_) => Relation::Refutes,
        None => Relation::Neutral,
    };
    Judgement {
        pair_id: pair.pair_id.clone(),
        relation,
        quote: Some(pair.passage.clone()),
        confidence: None,
        reason: None,
    }
}
