//! Fetches web pages politely and only from public addresses.
//!
//! | file | what it is for |
//! |---|---|
//! | `connect` | the client, names resolved to public addresses only (SSRF, DNS rebinding) |
//! | `robots` | `robots.txt` by RFC 9309 |
//! | `pace` | how often, and by how many requests at once, a site is visited |
//! | `body` | limits of size and time |
//! | `challenge` | gates that need a human |
//! | `fresh` | `Cache-Control` |
//!
//! Redirects are followed explicitly, so that each address is checked separately.

mod body;
mod challenge;
mod connect;
mod fresh;
mod options;
mod pace;
mod request;
mod robots;

pub use challenge::detect_challenge;
pub use options::HttpOptions;

use crate::error::{Error, Result};
use crate::ports::{FetchRequest, FetchedDocument, Fetcher, SiteSession, Validators};
use crate::security::url_policy::{check_url, is_public};
use crate::store::model::DocumentMeta;
use crate::store::text::url::registrable_domain;
use crate::web::retry::{is_transient, retry_after};
use crate::web::services::Backoff;
use body::{Patience, check_type};
use connect::{failed, text_header};
use fastrand::Rng;
use pace::{Pace, SitePermit};
use request::{Web, redirect_of};
use reqwest::header::{CONTENT_TYPE, ETAG, HeaderMap, LAST_MODIFIED};
use reqwest::{Response, StatusCode};
use robots::RobotsCache;
use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use url::{Host, Url};

/// Maximum wait between retries.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// Fetches `http:` and `https:` addresses.
#[derive(Debug)]
pub struct HttpFetcher {
    web: Web,
    robots: RobotsCache,
    pace: Pace,
    /// The lifetimes that servers declared for their pages, by address.
    lifetimes: Mutex<HashMap<String, Duration>>,
}

/// Maximum number of lifetimes that are remembered.
const MOST_LIFETIMES: usize = 16_384;

/// Maximum time for which a site is not visited because it asked for it.
const LONGEST_HOLD: Duration = Duration::from_secs(60 * 60);

/// The outcome of one attempt.
enum Attempt {
    Done(FetchedDocument),
    /// The server is busy or broken; `wait` is the delay that it requests.
    Busy {
        url: Url,
        status: StatusCode,
        wait: Option<Duration>,
    },
}

impl HttpFetcher {
    /// A fetcher with a separate connection pool.
    pub fn new(options: HttpOptions) -> Self {
        Self {
            robots: RobotsCache::default(),
            pace: Pace::new(options.per_site),
            web: Web {
                client: OnceLock::new(),
                options,
            },
            lifetimes: Mutex::default(),
        }
    }

    fn remember_lifetime(&self, url: &str, headers: &HeaderMap) {
        let mut known = self
            .lifetimes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_LIFETIMES {
            known.clear();
        }
        match fresh::lifetime(headers) {
            Some(lifetime) => known.insert(url.to_owned(), lifetime),
            None => known.remove(url),
        };
    }

    /// Waits for permission to request `url`; a turn that is already held for the same site is
    /// reused.
    async fn admit(&self, url: &Url, turn: Option<SitePermit>) -> Result<SitePermit> {
        let options = &self.web.options;
        self.web.check(url)?;
        let delay = if options.obey_robots {
            self.robots.check(&self.web, url).await?
        } else {
            None
        };
        let site = site_of(url);
        if let Some(turn) = turn.filter(|turn| turn.site == site) {
            return Ok(turn);
        }
        let interval = if is_own_network(url) {
            Duration::ZERO
        } else {
            options.site_interval
        };
        let interval = interval.max(delay.unwrap_or_default());
        self.pace.turn(&site, interval, options.max_queueing).await
    }

