//! Combines verdicts on a claim, and calibrates the confidences of judges.
//!
//! | function | purpose |
//! |---|---|
//! | [`claim_confidence`] | the balance between a claim's supporting and refuting evidence |
//! | [`independent_evidence`] | the same, with each source counted once and retracted sources left out |
//! | [`fit_temperature`], [`fit_platt`] | calibration of a judge's confidences |
//! | [`choose`] | the fit that does best on held-out outcomes |
//! | [`brier_score`], [`expected_calibration_error`], [`reliability_bins`] | how right confidences are |
//!
//! ```
//! use lyra_core::store::confidence::claim_confidence;
//! use lyra_core::store::model::Relation::{Neutral, Refutes, Supports};
//! let score = claim_confidence(&[(Supports, 0.9), (Supports, 0.8), (Refutes, 0.6), (Neutral, 0.9)]);
//! assert!(score.mean > 0.5 && score.neutral_count == 1);
//! ```

mod beta;
mod calibration;
mod held_out;
mod independence;
mod scores;

pub use beta::{ClaimConfidence, claim_confidence};
pub use calibration::{Calibration, Outcome, fit_platt, fit_temperature};
pub use held_out::{
    FittedCalibration, MIN_OF_EACH, MIN_OUTCOMES, Scores, choose, is_enough, rated,
};
pub use independence::{IndependentEvidence, Testimony, independent_evidence};
/// A side on the hypothesis with a lower confidence is called possible. On sets of documents that
/// the network was not trained on, 72 % of the 54 sides above it are right, and 43 % of the 195 that are
/// taken and below it (`scripts/judge/weigh.py`).
pub const POSSIBLE_BELOW: f64 = 0.7;

/// A confidence with two digits, rounded so that it stays on the same side of [`POSSIBLE_BELOW`].
pub fn two_digits(confidence: f64) -> String {
    let rounded = (confidence * 100.0).round() / 100.0;
    match confidence < POSSIBLE_BELOW && rounded >= POSSIBLE_BELOW {
        true => format!("{:.2}", POSSIBLE_BELOW - 0.01),
        false => format!("{rounded:.2}"),
    }
}

pub use scores::{ReliabilityBin, brier_score, expected_calibration_error, reliability_bins};
