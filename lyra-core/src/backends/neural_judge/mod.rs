//! The stance judge that ships with the library: a small cross-encoder (`lyra-judge`).
//!
//! The network is MiniLM-L6 with a head of three classes; `lyra-core/judge/MODEL.md` says how it was trained
//! and what it is worth. It reads English. Of text in other scripts it says nothing: such pairs are
//! neutral, with a confidence that makes no edge.
//!
//! A verdict depends on its pair alone and is the same on every processor: products of bytes are
//! exact, and sums of floats run in a fixed order.

mod windows;

use super::static_embedder::word_pieces;
use crate::error::{Error, Result};
use crate::model::Relation;
use crate::ports::{StanceJudge, StancePair, Verdict};
use crate::text::is_cjk;
use crate::text::segment::slice_chars;
use lyra_judge::Network;
use std::ops::Range;

/// Stored with every verdict.
pub(crate) const JUDGE_ID: &str = "lyra-minilm-judge-v1";

/// The classes, in the order of the network's scores.
const CLASSES: [Relation; 3] = [Relation::Supports, Relation::Refutes, Relation::Neutral];

/// A word piece's row, `None` for a word that the pieces do not cover.
type Piece = Option<u32>;

/// Words of the headings that precede a premise.
const MAX_CONTEXT: usize = 32;
/// Parts of a long premise that are judged.
const WINDOWS: usize = 3;
/// What the scores are divided by before they become probabilities, fitted on held-out pairs.
const TEMPERATURE: f32 = 1.0;
/// Least probability of a side that is taken.
const SIDE_FROM: [f64; 2] = [0.45, 0.5];
/// A pair whose share of Chinese, Japanese and Korean characters is larger is not read.
const MOST_CJK: f64 = 0.2;

/// Judges pairs with the network that ships with the library.
///
/// ```
/// use lyra_core::{backends::NeuralStanceJudge, model::Relation};
/// use lyra_core::ports::{StanceJudge, StancePair};
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let judge = NeuralStanceJudge::new()?;
/// let pair = StancePair {
///     premise: "We followed 900 adults for ten years. Gout was less common in those who drank coffee.".into(),
///     hypothesis: "Coffee drinkers have less gout".into(),
/// };
/// let verdict = &judge.judge(&[pair]).await?[0];
/// assert_eq!(verdict.relation, Relation::Supports);
/// # Ok::<(), lyra_core::Error>(()) }).unwrap();
/// ```
#[derive(Debug, Clone, Copy)]
pub struct NeuralStanceJudge {
    network: &'static Network,
}

impl NeuralStanceJudge {
    /// The network that ships with the library. Its weights stay where the program was loaded.
    pub fn new() -> Result<Self> {
        let network = Network::builtin()
            .map_err(|e| Error::internal(format!("the built-in judge's weights: {e}")))?;
        Ok(Self { network })
    }

    /// The verdict on one pair. A premise of more than two sentences is read in parts, and the part
    /// that takes a side most clearly decides; [`Verdict::quote`] says which it was.
    pub fn judge_pair(&self, pair: &StancePair) -> Result<Verdict> {
        let claim = word_pieces(&pair.hypothesis)?;
        if is_unread(&pair.hypothesis) || is_unread(&pair.premise) || claim.is_empty() {
            return Ok(verdict([1.0 / 3.0; 3], None));
        }
        let context = pair.context.as_deref().map(word_pieces).transpose()?;
        let context = context.unwrap_or_default();
        let mut strongest: Option<([f64; 3], Range<usize>)> = None;
        for span in windows::windows(&pair.premise, &pair.hypothesis, WINDOWS) {
            let Some(text) = slice_chars(&pair.premise, span.start, span.end) else {
                continue;
            };
            let found = self.probabilities(&context, &word_pieces(text)?, &claim);
            let side = |p: &[f64; 3]| p[0].max(p[1]);
            if strongest
                .as_ref()
                .is_none_or(|(best, _)| side(&found) > side(best))
            {
                strongest = Some((found, span));
            }
        }
        Ok(match strongest {
            Some((found, span)) => verdict(found, Some(span)),
            None => verdict([1.0 / 3.0; 3], None),
        })
    }

    /// The probability of each of [`CLASSES`].
    fn probabilities(&self, context: &[Piece], premise: &[Piece], claim: &[Piece]) -> [f64; 3] {
        let (words, split) = self.words(context, premise, claim);
        let scores = self.network.scores(&words, split);
        let scores = scores.map(|score| f64::from(score / TEMPERATURE));
        let top = scores.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let odds = scores.map(|score| (score - top).exp());
        let total: f64 = odds.iter().sum();
        odds.map(|odd| odd / total)
    }

    /// `[first] context premise [end] claim [end]`, and how many of them are the premise's. The claim
    /// keeps at most a half of the words; what is left is the premise's, then the context's.
    fn words(&self, context: &[Piece], premise: &[Piece], claim: &[Piece]) -> (Vec<u32>, usize) {
        let network = self.network;
        let most = network.most_words() - 3;
        let claim = &claim[..claim.len().min(most / 2)];
        let room = most - claim.len();
        let premise = &premise[..premise.len().min(room)];
        let context = &context[..context.len().min((room - premise.len()).min(MAX_CONTEXT))];
        let row = |piece: &Piece| piece.unwrap_or(network.unknown());
        let mut words = vec![network.first()];
        words.extend(context.iter().chain(premise).map(row));
        words.push(network.end());
        let split = words.len();
        words.extend(claim.iter().map(row));
        words.push(network.end());
        (words, split)
    }
}

#[async_trait::async_trait]
impl StanceJudge for NeuralStanceJudge {
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
        let judge = *self;
        // Some milliseconds of computing a pair: not on the threads that answer others.
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let share = pairs.len().div_ceil(workers).max(1);
        let parts: Vec<_> = pairs
            .chunks(share)
            .map(|part| {
                let part = part.to_vec();
                tokio::task::spawn_blocking(move || -> Result<Vec<Verdict>> {
                    part.iter().map(|pair| judge.judge_pair(pair)).collect()
                })
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

/// Whether a text is in a script that the network has not learned.
fn is_unread(text: &str) -> bool {
    let (mut cjk, mut all) = (0.0, 0.0);
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        all += 1.0;
        cjk += f64::from(u8::from(is_cjk(c)));
    }
    cjk > MOST_CJK * all
}

/// A side is taken where its probability is high enough; its confidence is the probability of what
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
