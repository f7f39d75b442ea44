//! What a set of verdicts says about a claim.
