//! The built-in network (`lyra-judge`), applied to texts: how a premise relates to a claim, and
//! whether it asserts something on it.
//!
//! It reads English. In a build without the feature `neural-judge` it reads nothing.

use crate::error::Result;
use crate::store::text::is_cjk;

/// Texts with a larger share of Chinese, Japanese and Korean characters are not read.
const MOST_CJK: f64 = 0.2;

/// The network's result for a premise and a claim. Each triple adds up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PairReading {
    /// The probabilities of supports, refutes and neutral.
    pub(super) stance: [f64; 3],
    /// The probabilities that the premise asserts nothing, something else, something on the claim.
    pub(super) asserts: [f64; 3],
}

/// A pair whose probability of `neutral` is below this is read once more without its context, and
/// the mean of both scores counts. A title that names the claim's subject makes the network take a
/// side too easily; without it the network misses subjects that only the title names. On documents
/// that it was not trained on, the mean ranks sides better than either (MODEL.md).
const READ_AGAIN_BELOW: f64 = 0.7;

/// The network's result for a pair; a pair that is not clearly neutral is also read without its context.
pub(super) fn read_twice(context: &str, premise: &str, claim: &str) -> Result<Option<PairReading>> {
    let under = read(context, premise, claim)?;
    let Some(under) = under.filter(|one| !context.is_empty() && one.stance[2] < READ_AGAIN_BELOW)
    else {
        return Ok(under);
    };
    let alone = read("", premise, claim)?;
    Ok(Some(alone.map_or(under, |alone| PairReading {
        stance: mean(under.stance, alone.stance),
        asserts: mean(under.asserts, alone.asserts),
    })))
}

/// The probabilities for the mean of two scores.
fn mean(one: [f64; 3], other: [f64; 3]) -> [f64; 3] {
    let both: [f64; 3] = std::array::from_fn(|class| (one[class] * other[class]).sqrt());
    let total: f64 = both.iter().sum();
    both.map(|chance| chance / total)
}

/// Whether a text is in a script that the network was not trained on.
pub(super) fn is_unread(text: &str) -> bool {
    let (mut cjk, mut all) = (0.0, 0.0);
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        all += 1.0;
        cjk += f64::from(u8::from(is_cjk(c)));
    }
    cjk > MOST_CJK * all
}

#[cfg(not(feature = "neural-judge"))]
pub(super) fn read(_context: &str, _premise: &str, _claim: &str) -> Result<Option<PairReading>> {
    Ok(None)
}

#[cfg(feature = "neural-judge")]
pub(super) use words::read;

#[cfg(feature = "neural-judge")]
mod words {
    use super::PairReading;
    use crate::error::{Error, Result};
    use crate::store::text::word_vectors::word_pieces;
    use lyra_judge::{Network, Scores};
    use std::collections::HashMap;
    use std::sync::{LazyLock, Mutex, PoisonError};

    /// The divisor of the stance scores before they become probabilities, fitted on held-out pairs.
    const TEMPERATURE: f64 = 1.45;
    /// Words of the headings that precede a premise.
    const MAX_CONTEXT: usize = 32;

    /// The row of a word piece; `None` for a word that the pieces do not cover.
    type Piece = Option<u32>;

    /// The network's result for a pair; none if one side has no words.
    pub(in super::super) fn read(
        context: &str,
        premise: &str,
        claim: &str,
    ) -> Result<Option<PairReading>> {
        let network = Network::builtin()
            .map_err(|e| Error::internal(format!("the built-in judge's weights: {e}")))?;
        let (premise, claim) = (word_pieces(premise)?, word_pieces(claim)?);
        if premise.is_empty() || claim.is_empty() {
            return Ok(None);
        }
        let sequence = sequence(network, &word_pieces(context)?, &premise, &claim);
        let scores = scores(network, sequence);
        Ok(Some(PairReading {
            stance: softmax(scores.stance, TEMPERATURE),
            asserts: softmax(scores.reading, 1.0),
        }))
    }

    fn softmax(scores: [f32; 3], temperature: f64) -> [f64; 3] {
        let scores = scores.map(|score| f64::from(score) / temperature);
        let top = scores.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let odds = scores.map(|score| (score - top).exp());
        let total: f64 = odds.iter().sum();
        odds.map(|odd| odd / total)
    }

    /// The scores of recent pairs. Many are read again: those of sentences that are first searched for claims
    /// and then judged, and those of the copies of a document. In the demo it is a quarter of all.
    static RECENT: LazyLock<Mutex<Recent>> = LazyLock::new(Mutex::default);

    /// Number of new pairs after which those before them are forgotten.
    const REMEMBERED: usize = 4_096;

    #[derive(Default)]
    struct Recent {
        new: HashMap<Sequence, Scores>,
        old: HashMap<Sequence, Scores>,
    }

    fn scores(network: &Network, pair: Sequence) -> Scores {
        let recent = || RECENT.lock().unwrap_or_else(PoisonError::into_inner);
        let known = {
            let recent = recent();
            let known = recent.new.get(&pair).or_else(|| recent.old.get(&pair));
            known.copied()
        };
        let scores = known.unwrap_or_else(|| network.scores(&pair.words, pair.context, pair.split));
        let mut recent = recent();
        if recent.new.len() >= REMEMBERED {
            recent.old = std::mem::take(&mut recent.new);
        }
        recent.new.insert(pair, scores);
        scores
    }

    /// A pair in the form that the network reads: the input of [`Network::scores`].
    #[derive(PartialEq, Eq, Hash)]
    struct Sequence {
        words: Vec<u32>,
        context: usize,
        split: usize,
    }

    /// `[first] context [end] premise [end] claim [end]`. The claim gets at most half of the words;
    /// the premise gets what is left, and the context what is left after that.
    fn sequence(
        network: &Network,
        context: &[Piece],
        premise: &[Piece],
        claim: &[Piece],
    ) -> Sequence {
        let most = network.most_words() - 3;
        let claim = &claim[..claim.len().min(most / 2)];
        let premise = &premise[..premise.len().min(most - claim.len())];
        let room = (most - claim.len() - premise.len()).saturating_sub(1);
        let context = &context[..context.len().min(room.min(MAX_CONTEXT))];
        let row = |piece: &Piece| piece.unwrap_or(network.unknown());
        let mut words = vec![network.first()];
        words.extend(context.iter().map(row));
        if !context.is_empty() {
            words.push(network.end());
        }
        let of_context = words.len() - 1;
        words.extend(premise.iter().map(row));
        words.push(network.end());
        let split = words.len();
        words.extend(claim.iter().map(row));
        words.push(network.end());
        Sequence {
            words,
            context: of_context,
            split,
        }
    }
}
