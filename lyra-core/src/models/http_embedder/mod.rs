//! Embedding servers: OpenAI's `/v1/embeddings`, which many servers support, and Ollama's `/api/embed`.
//!
//! Every reply is validated: as many vectors as texts, all of the same length, none of zeros or of
//! values that are not finite. The key is sent only in a header.

mod wire;

pub use wire::EmbeddingApi;

use super::unit_vector::normalise;
use crate::error::{Error, ErrorKind, Result};
use crate::ports::{Embedder, EmbedderInfo, TextRole};
use crate::security::quoting::quoted;
use crate::store::text::hash::sha256_hex;
use crate::web::ApiKey;
use crate::web::api::{Endpoint, complaint};
use crate::web::retry::{is_transient, retry_after};
use crate::web::services::Backoff;
use crate::web::web_client;
use fastrand::Rng;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, StatusCode, redirect};
use std::time::Duration;
use url::Url;

/// Characters sent in one request; servers have limits on tokens, which are fewer.
const REQUEST_CHARS: usize = 100_000;

/// Bytes of a reply: 64 vectors of 8,192 numbers in decimals are 12 MB.
const REPLY_BYTES: usize = 64 * 1024 * 1024;

/// Timeout for connecting to a server; a reachable one takes far less.
const CONNECT: Duration = Duration::from_secs(10);

/// The longest pause after the first failure; each further one is up to twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Server, model, timeouts and retries.
#[derive(Debug, Clone)]
pub struct HttpEmbedderOptions {
    /// The API of the server.
    pub api: EmbeddingApi,
    /// The server, the root of its API, or the endpoint itself.
    pub url: String,
    /// The model's name on the server.
    pub model: String,
    /// For servers that require a key.
    pub key: Option<ApiKey>,
    /// Length of the vectors; if missing, the server is asked when the embedder is created.
    pub dimension: Option<usize>,
    /// Whether to request vectors in base64 (OpenAI only), which are a quarter of the size. Both
    /// forms are accepted in replies.
    pub base64: bool,
    /// Maximum number of texts in one request.
    pub max_batch: usize,
    /// Maximum number of characters of one text; longer texts are truncated.
    pub max_chars: usize,
    /// Timeout of one request.
    pub timeout: Duration,
    /// Maximum number of attempts, including the first.
    pub attempts: u32,
    /// The longest pause between two attempts; if a server requests a longer one, the request fails.
    pub longest_pause: Duration,
    /// Prefix of a query.
    pub query_prompt: String,
    /// Prefix of a document.
    pub document_prompt: String,
    /// Weight of the embedding in a fused ranking, 0 to 1.
    pub fusion_weight: f32,
    /// The same for a query in Chinese, Japanese or Korean; set a higher value for a model that
    /// supports them.
    pub fusion_weight_cjk: f32,
    /// The cosine from which two texts are worth judging against each other.
    pub related_threshold: f32,
}

impl HttpEmbedderOptions {
    /// The defaults for a model.
    pub fn new(api: EmbeddingApi, model: impl Into<String>) -> Self {
        Self {
            api,
            url: api.default_url().to_owned(),
            model: model.into(),
            key: None,
            dimension: None,
            base64: false,
            max_batch: 64,
            max_chars: 8_000,
            timeout: Duration::from_secs(60),
            attempts: 4,
            longest_pause: Duration::from_secs(30),
            query_prompt: String::new(),
            document_prompt: String::new(),
            fusion_weight: 0.7,
            fusion_weight_cjk: 0.3,
            related_threshold: 0.55,
        }
    }
}

/// An embedder that uses a server.
#[derive(Debug)]
pub struct HttpEmbedder {
    options: HttpEmbedderOptions,
    endpoint: Url,
    client: Client,
    info: EmbedderInfo,
}

/// A failure, and whether to retry.
struct RequestFailure {
    error: Error,
    passing: bool,
    wanted_pause: Option<Duration>,
}

impl RequestFailure {
    fn passing(error: Error) -> Self {
        Self {
            error,
            passing: true,
            wanted_pause: None,
        }
    }

    fn lasting(error: Error) -> Self {
        Self {
            passing: false,
            ..Self::passing(error)
        }
    }
}

