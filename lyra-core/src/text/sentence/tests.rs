//! Tests of [`super`].

use super::*;
use crate::text::testing::shared_lines;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn check(expected: &[&str]) {
    let text = expected.join(" ");
    let chars: Vec<char> = text.chars().collect();
    let found: Vec<String> = sentences(&text)
        .into_iter()
        .map(|r| chars[r].iter().collect())
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn english() {
    for expected in [
        &["One.", "Two!", "Three?", "Four"][..],
        &[
            "We gave aspirin, e.g. 75 mg, i.e. a low dose.",
            "It helped.",
        ],
        &["Smith et al. found it.", "Jones et al. (2010) did not."],
        &[
            "As Fig. 2 shows, it rose.",
            "See Fig. S3 and Eq. 4.",
            "No. 5 fell.",
        ],
        &[
            "Drug vs. placebo was tested.",
            "J. Smith and J. R. R. Tolkien wrote it.",
        ],
        &[
            "P was 0.05.",
            "HR 1.27 (95% CI 1.07-1.51).",
            "It was p < .001 in all.",
        ],
        &["He has hepatitis C.", "The virus spreads."],
        &[
            "It was kept at 37°C.",
            "We waited.",
            "68.7% v. 56.3% is a gain.",
        ],
        &["It binds alpha-tocopherol.", "gamma-Tocopherol is lost."],
        &["It is common in the U.S.", "The rate is 5%."],
        &["The U.S. Government paid.", "He said no.", "We left."],
        &[
            "The effect was clear.",
            "mRNA levels rose.",
            "p53 was lost.",
        ],
        &["\"It works.\"", "She left (at 5 p.m. sharp).", "Yes."],
        &[
            "Known since 1998.[1][2,3]",
            "It was shown again.[4-6]",
            "Done.",
        ],
        &["1. Introduction to the topic.", "2. Methods and so on."],
        &["Wait... what is it?!", "Nothing."],
        &["See https://example.org/a.b?c=d for it.", "More follows."],
        &["Yahoo! is a firm.", "Dr. Who met Prof. X in St. Louis."],
        &[
            "Rate, approx. 5 per cent.",
            "Bacteria (e.g., E. coli) grew.",
        ],
        &[
            "α-Synuclein binds.",
            "β-cells die.",
            "It lasted 5 min.",
            "Then it ended.",
        ],
    ] {
        check(expected);
    }
}

#[test]
fn japanese_and_mixed() {
    for (text, expected) in [
        (
            "血糖値が下がった。体重は変わらない！本当？はい",
            &["血糖値が下がった。", "体重は変わらない！", "本当？", "はい"][..],
        ),
        (
            "彼は「効いた。良かった。」と述べた。次も同じ。",
            &["彼は「効いた。良かった。」と述べた。", "次も同じ。"],
        ),
        (
            "「効いた。」次の日に退院した。",
            &["「効いた。」", "次の日に退院した。"],
        ),
        (
            "HbA1cは6.5％だった。（詳細は表２．１を参照。）終わり．次",
            &[
                "HbA1cは6.5％だった。",
                "（詳細は表２．１を参照。）終わり．",
                "次",
            ],
        ),
        ("増加した.次に減少した.", &["増加した.", "次に減少した."]),
        (
            "閉じない「括弧。次の文。",
            &["閉じない「括弧。", "次の文。"],
        ),
        (
            "- a item\n- b. item\n| x | 1.5 |",
            &["- a item", "- b. item", "| x | 1.5 |"],
        ),
        ("", &[]),
        (" \n\t ", &[]),
    ] {
        let chars: Vec<char> = text.chars().collect();
        let found: Vec<String> = sentences(text)
            .into_iter()
            .map(|r| chars[r].iter().collect())
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn word_lists_are_sorted_for_binary_search() {
    for list in [NEVER_LAST, BEFORE_NUMBER, MAYBE_LAST, STARTERS] {
        assert!(list.is_sorted(), "{list:?}");
    }
}

#[test]
fn hostile_text_costs_linear_time() {
    for unit in ["「", ". ", ".[", "a.", "。」", "[1", ".\""] {
        let text = unit.repeat(200_000 / unit.len());
        assert!(sentences(&text).len() <= text.len());
    }
}

/// Abstracts that others have cut into sentences: how many of their and our cuts agree.
#[test]
fn cuts_abstracts_where_others_do() {
    let (mut common, mut ours, mut theirs) = (0, 0, 0);
    for row in shared_lines("scifact/corpus.jsonl").iter().step_by(5) {
        let parts: Vec<&str> = row["abstract"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s.as_str().unwrap().trim())
            .collect();
        let text = parts.join(" ");
        let mut end = 0;
        let expected: BTreeSet<usize> = parts
            .iter()
            .map(|part| {
                end += part.chars().count() + 1;
                end - 1
            })
            .collect();
        let found: BTreeSet<usize> = sentences(&text).iter().map(|range| range.end).collect();
        common += found.intersection(&expected).count();
        ours += found.len();
        theirs += expected.len();
    }
    if theirs == 0 {
        return;
    }
    let (precision, recall) = (common as f64 / ours as f64, common as f64 / theirs as f64);
    eprintln!("sentences of abstracts: precision {precision:.4}, recall {recall:.4}");
    assert!(
        precision > 0.98 && recall > 0.98,
        "precision {precision}, recall {recall}"
    );
}

proptest! {
    #[test]
    fn every_visible_character_lies_in_one_sentence(text in "(\\PC|[.。!? 「」\n\"A-Ca-c1]){0,200}") {
        let chars: Vec<char> = text.chars().collect();
        let found = sentences(&text);
        let mut covered = vec![0_u8; chars.len()];
        for pair in found.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start);
        }
        for range in found {
            prop_assert!(range.start < range.end);
            range.for_each(|i| covered[i] += 1);
        }
        for (c, n) in chars.iter().zip(covered) {
            prop_assert!(n == 1 || is_blank(*c), "{c:?} {n}");
        }
    }
}
