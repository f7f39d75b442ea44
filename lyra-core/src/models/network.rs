//! The network that ships with the library (`lyra-judge`), asked with texts: how a premise stands to
//! a claim, and whether it asserts something on it.
//!
//! It reads English. In a build without the feature `neural-judge` it reads nothing.

use crate::error::Result;
use crate::store::text::is_cjk;

/// A text whose share of Chinese, Japanese and Korean characters is larger is not read.
const MOST_CJK: f64 = 0.2;

/// What the network says of a premise and a claim. Each triple adds up to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Reading {
    /// The probabilities of supports, refutes and neutral.
    pub(super) stance: [f64; 3],
    /// The probabilities that the premise asserts nothing, something else, something on the claim.
    pub(super) asserts: [f64; 3],
}

/// A pair whose probability of `neutral` is below this is read once more without its context, and the
/// mean of both scores counts. A title that names what the claim is about makes the network take a
/// side too easily; without it the network misses subjects that the title alone names. On documents
/// that it was not trained on, the mean ranks sides better than either (MODEL.md).
const READ_AGAIN_BELOW: f64 = 0.7;

/// What the network says of a pair; one that is not clearly neutral is read without its context, too.
pub(super) fn read_twice(context: &str, premise: &str, claim: &str) -> Result<Option<Reading>> {
    let under = read(context, premise, claim)?;
    let Some(under) = under.filter(|one| !context.is_empty() && one.stance[2] < READ_AGAIN_BELOW)
    else {
        return Ok(under);
    };
    let alone = read("", premise, claim)?;
    Ok(Some(alone.map_or(under, |alone| Reading {
        stance: mean(under.stance, alone.stance),
        asserts: mean(under.asserts, alone.asserts),
    })))
}

/// The probabilities that the mean of two scores has.
fn mean(one: [f64; 3], other: [f64; 3]) -> [f64; 3] {
    let both: [f64; 3] = std::array::from_fn(|class| (one[class] * other[class]).sqrt());
    let total: f64 = both.iter().sum();
    both.map(|chance| chance / total)
}

/// Whether a text is in a script that the network has not learned.
pub(super) fn is_unread(text: &str) -> bool {
    let (mut cjk, mut all) = (0.0, 0.0);
    for c in text.chars().filter(|c| !c.is_whitespace()) {
        all += 1.0;
        cjk += f64::from(u8::from(is_cjk(c)));
    }
    cjk > MOST_CJK * all
}

#[cfg(not(feature = "neural-judge"))]
pub(super) fn read(_context: &str, _premise: &str, _claim: &str) -> Result<Option<Reading>> {
    Ok(None)
}

#[cfg(feature = "neural-judge")]
pub(super) use words::read;

#[cfg(feature = "neural-judge")]
mod words {
    use super::super::static_embedder::word_pieces;
    use super::Reading;
    use crate::error::{Error, Result};
    use lyra_judge::Network;

    /// What the stance's scores are divided by before they become probabilities, fitted on held-out
    /// pairs.
    const TEMPERATURE: f64 = 1.45;
    /// Words of the headings that precede a premise.
    const MAX_CONTEXT: usize = 32;

    /// A word piece's row, `None` for a word that the pieces do not cover.
    type Piece = Option<u32>;

    /// What the network says of a pair; none where a side has no words.
    pub(in super::super) fn read(
        context: &str,
        premise: &str,
        claim: &str,
    ) -> Result<Option<Reading>> {
        let network = Network::builtin()
            .map_err(|e| Error::internal(format!("the built-in judge's weights: {e}")))?;
        let (premise, claim) = (word_pieces(premise)?, word_pieces(claim)?);
        if premise.is_empty() || claim.is_empty() {
            return Ok(None);
        }
        let Sequence {
            words,
            context,
            split,
        } = sequence(network, &word_pieces(context)?, &premise, &claim);
        let scores = network.scores(&words, context, split);
        Ok(Some(Reading {
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

    /// A pair as the network reads it: what [`Network::scores`] is given.
    struct Sequence {
        words: Vec<u32>,
        context: usize,
        split: usize,
    }

    /// `[first] context [end] premise [end] claim [end]`. The claim keeps at most a half of the words;
    /// what is left is the premise's, then the context's.
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
