//! Ports that record replies, or replay recorded ones.

use super::tape::{RecordedReply, Tape};
use crate::error::{Error, Result};
use crate::ports::{
    ClaimExtractor, Embedder, EmbedderInfo, ExtractedClaim, Extraction, ExtractionRequest,
    FetchRequest, FetchedDocument, Fetcher, SearchHit, SearchProvider, SearchQuery, StanceJudge,
    StancePair, TextRole, Validators, Verdict, WorkId,
};
use crate::store::model::DocumentMeta;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// A wrapper of a port, or its replacement when a record is replayed.
#[derive(Debug)]
pub(super) struct Recorded<P: ?Sized, I> {
    pub(super) tape: Arc<Tape>,
    /// The real port; `None` in a replay.
    pub(super) live: Option<Arc<P>>,
    /// The description that the port gives of itself.
    pub(super) info: I,
}

/// The result of a fetcher, with the bytes referenced by hash.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fetched {
    Found {
        final_url: String,
        status: Option<u16>,
        content_type: Option<String>,
        sha256: String,
        known: Box<DocumentMeta>,
        validators: Validators,
    },
    NeedsAuth {
        auth_type: String,
        domain: String,
    },
}

#[async_trait::async_trait]
impl Fetcher for Recorded<dyn Fetcher, ()> {
    fn name(&self) -> &str {
        self.live.as_ref().map_or("http", |live| live.name())
    }

    fn accepts(&self, url: &str) -> bool {
        url.starts_with("http:") || url.starts_with("https:")
    }

    /// Each address has one reply in a run, regardless of stored copies: so a run that was killed
    /// and is continued makes no new requests. Cookies are sent but not stored.
    async fn fetch(&self, request: &FetchRequest) -> Result<FetchedDocument> {
        let asked = json!({"port": "fetch", "url": request.url});
        let live = self.live.as_ref().map(|live| async {
            let whole = FetchRequest {
                validators: Validators::default(),
                ..request.clone()
            };
            self.kept(live.fetch(&whole).await?)
        });
        match self.tape.ask(&asked, live).await? {
            Fetched::NeedsAuth { auth_type, domain } => {
                Ok(FetchedDocument::NeedsAuth { auth_type, domain })
            }
            Fetched::Found { validators, .. } if is_same(&validators, &request.validators) => {
                Ok(FetchedDocument::NotModified)
            }
            Fetched::Found {
                final_url,
                status,
                content_type,
                sha256,
                known,
                validators,
            } => Ok(FetchedDocument::Found {
                final_url,
                status,
                content_type,
                body: self.tape.get(&sha256)?,
                known,
                validators,
            }),
        }
    }
}

impl Recorded<dyn Fetcher, ()> {
    fn kept(&self, document: FetchedDocument) -> Result<Fetched> {
        match document {
            FetchedDocument::Found {
                final_url,
                status,
                content_type,
                body,
                known,
                validators,
            } => Ok(Fetched::Found {
                final_url,
                status,
                content_type,
                sha256: self.tape.put(&body)?,
                known,
                validators,
            }),
            FetchedDocument::NeedsAuth { auth_type, domain } => {
                Ok(Fetched::NeedsAuth { auth_type, domain })
            }
            FetchedDocument::NotModified => Err(Error::internal(
                "a fetcher reported a document as unchanged without being given an earlier version",
            )),
        }
    }
}

/// Whether the stored copy is the recorded one, according to the server's validators.
fn is_same(recorded: &Validators, held: &Validators) -> bool {
    match (&recorded.etag, &held.etag) {
        (Some(one), Some(other)) => one == other,
        (None, None) => recorded.last_modified.is_some() && recorded == held,
        _ => false,
    }
}

/// The description that a search provider gives of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ProviderInfo {
    pub(super) name: String,
    pub(super) is_academic: bool,
}

impl Recorded<dyn SearchProvider, ProviderInfo> {
    fn asked(&self, what: &str, more: &Value) -> Value {
        json!({"port": "search", "provider": self.info.name, "what": what, "of": more})
    }
}

#[async_trait::async_trait]
impl SearchProvider for Recorded<dyn SearchProvider, ProviderInfo> {
    fn name(&self) -> &str {
        &self.info.name
    }

    async fn search(&self, query: &SearchQuery) -> Result<Vec<SearchHit>> {
        let asked = self.asked("query", &json!([query.text, query.limit]));
        let live = self.live.as_ref().map(|live| live.search(query));
        self.tape.ask(&asked, live).await
    }

    async fn lookup_doi(&self, doi: &str) -> Result<Option<SearchHit>> {
        let asked = self.asked("doi", &json!(doi));
        let live = self.live.as_ref().map(|live| live.lookup_doi(doi));
        self.tape.ask(&asked, live).await
    }

    async fn lookup(&self, id: &WorkId) -> Result<Option<SearchHit>> {
        let asked = self.asked("work", &json!(id.to_string()));
        let live = self.live.as_ref().map(|live| live.lookup(id));
        self.tape.ask(&asked, live).await
    }

