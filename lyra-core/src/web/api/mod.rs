//! Shared by all network services: rate limits, timeouts, keys, sizes, errors.
//!
//! If a service is down, the result is an error that says so, never an empty answer; only a 404 to
//! a request for a single thing means that it does not exist. The sources of the errors are
//! [`ProviderFailure`]s, so that a caller can distinguish an outage from a refused key.

mod complaint;
mod endpoint;
mod pace;

use super::ApiKey;
use super::retry::{is_transient, retry_after};
use super::services::ApiOptions;
use super::web_client;
pub(crate) use complaint::complaint;
pub(crate) use endpoint::Endpoint;

use crate::error::{Error, ErrorKind, Result};
use crate::ports::{Clock, ProviderFailure};
use crate::security::quoting::quoted;
use fastrand::Rng;
use pace::{Breaker, TokenBucket};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, StatusCode, redirect};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use url::Url;

/// How often a service may be queried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ServicePace {
    pub(crate) per_second: f64,
    pub(crate) burst: u32,
    /// Maximum number of concurrent requests.
    pub(crate) at_once: usize,
}

/// Where a service expects its key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum KeyPlace {
    /// A header, and the prefix before the key in it.
    Header(&'static str, &'static str),
    /// A parameter of the address.
    Parameter(&'static str),
}

/// The properties of a service.
#[derive(Debug, Clone)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) base: Url,
    pub(crate) pace: ServicePace,
    pub(crate) key: Option<ApiKey>,
    pub(crate) key_place: KeyPlace,
    /// Whether it requires a key.
    pub(crate) key_required: bool,
    /// Contact address for the `User-Agent`, so that the operator of a service can complain.
    pub(crate) mailto: Option<String>,
}

/// A client of one service.
#[derive(Debug)]
pub(crate) struct ApiClient {
    service: Service,
    options: ApiOptions,
    client: Client,
    clock: Arc<dyn Clock>,
    slots: Semaphore,
    pacing: Mutex<Pacing>,
    key_refused: AtomicBool,
}

#[derive(Debug)]
struct Pacing {
    bucket: TokenBucket,
    breaker: Breaker,
    random: Rng,
}

