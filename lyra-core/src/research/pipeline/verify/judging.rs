//! The judge's verdicts on pairs, and how they are stored.

use super::direct::{Asked, weighed};
use super::questions::{StanceQuestion, silence};
use crate::error::Result;
use crate::ports::{StanceJudge, StancePair, Verdict};
use crate::store::model::{EdgeRecord, NodeKind};
use crate::store::text::only_asks;
use serde_json::json;

/// Claims whose evidence is judged in one transaction.
pub(super) const BATCH: usize = 8;

/// The judge's verdicts, with the confidence that a reader may have in them, or neutral if that is
/// too low. Premises that consist of questions only are not judged.
pub(super) async fn judged_by<'a>(
    judge: &dyn StanceJudge,
    pairs: &[StancePair],
    asked: impl Fn(usize) -> Asked<'a>,
) -> Result<Vec<Verdict>> {
    let says: Vec<usize> = (0..pairs.len())
        .filter(|at| !only_asks(&pairs[*at].premise))
        .collect();
    let mut verdicts = vec![silence(); pairs.len()];
    if says.is_empty() {
        return Ok(verdicts);
    }
    let said: Vec<StancePair> = says.iter().map(|at| pairs[*at].clone()).collect();
    for (at, verdict) in says.into_iter().zip(judge.judge(&said).await?) {
        verdicts[at] = weighed(verdict, &pairs[at], asked(at));
    }
    Ok(verdicts)
}

/// The edge for a verdict, with its calibrated confidence.
pub(super) fn edge_of(
    question: &StanceQuestion,
    judge_id: &str,
    (verdict, calibrated): (&Verdict, f64),
) -> EdgeRecord {
    let mut edge = EdgeRecord::between(
        (NodeKind::Fragment, &question.fragment_id),
        verdict.relation,
        (NodeKind::Claim, &question.claim_id),
    );
    edge.nli_label = Some(verdict.relation.as_str().to_owned());
    edge.nli_edge_confidence = Some(calibrated);
    edge.nli_probabilities = verdict.probabilities.map(probabilities_json);
    edge.judge_id = Some(judge_id.to_owned());
    if let Some((start, end)) = question.quote(verdict) {
        edge.quote_start = Some(start);
        edge.quote_end = Some(end);
    }
    edge
}

/// The stored form of the probabilities of a verdict.
pub(super) fn probabilities_json([supports, refutes, neutral]: [f64; 3]) -> String {
    let rounded = |p: f64| (p * 1e4).round() / 1e4;
    let [supports, refutes, neutral] = [supports, refutes, neutral].map(rounded);
    json!({"supports": supports, "refutes": refutes, "neutral": neutral}).to_string()
}