    async fn references(&self, id: &WorkId, limit: usize) -> Result<Vec<SearchHit>> {
        let asked = self.asked("references", &json!([id.to_string(), limit]));
        let live = self.live.as_ref().map(|live| live.references(id, limit));
        self.tape.ask(&asked, live).await
    }

    async fn citations(&self, id: &WorkId, limit: usize) -> Result<Vec<SearchHit>> {
        let asked = self.asked("citations", &json!([id.to_string(), limit]));
        let live = self.live.as_ref().map(|live| live.citations(id, limit));
        self.tape.ask(&asked, live).await
    }

    fn is_academic(&self) -> bool {
        self.info.is_academic
    }

    fn conditions(&self) -> Vec<String> {
        let live = self.live.as_ref();
        live.map_or_else(Vec::new, |live| live.conditions())
    }

    fn setup(&self) -> Option<String> {
        self.live.as_ref()?.setup()
    }
}

/// Requests what is not in the record, and answers everything: batches may be split differently
/// when a run is continued.
async fn batch<T, F, R>(tape: &Tape, requests: &[Value], live: Option<F>) -> Result<Vec<T>>
where
    T: Serialize + DeserializeOwned + Clone,
    F: FnOnce(Vec<usize>) -> R,
    R: Future<Output = Result<Vec<T>>>,
{
    let mut answers = Vec::with_capacity(requests.len());
    for request in requests {
        answers.push(tape.known::<T>(request)?);
    }
    let missing: Vec<usize> = (0..requests.len())
        .filter(|place| answers[*place].is_none())
        .collect();
    if let Some(first) = missing.first() {
        let Some(live) = live else {
            return Err(tape.refuse(&requests[*first]));
        };
        let outcome = live(missing.clone()).await;
        for (order, place) in missing.iter().enumerate() {
            let reply = match &outcome {
                Ok(all) => RecordedReply::of(all.get(order).cloned().ok_or_else(|| {
                    Error::internal("a model answered fewer texts than it was given")
                })),
                Err(error) => RecordedReply::Failure(super::tape::RecordedError::of(error)),
            };
            answers[*place] = Some(tape.keep(&requests[*place], reply)?);
        }
    }
    answers.into_iter().flatten().collect()
}

#[async_trait::async_trait]
impl Embedder for Recorded<dyn Embedder, EmbedderInfo> {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    async fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>> {
        let role_name = match role {
            TextRole::Query => "query",
            TextRole::Document => "document",
        };
        let of = |text: &&str| json!({"port": "embed", "model": self.info.model_id, "role": role_name, "text": text});
        let requests: Vec<Value> = texts.iter().map(of).collect();
        let live = self.live.as_ref().map(|live| {
            move |missing: Vec<usize>| async move {
                let texts: Vec<&str> = missing.into_iter().map(|place| texts[place]).collect();
                live.embed(&texts, role).await
            }
        });
        batch(&self.tape, &requests, live).await
    }
}

/// The description that a judge gives of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JudgeInfo {
    pub(super) id: String,
    pub(super) builtin: bool,
    pub(super) reads_passages: bool,
}

#[async_trait::async_trait]
impl StanceJudge for Recorded<dyn StanceJudge, JudgeInfo> {
    fn judge_id(&self) -> &str {
        &self.info.id
    }

    fn is_builtin(&self) -> bool {
        self.info.builtin
    }

    fn reads_passages(&self) -> bool {
        self.info.reads_passages
    }

    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        let of = |pair: &StancePair| json!({"port": "judge", "model": self.info.id, "pair": pair});
        let requests: Vec<Value> = pairs.iter().map(of).collect();
        let live = self.live.as_ref().map(|live| {
            move |missing: Vec<usize>| async move {
                let asked: Vec<StancePair> =
                    missing.into_iter().map(|n| pairs[n].clone()).collect();
                live.judge(&asked).await
            }
        });
        batch(&self.tape, &requests, live).await
    }

    fn setup(&self) -> Option<String> {
        self.live.as_ref()?.setup()
    }
}

/// The description that a claim extractor gives of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ExtractorInfo {
    pub(super) id: String,
    pub(super) builtin: bool,
}

#[async_trait::async_trait]
impl ClaimExtractor for Recorded<dyn ClaimExtractor, ExtractorInfo> {
    fn extractor_id(&self) -> &str {
        &self.info.id
    }

    fn is_builtin(&self) -> bool {
        self.info.builtin
    }

    async fn extract(&self, request: &ExtractionRequest) -> Result<Vec<ExtractedClaim>> {
        Ok(self.extract_with_remarks(request).await?.claims)
    }

    async fn extract_with_remarks(&self, request: &ExtractionRequest) -> Result<Extraction> {
        let asked = json!({"port": "extract", "model": self.info.id, "of": request});
        let live = self.live.as_ref();
        let live = live.map(|live| live.extract_with_remarks(request));
        self.tape.ask(&asked, live).await
    }

    fn setup(&self) -> Option<String> {
        self.live.as_ref()?.setup()
    }
}