/// One request.
#[derive(Debug, Clone, Copy)]
enum ApiCall<'a> {
    /// A resource that may not exist, with the requested media type.
    Get(&'a str),
    /// A query in JSON, which always gets a reply.
    Post(&'a str),
}

/// Why a request failed.
#[derive(Debug)]
struct Trouble {
    failure: ProviderFailure,
    detail: String,
    wait: Option<Duration>,
}

impl Trouble {
    fn new(failure: ProviderFailure, detail: impl Into<String>) -> Self {
        Self {
            failure,
            detail: detail.into(),
            wait: None,
        }
    }
}

impl ApiClient {
    pub(crate) fn new(
        service: Service,
        options: ApiOptions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        let now = Instant::now();
        let client = client(&service, &options)?;
        Ok(Self {
            slots: Semaphore::new(service.pace.at_once.max(1)),
            pacing: Mutex::new(Pacing {
                bucket: TokenBucket::new(service.pace.per_second, service.pace.burst, now),
                breaker: Breaker::new(options.opens_after, options.rest),
                random: options.seed.map_or_else(Rng::new, Rng::with_seed),
            }),
            key_refused: AtomicBool::new(false),
            service,
            options,
            client,
            clock,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.service.name
    }

    /// The JSON at `path` below the base address; `None` if the service returns 404.
    pub(crate) async fn json(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Option<serde_json::Value>> {
        let Some(body) = self.get(path, query, "application/json").await? else {
            return Ok(None);
        };
        let read = serde_json::from_slice(&body);
        read.map(Some)
            .map_err(|e| self.bad_reply(&format!("the reply is not valid JSON ({e})")))
    }

    /// The bytes at `path` below the base address; `None` if the service returns 404.
    pub(crate) async fn get(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        accept: &str,
    ) -> Result<Option<Vec<u8>>> {
        self.call(&self.address(path, query), ApiCall::Get(accept))
            .await
    }

    /// The reply to JSON sent to `path` below the base address.
    pub(crate) async fn post(&self, path: &[&str], body: &str) -> Result<Vec<u8>> {
        let reply = self
            .call(&self.address(path, &[]), ApiCall::Post(body))
            .await?;
        reply.ok_or_else(|| self.bad_reply("there is no reply"))
    }

    async fn call(&self, url: &Url, call: ApiCall<'_>) -> Result<Option<Vec<u8>>> {
        if self.service.key_required && self.service.key.is_none() {
            return Err(self.error(&Trouble::new(ProviderFailure::BadKey, "it needs a key")));
        }
        let _slot = self
            .slots
            .acquire()
            .await
            .map_err(|e| Error::internal(e.to_string()))?;
        let begun = Instant::now();
        let mut attempt = 0;
        loop {
            self.await_turn().await?;
            let with_key = self.service.key.is_some() && !self.key_refused.load(Ordering::Relaxed);
            let trouble = match self.once(url, with_key, call).await {
                Ok(body) => {
                    self.pacing().breaker.succeeded();
                    return Ok(body);
                }
                Err(trouble) => trouble,
            };
            self.note(&trouble);
            if trouble.failure == ProviderFailure::BadKey && with_key && !self.service.key_required
            {
                self.key_refused.store(true, Ordering::Relaxed);
                continue;
            }
            attempt += 1;
            match self.wait_before_retry(&trouble, attempt, begun) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(self.error(&trouble)),
            }
        }
    }

    /// How long to wait before a retry; `None` to give up.
    fn wait_before_retry(
        &self,
        trouble: &Trouble,
        attempt: u32,
        begun: Instant,
    ) -> Option<Duration> {
        let is_passing = matches!(
            trouble.failure,
            ProviderFailure::Outage | ProviderFailure::RateLimited { .. }
        );
        if !is_passing || attempt >= self.options.attempts {
            return None;
        }
        let random = &mut self.pacing().random;
        let wait = self.options.backoff.wait(attempt - 1, trouble.wait, random);
        (begun.elapsed() + wait <= self.options.patience).then_some(wait)
    }

    /// Waits until the service may be queried.
    async fn await_turn(&self) -> Result<()> {
        let wait = {
            let mut pacing = self.pacing();
            let now = Instant::now();
            if let Err((rest, last)) = pacing.breaker.admit(now) {
                let detail = format!("{last}; not asked again for {}", seconds(rest));
                return Err(self.error(&Trouble::new(ProviderFailure::Outage, detail)));
            }
            let wait = pacing.bucket.take(now);
            if wait > self.options.patience {
                pacing.bucket.give_back();
                let trouble = Trouble {
                    failure: ProviderFailure::RateLimited {
                        retry_after: Some(wait.as_secs()),
                    },
                    detail: format!("the next request is possible in {}", seconds(wait)),
                    wait: None,
                };
                return Err(self.error(&trouble));
            }
            wait
        };
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        Ok(())
    }

    fn note(&self, trouble: &Trouble) {
        let mut pacing = self.pacing();
        let now = Instant::now();
        match trouble.failure {
            ProviderFailure::Outage => pacing.breaker.failed(now, &trouble.detail),
            // A service that replies, even with a refusal, is up.
            _ => pacing.breaker.succeeded(),
        }
        if let Some(wait) = trouble.wait {
            pacing.bucket.close_until(now + wait);
        }
    }

    fn pacing(&self) -> MutexGuard<'_, Pacing> {
        // A panic of a holder cannot leave this state inconsistent.
        self.pacing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.service.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Sends one request.
    async fn once(
        &self,
        url: &Url,
        with_key: bool,
        call: ApiCall<'_>,
    ) -> std::result::Result<Option<Vec<u8>>, Trouble> {
        let mut url = url.clone();
        let key = self.service.key.as_ref().filter(|_| with_key);
        if let (Some(key), KeyPlace::Parameter(name)) = (key, self.service.key_place) {
            url.query_pairs_mut().append_pair(name, key.reveal());
        }
        let json = "application/json";
        let mut request = match call {
            ApiCall::Get(accept) => self.client.get(url).header(ACCEPT, accept),
            ApiCall::Post(body) => self
                .client
                .post(url)
                .header(ACCEPT, json)
                .header(CONTENT_TYPE, json)
                .body(body.to_owned()),
        };
        if let (Some(key), KeyPlace::Header(name, before)) = (key, self.service.key_place) {
            request = request.header(name, format!("{before}{}", key.reveal()));
        }
        let response = request.send().await.map_err(network_trouble)?;
        let status = response.status();
        if status.is_success() {
            return self.body(response).await.map(Some);
        }
        let is_missing = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        if is_missing && matches!(call, ApiCall::Get(_)) {
            return Ok(None);
        }
        Err(self.refusal(status, response).await)
    }

    async fn body(&self, mut response: Response) -> std::result::Result<Vec<u8>, Trouble> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(network_trouble)? {
            if body.len() + chunk.len() > self.options.max_bytes {
                let detail = format!("the reply is larger than {} bytes", self.options.max_bytes);
                return Err(Trouble::new(ProviderFailure::BadReply, detail));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    async fn refusal(&self, status: StatusCode, response: Response) -> Trouble {
        let wait = retry_after(response.headers(), Some(self.clock.now_ms()));
        let mut detail = format!("answered {status}");
        let failure = match status {
            StatusCode::TOO_MANY_REQUESTS => ProviderFailure::RateLimited {
                retry_after: wait.map(|wait| wait.as_secs()),
            },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ProviderFailure::BadKey,
            _ if is_transient(status) => ProviderFailure::Outage,
            _ if status.is_redirection() => {
                detail += " to another host, which is not followed";
                ProviderFailure::Refused
            }
            _ => {
                if let Some(why) = self.excerpt(response).await {
                    detail = format!("{detail}: {}", quoted(&why, 200));
                }
                ProviderFailure::Refused
            }
        };
        Trouble {
            failure,
            detail,
            wait,
        }
    }

    /// The beginning of an error reply, which usually says what was wrong with the request.
    async fn excerpt(&self, response: Response) -> Option<String> {
        let body = self.body(response).await.ok()?;
        if body.trim_ascii_start().starts_with(b"<") {
            return None;
        }
        let text = complaint(&body, self.service.key.as_ref());
        (!text.is_empty()).then_some(text)
    }

    /// An error for a reply that does not have the expected form.
    pub(crate) fn bad_reply(&self, detail: &str) -> Error {
        self.error(&Trouble::new(ProviderFailure::BadReply, detail))
    }

    /// An error for a query that the service refused in a reply that looks successful.
    pub(crate) fn refused(&self, detail: &str) -> Error {
        self.error(&Trouble::new(ProviderFailure::Refused, detail))
    }

    /// An error for a service that replies, but whose own sources do not.
    pub(crate) fn outage(&self, detail: &str) -> Error {
        self.error(&Trouble::new(ProviderFailure::Outage, detail))
    }

    fn error(&self, trouble: &Trouble) -> Error {
        let name = self.service.name;
        let (kind, what, hint) = match &trouble.failure {
            ProviderFailure::Outage => (
                ErrorKind::Backend,
                "is down or out of reach",
                "this is not an empty answer; try again later, or leave this provider out",
            ),
            ProviderFailure::RateLimited { .. } => (
                ErrorKind::Backend,
                "limits the rate of requests",
                "try again later; a key or a mailto address often raises the limit",
            ),
            ProviderFailure::BadReply => (
                ErrorKind::Backend,
                "gave a reply that cannot be read",
                "check that its base URL is that of the service's API",
            ),
            ProviderFailure::BadKey => (
                ErrorKind::AuthRequired,
                "refused the key, or requires one",
                "check the variable or file that its key comes from",
            ),
            ProviderFailure::Refused => (
                ErrorKind::Backend,
                "refused the request",
                "check its base URL and what was asked",
            ),
        };
        Error::new(kind, format!("{name} {what}: {}", trouble.detail))
            .with_hint(hint)
            .with_source(trouble.failure.clone())
    }

    /// Conditions that affect the answers.
    pub(crate) fn conditions(&self) -> Vec<String> {
        let refused = self.key_refused.load(Ordering::Relaxed);
        let key = self.service.key.as_ref().filter(|_| refused);
        key.map(|key| {
            format!(
                "{}: the key from {} was refused; it is asked without a key",
                self.service.name,
                key.origin()
            )
        })
        .into_iter()
        .collect()
    }

    /// Its address, and whether it has a key.
    pub(crate) fn setup(&self) -> String {
        let key = match (&self.service.key, self.service.key_required) {
            (Some(_), _) if self.key_refused.load(Ordering::Relaxed) => "key refused".to_owned(),
            (Some(key), _) => format!("key from {}", key.origin()),
            (None, true) => "needs a key and has none".to_owned(),
            (None, false) => "no key".to_owned(),
        };
        let mut base = self.service.base.clone();
        // A base address may contain a password, which must not be shown.
        let _ = base.set_password(None);
        let _ = base.set_username("");
        base.set_query(None);
        format!("{base}, {key}")
    }
}

fn client(service: &Service, options: &ApiOptions) -> Result<Client> {
    // A key in a header must not be sent to an arbitrary address that a reply names.
    let same_service = redirect::Policy::custom(|attempt| {
        let place = |url: &Url| {
            (
                url.host_str().map(str::to_owned),
                url.port_or_known_default(),
            )
        };
        let is_same = attempt.previous().first().is_some_and(|start| {
            let upgraded = start.scheme() == "http" && attempt.url().scheme() == "https";
            (upgraded && start.host_str() == attempt.url().host_str())
                || (start.scheme() == attempt.url().scheme()
                    && place(start) == place(attempt.url()))
        });
        if is_same && attempt.previous().len() <= 3 {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let mailto = service.mailto.as_deref();
    if let Some(mailto) = mailto.filter(|address| HeaderValue::from_str(address).is_err()) {
        let message = format!("{}: {mailto:?} is no mailto address", service.name);
        return Err(Error::invalid(message).with_hint("a mailto address must be plain ASCII"));
    }
    let builder = web_client::builder_for(mailto)
        .redirect(same_service)
        .no_proxy()
        .connect_timeout(options.timeout.min(Duration::from_secs(10)))
        .timeout(options.timeout);
    web_client::build(builder).map_err(|error| error.context(service.name))
}

fn network_trouble(error: reqwest::Error) -> Trouble {
    if error.is_timeout() {
        return Trouble::new(ProviderFailure::Outage, "no answer in time");
    }
    // The address may contain a key. The useful part is at the end of the chain.
    let error = error.without_url();
    let mut reason = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        reason = cause.to_string();
        source = cause.source();
    }
    Trouble::new(ProviderFailure::Outage, reason)
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64().ceil())
}
