//! Which sentences of a passage speak to a claim.
//!
//! A judge that reads a long block finds something of everything in it. It is given the sentences
//! closest to the claim, with one neighbour that often holds what the sentence leaves out.

use super::lexicon::Cue;
use super::overlap::Stems;
use super::words::{self, Token};
use crate::text::sentence::sentence_texts;
use std::collections::HashMap;
use std::ops::Range;

/// The sentences of `fragment_text` that speak to `claim`, closest first, as ranges of code
/// points, followed by one neighbour of the closest.
///
/// At most `max_sentences` sentences and one neighbour come back, and the first of them is the one
/// to quote. Sentences that share nothing with the claim are left out, save the closest: a text
/// with any sentence gives at least one, unless `max_sentences` is 0.
///
/// ```
/// use lyra_core::backends::choose_premise;
/// let text = "We followed 900 adults. Coffee lowered the risk of gout. Funding was public.";
/// let chosen = choose_premise(text, "Coffee lowers gout risk", 1);
/// assert_eq!(chosen[0], 24..56);
/// ```
pub fn choose_premise(fragment_text: &str, claim: &str, max_sentences: usize) -> Vec<Range<usize>> {
    let (spans, texts): (Vec<Range<usize>>, Vec<&str>) = sentence_texts(fragment_text).unzip();
    if spans.is_empty() || max_sentences == 0 {
        return Vec::new();
    }
    let read: Vec<Vec<Token>> = texts.into_iter().map(words::tokenize).collect();
    let scores = closeness(&read, &words::tokenize(claim));
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    let best = order[0];
    let mut chosen: Vec<usize> = order
        .into_iter()
        .take(max_sentences)
        .filter(|&i| i == best || scores[i] >= 0.5 * scores[best] && scores[i] > 0.0)
        .collect();
    let neighbour = [best.checked_sub(1), Some(best + 1)]
        .into_iter()
        .flatten()
        .filter(|i| *i < spans.len() && !chosen.contains(i))
        .max_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(b.cmp(a)));
    chosen.extend(neighbour);
    chosen.into_iter().map(|i| spans[i].clone()).collect()
}

/// How much of the claim each sentence holds. Words that most sentences of the passage have tell
/// them apart less; a sentence that reports something goes before one that plans.
fn closeness(sentences: &[Vec<Token>], claim: &[Token]) -> Vec<f64> {
    let stems: Vec<Stems<'_>> = sentences
        .iter()
        .map(|s| Stems::new(s.iter().map(|t| t.stem.as_str())))
        .collect();
    let mut wanted: HashMap<&str, f64> = HashMap::new();
    for token in claim.iter().filter(|t| t.is_content()) {
        let holders = stems.iter().filter(|s| s.has(&token.stem)).count() as f64;
        let rarity = (1.0 + (1.0 + stems.len() as f64) / (1.0 + holders)).ln();
        wanted.insert(&token.stem, token.weight * rarity);
    }
    let mut wanted: Vec<(&str, f64)> = wanted.into_iter().collect();
    wanted.sort_by(|a, b| a.0.cmp(b.0));
    let total: f64 = wanted.iter().map(|(_, w)| w).sum::<f64>().max(1e-9);
    sentences
        .iter()
        .zip(&stems)
        .map(|(tokens, stems)| {
            let shared: f64 = wanted
                .iter()
                .filter(|(s, _)| stems.has(s))
                .map(|(_, w)| w)
                .sum();
            let has = |cue: Cue| tokens.iter().any(|t| t.cue == cue);
            let reports = tokens.iter().any(|t| t.cue.is_event());
            let factor =
                1.0 + if reports { 0.15 } else { 0.0 } + if has(Cue::Result) { 0.1 } else { 0.0 }
                    - if has(Cue::Whether) { 0.2 } else { 0.0 };
            shared / total * factor
        })
        .collect()
}
