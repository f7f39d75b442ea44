//! The built-in stance judge: a small cross-encoder (`lyra-judge`).
//!
//! The network is MiniLM-L6 with a head of three classes; `lyra-core/judge/MODEL.md` describes its
//! training and its quality. It reads English. Pairs with text in other scripts are neutral, with a
//! confidence that makes no edge. So is every pair in a build without the feature `neural-judge`.

mod premise;

pub use premise::choose_premise;

use super::network::{PairReading, is_unread, read_twice};
use super::parallel::in_parallel;
use crate::error::Result;
use crate::ports::{StanceJudge, StancePair, Verdict};
use crate::store::model::Relation;
use crate::store::text::segment::slice_chars;
use std::ops::Range;

/// Stored with every verdict.
pub(crate) const JUDGE_ID: &str = "lyra-minilm-judge-v6";

/// The classes, in the order of the network's scores.
const CLASSES: [Relation; 3] = [Relation::Supports, Relation::Refutes, Relation::Neutral];

/// The probabilities for a pair that the judge cannot read.
const UNREAD: [f64; 3] = [1.0 / 3.0; 3];

/// Parts of a long premise that are judged.
const WINDOWS: usize = 3;
/// Minimum probabilities of `supports` and of `refutes` to take that side. A false contradiction
/// costs a reader more than a missed one.
const SIDE_FROM: [f64; 2] = [0.45, 0.65];
/// The separator of table cells, as the parsers write it. A row without its header says nothing.
const CELLS: &str = " | ";

/// Judges pairs with the built-in network.
///
/// A verdict depends on its pair alone and is the same on every processor. It carries the three
/// probabilities. A premise of more than two sentences is read in parts; the part that takes a side
/// most clearly decides and becomes [`Verdict::quote`].
///
/// ```
/// use lyra_core::models::BuiltinStanceJudge;
/// use lyra_core::ports::{StanceJudge, StancePair};
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let premise = "We followed 900 adults for ten years. Gout was less common in those who drank coffee.";
/// let pair = StancePair::new(premise, "Coffee drinkers have less gout");
/// let verdict = &BuiltinStanceJudge.judge(&[pair]).await?[0];
/// let [supports, refutes, neutral] = verdict.probabilities.unwrap();
/// assert!((supports + refutes + neutral - 1.0).abs() < 1e-9);
/// # Ok::<(), lyra_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltinStanceJudge;

#[async_trait::async_trait]
impl StanceJudge for BuiltinStanceJudge {
    fn judge_id(&self) -> &str {
        JUDGE_ID
    }

    fn is_builtin(&self) -> bool {
        true
    }

    fn reads_passages(&self) -> bool {
        true
    }

    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        in_parallel(pairs.to_vec(), judge_pair).await
    }
}

fn judge_pair(pair: &StancePair) -> Result<Verdict> {
    if is_unread(&pair.hypothesis) || is_unread(&pair.premise) || pair.premise.contains(CELLS) {
        return Ok(verdict(UNREAD, None));
    }
    let mut strongest: Option<(PairReading, Range<usize>)> = None;
    for span in premise::windows(&pair.premise, &pair.hypothesis, WINDOWS) {
        let Some(part) = slice_chars(&pair.premise, span.start, span.end) else {
            continue;
        };
        let context = pair.context.as_deref().unwrap_or_default();
        let Some(found) = read_twice(context, part, &pair.hypothesis)? else {
            continue;
        };
        let side = |found: &PairReading| found.stance[0].max(found.stance[1]) * found.asserts[2];
        let is_stronger = |(best, _): &(PairReading, _)| side(&found) > side(best);
        if strongest.as_ref().is_none_or(is_stronger) {
            strongest = Some((found, span));
        }
    }
    Ok(match strongest {
        Some((found, span)) => Verdict {
            relevance: Some(found.asserts[2]),
            ..verdict(found.stance, Some(span))
        },
        None => verdict(UNREAD, None),
    })
}

/// A side is taken if its probability is high enough; the confidence is the probability of the
/// chosen relation.
fn verdict(probabilities: [f64; 3], quote: Option<Range<usize>>) -> Verdict {
    let side = usize::from(probabilities[1] > probabilities[0]);
    let taken = probabilities[side] >= SIDE_FROM[side] && probabilities[side] >= probabilities[2];
    let class = if taken { side } else { 2 };
    Verdict {
        probabilities: Some(probabilities),
        quote,
        ..Verdict::new(CLASSES[class], probabilities[class])
    }
}

#[cfg(test)]
mod tests;