impl HttpEmbedder {
    /// An embedder for a server. If the dimension is missing, the server is asked for a vector at once.
    pub async fn connect(options: HttpEmbedderOptions) -> Result<Self> {
        let endpoint = endpoint_of(options.api, &options.url)?;
        if options.model.trim().is_empty() {
            return Err(
                Error::invalid("the embedding server's model has no name").with_hint(
                    "for example openai:text-embedding-3-small or ollama:nomic-embed-text",
                ),
            );
        }
        if options.dimension == Some(0) {
            return Err(Error::invalid(
                "the dimension of an embedder is 0; expected 1 or more",
            ));
        }
        let info = EmbedderInfo {
            model_id: String::new(),
            dimension: options.dimension.unwrap_or(0),
            builtin: false,
            fusion_weight: options.fusion_weight,
            fusion_weight_cjk: options.fusion_weight_cjk,
            related_threshold: options.related_threshold,
        };
        let client = client_for(&options)?;
        let mut embedder = Self {
            options,
            endpoint,
            client,
            info,
        };
        if embedder.info.dimension == 0 {
            let probe = embedder.request(&["probe".to_owned()]).await?;
            embedder.info.dimension = probe.first().map_or(0, Vec::len);
            if embedder.info.dimension == 0 {
                return Err(embedder.failed("the server's vectors have no values"));
            }
        }
        embedder.info.model_id = embedder.model_id();
        // Connections belong to the runtime that made them, and the embedder may be used in another one.
        embedder.client = client_for(&embedder.options)?;
        Ok(embedder)
    }

    /// Server, model and length: a name alone does not identify the model on a server.
    fn model_id(&self) -> String {
        let options = &self.options;
        let (api, model) = (options.api.name(), options.model.trim());
        let host = self.endpoint.host_str().unwrap_or_default();
        let port = self
            .endpoint
            .port()
            .map_or(String::new(), |p| format!(":{p}"));
        let mut id = format!("{api}:{model}@{host}{port}:{}", self.info.dimension);
        if !(options.query_prompt.is_empty() && options.document_prompt.is_empty()) {
            let prompts = format!("{:?}{:?}", options.query_prompt, options.document_prompt);
            id.push(':');
            id.push_str(&sha256_hex(prompts.as_bytes())[..8]);
        }
        id
    }

