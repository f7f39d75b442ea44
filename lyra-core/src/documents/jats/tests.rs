//! Tests of [`super`].

use super::super::tests::{outline, shared_data};
use super::*;
use proptest::prelude::*;

const ARTICLE: &str = include_str!("../../../../tests/data/documents/article.xml");

#[test]
fn an_article_is_read() {
    let got = parse(ARTICLE).unwrap();
    let meta = &got.meta;
    assert_eq!(
        meta.title.as_deref(),
        Some("Night work and H2O intake: a small cohort")
    );
    assert_eq!(
        meta.authors,
        ["Ada B. Smith", "Bo Lee Jr", "The Night Group"]
    );
    assert_eq!(
        (
            meta.doi.as_deref(),
            meta.pmid.as_deref(),
            meta.pmcid.as_deref()
        ),
        (Some("10.1000/night.7"), Some("123"), Some("PMC77"))
    );
    assert_eq!(
        (meta.year, meta.published_date.as_deref()),
        (Some(2019), Some("2019-03-05"))
    );
    assert_eq!(
        (
            meta.venue.as_deref(),
            meta.language.as_deref(),
            meta.is_retracted
        ),
        (Some("Journal of Quiet Nights"), Some("en"), true)
    );
    assert_eq!(
        outline(&got.blocks),
        [
            "heading1 Night work and H2O intake: a small cohort",
            "heading2 Abstract",
            "heading3 Aim",
            "abstract We asked how β-levels change at night.",
            "heading2 Introduction",
            "paragraph People who work at night drink less. Others [2] disagree & say <5 %.",
            "list water
tea
green tea",
            "paragraph After the list.",
            "heading2 Results",
            "heading3 Main result",
            "table Table 1. Litres a day
group | litres
night | 1.2
n = 20",
            "figure Figure 1. Intake. By hour.",
            "quote I was thirsty.",
        ]
        .join("|")
    );
    let references: Vec<_> = meta
        .references
        .iter()
        .map(|r| {
            (
                r.doi.as_deref().or(r.url.as_deref()),
                r.title.as_deref(),
                r.context.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        references,
        [
            (
                Some("10.1000/a1"),
                Some("Thirst at work"),
                Some("People who work at night drink less.")
            ),
            (
                Some("https://pubmed.ncbi.nlm.nih.gov/456/"),
                Some("Tea"),
                Some("Others [2] disagree & say <5 %.")
            ),
            (None, Some("A book about water"), None),
            (Some("10.1000/from-text"), None, None),
        ]
    );
    assert!(meta.references.iter().all(|r| r.source == "reference_list"));
}

#[test]
fn numbers_of_references_that_print_raises_stay_out_of_the_words() {
    let link = |n: &str| format!("<xref ref-type=\"bibr\" rid=\"b{n}\">{n}</xref>");
    let body = format!(
        "Tea helps men{}{}. Others{} doubt it {}, as Roe et al. ({}) do.",
        link("22"),
        link("23"),
        link("4"),
        link("5"),
        link("2009")
    );
    let article = format!(
        "<article><front><article-meta><title-group><article-title>Tea</article-title></title-group>\
         </article-meta></front><body><p>{body}</p></body></article>"
    );
    let got = outline(&parse(&article).unwrap().blocks);
    let told = "paragraph Tea helps men. Others doubt it 5, as Roe et al. (2009) do.";
    assert!(got.contains(told), "{got:?}");
}

#[test]
fn hostile_and_foreign_xml_is_refused_or_harmless() {
    let bomb = "<!DOCTYPE article [<!-- don't --><!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \"&a;&a;&a;&a;\">\n\
            <!ENTITY f SYSTEM 'file:///etc/passwd'>]><article><body><p>&b;&f; stays</p></body></article>";
    assert_eq!(
        outline(&parse(bomb).unwrap().blocks),
        "paragraph &b;&f; stays"
    );
    let deep = format!(
        "<article><body>{}x{}</body></article>",
        "<sec>".repeat(600),
        "</sec>".repeat(600)
    );
    let inner = format!("{}x{}", "<italic>".repeat(100), "</italic>".repeat(100));
    let allowed = format!(
        "<article><body>{}<p>{inner}</p>{}</body></article>",
        "<sec>".repeat(150),
        "</sec>".repeat(150)
    );
    assert_eq!(outline(&parse(&allowed).unwrap().blocks), "paragraph x");
    let cases = [
        (deep.as_str(), "nests 602 elements"),
        ("<article><body><p>open</body></article>", "not well-formed"),
        ("<rss><channel/></rss>", "its root is <rss>"),
        ("", "not well-formed"),
        ("<!DOCTYPE article [", "not well-formed"),
    ];
    for (xml, reason) in cases {
        let error = parse(xml).unwrap_err();
        assert!(error.message().contains(reason), "{error}");
    }
    let empty = parse("<article><front><article-meta/></front></article>").unwrap();
    assert_eq!(empty.warnings.len(), 1);
}

#[test]
fn real_articles_are_read_whole() {
    let Some(folder) = shared_data("api-replies/pmc-nxml") else {
        return;
    };
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "nxml") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let got = super::super::any_format::parse(&bytes, None, "a.nxml").unwrap();
        let text: usize = got.blocks.iter().map(|block| block.text.len()).sum();
        assert!(
            got.meta.doi.is_some() && got.meta.pmid.is_some(),
            "{path:?}"
        );
        assert!(
            got.meta.authors.len() >= 2 && got.meta.year.is_some(),
            "{path:?}"
        );
        assert!(
            got.meta.references.len() >= 10 && text > 15_000,
            "{path:?}: {text}"
        );
        let with_context = got
            .meta
            .references
            .iter()
            .filter(|r| r.context.is_some())
            .count();
        assert!(
            with_context * 2 > got.meta.references.len(),
            "{path:?}: {with_context}"
        );
        for cut in (0..bytes.len()).step_by(bytes.len() / 20 + 1) {
            assert!(
                super::super::any_format::parse(&bytes[..cut], None, "a.nxml").is_err() || cut == 0,
                "{path:?}"
            );
        }
        read += 1;
    }
    assert!(read >= 5);
}

proptest! {
    #[test]
    fn any_markup_is_read_or_refused(text in "(<article><body>)?[<>/pab&;#x1 \"!\\[\\]-]{0,80}(</body></article>)?") {
        let _ = parse(&text);
    }
}