    /// Follows redirects to a final response. The turn is held until the body is read.
    async fn follow(
        &self,
        start: &Url,
        request: &FetchRequest,
        patience: &mut Patience,
    ) -> Result<(Url, Response, SitePermit)> {
        let mut url = start.clone();
        let mut turn = None;
        for _ in 0..=self.web.options.max_redirects {
            let hop = async {
                let turn = self.admit(&url, turn.take()).await?;
                let session = session_of(&url, &request.sessions);
                let get = self.web.get(&url, &request.validators, session);
                let response = patience.spend(&url, get).await?;
                Ok((redirect_of(&url, &response)?, response, turn))
            };
            let (next, response, held) = hop.await.map_err(|e| named(e, &url, start))?;
            let Some(next) = next else {
                return Ok((url, response, held));
            };
            turn = Some(held);
            url = next;
        }
        let limit = self.web.options.max_redirects;
        Err(failed(start, &format!("more than {limit} redirects")))
    }

    async fn attempt(
        &self,
        start: &Url,
        request: &FetchRequest,
        patience: &mut Patience,
    ) -> Result<Attempt> {
        let (url, response, _turn) = self.follow(start, request, patience).await?;
        let status = response.status();
        let headers = response.headers().clone();
        if status == StatusCode::NOT_MODIFIED {
            self.remember_lifetime(&request.url, &headers);
            return Ok(Attempt::Done(FetchedDocument::NotModified));
        }
        if matches!(status.as_u16(), 401 | 407) {
            return Ok(needs_auth(&url, "login"));
        }
        let body = self.body(&url, response, patience).await;
        let body = body.map_err(|e| named(e, &url, start))?;
        let mitigated = text_header(&headers, "cf-mitigated");
        if is_markup(&headers, &body)
            && let Some(kind) = challenge::detect(status, mitigated.as_deref(), &body)
        {
            return Ok(needs_auth(&url, kind));
        }
        if is_transient(status) {
            let wait = retry_after(&headers, None);
            return Ok(Attempt::Busy { url, status, wait });
        }
        if !status.is_success() {
            return Err(named(
                failed(&url, &format!("answered {status}")),
                &url,
                start,
            ));
        }
        self.remember_lifetime(&request.url, &headers);
        Ok(Attempt::Done(FetchedDocument::Found {
            final_url: url.into(),
            status: Some(status.as_u16()),
            content_type: text_header(&headers, CONTENT_TYPE.as_str()),
            body,
            known: Box::new(DocumentMeta::default()),
            validators: Validators {
                etag: text_header(&headers, ETAG.as_str()),
                last_modified: text_header(&headers, LAST_MODIFIED.as_str()),
            },
        }))
    }

    async fn body(
        &self,
        url: &Url,
        response: Response,
        patience: &mut Patience,
    ) -> Result<Vec<u8>> {
        let status = response.status();
        if status.is_success() {
            check_type(url, response.headers())?;
        }
        let limits = self.web.limits(status);
        let body = patience.spend(url, body::read(url, response, limits)).await;
        if status.is_success() {
            return body;
        }
        // The body of an error page is useful, but not required.
        Ok(body.unwrap_or_default())
    }
}

#[async_trait::async_trait]
impl Fetcher for HttpFetcher {
    fn name(&self) -> &'static str {
        "http"
    }

    fn accepts(&self, url: &str) -> bool {
        url.starts_with("http://") || url.starts_with("https://")
    }

    fn may_reuse(&self, url: &str, age: Duration) -> bool {
        let known = self
            .lifetimes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        age < known.get(url).copied().unwrap_or(fresh::DEFAULT_LIFETIME)
    }

    fn lifetime(&self, url: &str) -> Option<Duration> {
        let known = self
            .lifetimes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        known.get(url).copied()
    }

    async fn fetch(&self, request: &FetchRequest) -> Result<FetchedDocument> {
        let start = Url::parse(&request.url)
            .map_err(|e| Error::invalid(format!("{:?} is not an address: {e}", request.url)))?;
        let options = &self.web.options;
        check_url(&start, options.allow_private_hosts)?;
        let mut patience = Patience::new(options.timeout);
        for tried in 0.. {
            let (url, status, wait) = match self.attempt(&start, request, &mut patience).await? {
                Attempt::Done(document) => return Ok(document),
                Attempt::Busy { url, status, wait } => (url, status, wait),
            };
            let site = site_of(&url);
            if let Some(wait) = wait {
                self.pace.hold(&site, wait.min(LONGEST_HOLD));
            }
            let too_long = wait.is_some_and(|wait| wait > options.max_wait);
            if too_long || tried >= options.max_retries {
                return Err(given_up(&url, &start, status, wait, tried));
            }
            let backoff = Backoff {
                base: options.retry_base,
                max: LONGEST_BACKOFF,
            };
            tokio::time::sleep(backoff.wait(tried, wait, &mut Rng::new())).await;
        }
        Err(Error::internal("retries have no end"))
    }
}

