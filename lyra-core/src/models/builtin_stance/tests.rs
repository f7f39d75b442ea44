use super::*;

fn judged(premise: &str, claim: &str) -> Verdict {
    judge_pair(&StancePair::new(premise, claim)).unwrap()
}

#[test]
fn what_cannot_be_read_is_neutral_without_conviction() {
    for (premise, claim) in [
        ("夜勤は睡眠を短くした。", "夜勤は睡眠を短くする"),
        ("Night work shortened sleep.", "夜勤は睡眠を短くする"),
        ("Night work shortened sleep.", " "),
        ("", "Night work shortens sleep"),
        (
            "Group | Sleep | Night work | 74",
            "Night work shortens sleep",
        ),
    ] {
        let verdict = judged(premise, claim);
        assert_eq!(verdict.relation, Relation::Neutral, "{premise} / {claim}");
        assert!(verdict.confidence < 0.5, "{verdict:?}");
        assert_eq!(verdict.quote, None);
    }
}

#[test]
fn a_side_is_taken_only_where_it_is_likely_enough() {
    for (probabilities, expected) in [
        ([0.6, 0.1, 0.3], Relation::Supports),
        ([0.1, 0.7, 0.2], Relation::Refutes),
        ([0.1, 0.6, 0.3], Relation::Neutral),
        ([0.4, 0.35, 0.25], Relation::Neutral),
        ([0.2, 0.2, 0.6], Relation::Neutral),
    ] {
        assert_eq!(
            verdict(probabilities, None).relation,
            expected,
            "{probabilities:?}"
        );
    }
}

#[cfg(feature = "neural-judge")]
#[test]
fn a_long_pair_is_cut_and_judged() {
    let long = "word ".repeat(5_000);
    let verdict = judged(&long, &long);
    assert!(verdict.probabilities.is_some());
}
