//! What the judge says of sentences and passages, asked once.

use crate::error::Result;
use crate::ports::{StancePair, Verdict};
use crate::research::pipeline::{Asked, Pipeline};
use crate::store::graph::RememberedVerdict;
use crate::store::model::Relation;
use sha2::{Digest, Sha256};

/// Part of each key; another number where verdicts are weighed otherwise than before.
const WEIGHED: &str = "1";

/// What the judge says of each pair. What it has said before is remembered in the graph, unless that is
/// read-only.
pub(super) async fn said(
    pipeline: &Pipeline,
    pairs: &[StancePair],
) -> Result<Vec<RememberedVerdict>> {
    let judge = pipeline.judge.judge_id();
    let keys: Vec<[u8; 32]> = pairs.iter().map(|pair| key(judge, pair)).collect();
    let known = pipeline.graph.read(|reader| {
        keys.iter()
            .map(|key| reader.remembered_verdict(key))
            .collect::<Result<Vec<_>>>()
    })?;
    let open: Vec<usize> = (0..pairs.len()).filter(|at| known[*at].is_none()).collect();
    let mut said: Vec<RememberedVerdict> =
        known.into_iter().map(Option::unwrap_or_default).collect();
    if open.is_empty() {
        return Ok(said);
    }
    let asked: Vec<StancePair> = open.iter().map(|at| pairs[*at].clone()).collect();
    let verdicts = pipeline.judged(&asked, |_| Asked::Claim).await?;
    for (at, verdict) in open.iter().zip(&verdicts) {
        said[*at] = of(verdict);
    }
    if !pipeline.graph.is_read_only() {
        let new = open.iter().map(|at| (&keys[*at][..], said[*at]));
        pipeline
            .graph
            .write(|writer| writer.remember_verdicts(new))?;
    }
    Ok(said)
}

fn key(judge: &str, pair: &StancePair) -> [u8; 32] {
    let context = pair.context.as_deref().unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [WEIGHED, judge, &pair.premise, context, &pair.hypothesis] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// A judge that gives no probabilities is as unsure of the one other relation as of the other.
fn of(verdict: &Verdict) -> RememberedVerdict {
    let sure = verdict.confidence;
    let rest = (1.0 - sure) / 2.0;
    let probabilities = verdict.probabilities.unwrap_or(match verdict.relation {
        Relation::Supports => [sure, rest, rest],
        Relation::Refutes => [rest, sure, rest],
        _ => [rest, rest, sure],
    });
    RememberedVerdict {
        probabilities,
        relevance: verdict.relevance,
    }
}
