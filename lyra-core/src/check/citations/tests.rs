use super::super::draft::{Draft, DraftFormat};
use super::*;

fn sentences_of(text: &str) -> Vec<Sentence> {
    let draft = Draft::read(text.as_bytes(), DraftFormat::Markdown).unwrap();
    draft.pieces.iter().flat_map(read).collect()
}

fn label(text: &str) -> Target {
    Target::Label(text.to_owned())
}

#[test]
fn marks_leave_the_sentence_and_stay_its_own() {
    let address = |text: &str| Target::Address(text.to_owned());
    let author = |who: &str, year| Target::AuthorYear(who.to_owned(), year);
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
            "Risk rose (Roe et al., 2019; van der Berg & Doe 2020a).",
            "Risk rose.",
            vec![author("Roe", 2019), author("van der Berg", 2020)],
        ),
        (
            "Roe et al. (2019) saw risk rise.",
            "Roe et al. (2019) saw risk rise.",
            vec![author("Roe", 2019)],
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
        let all: Vec<Target> = found[0]
            .citations
            .iter()
            .flat_map(|c| c.targets.clone())
            .collect();
        assert_eq!(all, targets, "{text}");
    }
}

#[test]
fn a_mark_behind_a_sentence_is_that_sentences() {
    let found = sentences_of("Risk rose. [1] Deaths fell.[^n] No change.\n\n[^n]: Roe 2019.");
    let labels: Vec<Vec<Target>> = found
        .iter()
        .map(|s| s.citations.iter().flat_map(|c| c.targets.clone()).collect())
        .collect();
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
    assert_eq!(cut(&found[1].citations[0].span), " [1]");
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
