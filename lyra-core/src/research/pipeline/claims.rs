//! Claims out of the chosen passages, each tied to the characters that it rests on.

use super::question::Question;
use super::stages::Pipeline;
use crate::error::Result;
use crate::ports::{ClaimExtractor, ExtractedClaim, Extraction, ExtractionRequest, Passage};
use crate::research::ingest::within;
use crate::store::graph::StoredFragment;
use crate::store::model::{ClaimType, FragmentType};
use crate::store::text::segment::slice_chars;
use crate::store::text::sentence::sentence_texts;
use crate::store::text::{details, ranking_terms};
use std::collections::HashSet;
use std::sync::Arc;

/// Confidence of a claim that nobody extracted: the best sentence of a page that gave no claims.
const FALLBACK_CONFIDENCE: f64 = 0.3;
/// Share of the hypothesis's words that such a sentence names at least: one that names fewer is not on the
/// question.
const FALLBACK_SHARE: f64 = 0.5;
/// Sentences shorter than this, in characters, say nothing.
const SHORTEST_SENTENCE: usize = 20;

/// A claim that is ready to be stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DraftClaim {
    pub(super) text: String,
    pub(super) claim_type: ClaimType,
    pub(super) confidence: f64,
    /// What it says of numbers and people, for `claims.details_json`.
    pub(super) details: Option<String>,
    pub(super) extractor_id: String,
    /// Where its fragment begins in the page's text, and the fragment's text: a fragment that is
    /// not stored yet has no id.
    pub(super) fragment_start: Option<i64>,
    pub(super) fragment_text: String,
    /// The quote, in the page's text.
    pub(super) quote: (i64, i64),
}

/// The claims of a document, and what went wrong on the way.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    pub(super) claims: Vec<DraftClaim>,
    pub(super) problems: Vec<String>,
}

/// Reads the chosen fragments for claims. Where nothing is found, the best sentence is taken if it is on the
/// question.
pub(super) async fn draft_claims(
    pipeline: &Pipeline,
    question: &Question,
    title: Option<&str>,
    chosen: &[&StoredFragment],
) -> Result<Drafts> {
    if chosen.is_empty() {
        return Ok(Drafts::default());
    }
    let request = ExtractionRequest {
        hypothesis: question.hypothesis.clone(),
        query: question.query.clone(),
        title: title.map(str::to_owned),
        passages: chosen
            .iter()
            .map(|f| Passage {
                text: f.text.clone(),
                heading: f.heading.clone(),
            })
            .collect(),
        max_claims: pipeline.limits.claims_per_document,
    };
    let (extraction, extractor_id) = extract(pipeline, &request).await?;
    let drafts = extraction
        .claims
        .into_iter()
        .filter_map(|claim| draft_of(claim, chosen, extractor_id));
    let mut claims: Vec<DraftClaim> = drafts.collect();
    if claims.is_empty() {
        claims.extend(best_sentence(question, chosen));
    }
    Ok(Drafts {
        claims,
        problems: extraction.remarks,
    })
}

/// What the extractor finds, and whose claims these are. A model that fails costs a note and not
/// the document: the built-in extractor reads it in its place.
async fn extract<'a>(
    pipeline: &'a Pipeline,
    request: &ExtractionRequest,
) -> Result<(Extraction, &'a str)> {
    let extractor = &pipeline.extractor;
    let error = match ask(pipeline, extractor, request).await {
        Ok(extraction) => return Ok((extraction, extractor.extractor_id())),
        Err(error) if extractor.is_builtin() || error.kind().is_of_database() => {
            return Err(error);
        }
        Err(error) => error,
    };
    let fallback = &pipeline.fallback_extractor;
    let mut extraction = ask(pipeline, fallback, request).await?;
    let id = fallback.extractor_id();
    let note = format!("claim extraction failed, {id} was used instead: {error}");
    extraction.remarks.insert(0, note);
    Ok((extraction, id))
}

/// The built-in extractor computes in the call, and is given up after a while; models keep their own
/// time.
async fn ask(
    pipeline: &Pipeline,
    extractor: &Arc<dyn ClaimExtractor>,
    request: &ExtractionRequest,
) -> Result<Extraction> {
    if !extractor.is_builtin() {
        return extractor.extract_with_remarks(request).await;
    }
    let (extractor, request) = (Arc::clone(extractor), request.clone());
    let runtime = tokio::runtime::Handle::current();
    let limit = pipeline.reading.text_time;
    within(limit, "reading for claims", move || {
        runtime.block_on(extractor.extract_with_remarks(&request))
    })
    .await
}

/// A claim whose quote is not in its passage is dropped: nothing is stored without its trace.
fn draft_of(
    claim: ExtractedClaim,
    chosen: &[&StoredFragment],
    extractor_id: &str,
) -> Option<DraftClaim> {
    let fragment = chosen.get(claim.passage)?;
    slice_chars(&fragment.text, claim.quote.start, claim.quote.end).filter(|q| !q.is_empty())?;
    let start = fragment.char_start.unwrap_or(0);
    let before = sentence_before(&fragment.text, claim.quote.start);
    Some(DraftClaim {
        details: details(&claim.text, before.as_deref()),
        text: claim.text,
        claim_type: claim.claim_type,
        confidence: claim.confidence.clamp(0.0, 1.0),
        extractor_id: extractor_id.to_owned(),
        fragment_start: fragment.char_start,
        fragment_text: fragment.text.clone(),
        quote: (
            start + to_i64(claim.quote.start),
            start + to_i64(claim.quote.end),
        ),
    })
}

/// The sentence that shares most words with the question, if it names enough of the hypothesis.
fn best_sentence(question: &Question, chosen: &[&StoredFragment]) -> Option<DraftClaim> {
    let wanted: HashSet<String> =
        ranking_terms(&format!("{} {}", question.hypothesis, question.query))
            .into_iter()
            .collect();
    let named = ranking_terms(&question.hypothesis).len();
    let fewest = (named as f64 * FALLBACK_SHARE).ceil() as usize;
    let mut best: Option<(usize, DraftClaim)> = None;
    for fragment in chosen
        .iter()
        .filter(|f| f.fragment_type != FragmentType::Heading)
    {
        for (span, text) in sentence_texts(&fragment.text) {
            if span.len() < SHORTEST_SENTENCE {
                continue;
            }
            let shared: HashSet<String> = ranking_terms(text).into_iter().collect();
            let score = shared.intersection(&wanted).count();
            if score < fewest.max(1) || text.trim_end().ends_with(['?', ':']) {
                continue;
            }
            if best.as_ref().is_none_or(|(known, _)| score > *known) {
                let start = fragment.char_start.unwrap_or(0);
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let before = sentence_before(&fragment.text, span.start);
                let draft = DraftClaim {
                    details: details(&text, before.as_deref()),
                    text,
                    claim_type: ClaimType::Fact,
                    confidence: FALLBACK_CONFIDENCE,
                    extractor_id: "lyra-best-sentence-v1".to_owned(),
                    fragment_start: fragment.char_start,
                    fragment_text: fragment.text.clone(),
                    quote: (start + to_i64(span.start), start + to_i64(span.end)),
                };
                best = Some((score, draft));
            }
        }
    }
    best.map(|(_, draft)| draft)
}

/// The last sentence of a passage that ends before a place in it.
fn sentence_before(passage: &str, place: usize) -> Option<String> {
    let before = sentence_texts(passage).take_while(|(span, _)| span.end <= place);
    let (_, text) = before.last()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn to_i64(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
