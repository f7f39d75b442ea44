//! Checks of a stance judge.

use super::promises::{SAME, answered, is_a_name};
use crate::ports::{StanceJudge, StancePair, Verdict};
use crate::store::model::Relation;

/// Runs every check of a stance judge.
pub async fn check_stance_judge(judge: &dyn StanceJudge) {
    judge_names_itself(judge).await;
    judge_gives_one_nli_verdict_a_pair(judge).await;
    judge_confidences_lie_in_zero_to_one(judge).await;
    judge_is_the_same_alone_or_in_a_batch(judge).await;
    judge_accepts_empty_texts(judge).await;
    judge_gives_nothing_for_nothing(judge).await;
}

/// The id of the judge can be stored with a verdict.
pub async fn judge_names_itself(judge: &dyn StanceJudge) {
    let id = judge.judge_id();
    assert!(is_a_name(id), "judge_id {id:?} is no name");
}

/// There are as many verdicts as pairs, each of them `supports`, `refutes` or `neutral`.
pub async fn judge_gives_one_nli_verdict_a_pair(judge: &dyn StanceJudge) {
    let pairs = pairs();
    let verdicts = verdicts(judge, &pairs).await;
    assert_one_nli_verdict_each(judge.judge_id(), &pairs, &verdicts);
}

/// Every confidence is in 0..=1.
pub async fn judge_confidences_lie_in_zero_to_one(judge: &dyn StanceJudge) {
    let pairs = pairs();
    for (verdict, pair) in verdicts(judge, &pairs).await.iter().zip(&pairs) {
        assert_confidence(judge.judge_id(), pair, verdict);
    }
}

/// The verdict on a pair depends only on the pair.
pub async fn judge_is_the_same_alone_or_in_a_batch(judge: &dyn StanceJudge) {
    let pairs = pairs();
    let batch = verdicts(judge, &pairs).await;
    for (pair, expected) in pairs.iter().zip(&batch) {
        let alone = verdicts(judge, std::slice::from_ref(pair)).await;
        let same = alone.first().is_some_and(|alone| {
            alone.relation == expected.relation
                && (alone.confidence - expected.confidence).abs() <= SAME
        });
        assert!(
            same,
            "{}: {pair:?} is {alone:?} alone and {expected:?} in a batch",
            judge.judge_id()
        );
    }
}

/// Empty premises and hypotheses are judged like any other.
pub async fn judge_accepts_empty_texts(judge: &dyn StanceJudge) {
    let pairs = [
        pair("", "Drug X increases the risk of falls."),
        pair("Drug X increased the risk of falls.", ""),
        pair("", ""),
    ];
    let verdicts = verdicts(judge, &pairs).await;
    assert_one_nli_verdict_each(judge.judge_id(), &pairs, &verdicts);
    for (verdict, pair) in verdicts.iter().zip(&pairs) {
        assert_confidence(judge.judge_id(), pair, verdict);
    }
}

/// Without pairs there are no verdicts and no error.
pub async fn judge_gives_nothing_for_nothing(judge: &dyn StanceJudge) {
    let verdicts = verdicts(judge, &[]).await;
    assert!(
        verdicts.is_empty(),
        "{}: {} verdicts on no pair",
        judge.judge_id(),
        verdicts.len()
    );
}

async fn verdicts(judge: &dyn StanceJudge, pairs: &[StancePair]) -> Vec<Verdict> {
    let asked = format!("judge({} pairs)", pairs.len());
    answered(judge.judge_id(), &asked, judge.judge(pairs).await)
}

fn assert_one_nli_verdict_each(id: &str, pairs: &[StancePair], verdicts: &[Verdict]) {
    assert_eq!(
        verdicts.len(),
        pairs.len(),
        "{id}: {} verdicts on {} pairs",
        verdicts.len(),
        pairs.len()
    );
    for (verdict, pair) in verdicts.iter().zip(pairs) {
        let is_nli = matches!(
            verdict.relation,
            Relation::Supports | Relation::Refutes | Relation::Neutral
        );
        assert!(
            is_nli,
            "{id}: {:?} is no NLI relation, on {pair:?}",
            verdict.relation
        );
    }
}

fn assert_confidence(id: &str, pair: &StancePair, verdict: &Verdict) {
    assert!(
        (0.0..=1.0).contains(&verdict.confidence),
        "{id}: confidence {} on {pair:?} lies outside 0..=1",
        verdict.confidence
    );
}

/// Two hypotheses in turn, which reveals a judge that remembers the previous pair.
fn pairs() -> Vec<StancePair> {
    let harm = "Drug X increases the risk of falls in older adults.";
    let benefit = "Drug X reduces mortality.";
    vec![
        pair("Drug X increased the risk of falls (RR 1.41).", harm),
        pair("Drug X did not reduce mortality.", benefit),
        pair("Drug X did not increase the risk of falls.", harm),
        pair("The office closes at five.", harm),
        pair(
            "Mortality was lower with drug X than with placebo.",
            benefit,
        ),
        pair(
            "薬剤Xは高齢者の転倒リスクを有意に増加させた。",
            "薬剤Xは転倒を増やす",
        ),
        pair("?!…", "👩‍⚕️"),
    ]
}

fn pair(premise: &str, hypothesis: &str) -> StancePair {
    StancePair::new(premise.to_owned(), hypothesis.to_owned())
}
