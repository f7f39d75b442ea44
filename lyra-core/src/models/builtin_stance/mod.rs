//! The stance judge that ships with the library: a small cross-encoder (`lyra-judge`).
//!
//! The network is MiniLM-L6 with a head of three classes; `lyra-core/judge/MODEL.md` says how it was
//! trained and what it is worth. It reads English. Of text in other scripts it says nothing: such
//! pairs are neutral, with a confidence that makes no edge. So is every pair in a build without the
//! feature `neural-judge`.

mod premise;

pub use premise::choose_premise;

use super::network::{Reading, is_unread, read_twice};
use crate::error::{Error, Result};
use crate::ports::{StanceJudge, StancePair, Verdict};
use crate::store::model::Relation;
use crate::store::text::segment::slice_chars;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stored with every verdict.
pub(crate) const JUDGE_ID: &str = "lyra-minilm-judge-v5";

/// The classes, in the order of the network's scores.
const CLASSES: [Relation; 3] = [Relation::Supports, Relation::Refutes, Relation::Neutral];

/// What the judge holds for likely where it cannot read a pair.
const UNREAD: [f64; 3] = [1.0 / 3.0; 3];

/// Parts of a long premise that are judged.
const WINDOWS: usize = 3;
/// Least probability of `supports` and of `refutes` that is taken. A false contradiction costs a
/// reader more than a missed one.
const SIDE_FROM: [f64; 2] = [0.45, 0.65];
/// Cells of a table's row, as the parsers write it. A row without its head says nothing.
const CELLS: &str = " | ";

/// Judges pairs with the network that ships with the library.
///
/// A verdict depends on its pair alone and is the same on every processor. It carries the three
/// probabilities; a premise of more than two sentences is read in parts, and the part that takes a
/// side most clearly decides and becomes [`Verdict::quote`].
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
        // Some milliseconds of computing a pair: not on the threads that answer others.
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let share = pairs.len().div_ceil(workers).max(1);
        let abandoned = Abandoned::default();
        let parts: Vec<_> = pairs
            .chunks(share)
            .map(|part| {
                let (part, stop) = (part.to_vec(), Arc::clone(&abandoned.0));
                tokio::task::spawn_blocking(move || judge_until(&part, &stop))
            })
            .collect();
        let mut verdicts = Vec::with_capacity(pairs.len());
        for part in parts {
            let part = part
                .await
                .map_err(|e| Error::internal(format!("a judge's thread: {e}")))?;
            verdicts.extend(part?);
        }
        Ok(verdicts)
    }
}

/// Tells the threads to stop when nobody waits for them any more.
#[derive(Debug, Default)]
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn judge_until(pairs: &[StancePair], stop: &AtomicBool) -> Result<Vec<Verdict>> {
    let going_on = pairs.iter().take_while(|_| !stop.load(Ordering::Relaxed));
    going_on.map(judge_pair).collect()
}

fn judge_pair(pair: &StancePair) -> Result<Verdict> {
    if is_unread(&pair.hypothesis) || is_unread(&pair.premise) || pair.premise.contains(CELLS) {
        return Ok(verdict(UNREAD, None));
    }
    let mut strongest: Option<(Reading, Range<usize>)> = None;
    for span in premise::windows(&pair.premise, &pair.hypothesis, WINDOWS) {
        let Some(part) = slice_chars(&pair.premise, span.start, span.end) else {
            continue;
        };
        let context = pair.context.as_deref().unwrap_or_default();
        let Some(found) = read_twice(context, part, &pair.hypothesis)? else {
            continue;
        };
        let side = |found: &Reading| found.stance[0].max(found.stance[1]) * found.asserts[2];
        let is_stronger = |(best, _): &(Reading, _)| side(&found) > side(best);
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

/// A side is taken where its probability is high enough; the confidence is the probability of what
/// was chosen.
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
