//! Okapi BM25 over a collection that fits in memory: the passages of one document, a result list.

use std::collections::{BTreeMap, HashMap};

/// Saturation of repeated words.
const K1: f64 = 1.5;

/// Strength of the length normalisation.
const B: f64 = 0.75;

/// Weight of words that occur in more than half of the documents, as a fraction of the average.
const EPSILON: f64 = 0.25;

/// Word statistics of a collection.
///
/// ```
/// use lyra_core::store::ranking::Bm25;
/// let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
/// let bm25 = Bm25::new(&[words("the cat sat"), words("the dog sat"), words("a bird flew")]);
/// let scores = bm25.scores(&words("cat"));
/// assert!(scores[0] > 0.0 && scores[1] == 0.0);
/// ```
#[derive(Debug, Clone)]
pub struct Bm25 {
    /// For each word, the documents that contain it and the number of occurrences.
    postings: HashMap<String, Vec<(usize, f64)>>,
    /// For each document, the length-dependent part of the formula.
    length_norms: Vec<f64>,
    /// Weight of words that occur in more than half of the documents.
    common_idf: f64,
}

impl Bm25 {
    /// Counts the words of tokenized documents.
    pub fn new(documents: &[Vec<String>]) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        for (index, tokens) in documents.iter().enumerate() {
            for token in tokens {
                let list = match postings.get_mut(token) {
                    Some(list) => list,
                    None => postings.entry(token.clone()).or_default(),
                };
                match list.last_mut() {
                    Some((last, count)) if *last == index => *count += 1.0,
                    _ => list.push((index, 1.0)),
                }
            }
        }
        let total: usize = documents.iter().map(Vec::len).sum();
        let average = (total as f64 / documents.len().max(1) as f64).max(f64::MIN_POSITIVE);
        let length_norms = documents
            .iter()
            .map(|tokens| K1 * (1.0 - B + B * tokens.len() as f64 / average))
            .collect();
        let mut bm25 = Self {
            postings,
            length_norms,
            common_idf: 0.0,
        };
        bm25.common_idf = bm25.idf_of_common_words();
        bm25
    }

    /// The score of each document for the query, in document order; 0 if no word is shared.
    ///
    /// Scores are never negative and have no upper bound: scale them ([`min_max`](super::min_max))
    /// before combining them with other scores.
    pub fn scores(&self, query: &[String]) -> Vec<f64> {
        let mut scores = vec![0.0; self.length_norms.len()];
        for token in query {
            let Some(list) = self.postings.get(token) else {
                continue;
            };
            let raw = self.raw_idf(list.len());
            let idf = if raw > 0.0 { raw } else { self.common_idf };
            for &(index, count) in list {
                scores[index] += idf * count * (K1 + 1.0) / (count + self.length_norms[index]);
            }
        }
        scores
    }

    fn raw_idf(&self, documents_with: usize) -> f64 {
        let (all, with) = (self.length_norms.len() as f64, documents_with as f64);
        (all - with + 0.5).ln() - (with + 0.5).ln()
    }

    /// A fraction of the average word's weight, because the formula gives common words a negative
    /// weight: a document would lose by matching. Positive even if every word is common.
    fn idf_of_common_words(&self) -> f64 {
        let mut words_by_frequency = BTreeMap::new();
        for list in self.postings.values() {
            *words_by_frequency.entry(list.len()).or_insert(0.0) += 1.0;
        }
        let sum: f64 = words_by_frequency
            .iter()
            .map(|(with, words)| words * self.raw_idf(*with))
            .sum();
        let average = sum / self.postings.len().max(1) as f64;
        if average > 0.0 {
            EPSILON * average
        } else {
            EPSILON * (0.5 / (self.length_norms.len() as f64 + 0.5)).ln_1p()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;
    use proptest::prelude::*;
    use serde_json::Value;

    fn words(text: &str) -> Vec<String> {
        text.to_lowercase()
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    }

    fn strings(value: &Value) -> Vec<String> {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn agrees_with_the_reference() {
        for row in reference_cases("bm25_simple_tokenizer") {
            let documents: Vec<_> = row["tokens"]
                .as_array()
                .unwrap()
                .iter()
                .map(strings)
                .collect();
            let scores = Bm25::new(&documents).scores(&words(row["query"].as_str().unwrap()));
            for (score, expected) in scores.iter().zip(row["scores"].as_array().unwrap()) {
                assert!(
                    (score - expected.as_f64().unwrap()).abs() < 1e-12,
                    "{row}: {scores:?}"
                );
            }
        }
    }

    #[test]
    fn agrees_with_the_first_stage_of_the_reference_ranking() {
        for row in reference_cases("rank_candidates") {
            let passages = row["passages"].as_array().unwrap();
            let documents: Vec<_> = passages
                .iter()
                .map(|p| words(p["text"].as_str().unwrap()))
                .collect();
            let scores = Bm25::new(&documents).scores(&words(row["query"].as_str().unwrap()));
            for result in row["result"].as_array().unwrap() {
                let nth = passages
                    .iter()
                    .position(|p| p["id"] == result["id"])
                    .unwrap();
                let expected = result["score_bm25"].as_f64().unwrap();
                if expected < 0.0 {
                    // In the reference, the only document of a collection loses by matching.
                    assert!(scores[nth] > 0.0);
                } else {
                    assert!(
                        (scores[nth] - expected).abs() < 1e-12,
                        "{result}: {}",
                        scores[nth]
                    );
                }
            }
        }
    }

    #[test]
    fn matching_is_always_better_than_not() {
        for (documents, query, order) in [
            (&["a b", "c d"][..], "a", &[0, 1][..]), // in half of the documents: 0 in the reference
            (&["a"], "a", &[0]),
            (&["a", "a", "a", "b"], "a", &[0, 1, 2, 3]),
            (&["x y z", "a x y", "a a y"], "a", &[2, 1, 0]),
            (&["a b c d e f", "a"], "a", &[1, 0]),
        ] {
            let documents: Vec<_> = documents.iter().map(|text| words(text)).collect();
            let scores = Bm25::new(&documents).scores(&words(query));
            assert_eq!(super::super::rank_order(&scores), order, "{scores:?}");
            for (document, score) in documents.iter().zip(&scores) {
                assert_eq!(
                    document.contains(&query.to_owned()),
                    *score > 0.0,
                    "{scores:?}"
                );
            }
        }
    }

    #[test]
    fn nothing_to_score_is_no_error() {
        assert_eq!(Bm25::new(&[]).scores(&words("a")), Vec::<f64>::new());
        assert_eq!(Bm25::new(&[vec![], vec![]]).scores(&words("a")), [0.0, 0.0]);
        assert_eq!(Bm25::new(&[words("a")]).scores(&[]), [0.0]);
    }

    proptest! {
        #[test]
        fn scores_are_finite_and_not_negative(
            documents in proptest::collection::vec(proptest::collection::vec("[a-d]", 0..8), 0..8),
            query in proptest::collection::vec("[a-e]", 0..4)
        ) {
            let scores = Bm25::new(&documents).scores(&query);
            prop_assert_eq!(scores.len(), documents.len());
            prop_assert!(scores.iter().all(|score| score.is_finite() && *score >= 0.0));
        }
    }
}
