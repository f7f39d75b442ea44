//! Fakes for every port: deterministic, offline, configured by the test.

use crate::error::{Error, ErrorKind, Result};
use crate::ports::{
    ClaimExtractor, Embedder, EmbedderInfo, ExtractedClaim, ExtractionRequest, FetchRequest,
    FetchedDocument, Fetcher, SearchHit, SearchProvider, SearchQuery, StanceJudge, StancePair,
    TextRole, Validators, Verdict,
};
use crate::store::model::{ClaimType, DocumentMeta, Relation};
use crate::store::text::identifiers::normalize_doi;
use crate::store::text::ranking_terms;
use crate::store::text::segment::slice_chars;
use crate::store::text::sentence::sentences;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Length of the vectors of a [`FakeEmbedder`].
const DIMENSION: usize = 64;

/// Locks the mutex; what a test recorded stays readable after one of its threads has panicked.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Embeds a text as the sum of one direction per word: only texts that share words are near each
/// other. The vectors are the same on every machine.
#[derive(Debug)]
pub struct FakeEmbedder {
    info: EmbedderInfo,
    calls: AtomicUsize,
    texts: AtomicUsize,
}

impl Default for FakeEmbedder {
    fn default() -> Self {
        Self::new("fake-embedder-v1")
    }
}

impl FakeEmbedder {
    /// An embedder with this model id.
    pub fn new(model_id: &str) -> Self {
        Self {
            info: EmbedderInfo {
                model_id: model_id.to_owned(),
                dimension: DIMENSION,
                builtin: false,
                fusion_weight: 0.5,
                fusion_weight_cjk: 0.5,
                related_threshold: 0.3,
            },
            calls: AtomicUsize::new(0),
            texts: AtomicUsize::new(0),
        }
    }

    /// Number of calls.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Number of texts in all calls together.
    pub fn texts(&self) -> usize {
        self.texts.load(Ordering::Relaxed)
    }
}

#[async_trait::async_trait]
impl Embedder for FakeEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    async fn embed(&self, texts: &[&str], _role: TextRole) -> Result<Vec<Vec<f32>>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.texts.fetch_add(texts.len(), Ordering::Relaxed);
        Ok(texts.iter().map(|text| vector_of(text)).collect())
    }
}

fn vector_of(text: &str) -> Vec<f32> {
    let mut total = vec![0.0_f32; DIMENSION];
    for word in ranking_terms(text) {
        let digest = Sha256::digest(word.as_bytes());
        for (place, value) in total.iter_mut().enumerate() {
            let bit = digest[place / 8] >> (place % 8) & 1;
            *value += if bit == 1 { 1.0 } else { -1.0 };
        }
    }
    let length = total.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        for value in &mut total {
            *value /= length;
        }
    }
    total
}

/// Finds the configured claims whose sentence occurs in a passage.
#[derive(Debug, Default)]
pub struct FakeClaimExtractor {
    script: Vec<ScriptedClaim>,
    every_sentence: bool,
}

#[derive(Debug)]
struct ScriptedClaim {
    sentence: String,
    text: String,
    confidence: f64,
}

impl FakeClaimExtractor {
    /// An extractor that finds nothing until claims are added.
    pub fn new() -> Self {
        Self::default()
    }

    /// An extractor that turns every sentence into a claim, with a confidence of 0.5.
    pub fn of_every_sentence() -> Self {
        Self {
            every_sentence: true,
            ..Self::default()
        }
    }

    /// If a passage contains `sentence`, the claim `text` is found.
    #[must_use]
    pub fn with(mut self, sentence: &str, text: &str, confidence: f64) -> Self {
        self.script.push(ScriptedClaim {
            sentence: sentence.to_owned(),
            text: text.to_owned(),
            confidence,
        });
        self
    }

