//! Tests of the judge as a whole, and the dump of features that its weights are fitted on.

use super::*;
use crate::text::segment::slice_chars;
use std::ops::Range;

/// The chosen sentences in the order of the document, as the pipeline shows them to the judge.
fn premise_text(text: &str, chosen: &[Range<usize>]) -> String {
    let mut in_order = chosen.to_vec();
    in_order.sort_by_key(|range| range.start);
    let parts: Vec<&str> = in_order
        .iter()
        .filter_map(|range| slice_chars(text, range.start, range.end))
        .collect();
    parts.join(" ")
}

/// Writes the features of labelled pairs as CSV, for `scripts/stance/fit.py`.
///
/// `LYRA_STANCE_PAIRS` names a file of lines `id <tab> kind <tab> label <tab> text <tab> claim`,
/// where `text` is a premise (kind `premise`) or a passage to choose one from (kind `passage`).
#[test]
fn dump_stance_features() {
    let Some(path) = std::env::var_os("LYRA_STANCE_PAIRS") else {
        eprintln!("skipped: LYRA_STANCE_PAIRS names no file of pairs");
        return;
    };
    println!(
        "FEATURES\tid\tlabel\tmost\tside\t{}",
        features::NAMES.join("\t")
    );
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [id, kind, label, text, claim] = cells[..] else {
            panic!("not five cells: {line}")
        };
        let premise = if kind == "passage" {
            premise_text(text, &choose_premise(text, claim, 2))
        } else {
            text.to_owned()
        };
        let compared = Hypothesis::new(claim).compare(&Reading::new(&premise));
        let values: Vec<String> = compared.values.iter().map(|v| format!("{v:.5}")).collect();
        let most = compared.decided_at_most();
        let side = match compared.says() {
            Some(true) => 1,
            Some(false) => -1,
            None => 0,
        };
        println!(
            "FEATURES\t{id}\t{label}\t{most}\t{side}\t{}",
            values.join("\t")
        );
    }
}

fn judged(hypothesis: &str, premise: &str) -> Verdict {
    let pair = StancePair::new(premise.to_owned(), hypothesis.to_owned());
    judge_all(&[pair]).remove(0)
}