    /// Requests the vectors of a few texts, with retries if they may help.
    async fn request(&self, texts: &[String]) -> Result<Vec<Vec<f32>>> {
        let mut failures = 0;
        loop {
            let failure = match self.try_once(texts).await {
                Ok(vectors) => return Ok(vectors),
                Err(failure) => failure,
            };
            failures += 1;
            if !failure.passing || failures >= self.options.attempts {
                return Err(failure.error);
            }
            let backoff = Backoff {
                base: FIRST_PAUSE,
                max: self.options.longest_pause,
            };
            let pause = backoff.wait(failures - 1, failure.wanted_pause, &mut Rng::new());
            if pause > self.options.longest_pause {
                return Err(failure.error);
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn try_once(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, RequestFailure> {
        let options = &self.options;
        let body = wire::request(options.api, options.model.trim(), texts, options.base64);
        let mut post = self
            .client
            .post(self.endpoint.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        if let Some(key) = &options.key {
            post = post.header(AUTHORIZATION, bearer(key).map_err(RequestFailure::lasting)?);
        }
        let response = post
            .send()
            .await
            .map_err(|e| RequestFailure::passing(self.network_error(&e)))?;
        let status = response.status();
        let wanted_pause = retry_after(response.headers(), None);
        let body = self.body(response).await?;
        if !status.is_success() {
            return Err(RequestFailure {
                error: self.refused(status, &body),
                passing: is_transient(status),
                wanted_pause,
            });
        }
        wire::vectors(options.api, &body, texts.len())
            .map_err(|error| RequestFailure::lasting(error.context(self.place())))
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, RequestFailure> {
        let mut body = Vec::new();
        let lost = |e: reqwest::Error| RequestFailure::passing(self.network_error(&e));
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if body.len() + chunk.len() > REPLY_BYTES {
                let why = format!("the reply is larger than {REPLY_BYTES} bytes");
                return Err(RequestFailure::lasting(self.failed(&why)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The endpoint without its possibly private parts.
    fn place(&self) -> String {
        let mut shown = self.endpoint.clone();
        shown.set_query(None);
        shown.into()
    }

    fn failed(&self, why: &str) -> Error {
        Error::new(ErrorKind::Backend, format!("{}: {why}", self.place()))
    }

    fn network_error(&self, error: &reqwest::Error) -> Error {
        if error.is_timeout() {
            let (what, patience) = if error.is_connect() {
                ("connection", CONNECT.min(self.options.timeout))
            } else {
                ("answer", self.options.timeout)
            };
            let message = format!("{}: no {what} within {patience:?}", self.place());
            return Error::new(ErrorKind::Timeout, message).with_hint(
                "is the server still loading the model? a slow one may need a longer \
                     embedder_timeout",
            );
        }
        // The useful part, such as "connection refused", is at the end of the chain.
        let mut source = std::error::Error::source(error);
        let mut reason = "the request failed".to_owned();
        while let Some(cause) = source {
            reason = cause.to_string();
            source = cause.source();
        }
        let hint = match self.options.api {
            EmbeddingApi::Ollama => "is Ollama running? `ollama serve` starts it",
            EmbeddingApi::OpenAi => "check the address of the embedding server, and that it runs",
        };
        self.failed(&reason).with_hint(hint)
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> Error {
        let said = complaint(body, self.options.key.as_ref());
        let model = &self.options.model;
        let hint = match (status.as_u16(), self.options.api) {
            (401 | 403, _) => "check the key of the embedding server".to_owned(),
            (404, EmbeddingApi::Ollama) => format!("`ollama pull {model}` fetches the model"),
            (404, EmbeddingApi::OpenAi) => "check the address and the model's name".to_owned(),
            (429, _) => "the server's rate limit or quota is used up; try later".to_owned(),
            (300..=399, _) => "the server moved; give the address that it redirects to".to_owned(),
            _ => "the server's own log may say more".to_owned(),
        };
        let said = match said.as_str() {
            "" => String::new(),
            said => format!(": {}", quoted(said, 200)),
        };
        self.failed(&format!("answered {status}{said}"))
            .with_hint(hint)
    }

    /// The text as it is sent; none if there is nothing to send.
    fn prepared(&self, text: &str, role: TextRole) -> Option<String> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let prompt = match role {
            TextRole::Query => &self.options.query_prompt,
            TextRole::Document => &self.options.document_prompt,
        };
        let end = text
            .char_indices()
            .nth(self.options.max_chars)
            .map_or(text.len(), |(at, _)| at);
        Some(format!("{prompt}{}", &text[..end]))
    }

    /// Validates and normalises the server's vector for one text.
    fn finish(&self, mut vector: Vec<f32>) -> Result<Vec<f32>> {
        let (got, expected) = (vector.len(), self.info.dimension);
        if got != expected {
            let why = format!("a vector has {got} values; expected {expected}");
            return Err(self
                .failed(&why)
                .with_hint("the server runs another model than before"));
        }
        if !normalise(&mut vector) {
            return Err(self.failed("a vector is all zeros or has a value that is not finite"));
        }
        Ok(vector)
    }
}

#[async_trait::async_trait]
impl Embedder for HttpEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    async fn embed(&self, texts: &[&str], role: TextRole) -> Result<Vec<Vec<f32>>> {
        let mut vectors = vec![vec![0.0; self.info.dimension]; texts.len()];
        let prepared: Vec<(usize, String)> = texts
            .iter()
            .enumerate()
            .filter_map(|(at, text)| Some((at, self.prepared(text, role)?)))
            .collect();
        for batch in batches(prepared, self.options.max_batch.max(1)) {
            let (places, texts): (Vec<usize>, Vec<String>) = batch.into_iter().unzip();
            for (at, vector) in places.into_iter().zip(self.request(&texts).await?) {
                vectors[at] = self.finish(vector)?;
            }
        }
        Ok(vectors)
    }
}

/// Splits a list into requests of at most `most` texts and [`REQUEST_CHARS`] characters.
fn batches(prepared: Vec<(usize, String)>, most: usize) -> Vec<Vec<(usize, String)>> {
    let mut batches: Vec<Vec<(usize, String)>> = Vec::new();
    let mut chars = 0;
    for (at, text) in prepared {
        let length = text.chars().count();
        match batches.last_mut() {
            Some(batch) if batch.len() < most && chars + length <= REQUEST_CHARS => {
                chars += length;
                batch.push((at, text));
            }
            _ => {
                chars = length;
                batches.push(vec![(at, text)]);
            }
        }
    }
    batches
}

/// The header with the key, marked as sensitive so that it is never printed.
fn bearer(key: &ApiKey) -> Result<HeaderValue> {
    let mut header = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))
        .map_err(|_| Error::invalid("the key cannot be sent in a header"))?;
    header.set_sensitive(true);
    Ok(header)
}

fn client_for(options: &HttpEmbedderOptions) -> Result<Client> {
    let builder = web_client::builder()
        // No redirects: the key must reach only the server that it was given for.
        .redirect(redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT.min(options.timeout))
        .timeout(options.timeout);
    web_client::build(builder)
}

/// The endpoint for a server, the root of its API, or the endpoint itself.
fn endpoint_of(api: EmbeddingApi, url: &str) -> Result<Url> {
    let (root, call) = match api {
        EmbeddingApi::OpenAi => ("/v1", "/embeddings"),
        EmbeddingApi::Ollama => ("", "/api/embed"),
    };
    let endpoint = Endpoint {
        server: "embedding server",
        example: api.default_url(),
        root,
        call,
    };
    endpoint.at(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_the_endpoint() {
        use EmbeddingApi::{Ollama, OpenAi};
        for (api, url, expected) in [
            (
                OpenAi,
                "https://api.openai.com/v1",
                Ok("https://api.openai.com/v1/embeddings"),
            ),
            (
                OpenAi,
                "http://localhost:8080",
                Ok("http://localhost:8080/v1/embeddings"),
            ),
            (
                OpenAi,
                "http://localhost:8080/v1/embeddings/",
                Ok("http://localhost:8080/v1/embeddings"),
            ),
            (
                OpenAi,
                "https://h.example/openai/v1/?api-version=1",
                Ok("https://h.example/openai/v1/embeddings?api-version=1"),
            ),
            (
                Ollama,
                "http://127.0.0.1:11434",
                Ok("http://127.0.0.1:11434/api/embed"),
            ),
            (
                Ollama,
                "http://127.0.0.1:11434/api/embed",
                Ok("http://127.0.0.1:11434/api/embed"),
            ),
            (Ollama, "127.0.0.1:11434", Err("not valid")),
            (OpenAi, "file:///etc/passwd", Err("must begin with http")),
            (
                OpenAi,
                "https://user:geheim@h.example/v1",
                Err("must not hold a user"),
            ),
            (OpenAi, "", Err("not valid")),
        ] {
            match (endpoint_of(api, url), expected) {
                (Ok(endpoint), Ok(expected)) => assert_eq!(endpoint.as_str(), expected),
                (Err(error), Err(why)) => {
                    assert!(error.message().contains(why), "{url}: {error}");
                    assert!(!format!("{error:?}").contains("geheim"));
                }
                (got, expected) => panic!("{url}: {got:?} for {expected:?}"),
            }
        }
    }

    #[test]
    fn requests_are_bounded_in_texts_and_characters() {
        let text = |n: usize| "ä".repeat(n);
        for (lengths, most, expected) in [
            (vec![], 2, vec![]),
            (vec![1, 1, 1], 2, vec![2, 1]),
            (vec![60_000, 40_000, 1], 9, vec![2, 1]),
            (vec![200_000, 1], 9, vec![1, 1]),
        ] {
            let prepared = lengths.iter().map(|n| text(*n)).enumerate().collect();
            let sizes: Vec<usize> = batches(prepared, most).iter().map(Vec::len).collect();
            assert_eq!(sizes, expected, "{lengths:?}");
        }
    }
}
