//! Chooses a calibration: fits are compared on outcomes to which they were not fitted.

use super::calibration::{Calibration, Outcome, fit_platt, fit_temperature};
use super::scores::{ReliabilityBin, brier_score, expected_calibration_error, reliability_bins};
use crate::error::Result;
use serde::Serialize;

/// Minimum number of verdicts for a fit.
pub const MIN_OUTCOMES: usize = 20;
/// Minimum number of right verdicts, and of wrong ones.
pub const MIN_OF_EACH: usize = 3;
/// Number of parts into which the outcomes are divided; each is held out once.
const FOLDS: usize = 5;

/// How well confidences fit the outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scores {
    /// Brier score: 0 is perfect.
    pub brier: f64,
    /// Expected calibration error over ten bins: 0 is perfect.
    pub ece: f64,
}

impl Scores {
    /// The scores of confidences with their outcomes.
    pub fn of(rated: &[(f64, bool)]) -> Self {
        Self {
            brier: brier_score(rated),
            ece: expected_calibration_error(rated),
        }
    }
}

/// The better of both methods, and its scores on held-out outcomes.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedCalibration {
    /// The calibration, fitted to all outcomes.
    pub calibration: Calibration,
    /// Scores of the calibration in force, on the same outcomes.
    pub before: Scores,
    /// Scores of the new calibration: each outcome is rated by a fit to the four fifths that do not
    /// contain it.
    pub after: Scores,
    /// The ten bins of the new calibration.
    pub bins: Vec<ReliabilityBin>,
}

impl FittedCalibration {
    /// Whether it does better than the calibration in force.
    pub fn is_better(&self) -> bool {
        self.after.brier < self.before.brier
    }
}

/// Whether there are enough outcomes for a fit.
pub fn is_enough(outcomes: &[Outcome]) -> bool {
    let right = outcomes.iter().filter(|o| o.is_right).count();
    outcomes.len() >= MIN_OUTCOMES && right.min(outcomes.len() - right) >= MIN_OF_EACH
}

/// Calibrated confidences, and whether they were right.
pub fn rated(outcomes: &[Outcome], calibration: &Calibration) -> Vec<(f64, bool)> {
    let rate = |o: &Outcome| (calibration.apply(o.confidence), o.is_right);
    outcomes.iter().map(rate).collect()
}

/// Fits both methods and takes the one with the lower Brier score on held-out outcomes; if the scores
/// are equal, the temperature, which has one parameter fewer.
///
/// # Errors
///
/// `Calibration`, from the fits; does not occur if there are [enough](is_enough) outcomes.
pub fn choose(outcomes: &[Outcome], in_force: &Calibration) -> Result<FittedCalibration> {
    let temperature = held_out(outcomes, fit_temperature)?;
    let platt = held_out(outcomes, fit_platt)?;
    let (fit, unseen): (Fit, _) = if brier_score(&platt) < brier_score(&temperature) {
        (fit_platt, platt)
    } else {
        (fit_temperature, temperature)
    };
    Ok(FittedCalibration {
        calibration: fit(outcomes)?,
        before: Scores::of(&rated(outcomes, in_force)),
        after: Scores::of(&unseen),
        bins: reliability_bins(&unseen),
    })
}

type Fit = fn(&[Outcome]) -> Result<Calibration>;

/// Every outcome, rated by a fit to the folds that do not contain it. Right and wrong outcomes are
/// assigned to the folds in turn, so that every fold has its share of both.
fn held_out(outcomes: &[Outcome], fit: Fit) -> Result<Vec<(f64, bool)>> {
    let mut dealt = [0_usize; 2];
    let folds: Vec<usize> = outcomes
        .iter()
        .map(|outcome| {
            let count = &mut dealt[usize::from(outcome.is_right)];
            *count += 1;
            *count % FOLDS
        })
        .collect();
    let mut unseen = Vec::with_capacity(outcomes.len());
    for fold in 0..FOLDS {
        let part = |is_held_out: bool| -> Vec<Outcome> {
            let rows = outcomes.iter().zip(&folds);
            rows.filter(|(_, f)| (**f == fold) == is_held_out)
                .map(|(outcome, _)| *outcome)
                .collect()
        };
        let held = part(true);
        if !held.is_empty() {
            unseen.extend(rated(&held, &fit(&part(false))?));
        }
    }
    Ok(unseen)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(confidence: f64, right: usize, wrong: usize) -> Vec<Outcome> {
        let of = |is_right| Outcome {
            confidence,
            is_right,
        };
        let mut rows = vec![of(true); right];
        rows.extend(vec![of(false); wrong]);
        rows
    }

    #[test]
    fn a_boaster_is_put_right_and_an_honest_judge_is_left_alone() {
        let boaster = [says(0.95, 30, 15), says(0.7, 12, 9)].concat();
        let found = choose(&boaster, &Calibration::None).unwrap();
        assert!(found.is_better(), "{found:?}");
        assert!(found.after.ece < found.before.ece / 2.0, "{found:?}");
        assert!(found.calibration.apply(0.95) < 0.8);
        let again = choose(&boaster, &found.calibration).unwrap();
        assert!(!again.is_better(), "the same again is no better: {again:?}");
        let honest = [says(0.9, 18, 2), says(0.75, 15, 5), says(0.6, 12, 8)].concat();
        assert!(!choose(&honest, &Calibration::None).unwrap().is_better());
    }

    #[test]
    fn too_few_are_not_enough() {
        for (right, wrong, enough) in [
            (17, 3, true),
            (18, 2, false),
            (16, 3, false),
            (0, 40, false),
        ] {
            assert_eq!(
                is_enough(&says(0.9, right, wrong)),
                enough,
                "{right} {wrong}"
            );
        }
    }
}
