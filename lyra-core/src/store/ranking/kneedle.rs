//! Finds the cut-off of a ranked list.
//!
//! Satopää, Albrecht, Irwin, Raghavan: "Finding a 'Kneedle' in a Haystack" (2011), for convex,
//! decreasing curves. The arithmetic follows the Python package `kneed` (0.8, offline mode, linear
//! interpolation) to the last bit, because tied scores put the difference curve exactly on its
//! threshold, where rounding decides. As in the paper, and unlike `kneed` before 0.8.6, no knee is found
//! between a local minimum and the next local maximum.

/// The number of scores to keep: those before the knee of the curve of scores by rank.
///
/// The scores are ranked first, so their order does not matter; NaN ranks last. Only the best
/// `max_results` are considered. If there are at most `min_results` of them, all are kept; if all are
/// equal, `min_results`; without a knee, or with one at the very first, all. The point at the knee is
/// not kept. The result never exceeds the number of scores, and is otherwise between `min_results` and
/// `max_results`; if these contradict each other, `max_results` takes precedence. A larger `sensitivity`
/// (1.0 is usual) requires a sharper knee.
///
/// ```
/// use lyra_core::store::ranking::kneedle_cutoff;
/// let scores = [0.95, 0.72, 0.55, 0.41, 0.22, 0.20, 0.19, 0.18, 0.17, 0.16];
/// assert_eq!(kneedle_cutoff(&scores, 3, 50, 1.0), 4);
/// assert_eq!(kneedle_cutoff(&scores, 3, 2, 1.0), 2);
/// ```
pub fn kneedle_cutoff(
    scores: &[f64],
    min_results: usize,
    max_results: usize,
    sensitivity: f64,
) -> usize {
    let count = scores.len().min(max_results);
    if count <= min_results {
        return count;
    }
    let mut ranked = ranked_finite(scores);
    ranked.truncate(count);
    if ranked.first() == ranked.last() {
        return min_results;
    }
    first_knee(&difference_curve(&ranked), &unit_steps(count), sensitivity)
        .filter(|&knee| knee > 0)
        .map_or(count, |knee| knee.max(min_results))
}

/// The scores in descending order; a non-finite score is replaced by the nearest finite one.
fn ranked_finite(scores: &[f64]) -> Vec<f64> {
    let finite = || scores.iter().copied().filter(|score| score.is_finite());
    let lowest = finite().fold(f64::INFINITY, f64::min);
    let highest = finite().fold(f64::NEG_INFINITY, f64::max);
    if lowest > highest {
        return vec![0.0; scores.len()];
    }
    let mut ranked: Vec<f64> = scores
        .iter()
        .map(|score| {
            if score.is_nan() {
                lowest
            } else {
                score.clamp(lowest, highest)
            }
        })
        .collect();
    ranked.sort_by(|a, b| b.total_cmp(a));
    ranked
}

/// Ranks 0, 1, 2 … scaled to 0 to 1.
fn unit_steps(count: usize) -> Vec<f64> {
    (0..count)
        .map(|rank| rank as f64 / (count - 1) as f64)
        .collect()
}

/// Distance of the mirrored, normalised curve above the diagonal.
fn difference_curve(ranked: &[f64]) -> Vec<f64> {
    let highest = ranked.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = ranked.iter().copied().fold(f64::INFINITY, f64::min);
    let normal: Vec<f64> = ranked
        .iter()
        .map(|y| (y - lowest) / (highest - lowest))
        .collect();
    let top = normal.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    normal
        .iter()
        .zip(unit_steps(ranked.len()))
        .map(|(y, x)| (top - y) - x)
        .collect()
}

/// The index of the first local maximum after which the curve falls below its threshold.
fn first_knee(difference: &[f64], x: &[f64], sensitivity: f64) -> Option<usize> {
    let steps: Vec<f64> = x.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let drop = sensitivity * (pairwise_sum(&steps) / steps.len() as f64).abs();
    let last = difference.len() - 1;
    let neighbours = |i: usize| {
        (
            difference[i.saturating_sub(1)],
            difference[(i + 1).min(last)],
        )
    };
    let mut threshold = 0.0;
    let mut candidate = None;
    let mut watching = false;
    for i in 0..last {
        let (before, after) = neighbours(i);
        if difference[i] >= before && difference[i] >= after {
            threshold = difference[i] - drop;
            candidate = Some(i);
            watching = true;
        }
        if candidate.is_some() && difference[i] <= before && difference[i] <= after {
            watching = false;
        }
        if watching && difference[i + 1] < threshold {
            return candidate;
        }
    }
    None
}

