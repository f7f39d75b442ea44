//! What a set of verdicts says about a claim, and what a judge's certainty is worth.
//!
//! | function | what it answers |
//! |---|---|
//! | [`claim_confidence`] | how a claim stands between its supporting and refuting evidence |
//! | [`independent_evidence`] | the same, with nobody heard twice and what was retracted left out |
//! | [`fit_temperature`], [`fit_platt`] | how a judge's confidences are to be put right |
//! | [`choose`] | which fit does best on outcomes that it has not seen |
//! | [`brier_score`], [`expected_calibration_error`], [`reliability_bins`] | how right they are |
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
pub use held_out::{Candidate, MIN_OF_EACH, MIN_OUTCOMES, Scores, choose, is_enough, rated};
pub use independence::{IndependentEvidence, Testimony, independent_evidence};
/// A side on the hypothesis that the judge is less sure of is called possible. On labelled topics
/// (`benches/substance`), 14 of 26 claims above it that were shown as supports were right, and 9 of 24
/// below it.
pub const POSSIBLE_BELOW: f64 = 0.6;

pub use scores::{ReliabilityBin, brier_score, expected_calibration_error, reliability_bins};
