//! Checks of a claim extractor.

use super::promises::{answered, is_a_name};
use crate::ports::{ClaimExtractor, ExtractedClaim, ExtractionRequest, Passage};
use crate::store::text::segment::slice_chars;

/// Runs every check of a claim extractor.
pub async fn check_claim_extractor(extractor: &dyn ClaimExtractor) {
    extractor_names_itself(extractor).await;
    extractor_quotes_lie_in_their_passages(extractor).await;
    extractor_gives_texts(extractor).await;
    extractor_confidences_lie_in_zero_to_one(extractor).await;
    extractor_keeps_max_claims(extractor).await;
    extractor_gives_nothing_for_nothing(extractor).await;
}

/// The id of the extractor can be stored with a claim.
pub async fn extractor_names_itself(extractor: &dyn ClaimExtractor) {
    let id = extractor.extractor_id();
    assert!(is_a_name(id), "extractor_id {id:?} is no name");
}

/// Every quote is a non-empty range of code points of a passage of the request.
pub async fn extractor_quotes_lie_in_their_passages(extractor: &dyn ClaimExtractor) {
    let id = extractor.extractor_id();
    let request = request(10);
    for claim in extract(extractor, &request).await {
        let Some(passage) = request.passages.get(claim.passage) else {
            panic!(
                "{id}: a claim names passage {} of {}",
                claim.passage,
                request.passages.len()
            );
        };
        let quote = slice_chars(&passage.text, claim.quote.start, claim.quote.end);
        assert!(
            quote.is_some_and(|text| !text.trim().is_empty()),
            "{id}: the quote {:?} is no text within passage {}, which has {} code points",
            claim.quote,
            claim.passage,
            passage.text.chars().count()
        );
    }
}

/// No claim is blank.
pub async fn extractor_gives_texts(extractor: &dyn ClaimExtractor) {
    for claim in extract(extractor, &request(10)).await {
        assert!(
            !claim.text.trim().is_empty(),
            "{}: a claim without text: {claim:?}",
            extractor.extractor_id()
        );
    }
}

/// Every confidence is in 0..=1.
pub async fn extractor_confidences_lie_in_zero_to_one(extractor: &dyn ClaimExtractor) {
    for claim in extract(extractor, &request(10)).await {
        assert!(
            (0.0..=1.0).contains(&claim.confidence),
            "{}: confidence {} of {:?} lies outside 0..=1",
            extractor.extractor_id(),
            claim.confidence,
            claim.text
        );
    }
}

/// There are at most as many claims as requested, including for zero.
pub async fn extractor_keeps_max_claims(extractor: &dyn ClaimExtractor) {
    for limit in [0, 1, 2] {
        let claims = extract(extractor, &request(limit)).await;
        assert!(
            claims.len() <= limit,
            "{}: {} claims; max_claims was {limit}",
            extractor.extractor_id(),
            claims.len()
        );
    }
}

/// Without passages, or with blank ones, there are no claims.
pub async fn extractor_gives_nothing_for_nothing(extractor: &dyn ClaimExtractor) {
    for texts in [&[][..], &["", " \n "][..]] {
        let mut request = request(10);
        request.passages = texts.iter().map(|text| passage(text, None)).collect();
        let claims = extract(extractor, &request).await;
        assert!(
            claims.is_empty(),
            "{}: claims out of {texts:?}: {claims:?}",
            extractor.extractor_id()
        );
    }
}

async fn extract(
    extractor: &dyn ClaimExtractor,
    request: &ExtractionRequest,
) -> Vec<ExtractedClaim> {
    let asked = format!(
        "extract({} passages, max_claims {})",
        request.passages.len(),
        request.max_claims
    );
    answered(
        extractor.extractor_id(),
        &asked,
        extractor.extract(request).await,
    )
}

/// Findings in prose, in English and Japanese. Each passage has more bytes than code points, so
/// that a quote in bytes would exceed it.
fn request(max_claims: usize) -> ExtractionRequest {
    let findings = "We followed 1,200 adults — all of them 65 or older — for two years. \
        Drug X increased the risk of falls in older adults compared with placebo (4.1% vs 2.9%). \
        Mortality did not differ between the groups during follow‑up.";
    let japanese = "本試験では1200人の高齢者を2年間追跡した。薬剤Xは高齢者の転倒リスクを有意に増加させた。\
        死亡率に群間差は認められなかった。";
    let odd = "👩‍⚕️👩‍⚕️👩‍⚕️ “Drug X significantly increased the number of falls in older adults in this cohort.” …";
    ExtractionRequest {
        hypothesis: "Drug X increases the risk of falls in older adults 薬剤X 転倒".to_owned(),
        query: "drug X falls".to_owned(),
        title: Some("Falls and drug X".to_owned()),
        passages: vec![
            passage(findings, Some("Results")),
            passage(japanese, Some("結果")),
            passage("", None),
            passage(odd, None),
        ],
        max_claims,
    }
}

fn passage(text: &str, heading: Option<&str>) -> Passage {
    Passage {
        text: text.to_owned(),
        heading: heading.map(str::to_owned),
    }
}
