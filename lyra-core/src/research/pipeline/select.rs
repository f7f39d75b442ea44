//! Selects the passages of a document that are read for claims.

use super::Limits;
use crate::store::model::FragmentType;
use crate::store::ranking::{Bm25, fuse, kneedle_cutoff};
use crate::store::text::ranking_terms;

/// The data that selection uses for a passage.
#[derive(Debug, Clone, Copy)]
pub(super) struct PassageFeatures<'a> {
    pub(super) kind: FragmentType,
    pub(super) text: &'a str,
    pub(super) vector: &'a [f32],
}

/// Indices of the passages worth reading, best first: ranked by BM25, then by embeddings, fused on
/// one scale, cut at the knee.
pub(super) fn select(
    passages: &[PassageFeatures<'_>],
    question: (&str, &[f32]),
    embedding_weight: f64,
    limits: &Limits,
) -> Vec<usize> {
    let is_readable = |passage: &PassageFeatures<'_>| {
        !matches!(
            passage.kind,
            FragmentType::Heading | FragmentType::Code | FragmentType::Figure | FragmentType::Table
        )
    };
    let floor = f64::from(limits.passage_floor);
    let is_near =
        |passage: &PassageFeatures<'_>| floor == 0.0 || cosine(passage.vector, question.1) >= floor;
    let readable: Vec<usize> = (0..passages.len())
        .filter(|i| is_readable(&passages[*i]) && is_near(&passages[*i]))
        .collect();
    let tokens: Vec<Vec<String>> = readable
        .iter()
        .map(|i| ranking_terms(passages[*i].text))
        .collect();
    let words = Bm25::new(&tokens).scores(&ranking_terms(question.0));
    let mut first: Vec<usize> = (0..readable.len()).collect();
    first.sort_by(|a, b| words[*b].total_cmp(&words[*a]).then(a.cmp(b)));
    first.truncate(limits.bm25_top_k);
    let by_words: Vec<f64> = first.iter().map(|i| words[*i]).collect();
    let by_meaning: Vec<f64> = first
        .iter()
        .map(|i| cosine(passages[readable[*i]].vector, question.1))
        .collect();
    let fused = fuse(&by_meaning, &by_words, embedding_weight);
    let mut order: Vec<usize> = (0..first.len()).collect();
    order.sort_by(|a, b| {
        fused[*b]
            .total_cmp(&fused[*a])
            .then(first[*a].cmp(&first[*b]))
    });
    let scores: Vec<f64> = order.iter().map(|i| fused[*i]).collect();
    let (least, most) = (
        limits.kneedle_min.min(limits.kneedle_max),
        limits.kneedle_max,
    );
    let kept = match limits.kneedle {
        true => kneedle_cutoff(&scores, least, most, limits.kneedle_sensitivity),
        false => most,
    };
    let kept = kept.min(order.len());
    order[..kept].iter().map(|i| readable[first[*i]]).collect()
}

/// Cosine of two vectors of length 1 (or 0); 0 if their dimensions differ.
pub(super) fn cosine(a: &[f32], b: &[f32]) -> f64 {
    if a.len() != b.len() {
        return 0.0;
    }
    a.iter()
        .zip(b)
        .map(|(x, y)| f64::from(*x) * f64::from(*y))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_passage_on_the_subject_comes_first() {
        let texts = [
            "Financial disclosures of the authors.",
            "Saxagliptin raised hospitalization for heart failure.",
            "We thank the nurses.",
            "Recruitment took two years.",
        ];
        let vectors = [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.2, 0.9]];
        let passages: Vec<PassageFeatures<'_>> = texts
            .iter()
            .zip(&vectors)
            .map(|(text, vector)| PassageFeatures {
                kind: FragmentType::Paragraph,
                text,
                vector,
            })
            .collect();
        let chosen = select(
            &passages,
            ("heart failure with saxagliptin", &[1.0, 0.0]),
            0.5,
            &Limits::default(),
        );
        assert_eq!(chosen.first(), Some(&1));
        let limits = Limits {
            bm25_top_k: 1,
            ..Limits::default()
        };
        let question = ("heart failure with saxagliptin", &[1.0, 0.0][..]);
        assert_eq!(select(&passages, question, 0.5, &limits), [1]);
        let limits = Limits {
            passage_floor: 0.15,
            ..Limits::default()
        };
        assert_eq!(select(&passages, question, 0.5, &limits), [1, 3]);
        let heading = [PassageFeatures {
            kind: FragmentType::Heading,
            ..passages[1]
        }];
        assert!(select(&heading, ("heart failure", &[1.0, 0.0]), 0.5, &limits).is_empty());
    }
}
