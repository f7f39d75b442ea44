use super::*;

fn judged(premise: &str, claim: &str) -> Verdict {
    let judge = NeuralStanceJudge::new().unwrap();
    judge.judge_pair(&StancePair::new(premise, claim)).unwrap()
}

#[test]
fn what_cannot_be_read_is_neutral_without_conviction() {
    for (premise, claim) in [
        ("夜勤は睡眠を短くした。", "夜勤は睡眠を短くする"),
        ("Night work shortened sleep.", "夜勤は睡眠を短くする"),
        ("Night work shortened sleep.", " "),
        ("", "Night work shortens sleep"),
    ] {
        let verdict = judged(premise, claim);
        assert_eq!(verdict.relation, Relation::Neutral, "{premise} / {claim}");
        assert!(verdict.confidence < 0.5, "{verdict:?}");
        assert_eq!(verdict.quote, None);
    }
}

#[test]
fn a_long_pair_is_cut_and_judged() {
    let long = "word ".repeat(5_000);
    let verdict = judged(&long, &long);
    assert!(verdict.probabilities.is_some());
}