    fn read(&self, passage: usize, text: &str) -> Vec<ExtractedClaim> {
        let scripted = self.script.iter().filter_map(|claim| {
            let at = text.find(&claim.sentence)?;
            let start = text[..at].chars().count();
            Some(ExtractedClaim {
                passage,
                text: claim.text.clone(),
                claim_type: ClaimType::Fact,
                confidence: claim.confidence,
                quote: start..start + claim.sentence.chars().count(),
            })
        });
        let mut claims: Vec<ExtractedClaim> = scripted.collect();
        if self.every_sentence {
            let whole = sentences(text).into_iter().filter_map(|quote| {
                let sentence = slice_chars(text, quote.start, quote.end)?.trim();
                (!sentence.is_empty()).then(|| ExtractedClaim {
                    passage,
                    text: sentence.to_owned(),
                    claim_type: ClaimType::Fact,
                    confidence: 0.5,
                    quote,
                })
            });
            claims.extend(whole);
        }
        claims
    }
}

#[async_trait::async_trait]
impl ClaimExtractor for FakeClaimExtractor {
    fn extractor_id(&self) -> &str {
        "fake-claims-v1"
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn extract(&self, request: &ExtractionRequest) -> Result<Vec<ExtractedClaim>> {
        let passages = request.passages.iter().enumerate();
        let mut claims: Vec<ExtractedClaim> = passages
            .flat_map(|(place, passage)| self.read(place, &passage.text))
            .collect();
        claims.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        claims.truncate(request.max_claims);
        Ok(claims)
    }
}

type Opinion = dyn Fn(&StancePair) -> Verdict + Send + Sync;

/// Judges pairs with a function.
pub struct FakeStanceJudge {
    opinion: Box<Opinion>,
    pairs: AtomicUsize,
}

impl fmt::Debug for FakeStanceJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeStanceJudge")
            .field("pairs", &self.pairs)
            .finish_non_exhaustive()
    }
}

impl FakeStanceJudge {
    /// A judge that uses this function.
    pub fn new(opinion: impl Fn(&StancePair) -> Verdict + Send + Sync + 'static) -> Self {
        Self {
            opinion: Box::new(opinion),
            pairs: AtomicUsize::new(0),
        }
    }

    /// A judge with a table of pairs, which is neutral on all others. Each row is a premise, a
    /// hypothesis, the relation and the confidence.
    pub fn from_table(table: &[(&str, &str, Relation, f64)]) -> Self {
        let known: HashMap<(String, String), Verdict> = table
            .iter()
            .map(|(premise, hypothesis, relation, confidence)| {
                let verdict = Verdict::new(*relation, *confidence);
                (((*premise).to_owned(), (*hypothesis).to_owned()), verdict)
            })
            .collect();
        Self::new(move |pair| {
            let key = (pair.premise.clone(), pair.hypothesis.clone());
            known
                .get(&key)
                .cloned()
                .unwrap_or(Verdict::new(Relation::Neutral, 0.9))
        })
    }

    /// Number of pairs judged.
    pub fn pairs(&self) -> usize {
        self.pairs.load(Ordering::Relaxed)
    }
}

#[async_trait::async_trait]
impl StanceJudge for FakeStanceJudge {
    fn judge_id(&self) -> &str {
        "fake-stance-v1"
    }

    fn is_builtin(&self) -> bool {
        false
    }

    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        self.pairs.fetch_add(pairs.len(), Ordering::Relaxed);
        Ok(pairs.iter().map(|pair| (self.opinion)(pair)).collect())
    }
}

/// Returns the same documents for every query, or fails.
#[derive(Debug)]
pub struct FakeSearchProvider {
    name: String,
    hits: Vec<SearchHit>,
    outage: Option<String>,
    queries: Mutex<Vec<SearchQuery>>,
}

