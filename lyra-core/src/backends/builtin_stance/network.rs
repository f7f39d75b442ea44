//! From texts to the words that the network knows, and from its scores to probabilities.

use super::super::static_embedder::word_pieces;
use crate::error::{Error, Result};
use lyra_judge::Network;

/// What the scores are divided by before they become probabilities, fitted on held-out pairs.
const TEMPERATURE: f32 = 1.05;
/// Words of the headings that precede a premise.
const MAX_CONTEXT: usize = 32;

/// A word piece's row, `None` for a word that the pieces do not cover.
type Piece = Option<u32>;

/// The probabilities of supports, refutes and neutral; none where a side has no words.
pub(super) fn probabilities(context: &str, premise: &str, claim: &str) -> Result<Option<[f64; 3]>> {
    let network = Network::builtin()
        .map_err(|e| Error::internal(format!("the built-in judge's weights: {e}")))?;
    let (premise, claim) = (word_pieces(premise)?, word_pieces(claim)?);
    if premise.is_empty() || claim.is_empty() {
        return Ok(None);
    }
    let (words, split) = sequence(network, &word_pieces(context)?, &premise, &claim);
    let scores = network.scores(&words, split);
    let scores = scores.map(|score| f64::from(score / TEMPERATURE));
    let top = scores.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let odds = scores.map(|score| (score - top).exp());
    let total: f64 = odds.iter().sum();
    Ok(Some(odds.map(|odd| odd / total)))
}

/// `[first] context premise [end] claim [end]`, and how many of them are the premise's. The claim
/// keeps at most a half of the words; what is left is the premise's, then the context's.
fn sequence(
    network: &Network,
    context: &[Piece],
    premise: &[Piece],
    claim: &[Piece],
) -> (Vec<u32>, usize) {
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
