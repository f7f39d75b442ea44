//! Selects the parts of a passage that are relevant to a claim. The network reads one sentence at a
//! time, because it judges short texts better than long ones, and because the deciding part is
//! shown to readers.

use crate::store::text::sentence::sentence_texts;
use crate::store::text::{is_question, ranking_terms};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Premises of at most this many sentences are read whole.
const WHOLE: usize = 2;
/// Minimum closeness of a part, relative to the nearest part; parts below are not read.
const LEAST_OF_NEAREST: f64 = 0.35;
/// A sentence of fewer code points is read together with the one before it.
const SHORT: usize = 60;

/// The parts of `premise` that are nearest to `claim`, nearest first, as ranges of code points.
///
/// A premise of one or two sentences is one part. Questions are excluded, since they assert
/// nothing. At least one part is returned unless the premise contains only questions.
pub(super) fn windows(premise: &str, claim: &str, most: usize) -> Vec<Range<usize>> {
    let (spans, texts): (Vec<_>, Vec<_>) = sentence_texts(premise).unzip();
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.retain(|i| !is_question(texts[*i]));
    let (Some(first), Some(last)) = (order.first(), order.last()) else {
        return Vec::new();
    };
    if spans.len() <= WHOLE {
        return std::iter::once(spans[*first].start..spans[*last].end).collect();
    }
    let scores = closeness(&texts, claim);
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    // Parts that share much less with the claim than the nearest part rarely decide and are not
    // worth the time.
    let nearest = scores[order[0]];
    order.truncate(most);
    order.retain(|i| scores[*i] >= LEAST_OF_NEAREST * nearest);
    let begin = |i: usize| {
        let hangs = spans[i].len() < SHORT || begins_hanging(texts[i]);
        if i > 0 && hangs && !is_question(texts[i - 1]) {
            spans[i - 1].start
        } else {
            spans[i].start
        }
    };
    order.into_iter().map(|i| begin(i)..spans[i].end).collect()
}

/// The sentences of `fragment_text` that are relevant to `claim`, closest first, as ranges of code
/// points, followed by one neighbour of the closest: the premise for a judge of short premises.
///
/// Returns at most `max_sentences` sentences and one neighbour; the first of them is the one to
/// quote. Sentences that share nothing with the claim are left out, except the closest, and so are
/// questions, which assert nothing. A text with any other sentence gives at least one, unless
/// `max_sentences` is 0.
///
/// ```
/// use lyra_core::models::choose_premise;
/// let text = "We followed 900 adults. Coffee lowered the risk of gout. Funding was public.";
/// let chosen = choose_premise(text, "Coffee lowers gout risk", 1);
/// assert_eq!(chosen[0], 24..56);
/// ```
pub fn choose_premise(fragment_text: &str, claim: &str, max_sentences: usize) -> Vec<Range<usize>> {
    let (spans, texts): (Vec<Range<usize>>, Vec<&str>) = sentence_texts(fragment_text).unzip();
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.retain(|i| !is_question(texts[*i]));
    if order.is_empty() || max_sentences == 0 {
        return Vec::new();
    }
    let scores = closeness(&texts, claim);
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
        .filter(|i| *i < spans.len() && !chosen.contains(i) && !is_question(texts[*i]))
        .max_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(b.cmp(a)));
    chosen.extend(neighbour);
    chosen.into_iter().map(|i| spans[i].clone()).collect()
}

/// Whether a sentence begins with a word that refers to the sentence before.
fn begins_hanging(sentence: &str) -> bool {
    let first = sentence.split_whitespace().next().unwrap_or_default();
    matches!(
        first,
        "It" | "Its"
            | "They"
            | "Their"
            | "He"
            | "She"
            | "This"
            | "These"
            | "Those"
            | "Such"
            | "Both"
    )
}

/// The share of the claim's words that each sentence contains. A word that occurs in most sentences
/// counts less.
fn closeness(texts: &[&str], claim: &str) -> Vec<f64> {
    let words: Vec<HashSet<String>> = texts
        .iter()
        .map(|text| ranking_terms(text).into_iter().collect())
        .collect();
    let mut weights: HashMap<String, f64> = HashMap::new();
    for term in ranking_terms(claim) {
        let holders = words.iter().filter(|set| set.contains(&term)).count() as f64;
        let rarity = (1.0 + (1.0 + texts.len() as f64) / (1.0 + holders)).ln();
        weights.insert(term, rarity);
    }
    let mut weights: Vec<(String, f64)> = weights.into_iter().collect();
    weights.sort_by(|a, b| a.0.cmp(&b.0));
    let total: f64 = weights.iter().map(|(_, w)| w).sum::<f64>().max(1e-9);
    let shared = |set: &HashSet<String>| -> f64 {
        let held = weights.iter().filter(|(term, _)| set.contains(term));
        held.map(|(_, w)| w).sum()
    };
    words.iter().map(|set| shared(set) / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::segment::slice_chars;

    #[test]
    fn the_nearest_sentence_comes_first_and_a_hanging_one_brings_the_one_before() {
        let premise = "We followed 900 adults in four towns for ten years. Coffee lowered the risk of gout. \
             This effect on gout was greatest in adults who drank four cups of coffee a day. Funding was public.";
        let cut = |span: &Range<usize>| slice_chars(premise, span.start, span.end).unwrap();
        let found = windows(premise, "Coffee lowers gout risk", 2);
        assert_eq!(found.len(), 2);
        assert!(cut(&found[0]).ends_with("Coffee lowered the risk of gout."));
        assert!(
            cut(&found[1]).starts_with("Coffee lowered"),
            "{}",
            cut(&found[1])
        );
        assert!(cut(&found[1]).ends_with("a day."));
    }

    #[test]
    fn short_premises_are_read_whole_and_empty_ones_not_at_all() {
        let found = windows("One thing. Another thing.", "x", 3);
        assert_eq!((found.len(), &found[0]), (1, &(0..25)));
        assert!(windows("", "x", 3).is_empty());
    }
    #[test]
    fn questions_are_no_part() {
        let claim = "Coffee lowers gout risk";
        for (premise, parts) in [
            ("Does coffee lower the risk of gout?", &[][..]),
            (
                "Does coffee lower the risk of gout? We asked 900 adults.",
                &["We asked 900 adults."],
            ),
            (
                "We asked 900 adults. Does coffee lower the risk of gout? It did not.",
                &["It did not.", "We asked 900 adults."],
            ),
        ] {
            let cut = |span: Range<usize>| slice_chars(premise, span.start, span.end).unwrap();
            let mut found: Vec<&str> = windows(premise, claim, 3).into_iter().map(cut).collect();
            found.sort_unstable();
            assert_eq!(found, parts, "{premise}");
            let mut chosen: Vec<&str> = choose_premise(premise, claim, 2)
                .into_iter()
                .map(cut)
                .collect();
            chosen.sort_unstable();
            assert!(chosen.iter().all(|part| parts.contains(part)), "{chosen:?}");
            assert_eq!(chosen.is_empty(), parts.is_empty(), "{premise}");
        }
    }
}
