//! Tests of [`super`].

use super::*;
use crate::store::text::testing::shared_lines;
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
            "It lowers their levels.1,2",
            "The dose was small.12 13",
            "We saw it.",
        ],
        &[
            "It rose, see table.1 in the annex.",
            "Use sentence.10000 Runs failed.",
        ],
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
            "In sorghum (Sorghum bicolor (L.) Moench) yields fell.",
            "Wheat (Triticum aestivum [L.]) did not.",
        ],
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
fn units_and_letters_end_sentences_and_initials_do_not() {
    for expected in [
        &["It was kept at 25 °C.", "The rest was not."][..],
        &["It was kept at 25° C.", "Samples were not."],
        &["It took 40 ms.", "It was fast."],
        &["It took 40ms.", "Tea helps."],
        &[
            "It weighs 3 kg.",
            "Nurses lift it in 2 s.",
            "Then they rest.",
        ],
        &[
            "It was cooled to 300 K.",
            "However, it broke at 5 V.",
            "The rest held.",
        ],
        &[
            "They took vitamin C.",
            "The others took vitamin D.",
            "Among them it fell.",
        ],
        &[
            "In 2019 Ms. Roe wrote it.",
            "In 2020 J. Smith and A. B. Jones did.",
        ],
        &["Work by J. Smith was read.", "A. The was his name."],
        &[
            "It lowered LDL-C.",
            "Moreover, it bound RIG-I.",
            "Tissue was stained with H&E.",
            "Relapses of MS.",
            "CSF was normal.",
        ],
        &["Symptoms . . . . . . .", "17 Treatment . . . . ."],
        &["We took C#.", ".NET was slower."],
        &["Papers by J-P. Roe, P. Hsu and T.-I. Lee were read."],
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

/// The number of character accesses for a text.
fn looks(text: &str) -> usize {
    let chars: Vec<char> = text.chars().collect();
    let mut scan = Scan::new(&chars);
    scan.sentences();
    scan.looks.get()
}

/// Doubling the text may at most double the accesses, plus the bounded look-ahead at its end.
fn assert_linear(text: impl Fn(usize) -> String) {
    const END: usize = 2 * BRACKET_REACH * BRACKET_REACH;
    let (one, two) = (looks(&text(2_000)), looks(&text(4_000)));
    let start: String = text(3).chars().take(30).collect();
    assert!(two <= 2 * one + END, "{start:?}: {one} looks, then {two}");
}

#[test]
fn hostile_text_costs_linear_time() {
    let ascii = (0..128_u8).map(|b| char::from(b).to_string());
    let others = (0..0x3_0000_u32).step_by(709).filter_map(char::from_u32);
    let marks = "…。！？．｡।॥؟۔」』「『（【〈《”’»）】〕〉》］｣、\u{2028}\u{85}\u{feff}\u{3000}";
    let singles = ascii.chain(others.chain(marks.chars()).map(String::from));
    // Patterns of two to six of the characters that the rules use.
    let alphabet: Vec<char> = " \n.!?…[]()\"'12,-aA。！？．「」（）】とC°"
        .chars()
        .collect();
    let mut state = 7_usize;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let patterns: Vec<String> = (0..200)
        .map(|nth| {
            let chars = (0..2 + nth % 5).map(|_| alphabet[next(alphabet.len())]);
            chars.collect()
        })
        .collect();
    for unit in singles.chain(patterns) {
        for (before, after) in [
            ("", ""),
            ("", "a"),
            ("x", " a"),
            ("「", " A"),
            ("1. ", "血"),
        ] {
            assert_linear(|times| format!("{before}{}{after}", unit.repeat(times)));
        }
    }
    let units = [
        ".", "!", "。", "．", "」", "「", "（", " ", "\n", "[1]", "[1", "e.g. A ", "A. ", "a.",
        ". ", ".[", "。」", ".\"", "?)", "1. A ", "血.", "....... ",
    ];
    for first in units {
        for second in units {
            assert_linear(|times| format!("{}{}a", first.repeat(times), second.repeat(times)));
        }
    }
}

/// Abstracts that were split into sentences by others: the agreement of their boundaries with ours.
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
        for (range, slice) in sentence_texts(&text) {
            prop_assert_eq!(slice, chars[range].iter().collect::<String>());
        }
        for (c, n) in chars.iter().zip(covered) {
            prop_assert!(n == 1 || is_blank(*c), "{c:?} {n}");
        }
    }
}
