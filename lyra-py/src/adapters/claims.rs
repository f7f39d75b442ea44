//! Claim extractors in Python.

use super::{Callable, Choice, id_of, listed, not_callable, refuse_async};
use crate::convert;
use crate::error::{invalid, raise};
use lyra_core::models::{LlmChoice, LlmSettings};
use lyra_core::ports::{ClaimExtractor, ExtractedClaim, ExtractionRequest, Passage};
use lyra_core::store::model::ClaimType;
use lyra_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};
use serde_json::json;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct PythonExtractor {
    callable: Callable,
    id: String,
}

impl PythonExtractor {
    fn new(function: Bound<'_, PyAny>, graph: Arc<Path>) -> PyResult<Self> {
        refuse_async("claim_extractor", &function)?;
        let id = id_of(&function, "extractor_id")?;
        let callable = Callable::new(function, "claim extractor", &id, graph);
        Ok(Self { callable, id })
    }
}

/// The claim extractor that the arguments name; `None` means the built-in one.
pub(crate) fn open(
    py: Python<'_>,
    mut choice: Choice<'_>,
) -> PyResult<Option<Arc<dyn ClaimExtractor>>> {
    let Some(which) = choice.which.take() else {
        return choice.server(py, false).map(|_| None);
    };
    let Ok(name) = which.cast::<PyString>() else {
        choice.server(py, false)?;
        if !which.is_callable() {
            let wanted = "a callable that takes a dict";
            return Err(not_callable("claim_extractor", &which, wanted)?);
        }
        return Ok(Some(Arc::new(PythonExtractor::new(which, choice.graph)?)));
    };
    let name = name.to_str()?;
    if name.trim() == "builtin" {
        return choice.server(py, false).map(|_| None);
    }
    let model: LlmChoice = name.parse().map_err(|_: Error| {
        raise(
            Error::invalid(format!("there is no claim extractor {name:?}"))
                .with_hint("expected builtin, openai:MODEL or ollama:MODEL, or a callable"),
        )
    })?;
    let (url, key) = choice.server(py, true)?;
    let settings = LlmSettings {
        url,
        key,
        ..LlmSettings::new(model)
    };
    let opened = settings.claim_extractor();
    let context = || format!("the claim extractor {name}");
    opened.map(Some).map_err(|e| raise(e.context(context())))
}

#[async_trait::async_trait]
impl ClaimExtractor for PythonExtractor {
    fn extractor_id(&self) -> &str {
        &self.id
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn extract(&self, request: &ExtractionRequest) -> Result<Vec<ExtractedClaim>> {
        if request.passages.is_empty() {
            return Ok(Vec::new());
        }
        let request = request.clone();
        self.callable
            .call(move |function| {
                let said = function.call1((asked(function.py(), &request)?,))?;
                let wanted = "a list of claims: texts, or dicts with a text";
                listed(&said, request.max_claims, wanted, |claim| {
                    read(claim, &request.passages)
                })
            })
            .await
    }
}

fn asked<'py>(py: Python<'py>, request: &ExtractionRequest) -> PyResult<Bound<'py, PyAny>> {
    let passages: Vec<_> = request
        .passages
        .iter()
        .map(|passage| json!({ "text": passage.text, "heading": passage.heading }))
        .collect();
    let request = json!({
        "hypothesis": request.hypothesis,
        "query": request.query,
        "title": request.title,
        "passages": passages,
        "max_claims": request.max_claims,
    });
    convert::object(py, &request)
}

/// A claim as returned by the callable: a text that occurs in one of the passages, or a dict with
/// `text` and, as far as known, `passage`, `quote` (the words, or their span), `confidence` and
/// `claim_type`.
fn read(given: &Bound<'_, PyAny>, passages: &[Passage]) -> PyResult<ExtractedClaim> {
    if let Ok(text) = given.cast::<PyString>() {
        let text = text.to_str()?.to_owned();
        let (passage, quote) = place(&text, None, passages)?;
        return Ok(ExtractedClaim {
            passage,
            text,
            claim_type: ClaimType::Fact,
            confidence: 0.5,
            quote,
        });
    }
    let Some(text) = entry(given, "text")? else {
        return Err(invalid("a claim has no \"text\""));
    };
    let text: String = text.extract()?;
    let (passage, quote) = place_of(given, &text, passages)?;
    let confidence: f64 = entry(given, "confidence")?.map_or(Ok(0.5), |n| n.extract())?;
    if !(0.0..=1.0).contains(&confidence) {
        return Err(invalid(format!(
            "a confidence is {confidence}; expected 0 to 1"
        )));
    }
    let claim_type: Option<String> = entry(given, "claim_type")?
        .map(|word| word.extract())
        .transpose()?;
    let claim_type = claim_type.map_or(Ok(ClaimType::Fact), |word| word.parse());
    Ok(ExtractedClaim {
        passage,
        text,
        claim_type: claim_type.map_err(raise)?,
        confidence,
        quote,
    })
}

/// The value under a name in a user's dict; None counts as missing.
pub(super) fn entry<'py>(
    given: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mapping = given.cast::<PyMapping>()?;
    if !mapping.contains(name)? {
        return Ok(None);
    }
    let entry = mapping.get_item(name)?;
    Ok((!entry.is_none()).then_some(entry))
}

/// The passage of a claim, and the span in it that the claim is based on.
fn place_of(
    given: &Bound<'_, PyAny>,
    text: &str,
    passages: &[Passage],
) -> PyResult<(usize, Range<usize>)> {
    let passage: Option<usize> = entry(given, "passage")?.map(|n| n.extract()).transpose()?;
    if let Some(number) = passage.filter(|number| *number >= passages.len()) {
        let count = passages.len();
        return Err(invalid(format!(
            "a claim names passage {number}; there are {count}, counted from 0"
        )));
    }
    let Some(quote) = entry(given, "quote")? else {
        return place(text, passage, passages);
    };
    if quote.is_instance_of::<PyString>() {
        return place(&quote.extract::<String>()?, passage, passages);
    }
    let (start, end): (usize, usize) = quote.extract()?;
    let number = passage.unwrap_or(0);
    let length = passages[number].text.chars().count();
    if start >= end || end > length {
        return Err(invalid(format!(
            "the quote ({start}, {end}) is not within its passage of {length} characters"
        )));
    }
    Ok((number, start..end))
}

/// The position of the words. Without a quote, the claim is based on the whole passage, which must
/// then be named.
fn place(
    words: &str,
    passage: Option<usize>,
    passages: &[Passage],
) -> PyResult<(usize, Range<usize>)> {
    let numbers = match passage {
        Some(number) => number..number + 1,
        None => 0..passages.len(),
    };
    for number in numbers {
        let text = &passages[number].text;
        if let Some(at) = text.find(words).filter(|_| !words.is_empty()) {
            let start = text[..at].chars().count();
            return Ok((number, start..start + words.chars().count()));
        }
    }
    match passage {
        Some(number) => Ok((number, 0..passages[number].text.chars().count())),
        None => Err(invalid(
            "a claim's words stand in none of the passages; name its \"passage\", or give the words \
             it rests on as \"quote\"",
        )),
    }
}
