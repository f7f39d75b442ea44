//! The judge's weights, written by `scripts/stance/fit.py`; do not edit by hand.
//!
//! Data: SciFact train (Wadden et al. 2020; claims CC BY 4.0, abstracts ODC-By 1.0), 3249 pairs;
//! no text of it is here. Fitted on 2026-11-22.
//!
//! Five-fold cross-validation, grouped by claim and abstract, on the 919 pairs of a claim and an
//! abstract that it cites (premise chosen from the abstract by the judge's own chooser):
//!
//! ```text
//! judge              accuracy 0.612  macro-F1 0.589
//! majority           accuracy 0.403  macro-F1 0.191
//! bag of words       accuracy 0.482  macro-F1 0.470
//! calibration error  0.060
//! unrelated pairs called neutral  0.995
//! ```

/// One row for each class (supports, refutes, neutral), one weight for each feature.
#[rustfmt::skip]
pub(crate) const WEIGHTS: [&[f64]; 3] = [
    &[
        -0.3611, // coverage
        2.9151, // coverage_squared
        1.6395, // statement_coverage
        0.4985, // outcome_coverage
        0.6145, // subject_coverage
        6.1326, // premise_share
        -0.2863, // bigram_coverage
        -0.6777, // symbol_missing
        -0.1719, // symbol_coverage
        0.0000, // number_match
        -2.0978, // number_clash
        0.6534, // agree
        0.0000, // disagree
        0.2342, // agree_by_effect
        -3.9329, // disagree_by_effect
        0.0000, // vote_for
        0.0000, // vote_against
        0.0000, // local_agree
        -0.7762, // local_disagree
        0.4240, // parity_same
        -0.4622, // parity_other
        0.0000, // negation_same
        -1.9717, // negation_other
        -0.6889, // no_value
        0.5893, // premise_denies
        -1.1332, // asks
        0.3781, // hedges
        1.1103, // concludes
        -8.9720, // antonym
    ],
    &[
        -1.5369, // coverage
        2.8802, // coverage_squared
        1.5242, // statement_coverage
        1.0596, // outcome_coverage
        0.9895, // subject_coverage
        6.5619, // premise_share
        0.0039, // bigram_coverage
        -1.0426, // symbol_missing
        -0.7034, // symbol_coverage
        0.3905, // number_match
        0.0000, // number_clash
        -1.6367, // agree
        0.0000, // disagree
        0.0000, // agree_by_effect
        0.1022, // disagree_by_effect
        0.0000, // vote_for
        0.5806, // vote_against
        -0.1328, // local_agree
        0.9081, // local_disagree
        0.0000, // parity_same
        0.3592, // parity_other
        0.0000, // negation_same
        1.0307, // negation_other
        -1.5055, // no_value
        -0.3502, // premise_denies
        -0.9483, // asks
        0.2858, // hedges
        1.3574, // concludes
        1.8349, // antonym
    ],
    &[
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
        0.0000, // asks
        0.0000, // hedges
        0.0000, // concludes
        0.0000, // antonym
    ],
];

/// What each class starts from.
pub(crate) const INTERCEPTS: [f64; 3] = [-2.0029, -1.6672, 0.0000];
