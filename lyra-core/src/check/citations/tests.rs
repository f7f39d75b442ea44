use super::super::draft::{Draft, DraftFormat};
use super::*;

fn sentences_of(text: &str) -> Vec<Sentence> {
    sentences_in(text, DraftFormat::Markdown)
}

/// With a list of references from 1 to 12.
fn sentences_in(text: &str, format: DraftFormat) -> Vec<Sentence> {
    let draft = Draft::read(text.as_bytes(), format).unwrap();
    let numbers: HashSet<String> = (1..=12).map(|n| n.to_string()).collect();
    let pieces = draft.pieces.iter();
    pieces.flat_map(|piece| read(piece, &numbers)).collect()
}

fn targets_of(sentence: &Sentence) -> Vec<CitationTarget> {
    let all = sentence.citations.iter().flat_map(|c| c.targets.clone());
    all.collect()
}

fn labels_in(text: &str, format: DraftFormat) -> Vec<String> {
    let targets = sentences_in(text, format)
        .iter()
        .flat_map(targets_of)
        .collect::<Vec<_>>();
    let names = targets.into_iter().map(|target| match target {
        CitationTarget::Label(label) => label,
        CitationTarget::AuthorYear(who, year, further) => {
            let names: String = further
                .names
                .iter()
                .map(|name| format!("+{name}"))
                .collect();
            let others = if further.has_others { "+" } else { "" };
            let letter = further.letter.map(String::from).unwrap_or_default();
            format!("{who}{names}{others} {year}{letter}")
        }
        CitationTarget::Address(address) => address,
    });
    names.collect()
}

fn label(text: &str) -> CitationTarget {
    CitationTarget::Label(text.to_owned())
}