/// The sum in numpy's order: eight running sums in blocks of up to 128, halves above that.
fn pairwise_sum(values: &[f64]) -> f64 {
    if values.len() < 8 {
        return values.iter().fold(-0.0, |sum, value| sum + value);
    }
    if values.len() <= 128 {
        let mut sums = [0.0; 8];
        let blocks = values.chunks_exact(8);
        let rest = blocks.remainder();
        for (nth, block) in blocks.enumerate() {
            for (sum, value) in sums.iter_mut().zip(block) {
                *sum = if nth == 0 { *value } else { *sum + value };
            }
        }
        let whole = ((sums[0] + sums[1]) + (sums[2] + sums[3]))
            + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        return rest.iter().fold(whole, |sum, value| sum + value);
    }
    let half = values.len() / 2;
    let (left, right) = values.split_at(half - half % 8);
    pairwise_sum(left) + pairwise_sum(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::{reference_cases, shared_text};
    use proptest::prelude::*;
    use serde_json::Value;

    fn floats(value: &Value) -> Vec<f64> {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|x| x.as_f64().unwrap())
            .collect()
    }

    fn count(value: &Value) -> usize {
        usize::try_from(value.as_u64().unwrap()).unwrap()
    }

    /// Cases in which the reference, computed with a `kneed` before 0.8.6, finds a knee after a local
    /// minimum or misses one: length, min, max, last score but one, what it keeps, what is right.
    const DIFFERENCES: &[(usize, usize, usize, f64, usize, usize)] = &[
        (30, 3, 50, 0.72, 6, 30), // a straight line, cut by rounding noise
        (12, 5, 10, 0.000_063, 5, 10),
        (51, 5, 10, 0.000_002, 10, 5),
        (32, 5, 50, 0.000_002, 32, 7),
    ];

    #[test]
    fn agrees_with_the_reference() {
        for row in reference_cases("kneedle") {
            let scores = floats(&row["scores"]);
            if !scores.is_sorted_by(|a, b| a >= b) {
                // The reference looks for the knee of a curve that does not fall; here the scores are
                // ranked first.
                continue;
            }
            let (min, max) = (count(&row["min"]), count(&row["max"]));
            let expected = DIFFERENCES
                .iter()
                .find(|(length, at_least, at_most, last_but_one, _, _)| {
                    (*length, *at_least, *at_most) == (scores.len(), min, max)
                        && scores[length - 2] == *last_but_one
                })
                .map_or_else(
                    || count(&row["kept"]),
                    |difference| {
                        assert_eq!(count(&row["kept"]), difference.4, "{row}");
                        difference.5
                    },
                );
            let kept = kneedle_cutoff(&scores, min, max, row["S"].as_f64().unwrap());
            assert_eq!(kept, expected, "{row}");
        }
    }

    /// Every case of the golden file, starting from its difference curve: those of the other three
    /// shapes of curve are mirror images, and only their first steps differ.
    #[test]
    fn finds_the_knees_that_kneed_finds() {
        let Some(text) = shared_text("kneed/golden.json") else {
            return;
        };
        let golden: Value = serde_json::from_str(&text).unwrap();
        let mut whole = 0;
        for case in golden["cases"].as_array().unwrap() {
            let (x, y) = (floats(&case["x"]), floats(&case["y"]));
            let params = &case["params"];
            let name = &case["name"];
            let sensitivity = params["S"].as_f64().unwrap();
            let (low, high) = (x[0], x[x.len() - 1]);
            let unit: Vec<f64> = x.iter().map(|x| (x - low) / (high - low)).collect();
            let difference = floats(&case["y_difference"]);
            let knee = first_knee(&difference, &unit, sensitivity);
            // Online mode continues to a later knee; the first one is among all that it found.
            let found =
                knee.map(
                    |i| match (params["curve"].as_str(), params["direction"].as_str()) {
                        (Some("convex"), Some("decreasing"))
                        | (Some("concave"), Some("increasing")) => x[i],
                        _ => x[x.len() - 1 - i],
                    },
                );
            match found {
                None => assert!(case["knee"].is_null(), "{name}"),
                Some(found) if params["online"] == true => {
                    assert!(floats(&case["all_knees"]).contains(&found), "{name}");
                }
                Some(found) => assert_eq!(case["knee"].as_f64(), Some(found), "{name}"),
            }
            if params["curve"] == "convex"
                && params["direction"] == "decreasing"
                && y.is_sorted_by(|a, b| a >= b)
            {
                for (ours, theirs) in difference_curve_at(&y, &unit).iter().zip(&difference) {
                    assert!((ours - theirs).abs() < 1e-15, "{name}");
                }
                whole += 1;
            }
        }
        assert!(whole > 10, "only {whole} cases fall");
    }

    fn difference_curve_at(y: &[f64], unit: &[f64]) -> Vec<f64> {
        difference_curve(y)
            .iter()
            .zip(unit_steps(y.len()))
            .zip(unit)
            .map(|((difference, even), x)| difference + even - x)
            .collect()
    }

    /// Cases of tied scores, where the last bit decides; expectations from `kneed` 0.8.6.
    const TIED: &[(&[f64], usize)] = &[
        (
            &[1.0, 0.9, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.1, 0.1, 0.1, 0.1],
            6,
        ),
        (
            &[
                1.0, 0.9, 0.9, 0.8, 0.7, 0.6, 0.5, 0.5, 0.4, 0.4, 0.4, 0.2, 0.1,
            ],
            6,
        ),
        (
            &[1.0, 0.9, 0.8, 0.8, 0.7, 0.5, 0.4, 0.4, 0.3, 0.3, 0.1, 0.0],
            6,
        ),
        (&[1.0, 0.8, 0.8, 0.7, 0.4, 0.3, 0.2, 0.1, 0.0, 0.0, 0.0], 7),
        (&[1.0, 0.9, 0.6, 0.6, 0.5, 0.5, 0.4, 0.4, 0.3, 0.1], 4),
        (&[0.9, 0.8, 0.6, 0.6, 0.4, 0.3, 0.1], 2),
    ];

    #[test]
    fn ties_fall_as_they_do_in_kneed() {
        for (scores, kept) in TIED {
            assert_eq!(kneedle_cutoff(scores, 1, 500, 1.0), *kept, "{scores:?}");
        }
    }

    #[test]
    fn edges() {
        for (scores, min, max, kept) in [
            (&[][..], 3, 50, 0),
            (&[1.0, 0.5], 3, 50, 2),
            (&[1.0, 0.5], 3, 1, 1),
            (&[0.5; 9], 3, 50, 3),
            (&[0.5; 9], 0, 50, 0),
            (&[f64::NAN; 9], 3, 50, 3),
            (&[0.1, 0.1, 0.1, 0.1, 0.9, 0.1, 0.1], 1, 50, 1),
            (
                &[1.0, 0.9, 0.1, 0.1, 0.1, f64::NAN, f64::NEG_INFINITY],
                1,
                50,
                2,
            ),
            (&[f64::INFINITY, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1], 1, 50, 2),
            // The best scores stand out from the start: there is no knee to cut at.
            (&[1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0], 3, 50, 7),
        ] {
            assert_eq!(kneedle_cutoff(scores, min, max, 1.0), kept, "{scores:?}");
        }
    }

    proptest! {
        #[test]
        fn stays_in_bounds_and_ignores_order(
            mut scores in proptest::collection::vec(any::<f64>(), 0..80),
            min in 0_usize..20, max in 0_usize..60, sensitivity in 0.0..10.0_f64
        ) {
            let kept = kneedle_cutoff(&scores, min, max, sensitivity);
            prop_assert!(kept <= scores.len().min(max));
            prop_assert!(kept >= scores.len().min(min).min(max));
            scores.reverse();
            prop_assert_eq!(kneedle_cutoff(&scores, min, max, sensitivity), kept);
        }
    }
}
