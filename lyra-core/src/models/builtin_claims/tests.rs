//! Tests of [`super`].

use super::*;
use crate::store::text::segment::slice_chars;

const HYPOTHESIS: &str = "Saxagliptin increases the risk of hospitalization for heart failure";

fn request(texts: &[&str]) -> ExtractionRequest {
    ExtractionRequest {
        hypothesis: HYPOTHESIS.to_owned(),
        query: "saxagliptin heart failure".to_owned(),
        title: None,
        passages: texts
            .iter()
            .map(|t| Passage {
                text: (*t).to_owned(),
                heading: None,
            })
            .collect(),
        max_claims: 10,
    }
}

fn found_in(request: &ExtractionRequest) -> Vec<ExtractedClaim> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let found = runtime.block_on(BuiltinClaimExtractor.extract(request));
    found.unwrap()
}

fn texts(claims: &[ExtractedClaim]) -> Vec<&str> {
    claims.iter().map(|c| c.text.as_str()).collect()
}

const FINDING_SENTENCE: &str = "Saxagliptin increased hospitalization for heart failure (hazard ratio 1.27, 95% CI 1.07 to 1.51).";

#[test]
fn keeps_findings_and_leaves_the_rest() {
    let cases: &[(&str, bool)] = &[
        (FINDING_SENTENCE, true),
        (
            "Saxagliptin did not increase the risk of heart failure.",
            true,
        ),
        (
            "Saxagliptin may increase the risk of hospitalization for heart failure.",
            true,
        ),
        (
            "サキサグリプチンは心不全による入院を有意に増加させた。",
            true,
        ),
        (
            "DPP-4阻害薬と心不全のリスクとの間に関連は認められなかった。",
            true,
        ),
        (
            "Does saxagliptin increase the risk of heart failure?",
            false,
        ),
        (
            "DPP-4 inhibitors and heart failure in type 2 diabetes",
            false,
        ),
        ("Heart failure", false),
        (
            "We aimed to determine whether saxagliptin increases heart failure.",
            false,
        ),
        (
            "Further studies are needed in patients with heart failure.",
            false,
        ),
        (
            "Patients were randomly assigned to receive saxagliptin or placebo.",
            false,
        ),
        (
            "Saxagliptin 289 3.5 228 2.8 1.27 1.07 1.51 0.007 8280 8212",
            false,
        ),
        (
            "Green JB, et al. Sitagliptin and heart failure was studied. doi 10.1056/NEJMoa1501352.",
            false,
        ),
        (
            "The museum opened a new exhibition of Dutch paintings in the spring.",
            false,
        ),
        (
            "本研究の目的は、DPP-4阻害薬が心不全を増加させるかどうかを検討することである。",
            false,
        ),
        ("糖尿病と心不全の治療に関する診療ガイドライン", false),
    ];
    for (sentence, expected) in cases {
        let found = found_in(&request(&[sentence]));
        assert_eq!(!found.is_empty(), *expected, "{sentence} {found:?}");
    }
}

#[test]
fn every_claim_is_a_quote_with_its_span() {
    let text = "The trial ran for two years.  Saxagliptin increased  hospitalization for heart failure. 血糖値は変わらなかった。";
    let passages = ["Nothing here.", text];
    let found = found_in(&request(&passages));
    assert!(!found.is_empty());
    for claim in &found {
        let quote =
            slice_chars(passages[claim.passage], claim.quote.start, claim.quote.end).unwrap();
        assert_eq!(
            quote.split_whitespace().collect::<Vec<_>>().join(" "),
            claim.text
        );
        assert!((0.0..=1.0).contains(&claim.confidence));
    }
}

#[test]
fn a_label_of_a_structured_abstract_is_no_part_of_the_claim() {
    let lowered = "Statins lowered the risk of stroke.";
    for (label, text) in [
        ("RESULTS ", lowered),
        ("CONCLUSIONS/INTERPRETATION: ", lowered),
        ("METHODS AND RESULTS ", lowered),
        ("Main results:  ", lowered),
        ("Background/Results:", lowered),
        ("", "AQUACEL Ag dressing was associated with less pain."),
        ("", "Results of ten trials were pooled in one analysis."),
        ("", "The results: ten trials agree, and two do not."),
    ] {
        let length = |text: &str| text.chars().count();
        let whole = format!("{label}{text}");
        let found = statement(7..7 + length(&whole), &whole);
        let span = 7 + length(label)..7 + length(&whole);
        assert_eq!(found, Some((span, text.to_owned())), "{whole}");
    }
    for label in [
        "OBJECTIVE ",
        "PURPOSE: ",
        "Background/Objectives:",
        "STUDY DESIGN ",
    ] {
        let whole = format!("{label}{lowered}");
        assert_eq!(statement(0..whole.len(), &whole), None, "{whole}");
    }
}