impl FakeSearchProvider {
    /// A provider that finds nothing until documents are added.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            hits: Vec::new(),
            outage: None,
            queries: Mutex::default(),
        }
    }

    /// A provider whose searches all fail with this message.
    pub fn failing(name: &str, message: &str) -> Self {
        Self {
            outage: Some(message.to_owned()),
            ..Self::new(name)
        }
    }

    /// Adds a document at this address after those that it already finds.
    #[must_use]
    pub fn with(self, url: &str, title: &str) -> Self {
        self.with_hit(SearchHit {
            url: url.to_owned(),
            rank: 0,
            title: Some(title.to_owned()),
            snippet: None,
            meta: DocumentMeta::default(),
            ..SearchHit::default()
        })
    }

    /// Adds a hit after those that it already finds; the rank follows from its position.
    #[must_use]
    pub fn with_hit(mut self, mut hit: SearchHit) -> Self {
        hit.rank = self.hits.len() + 1;
        self.hits.push(hit);
        self
    }

    /// The queries so far, in order.
    pub fn queries(&self) -> Vec<SearchQuery> {
        held(&self.queries).clone()
    }

    fn check(&self) -> Result<()> {
        match &self.outage {
            Some(message) => Err(Error::new(ErrorKind::Backend, message.clone())),
            None => Ok(()),
        }
    }
}

#[async_trait::async_trait]
impl SearchProvider for FakeSearchProvider {
    fn name(&self) -> &str {
        &self.name
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        held(&self.queries).push(query.clone());
        self.check()?;
        Ok(self.hits.iter().take(query.limit).cloned().collect())
    }

    async fn lookup_doi(&self, doi: &str) -> Result<Option<SearchHit>> {
        self.check()?;
        let has = |hit: &&SearchHit| {
            let own = hit.meta.doi.as_deref().and_then(normalize_doi);
            own.as_deref() == Some(doi)
        };
        Ok(self.hits.iter().find(has).cloned())
    }
}

/// Fetches only the configured documents.
#[derive(Debug, Default)]
pub struct FakeFetcher {
    answers: HashMap<String, Answer>,
    requests: Mutex<Vec<FetchRequest>>,
}

#[derive(Debug)]
enum Answer {
    Document(FetchedDocument),
    Failure(ErrorKind, String),
}

impl FakeFetcher {
    /// A fetcher that finds nothing until documents are added.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the result for this address.
    #[must_use]
    pub fn with(mut self, url: &str, document: FetchedDocument) -> Self {
        self.answers
            .insert(url.to_owned(), Answer::Document(document));
        self
    }

    /// Sets the text at this address.
    #[must_use]
    pub fn with_text(self, url: &str, content_type: &str, text: &str) -> Self {
        let document = FetchedDocument::Found {
            final_url: url.to_owned(),
            status: (!url.starts_with("file:")).then_some(200),
            content_type: Some(content_type.to_owned()),
            body: text.as_bytes().to_vec(),
            known: Box::default(),
            validators: Validators::default(),
        };
        self.with(url, document)
    }

    /// Sets the failure for this address.
    #[must_use]
    pub fn with_failure(mut self, url: &str, kind: ErrorKind, message: &str) -> Self {
        let message = format!("{url}: {message}");
        self.answers
            .insert(url.to_owned(), Answer::Failure(kind, message));
        self
    }

    /// The requests so far, in order.
    pub fn requests(&self) -> Vec<FetchRequest> {
        held(&self.requests).clone()
    }
}

#[async_trait::async_trait]
impl Fetcher for FakeFetcher {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn accepts(&self, url: &str) -> bool {
        super::promises::is_fetchable(url)
    }

    /// A document whose validators are in the request is not modified.
    async fn fetch(&self, request: &FetchRequest) -> Result<FetchedDocument> {
        held(&self.requests).push(request.clone());
        match self.answers.get(&request.url) {
            Some(Answer::Document(FetchedDocument::Found { validators, .. }))
                if *validators != Validators::default() && *validators == request.validators =>
            {
                Ok(FetchedDocument::NotModified)
            }
            Some(Answer::Document(document)) => Ok(document.clone()),
            Some(Answer::Failure(kind, message)) => Err(Error::new(*kind, message.clone())),
            None => Err(Error::not_found(format!("{}: nothing there", request.url))),
        }
    }
}