#[test]
fn marks_leave_the_sentence_and_stay_its_own() {
    let address = |text: &str| CitationTarget::Address(text.to_owned());
    let author = |who: &str, names: &[&str], year| {
        let further = Further {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            has_others: names.is_empty(),
            letter: None,
        };
        CitationTarget::AuthorYear(who.to_owned(), year, further)
    };
    for (text, plain, targets) in [
        ("Risk rose [1].", "Risk rose.", vec![label("1")]),
        (
            "Risk rose.[2,4-6]",
            "Risk rose.",
            vec![label("2"), label("4"), label("5"), label("6")],
        ),
        ("Risk rose.¹²", "Risk rose.", vec![label("12")]),
        ("The area is 5 m².", "The area is 5 m².", vec![]),
        (
            "Risk rose [see @roe2019, p. 3; @doe20].",
            "Risk rose.",
            vec![label("roe2019"), label("doe20")],
        ),
        (
            "@roe2019 saw risk rise.",
            "@roe2019 saw risk rise.",
            vec![label("roe2019")],
        ),
        (
            "Risk rose (Roe et al., 2019; van der Berg & Doe 2020).",
            "Risk rose.",
            vec![
                author("Roe", &[], 2019),
                author("van der Berg", &["Doe"], 2020),
            ],
        ),
        (
            "Roe et al. (2019) saw risk rise.",
            "Roe et al. (2019) saw risk rise.",
            vec![author("Roe", &[], 2019)],
        ),
        (
            "Risk rose ([source](https://a.example/x)).",
            "Risk rose.",
            vec![address("https://a.example/x")],
        ),
        (
            "[Risk rose](https://a.example/x) in men.",
            "Risk rose in men.",
            vec![address("https://a.example/x")],
        ),
        (
            "Risk rose (doi:10.1234/abc.5).",
            "Risk rose.",
            vec![address("doi:10.1234/abc.5")],
        ),
        (
            "Risk rose, see https://a.example/x.",
            "Risk rose, see.",
            vec![address("https://a.example/x")],
        ),
        (
            "Sales rose by 5 % (in 2019).",
            "Sales rose by 5 % (in 2019).",
            vec![],
        ),
        ("Sales rose (May 2019).", "Sales rose (May 2019).", vec![]),
        (
            "Sales rose (the Paris office, 2019).",
            "Sales rose (the Paris office, 2019).",
            vec![],
        ),
    ] {
        let found = sentences_of(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert_eq!(found[0].text, plain, "{text}");
        assert_eq!(targets_of(&found[0]), targets, "{text}");
    }
}

#[test]
fn a_mark_behind_a_sentence_is_that_sentences() {
    let found = sentences_of("Risk rose. [1] Deaths fell.[^n] No change.\n\n[^n]: Roe 2019.");
    let labels: Vec<Vec<CitationTarget>> = found.iter().map(targets_of).collect();
    assert_eq!(found[0].text, "Risk rose.");
    assert_eq!(labels[..3], [vec![label("1")], vec![label("n")], vec![]]);
}

#[test]
fn spans_cut_the_sentence_out_of_the_draft() {
    let text = "# Ä title\n\n* Risk **rose** by 5&nbsp;% [1]. Tea [helps](x.md).\n";
    let cut = |span: &Range<usize>| -> String {
        text.chars().skip(span.start).take(span.len()).collect()
    };
    let found = sentences_of(text);
    assert_eq!(cut(&found[1].span), "Risk **rose** by 5&nbsp;% [1].");
    assert_eq!(cut(&found[1].citations[0].span), "[1]");
    assert_eq!(cut(&found[2].span), "Tea [helps](x.md).");
}

#[test]
fn a_quotation_of_two_sentences_is_one() {
    let found = sentences_of("Roe says: “Risk rose. Deaths fell.” [1] Tea helps. “Yes.");
    let texts: Vec<&str> = found.iter().map(|s| s.text.as_str()).collect();
    assert_eq!(
        texts,
        ["Roe says: “Risk rose. Deaths fell.”", "Tea helps.", "“Yes."]
    );
    assert_eq!(found[0].citations.len(), 1);
}

#[test]
fn a_citation_that_begins_a_sentence_is_that_sentences() {
    for second in [
        "Tanaka et al. (2017) found that sleep was short.",
        "@tanaka2017 says that sleep was short.",
        "[PEP 703](https://peps.example/703) says that sleep was short.",
        "(Tanaka and Roe (2017) found that sleep was short.)",
    ] {
        let text = format!("Risk rose in men [3]. {second} Deaths fell. [4]");
        let found = sentences_of(&text);
        let counts: Vec<usize> = found.iter().map(|s| s.citations.len()).collect();
        assert_eq!(counts, [1, 1, 1], "{text}: {found:?}");
        assert_eq!(targets_of(&found[0]), [label("3")], "{text}");
        assert_eq!(targets_of(&found[2]), [label("4")], "{text}");
    }
    let latex = sentences_in(
        "Risk rose~\\cite{a}. \\citet{roe} found that sleep was short.",
        DraftFormat::Latex,
    );
    assert_eq!(latex[0].text, "Risk rose.");
    assert_eq!(latex[1].text, "@roe found that sleep was short.");
    assert_eq!(targets_of(&latex[0]), [label("a")]);
    assert_eq!(targets_of(&latex[1]), [label("roe")]);
}

#[test]
fn numbers_are_read_in_many_forms() {
    for (mark, labels) in [
        ("[2, p. 5]", vec!["2"]),
        ("[see 2]", vec!["2"]),
        ("[2, 5; 7]", vec!["2", "5", "7"]),
        ("[2, pp. 5–7; 9]", vec!["2", "9"]),
        ("[1]–[3]", vec!["1", "2", "3"]),
        ("[1], [4]", vec!["1", "4"]),
        ("([6])", vec!["6"]),
        ("[sic]", vec![]),
        ("[0, 1]", vec![]),
        ("[2019]", vec![]),
        ("`x[1, 2]`", vec![]),
        ("(95% CI [2, 5])", vec![]),
    ] {
        let text = format!("Risk rose {mark} in men.");
        assert_eq!(labels_in(&text, DraftFormat::Markdown), labels, "{text}");
        if !labels.is_empty() {
            assert_eq!(sentences_of(&text)[0].text, "Risk rose in men.", "{text}");
        }
    }
    assert_eq!(
        sentences_of("Risk rose (as seen [1]).")[0].text,
        "Risk rose (as seen)."
    );
}

#[test]
fn authors_are_read_in_many_forms() {
    for (words, works) in [
        (
            "(Tanaka, O'Brien, & de Vries, 2017)",
            vec!["Tanaka+O'Brien+de Vries 2017"],
        ),
        ("(Smith 2016, 2017)", vec!["Smith 2016", "Smith 2017"]),
        ("(Smith 2016a, b)", vec!["Smith 2016a", "Smith 2016b"]),
        ("(Smith 2016; 2017, p. 4)", vec!["Smith 2016", "Smith 2017"]),
        ("(Smith 2016; 2017)", vec!["Smith 2016", "Smith 2017"]),
        ("(Smith 2016, Roe 2018)", vec!["Smith 2016", "Roe 2018"]),
        ("[Tanaka et al., 2017]", vec!["Tanaka+ 2017"]),
        (
            "(see Tanaka, Roe, et al., 2017b)",
            vec!["Tanaka+Roe+ 2017b"],
        ),
        (
            "as Smith (2016, 2017) saw",
            vec!["Smith 2016", "Smith 2017"],
        ),
        ("by Smith’s (2016) count", vec!["Smith 2016"]),
        (
            "by Tanaka and de Vries (2017)",
            vec!["Tanaka+de Vries 2017"],
        ),
        ("(Paris, London, 2019)", vec![]),
        ("[May 2019]", vec![]),
    ] {
        let text = format!("Risk rose {words}.");
        assert_eq!(labels_in(&text, DraftFormat::Markdown), works, "{text}");
    }
    let text = "However, Tanaka, Roe, and Doe (2017) saw risk rise.";
    assert_eq!(
        labels_in(text, DraftFormat::Markdown),
        ["Tanaka+Roe+Doe 2017"]
    );
}

#[test]
fn raised_digits_are_marks_where_the_list_has_them() {
    use DraftFormat::{Html, Latex, Markdown};
    for (text, format, labels) in [
        (
            "<p>Risk rose.<sup>1,2</sup> Deaths fell.</p>",
            Html,
            vec!["1", "2"],
        ),
        ("<p>Risk<sup>3</sup> rose.</p>", Html, vec!["3"]),
        (
            "<p>Risk rose<sup><a href=\"#r4\">4</a></sup>.</p>",
            Html,
            vec!["4"],
        ),
        (
            "<p>It is 5 m<sup>2</sup>, 10<sup>3</sup> km<sup>2</sup>.</p>",
            Html,
            vec![],
        ),
        ("Risk rose.^12^ Deaths fell.", Markdown, vec!["12"]),
        ("Risk rose<sup>5–7</sup>.", Markdown, vec!["5", "6", "7"]),
        ("Risk rose².", Markdown, vec!["2"]),
        ("Risk rose⁹⁹.", Markdown, vec![]),
        ("10^3^, 5 m², 3 cm², x², and R² = 0.2.", Markdown, vec![]),
        ("Risk rose\\textsuperscript{3} by $10^3$.", Latex, vec!["3"]),
        ("Risk rose.$^{3,4}$", Latex, vec!["3", "4"]),
    ] {
        assert_eq!(labels_in(text, format), labels, "{text}");
    }
    let found = sentences_in("<p>Risk rose.<sup>1</sup> Deaths fell.</p>", Html);
    assert_eq!(found[0].text, "Risk rose.");
    assert_eq!(found[1].text, "Deaths fell.");
    let draft = Draft::read("Risk rose.¹".as_bytes(), Markdown).unwrap();
    let without_list = read(&draft.pieces[0], &HashSet::new());
    assert!(without_list[0].citations.is_empty());
}

#[test]
fn links_to_sections_of_the_draft_cite_nothing() {
    assert!(labels_in("Risk rose, see [Methods](#methods).", DraftFormat::Markdown).is_empty());
}

#[test]
fn no_text_makes_it_panic() {
    let letters: Vec<char> = "[(2, p. 5]–)²^@a1é睡.’Roe&2019;“”<sup>`\\"
        .chars()
        .collect();
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    for _ in 0..5_000 {
        let text: String = (0..40).map(|_| letters[next(letters.len())]).collect();
        for format in [DraftFormat::Markdown, DraftFormat::Html, DraftFormat::Latex] {
            sentences_in(&text, format);
        }
    }
}
