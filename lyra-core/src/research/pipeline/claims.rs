//! Extracts claims from the chosen passages, each with the exact characters that it is based on.

use super::question::ResearchQuestion;
use super::stages::Pipeline;
use crate::error::Result;
use crate::ports::{ClaimExtractor, ExtractedClaim, Extraction, ExtractionRequest, Passage};
use crate::research::ingest::within;
use crate::store::graph::StoredFragment;
use crate::store::model::ClaimType;
use crate::store::text::details;
use crate::store::text::segment::slice_chars;
use crate::store::text::sentence::sentence_texts;
use std::sync::Arc;

/// A claim that can be stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DraftClaim {
    pub(super) text: String,
    pub(super) claim_type: ClaimType,
    pub(super) confidence: f64,
    /// The details of its statement, such as numbers and population, for `claims.details_json`.
    pub(super) details: Option<String>,
    pub(super) extractor_id: String,
    /// The start of its fragment in the page's text, and the fragment's text: a fragment that is
    /// not stored yet has no id.
    pub(super) fragment_start: Option<i64>,
    pub(super) fragment_text: String,
    /// The position of the quote in the page's text.
    pub(super) quote: (i64, i64),
}

/// The claims of a document, and the problems during extraction.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    pub(super) claims: Vec<DraftClaim>,
    pub(super) problems: Vec<String>,
}

/// Extracts claims from the chosen fragments.
pub(super) async fn draft_claims(
    pipeline: &Pipeline,
    question: &ResearchQuestion,
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
    Ok(Drafts {
        claims: drafts.collect(),
        problems: extraction.remarks,
    })
}

/// The result of the extractor, and the id of the extractor used. If a model fails, the built-in
/// extractor is used instead and a note is added.
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

/// The built-in extractor is CPU-bound and is stopped after a time limit; models use their own timeouts.
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

/// A claim whose quote is not in its passage is dropped: everything stored must be traceable.
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

/// The last sentence of a passage that ends before a position in it.
fn sentence_before(passage: &str, place: usize) -> Option<String> {
    let before = sentence_texts(passage).take_while(|(span, _)| span.end <= place);
    let (_, text) = before.last()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn to_i64(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
