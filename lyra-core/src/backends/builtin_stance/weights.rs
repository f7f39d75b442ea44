//! The judge's weights, written by `scripts/stance/fit.py`; do not edit by hand.
//!
//! Data: SciFact train (Wadden et al. 2020; claims CC BY 4.0, abstracts ODC-By 1.0), 3249 pairs;
//! no text of it is here. Fitted on 2026-11-22.
//!
//! Five-fold cross-validation, grouped by claim and abstract, on the 919 pairs of a claim and an
//! abstract that it cites (premise chosen from the abstract by the judge's own chooser):
//!
//! ```text
//! judge              accuracy 0.617  macro-F1 0.587
//! majority           accuracy 0.403  macro-F1 0.191
//! bag of words       accuracy 0.482  macro-F1 0.470
//! calibration error  0.050
//! unrelated pairs called neutral  0.999
//! ```

/// One row for each class (supports, refutes, neutral), one weight for each feature.
#[rustfmt::skip]
pub(crate) const WEIGHTS: [&[f64]; 3] = [
    &[
        -0.4822, // coverage
        3.0199, // coverage_squared
        1.4774, // statement_coverage
        0.5447, // outcome_coverage
        0.7165, // subject_coverage
        6.1495, // premise_share
        -0.3060, // bigram_coverage
        -0.6756, // symbol_missing
        -0.1291, // symbol_coverage
        0.0000, // number_match
        -1.9270, // number_clash
        0.9650, // agree
        0.0000, // disagree
        0.2268, // agree_by_effect
        -2.8234, // disagree_by_effect
        0.0000, // vote_for
        0.0000, // vote_against
        0.0000, // local_agree
        -1.2089, // local_disagree
        0.3362, // parity_same
        -0.4015, // parity_other
        0.0000, // negation_same
        -1.9228, // negation_other
        -0.5364, // no_value
        0.5750, // premise_denies
        -1.0615, // asks
        0.3035, // hedges
        1.0793, // concludes
        -8.8490, // antonym
    ],
    &[
        -1.2121, // coverage
        2.8820, // coverage_squared
        1.0195, // statement_coverage
        0.8382, // outcome_coverage
        0.8682, // subject_coverage
        6.6129, // premise_share
        0.0633, // bigram_coverage
        -1.0623, // symbol_missing
        -0.6964, // symbol_coverage
        0.2749, // number_match
        0.0000, // number_clash
        -1.0027, // agree
        0.0000, // disagree
        0.0000, // agree_by_effect
        0.0000, // disagree_by_effect
        0.0000, // vote_for
        0.8278, // vote_against
        0.0000, // local_agree
        0.8008, // local_disagree
        0.0000, // parity_same
        0.6198, // parity_other
        0.0000, // negation_same
        1.0120, // negation_other
        -1.0633, // no_value
        -0.3244, // premise_denies
        -0.8038, // asks
        0.2645, // hedges
        1.2231, // concludes
        2.0565, // antonym
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
pub(crate) const INTERCEPTS: [f64; 3] = [-1.9975, -1.6370, 0.0000];
