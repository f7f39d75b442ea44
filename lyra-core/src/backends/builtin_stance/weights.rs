//! The judge's weights, written by `scripts/stance/fit.py`; do not edit by hand.
//!
//! Data: SciFact train (Wadden et al. 2020; claims CC BY 4.0, abstracts ODC-By 1.0), 3249 pairs;
//! no text of it is here. Fitted on 2026-11-21.
//!
//! Five-fold cross-validation, grouped by claim and abstract, on the 919 pairs of a claim and an
//! abstract that it cites (premise chosen from the abstract by the judge's own chooser):
//!
//! ```text
//! judge              accuracy 0.626  macro-F1 0.604
//! majority           accuracy 0.403  macro-F1 0.191
//! bag of words       accuracy 0.482  macro-F1 0.470
//! calibration error  0.052
//! unrelated pairs called neutral  0.996
//! ```

use super::features::COUNT;

/// One row for each class (supports, refutes, neutral), one weight for each feature.
#[rustfmt::skip]
pub(crate) const WEIGHTS: [[f64; COUNT]; 3] = [
    [
        -0.4393, // coverage
        2.9881, // coverage_squared
        1.6978, // statement_coverage
        0.5081, // outcome_coverage
        0.6168, // subject_coverage
        6.0347, // premise_share
        -0.2755, // bigram_coverage
        -0.6677, // symbol_missing
        -0.1664, // symbol_coverage
        0.0000, // number_match
        -2.0564, // number_clash
        0.0000, // drug_same
        0.0000, // drug_kin
        0.0000, // drug_silent
        0.0000, // drug_other
        0.5898, // agree
        0.0000, // disagree
        0.2798, // agree_by_effect
        -3.8584, // disagree_by_effect
        0.0000, // vote_for
        -0.0068, // vote_against
        0.0000, // local_agree
        -0.6664, // local_disagree
        0.3946, // parity_same
        -0.6308, // parity_other
        0.0000, // negation_same
        -1.9160, // negation_other
        -0.5727, // no_value
        0.6094, // premise_denies
        0.0000, // hypothesis_denies
        0.0000, // hypothesis_directed
        -1.1978, // asks
        0.3585, // hedges
        1.1184, // concludes
        -9.0314, // antonym
    ],
    [
        -1.1992, // coverage
        2.7956, // coverage_squared
        1.1213, // statement_coverage
        1.0130, // outcome_coverage
        1.0040, // subject_coverage
        6.5976, // premise_share
        0.0471, // bigram_coverage
        -1.0575, // symbol_missing
        -0.7185, // symbol_coverage
        0.3260, // number_match
        0.0000, // number_clash
        0.0000, // drug_same
        0.0000, // drug_kin
        0.0000, // drug_silent
        0.0000, // drug_other
        -1.4652, // agree
        0.0000, // disagree
        0.0000, // agree_by_effect
        0.2302, // disagree_by_effect
        0.0000, // vote_for
        0.5593, // vote_against
        -0.1877, // local_agree
        0.8982, // local_disagree
        0.0000, // parity_same
        0.3331, // parity_other
        0.0000, // negation_same
        1.0402, // negation_other
        -1.2937, // no_value
        -0.3565, // premise_denies
        0.0000, // hypothesis_denies
        0.0000, // hypothesis_directed
        -1.0367, // asks
        0.2942, // hedges
        1.4798, // concludes
        1.9127, // antonym
    ],
    [
        0.0000, // coverage
        0.0000, // coverage_squared
        0.0000, // statement_coverage
        0.0000, // outcome_coverage
        0.0000, // subject_coverage
        0.0000, // premise_share
        0.0000, // bigram_coverage
        0.0000, // symbol_missing
        0.0000, // symbol_coverage
        0.0000, // number_match
        0.0000, // number_clash
        0.0000, // drug_same
        0.0000, // drug_kin
        0.0000, // drug_silent
        0.0000, // drug_other
        0.0000, // agree
        0.0000, // disagree
        0.0000, // agree_by_effect
        0.0000, // disagree_by_effect
        0.0000, // vote_for
        0.0000, // vote_against
        0.0000, // local_agree
        0.0000, // local_disagree
        0.0000, // parity_same
        0.0000, // parity_other
        0.0000, // negation_same
        0.0000, // negation_other
        0.0000, // no_value
        0.0000, // premise_denies
        0.0000, // hypothesis_denies
        0.0000, // hypothesis_directed
        0.0000, // asks
        0.0000, // hedges
        0.0000, // concludes
        0.0000, // antonym
    ],
];

/// What each class starts from.
pub(crate) const INTERCEPTS: [f64; 3] = [-1.9867, -1.6654, 0.0000];
