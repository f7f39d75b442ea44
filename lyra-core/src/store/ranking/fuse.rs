//! Combines two lists of scores for the same items.

/// Scales the scores to 0 to 1: the lowest becomes 0, the highest 1.
///
/// A list of equal scores becomes all 0, because it contains no information on the order. NaN becomes 0;
/// infinities become the ends of the scale.
///
/// ```
/// use lyra_core::store::ranking::min_max;
/// assert_eq!(min_max(&[2.0, 6.0, 4.0]), [0.0, 1.0, 0.5]);
/// assert_eq!(min_max(&[0.7, 0.7]), [0.0, 0.0]);
/// ```
pub fn min_max(scores: &[f64]) -> Vec<f64> {
    let finite = || scores.iter().copied().filter(|score| score.is_finite());
    let lowest = finite().fold(f64::INFINITY, f64::min);
    let highest = finite().fold(f64::NEG_INFINITY, f64::max);
    scores
        .iter()
        .map(|&score| {
            if score.is_nan() || score == f64::NEG_INFINITY {
                0.0
            } else if score == f64::INFINITY {
                1.0
            } else if highest > lowest {
                // Halved first, so that the width of the largest possible range is still finite.
                (score / 2.0 - lowest / 2.0) / (highest / 2.0 - lowest / 2.0)
            } else {
                0.0
            }
        })
        .collect()
}

/// The weighted sum of both lists, scaled to 0 to 1 first: `a` has weight `weight_a`, and `b` the rest.
///
/// Item `i` of the result belongs to item `i` of both lists; if one is shorter, its missing scores count
/// as its lowest. The weight is clamped to 0 to 1.
///
/// ```
/// use lyra_core::store::ranking::fuse;
/// let embedding = [0.9, 0.8, 0.1];
/// let bm25 = [0.0, 12.0, 3.0];
/// let fused = fuse(&embedding, &bm25, 0.7);
/// assert!(fused[1] > fused[0] && fused[0] > fused[2]);
/// ```
pub fn fuse(a: &[f64], b: &[f64], weight_a: f64) -> Vec<f64> {
    let weight_a = if weight_a.is_nan() {
        0.5
    } else {
        weight_a.clamp(0.0, 1.0)
    };
    let (a, b) = (min_max(a), min_max(b));
    (0..a.len().max(b.len()))
        .map(|i| {
            let of = |scores: &[f64]| scores.get(i).copied().unwrap_or(0.0);
            weight_a * of(&a) + (1.0 - weight_a) * of(&b)
        })
        .collect()
}

/// The indices of `scores` in descending order of score; ties are sorted by index, and NaN comes last.
///
/// ```
/// use lyra_core::store::ranking::rank_order;
/// assert_eq!(rank_order(&[0.1, 0.9, f64::NAN, 0.9]), [1, 3, 0, 2]);
/// ```
pub fn rank_order(scores: &[f64]) -> Vec<usize> {
    let key = |i: usize| {
        if scores[i].is_nan() {
            f64::NEG_INFINITY
        } else {
            scores[i] + 0.0
        }
    };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&i, &j| {
        key(j)
            .total_cmp(&key(i))
            .then(scores[i].is_nan().cmp(&scores[j].is_nan()))
            .then(i.cmp(&j))
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn scales() {
        for (scores, expected) in [
            (&[][..], &[][..]),
            (&[5.0], &[0.0]),
            (&[-1.0, 0.0, 1.0], &[0.0, 0.5, 1.0]),
            (&[f64::NAN, 1.0, 3.0], &[0.0, 0.0, 1.0]),
            (&[f64::INFINITY, 1.0, f64::NEG_INFINITY], &[1.0, 0.0, 0.0]),
            (&[f64::MAX, f64::MIN, 0.0], &[1.0, 0.0, 0.5]),
        ] {
            assert_eq!(min_max(scores), expected, "{scores:?}");
        }
    }

    #[test]
    fn weights() {
        for (a, b, weight, expected) in [
            (&[0.0, 10.0][..], &[1.0, 0.0][..], 0.75, &[0.25, 0.75][..]),
            (&[0.0, 10.0], &[1.0, 0.0], 7.0, &[0.0, 1.0]),
            (&[0.0, 10.0], &[1.0, 0.0], f64::NAN, &[0.5, 0.5]),
            (&[0.0, 10.0, 5.0], &[1.0, 0.0], 0.5, &[0.5, 0.5, 0.25]),
            // A list of equal scores leaves the order to the other list.
            (&[0.3, 0.3, 0.3], &[1.0, 3.0, 2.0], 0.5, &[0.0, 0.5, 0.25]),
        ] {
            assert_eq!(fuse(a, b, weight), expected, "{a:?} {b:?} {weight}");
        }
    }

    #[test]
    fn zeros_of_both_signs_are_a_tie() {
        assert_eq!(rank_order(&[-0.0, 0.0, -0.0]), [0, 1, 2]);
        assert_eq!(rank_order(&[f64::NAN, f64::NEG_INFINITY]), [1, 0]);
    }

    proptest! {
        #[test]
        fn fused_scores_lie_between_0_and_1_and_keep_agreed_orders(
            scores in proptest::collection::vec(any::<f64>(), 0..20), weight in 0.0..=1.0_f64
        ) {
            let fused = fuse(&scores, &scores, weight);
            prop_assert!(fused.iter().all(|score| (0.0..=1.0 + 1e-12).contains(score)));
            let order = rank_order(&scores);
            prop_assert!(order.windows(2).all(|pair| fused[pair[0]] >= fused[pair[1]] - 1e-12));
        }
    }
}
