//! Measures of how well confidences agree with outcomes.

use serde::Serialize;

/// Number of bins of equal width for confidences.
const BINS: u32 = 10;

/// A bin of similar confidences, and how often they were right.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReliabilityBin {
    /// Exclusive lower bound; 0 is in the first bin.
    pub from: f64,
    /// Inclusive upper bound.
    pub to: f64,
    /// Number of confidences in the bin.
    pub count: usize,
    /// Mean confidence; 0 if the bin is empty.
    pub confidence: f64,
    /// Fraction that was right; 0 if the bin is empty.
    pub accuracy: f64,
}

/// The mean squared difference between confidence and outcome: 0 is perfect, and a constant 0.5 gives
/// 0.25. 0 for an empty list.
///
/// ```
/// use lyra_core::store::confidence::brier_score;
/// assert!((brier_score(&[(0.9, true), (0.6, false)]) - 0.185).abs() < 1e-12);
/// ```
pub fn brier_score(rated: &[(f64, bool)]) -> f64 {
    let distance = |&(p, is_right): &(f64, bool)| (p - f64::from(u8::from(is_right))).powi(2);
    rated.iter().map(distance).sum::<f64>() / rated.len().max(1) as f64
}

/// The expected calibration error over ten bins: the mean difference between confidence and accuracy of
/// a bin, weighted by the number of confidences. 0 for an empty list.
pub fn expected_calibration_error(rated: &[(f64, bool)]) -> f64 {
    let apart: f64 = reliability_bins(rated)
        .iter()
        .map(|bin| bin.count as f64 * (bin.confidence - bin.accuracy).abs())
        .sum();
    apart / rated.len().max(1) as f64
}

/// The ten bins, lowest first.
pub fn reliability_bins(rated: &[(f64, bool)]) -> Vec<ReliabilityBin> {
    let mut bins: Vec<ReliabilityBin> = (0..BINS)
        .map(|nth| ReliabilityBin {
            from: f64::from(nth) / f64::from(BINS),
            to: f64::from(nth + 1) / f64::from(BINS),
            count: 0,
            confidence: 0.0,
            accuracy: 0.0,
        })
        .collect();
    for (p, is_right) in rated {
        let place = bins.iter().position(|bin| *p <= bin.to);
        let last = bins.len() - 1;
        let bin = &mut bins[place.unwrap_or(last)];
        bin.count += 1;
        bin.confidence += p;
        bin.accuracy += f64::from(u8::from(*is_right));
    }
    for bin in bins.iter_mut().filter(|bin| bin.count > 0) {
        bin.confidence /= bin.count as f64;
        bin.accuracy /= bin.count as f64;
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;

    #[test]
    fn agrees_with_the_reference() {
        for row in reference_cases("brier_ece") {
            let numbers = |name: &str| row[name].as_array().unwrap().clone();
            let rated: Vec<(f64, bool)> = numbers("p")
                .iter()
                .zip(numbers("y"))
                .map(|(p, y)| (p.as_f64().unwrap(), y == 1))
                .collect();
            let counts: Vec<_> = reliability_bins(&rated).iter().map(|b| b.count).collect();
            assert_eq!(serde_json::json!(counts), row["bin_counts"]);
            for (found, name) in [
                (brier_score(&rated), "brier"),
                (expected_calibration_error(&rated), "ece10"),
            ] {
                let expected = row[name].as_f64().unwrap();
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{name}: {found} {expected}"
                );
            }
        }
    }

    /// The reference puts a confidence of exactly 0 into no bin, so it does not count.
    #[test]
    fn the_ends_are_in_a_bin() {
        let bins = reliability_bins(&[(0.0, true), (0.1, true), (1.0, false), (0.3, true)]);
        let counts: Vec<_> = bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [2, 0, 1, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(expected_calibration_error(&[(0.0, true)]), 1.0);
        assert_eq!(
            (brier_score(&[]), expected_calibration_error(&[])),
            (0.0, 0.0)
        );
    }
}