#[test]
fn a_document_without_a_clear_claim_gives_one_at_most() {
    let of = |texts: &[&str]| {
        let hypothesis = "DPP-4 inhibitors increase the risk of hospitalization for heart failure in patients with type 2 diabetes.";
        found_in(&ExtractionRequest {
            hypothesis: hypothesis.to_owned(),
            ..request(texts)
        })
    };
    let member = "Saxagliptin increased the risk of hospitalization for heart failure compared with placebo \
        (3.5% versus 2.8%; hazard ratio 1.27, 95% CI 1.07 to 1.51; P = 0.007).";
    let elsewhere = "Metformin lowered glucose in patients with diabetes during the first year.";
    let no_assertion = "Regulators asked for data on the risk of hospitalization for heart failure in patients with \
        type 2 diabetes who took DPP-4 inhibitors.";
    let found = of(&[elsewhere, no_assertion, member]);
    assert_eq!(texts(&found), [member]);
    assert!((found[0].confidence - WEAK).abs() < 1e-9, "{found:?}");
    assert_eq!(of(&[elsewhere, no_assertion]), []);
}

#[test]
fn findings_on_the_question_come_first_and_only_once() {
    let found = found_in(&request(&[
        "Glycated hemoglobin was lowered by 0.3 percentage points with the drug.",
        FINDING_SENTENCE,
        "Saxagliptin increased hospitalization for heart failure (hazard ratio 1.27; 95% CI 1.07–1.51).",
    ]));
    assert!(texts(&found)[0].contains("1.27"));
    assert_eq!(
        texts(&found).iter().filter(|t| t.contains("1.27")).count(),
        1
    );
    assert!(
        found
            .windows(2)
            .all(|pair| pair[0].confidence >= pair[1].confidence)
    );
}

#[test]
fn claims_are_as_many_as_asked_for_and_the_same_each_time() {
    let many: Vec<String> = (1..30)
        .map(|i| format!("Saxagliptin increased hospitalization for heart failure by {i} percent."))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut request = request(&many);
    request.max_claims = 3;
    let found = found_in(&request);
    assert!((1..=3).contains(&found.len()));
    assert_eq!(found, found_in(&request));
    request.max_claims = 0;
    assert!(found_in(&request).is_empty());
    request.passages.clear();
    assert!(found_in(&request).is_empty());
}

#[test]
fn claims_have_types() {
    let cases = [
        (FINDING_SENTENCE, ClaimType::Fact),
        (
            "Saxagliptin should not be used in patients with heart failure.",
            ClaimType::Opinion,
        ),
        (
            "Heart failure will become the leading cause of hospitalization by 2040.",
            ClaimType::Prediction,
        ),
        (
            "心不全患者へのサキサグリプチンの投与は推奨されない。",
            ClaimType::Opinion,
        ),
        (
            "心不全による入院は2030年までに増加すると予測される。",
            ClaimType::Prediction,
        ),
    ];
    for (sentence, expected) in cases {
        assert_eq!(claim_type(sentence), expected, "{sentence}");
    }
}

#[tokio::test]
async fn hostile_text_is_read_in_time() {
    let mut texts = vec![
        "(".repeat(50_000),
        "a. ".repeat(50_000),
        "は".repeat(50_000),
        "1.".repeat(50_000),
    ];
    texts.push("DPP-4 ".repeat(20_000));
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = BuiltinClaimExtractor
        .extract(&request(&texts))
        .await
        .unwrap();
    assert!(found.iter().all(|c| !c.text.is_empty()));
    assert_eq!(
        BuiltinClaimExtractor.extractor_id(),
        "lyra-minilm-claims-v4"
    );
    assert!(BuiltinClaimExtractor.is_builtin());
}