#[test]
fn hand_written_cases() {
    let wrong: Vec<String> = cases::CASES
        .iter()
        .filter_map(|(hypothesis, premise, expected)| {
            let verdict = judged(hypothesis, premise);
            let sign = match verdict.relation {
                Relation::Supports => '+',
                Relation::Refutes => '-',
                _ => '0',
            };
            (sign != *expected).then(|| {
                format!(
                    "{sign} for {expected} ({:.2}): {premise} / {hypothesis}",
                    verdict.confidence
                )
            })
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases::CASES.len(),
        wrong.join("\n")
    );
}

/// Of the verdicts that decide, for (`+`) and against (`-`): how many there are, how many are
/// right, and how many there should be.
fn decided(groups: &[(&str, &[(&str, char)])], sign: char) -> (f64, f64, f64) {
    let relation = if sign == '+' {
        Relation::Supports
    } else {
        Relation::Refutes
    };
    let (mut given, mut right, mut wanted) = (0.0, 0.0, 0.0);
    for (hypothesis, premises) in groups {
        for (premise, expected) in *premises {
            let is_wanted = *expected == sign;
            let is_given = judged(hypothesis, premise).relation == relation;
            wanted += f64::from(u8::from(is_wanted));
            given += f64::from(u8::from(is_given));
            right += f64::from(u8::from(is_given && is_wanted));
        }
    }
    (given, right, wanted)
}

#[test]
fn plain_language_is_read() {
    // Least precision and recall; for the held-out pairs, what was measured, less a little.
    let sets = [
        ("plain", plain::PLAIN, 0.97, 0.95),
        ("held out", held_out::HELD_OUT, 0.82, 0.82),
    ];
    for (name, groups, precision, recall) in sets {
        for sign in ['+', '-'] {
            let (given, right, wanted) = decided(groups, sign);
            let figures = (right / given, right / wanted);
            assert!(
                figures.0 >= precision && figures.1 >= recall,
                "{name} {sign}: precision and recall {figures:?}"
            );
        }
    }
}

#[test]
fn premises_of_other_cases_are_neutral() {
    // Every hypothesis beside every premise about none of its words.
    let mut compared = 0;
    for (hypothesis, ..) in cases::CASES {
        let own: std::collections::HashSet<String> = tokenize(hypothesis)
            .into_iter()
            .filter(|t| t.weight >= 1.0)
            .map(|t| t.stem)
            .collect();
        for (_, premise, _) in cases::CASES {
            if tokenize(premise).iter().any(|t| own.contains(&t.stem)) {
                continue;
            }
            compared += 1;
            let verdict = judged(hypothesis, premise);
            assert_eq!(
                verdict.relation,
                Relation::Neutral,
                "{premise} / {hypothesis}"
            );
        }
    }
    assert!(compared > 1000, "{compared}");
}

#[test]
fn weights_fit_the_features() {
    for row in weights::WEIGHTS {
        assert_eq!(row.len(), features::COUNT);
        assert!(row.iter().all(|w| w.is_finite()));
    }
}

#[test]
fn odd_texts_are_neutral_with_a_confidence_in_range() {
    let long = "risk ".repeat(20_000);
    for text in [
        "", " ", "。", "p", "(((", "95% CI", "HR 1.2 (", "not", "より", "は", "\u{0}", &long,
    ] {
        for other in ["", "Coffee lowers the risk of gout", text] {
            for (hypothesis, premise) in [(text, other), (other, text)] {
                let verdict = judged(hypothesis, premise);
                assert!(
                    (0.0..=1.0).contains(&verdict.confidence),
                    "{premise:?} / {hypothesis:?}"
                );
            }
        }
    }
    assert_eq!(
        judged("Coffee lowers the risk of gout", "").relation,
        Relation::Neutral
    );
    assert_eq!(
        judged("", "Coffee lowers the risk of gout").relation,
        Relation::Neutral
    );
}

#[tokio::test]
async fn a_batch_answers_as_single_pairs_do() {
    let pairs: Vec<StancePair> = cases::CASES
        .iter()
        .map(|(h, p, _)| StancePair::new((*p).to_owned(), (*h).to_owned()))
        .collect();
    let judge = BuiltinStanceJudge;
    let batch = judge.judge(&pairs).await.unwrap();
    assert_eq!(batch.len(), pairs.len());
    for (pair, verdict) in pairs.iter().zip(&batch) {
        assert_eq!(
            &judge.judge(std::slice::from_ref(pair)).await.unwrap()[0],
            verdict
        );
    }
    assert_eq!(judge.judge_id(), "lyra-builtin-stance-v2");
    assert!(judge.is_builtin());
}

#[test]
fn premises_are_the_sentences_closest_to_the_claim() {
    let text = "Patients were followed for two years. Saxagliptin increased the rate of hospitalization \
                for heart failure. Funding came from the maker. The museum opened in May.";
    let chosen = choose_premise(text, cases::SAXA_RISK, 2);
    assert_eq!(
        premise_text(text, &chosen[..1]),
        "Saxagliptin increased the rate of hospitalization for heart failure."
    );
    assert!(chosen.len() <= 3);
    assert!(!premise_text(text, &chosen).contains("museum"));
    assert!(choose_premise("", "anything", 2).is_empty());
    assert!(choose_premise(text, "anything", 0).is_empty());
    let japanese = "対象は成人である。サキサグリプチンは心不全入院を増加させた。資金は企業による。";
    let chosen = choose_premise(japanese, "サキサグリプチンは心不全を増やす", 1);
    assert_eq!(
        premise_text(japanese, &chosen[..1]),
        "サキサグリプチンは心不全入院を増加させた。"
    );
}

#[test]
fn a_row_of_a_table_says_nothing_by_itself() {
    let pair = |premise: &str| {
        StancePair::new(
            premise.to_owned(),
            "Evening coffee did not shorten sleep.".to_owned(),
        )
    };
    let rows = [
        "Dose | Sleep lost",
        "400 mg | 61 min",
        "Evening coffee | shortened sleep",
    ];
    for verdict in judge_all(&rows.map(pair)) {
        assert_eq!(verdict.relation, Relation::Neutral);
    }
    let said = judge_all(&[pair("Evening coffee shortened sleep by 61 minutes.")]);
    assert_eq!(said[0].relation, Relation::Refutes);
}