fn needs_auth(url: &Url, auth_type: &str) -> Attempt {
    Attempt::Done(FetchedDocument::NeedsAuth {
        auth_type: auth_type.to_owned(),
        domain: registrable_domain(url.as_str()).unwrap_or_default(),
    })
}

/// Adds to an error after a redirect the address that led there.
fn named(error: Error, url: &Url, start: &Url) -> Error {
    if url == start {
        error
    } else {
        error.context(start)
    }
}

fn given_up(
    url: &Url,
    start: &Url,
    status: StatusCode,
    wait: Option<Duration>,
    retries: u32,
) -> Error {
    let asks = wait.map_or(String::new(), |wait| {
        format!(" and asks clients to wait {} s", wait.as_secs())
    });
    let tries = match retries {
        0 => String::new(),
        retries => format!(", {} times", retries + 1),
    };
    let error = failed(url, &format!("answered {status}{tries}{asks}"))
        .with_hint("the server is busy or broken: queue the page again later");
    named(error, url, start)
}

/// The session to send to this address. It is looked up for every address separately, so that a
/// redirect to another site does not receive it.
fn session_of<'s>(url: &Url, sessions: &'s [SiteSession]) -> Option<&'s SiteSession> {
    let domain = registrable_domain(url.as_str())?;
    sessions.iter().find(|session| {
        session.domain == domain && (url.scheme() == "https" || !session.secure_only)
    })
}

/// The unit of rate limiting: the registrable domain, so that twenty hosts of one site count as
/// one.
fn site_of(url: &Url) -> String {
    registrable_domain(url.as_str())
        .unwrap_or_else(|| url.host_str().unwrap_or_default().to_owned())
}

/// Whether the host name denotes this machine or one in a private network.
fn is_own_network(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => !is_public(address.into()),
        Some(Host::Ipv6(address)) => !is_public(address.into()),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// Whether a body may be a web page; only web pages can be gates.
fn is_markup(headers: &HeaderMap, body: &[u8]) -> bool {
    let kind = text_header(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    let start = body.trim_ascii_start();
    kind.contains("html") || (kind.is_empty() && start.starts_with(b"<"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Answers every request with a redirect to the requested path without its slash.
    async fn redirector() -> std::net::SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = vec![0; 4096];
                let read = stream.read(&mut head).await.unwrap_or(0);
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let path = head.split(' ').nth(1).unwrap_or_default();
                let target = path.strip_prefix('/').unwrap_or(path);
                let answer = format!(
                    "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        address
    }

    #[tokio::test]
    async fn a_public_host_cannot_redirect_into_a_private_network() {
        let server = redirector().await;
        // The name stands for a public host: the fetcher treats it as public, although it is served
        // here.
        let options = HttpOptions::default();
        let builder = connect::client_builder(&options).resolve("papers.example", server);
        let fetcher = HttpFetcher::new(options);
        fetcher.web.client.set(builder.build().unwrap()).unwrap();
        let port = server.port();
        for (target, why) in [
            (
                "http://169.254.169.254/latest/meta-data/",
                "private or reserved network",
            ),
            ("http://[fe80::1]/", "private or reserved network"),
            ("http://0/", "private or reserved network"),
            ("//10.0.0.1/x", "private or reserved network"),
            (&format!("http://localhost:{port}/"), "no public address"),
            ("file:///etc/passwd", "its scheme is not http or https"),
        ] {
            let request = FetchRequest {
                url: format!("http://papers.example:{port}/{target}"),
                ..FetchRequest::default()
            };
            let error = fetcher.fetch(&request).await.unwrap_err();
            assert!(error.message().contains(why), "{target}: {error}");
            assert!(
                error.message().starts_with(&request.url),
                "{target}: {error}"
            );
        }
    }
}
