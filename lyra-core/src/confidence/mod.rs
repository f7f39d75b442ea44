//! What a set of verdicts says about a claim.
//!
//! | function | what it answers |
//! |---|---|
//! | [`claim_confidence`] | how a claim stands between its supporting and refuting evidence |

mod beta;

pub use beta::{ClaimConfidence, claim_confidence};
