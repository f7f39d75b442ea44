//! The balance of evidence as a Beta distribution.

use crate::store::model::Relation;

/// The balance between a claim's supporting and refuting evidence.
///
/// A score for navigation, not a verdict: verdicts are assumed to be independent, and only evidence that
/// was found counts.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct ClaimConfidence {
    /// 1 + the sum of the confidences of the supporting verdicts.
    pub alpha: f64,
    /// 1 + the sum of the confidences of the refuting verdicts.
    pub beta: f64,
    /// α / (α + β): 0.5 without evidence.
    pub mean: f64,
    /// Standard deviation of Beta(α, β): 0.289 without evidence, smaller with more evidence.
    pub sd: f64,
    /// The smaller of both weights divided by their sum: 0 if all agree, 0.5 if they balance.
    pub controversy: f64,
    /// Number of verdicts that support the claim.
    pub supporting_count: usize,
    /// Number of verdicts that refute it.
    pub refuting_count: usize,
    /// Number of neutral verdicts.
    pub neutral_count: usize,
    /// Number of all verdicts.
    pub evidence_count: usize,
}

/// Combines verdicts, each with its confidence from 0 to 1.
///
/// Origin and citation edges do not count; a neutral verdict counts as evidence but has no weight. A
/// confidence outside 0 to 1 is clamped; one that is not a number has no weight.
///
/// ```
/// use lyra_core::{store::confidence::claim_confidence, store::model::Relation};
/// let balance = claim_confidence(&[(Relation::Supports, 0.9), (Relation::Supports, 0.9), (Relation::Refutes, 0.8)]);
/// assert!((balance.mean - 2.8 / 4.6).abs() < 1e-12);
/// assert_eq!(balance.evidence_count, 3);
/// ```
pub fn claim_confidence(verdicts: &[(Relation, f64)]) -> ClaimConfidence {
    let of = |wanted: Relation| {
        let weights = verdicts
            .iter()
            .filter(|(relation, _)| *relation == wanted)
            .map(|(_, confidence)| {
                if confidence.is_nan() {
                    0.0
                } else {
                    confidence.clamp(0.0, 1.0)
                }
            });
        weights.fold((0, 0.0), |(count, sum), weight| (count + 1, sum + weight))
    };
    let (supporting_count, support) = of(Relation::Supports);
    let (refuting_count, refutation) = of(Relation::Refutes);
    let (neutral_count, _) = of(Relation::Neutral);
    let (alpha, beta) = (1.0 + support, 1.0 + refutation);
    let total = alpha + beta;
    let weight = support + refutation;
    ClaimConfidence {
        alpha,
        beta,
        mean: alpha / total,
        sd: (alpha * beta / (total * total * (total + 1.0))).sqrt(),
        controversy: if weight > 0.0 {
            support.min(refutation) / weight
        } else {
            0.0
        },
        supporting_count,
        refuting_count,
        neutral_count,
        evidence_count: supporting_count + refuting_count + neutral_count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;
    use proptest::prelude::*;
    use serde_json::Value;

    /// The reference rounds, and treats a missing confidence as 0.
    fn check(verdicts: &[(Relation, f64)], expected: &Value) {
        let found = claim_confidence(verdicts);
        for (name, value, half_unit) in [
            ("nli_claim_support_ratio", found.mean, 0.0005),
            ("view_ratio_4dp", found.mean, 0.000_05),
            ("uncertainty", found.sd, 0.0005),
            ("controversy", found.controversy, 0.0005),
            ("alpha", found.alpha, 0.005),
            ("beta", found.beta, 0.005),
        ] {
            if let Some(expected) = expected.get(name).and_then(Value::as_f64) {
                assert!(
                    (value - expected).abs() <= half_unit + 1e-9,
                    "{name} {value}: {verdicts:?}"
                );
            }
        }
        for (name, value) in [
            ("supporting_count", found.supporting_count),
            ("refuting_count", found.refuting_count),
            ("neutral_count", found.neutral_count),
            ("evidence_count", found.evidence_count),
        ] {
            assert_eq!(value as u64, expected[name], "{name}: {verdicts:?}");
        }
    }

    fn verdict(relation: &Value, confidence: &Value) -> (Relation, f64) {
        (
            relation.as_str().unwrap().parse().unwrap(),
            confidence.as_f64().unwrap_or(0.0),
        )
    }

    #[test]
    fn agrees_with_the_reference() {
        for row in reference_cases("claim_support_ratio") {
            let edges = row["edges"].as_array().unwrap();
            let verdicts: Vec<_> = edges
                .iter()
                .map(|edge| verdict(&edge[0], &edge[1]))
                .collect();
            check(&verdicts, &row);
        }
        for row in reference_cases("rec_claim_confidence") {
            let edges = row["in"]["edges"].as_array().unwrap();
            let verdicts: Vec<_> = edges
                .iter()
                .map(|edge| verdict(&edge[2], &edge[3]))
                .collect();
            check(&verdicts, &row["out"]);
        }
    }

    #[test]
    fn knows_nothing_without_evidence() {
        for verdicts in [
            &[][..],
            &[(Relation::Origin, 1.0)],
            &[(Relation::Cites, 1.0)],
            &[(Relation::Supports, f64::NAN)],
        ] {
            let found = claim_confidence(verdicts);
            assert_eq!(
                (found.alpha, found.beta, found.mean, found.controversy),
                (1.0, 1.0, 0.5, 0.0)
            );
            assert!((found.sd - (1.0_f64 / 12.0).sqrt()).abs() < 1e-15);
        }
    }

    proptest! {
        #[test]
        fn stays_in_bounds_and_mirrors(verdicts in proptest::collection::vec((0_usize..5, -1.0..2.0_f64), 0..40)) {
            let verdicts: Vec<_> =
                verdicts.into_iter().map(|(nth, confidence)| (Relation::ALL[nth], confidence)).collect();
            let found = claim_confidence(&verdicts);
            prop_assert!(found.mean > 0.0 && found.mean < 1.0);
            prop_assert!(found.sd > 0.0 && found.sd < 0.2887);
            prop_assert!((0.0..=0.5).contains(&found.controversy));
            let mirrored: Vec<_> = verdicts
                .iter()
                .map(|&(relation, confidence)| match relation {
                    Relation::Supports => (Relation::Refutes, confidence),
                    Relation::Refutes => (Relation::Supports, confidence),
                    other => (other, confidence),
                })
                .collect();
            prop_assert!((claim_confidence(&mirrored).mean - (1.0 - found.mean)).abs() < 1e-12);
        }
    }
}
