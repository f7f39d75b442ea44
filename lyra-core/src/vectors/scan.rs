//! Dot products and the best k of them.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Independent sums a dot product is kept in, so that the compiler can use vector registers.
const LANES: usize = 16;

/// The dot product of two vectors of one length.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

/// A row and its score; greater means better, ties go to the smaller row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) score: f32,
    pub(super) row: usize,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        // Reversed: the heap keeps its worst candidate on top.
        other
            .score
            .total_cmp(&self.score)
            .then(self.row.cmp(&other.row))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best `k` of the scored rows that reach `floor`, best first, without sorting the others.
pub(super) fn top_k(
    scores: impl Iterator<Item = Candidate>,
    k: usize,
    floor: f32,
) -> Vec<Candidate> {
    let mut best: BinaryHeap<Candidate> = BinaryHeap::with_capacity(k + 1);
    for candidate in scores.filter(|c| c.score >= floor) {
        if best.len() < k {
            best.push(candidate);
        } else if best.peek().is_some_and(|worst| candidate < *worst) {
            best.pop();
            best.push(candidate);
        }
    }
    best.into_sorted_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn top_k_equals_a_full_sort(scores in prop::collection::vec(-1.0_f32..1.0, 0..200), k in 0_usize..20) {
            let candidates = || scores.iter().enumerate().map(|(row, score)| Candidate { score: *score, row });
            let mut sorted: Vec<Candidate> = candidates().filter(|c| c.score >= -0.5).collect();
            sorted.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
            sorted.truncate(k);
            prop_assert_eq!(top_k(candidates(), k, -0.5), sorted);
        }

        #[test]
        fn dot_equals_the_plain_sum(values in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 0..100)) {
            let (a, b): (Vec<f32>, Vec<f32>) = values.into_iter().unzip();
            let exact: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            prop_assert!((f64::from(dot(&a, &b)) - exact).abs() < 1e-4);
        }
    }
}
