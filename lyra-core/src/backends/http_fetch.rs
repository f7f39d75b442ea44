//! Web pages, fetched politely and only from public addresses.
//!
//! Redirects are followed by hand, so that each address on the way is judged; names are resolved
//! through a resolver that hands out public addresses only, so that a name cannot be judged with
//! one address and fetched from another (DNS rebinding).

use crate::error::{Error, ErrorKind, Result};
use crate::model::DocumentMeta;
use crate::ports::{FetchRequest, FetchedDocument, Fetcher, Validators};
use crate::security::url_policy::{check_url, is_public};
use crate::text::url::registrable_domain;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{
    ACCEPT, CONTENT_TYPE, ETAG, HeaderMap, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
    LOCATION,
};
use reqwest::{Client, ClientBuilder, Response, StatusCode, redirect};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// How web pages are fetched.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Whether addresses on private networks may be fetched.
    pub allow_private_hosts: bool,
    /// For one document, redirects included.
    pub timeout: Duration,
    /// Of the decoded body.
    pub max_bytes: usize,
    /// Redirects followed.
    pub max_redirects: usize,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            allow_private_hosts: false,
            timeout: Duration::from_secs(30),
            max_bytes: 16 * 1024 * 1024,
            max_redirects: 10,
        }
    }
}

/// Fetches `http:` and `https:` addresses.
#[derive(Debug)]
pub struct HttpFetcher {
    client: Client,
    options: HttpOptions,
}

impl HttpFetcher {
    /// A fetcher with its own connections.
    pub fn new(options: HttpOptions) -> Result<Self> {
        Self::with_client(client_builder(&options), options)
    }

    fn with_client(builder: ClientBuilder, options: HttpOptions) -> Result<Self> {
        let client = builder
            .build()
            .map_err(|e| Error::internal(format!("building the web client: {e}")))?;
        Ok(Self { client, options })
    }

    async fn follow(&self, request: &FetchRequest) -> Result<(Url, Response)> {
        let start = Url::parse(&request.url)
            .map_err(|e| Error::invalid(format!("{:?} is not an address: {e}", request.url)))?;
        let mut url = start.clone();
        for _ in 0..=self.options.max_redirects {
            let hop = async {
                check_url(&url, self.options.allow_private_hosts)?;
                let response = self.get(&url, &request.validators).await?;
                Ok((redirect_of(&url, &response)?, response))
            };
            let (next, response) = hop.await.map_err(|e: Error| {
                // What fails behind a redirect also names the address that led there.
                if url == start { e } else { e.context(&start) }
            })?;
            let Some(next) = next else {
                return Ok((url, response));
            };
            url = next;
        }
        let limit = self.options.max_redirects;
        Err(failed(&start, &format!("more than {limit} redirects")))
    }

    async fn get(&self, url: &Url, validators: &Validators) -> Result<Response> {
        let accept = "text/html,application/xhtml+xml,application/pdf;q=0.9,application/xml;q=0.8,text/plain;q=0.7,*/*;q=0.1";
        let mut get = self.client.get(url.clone()).header(ACCEPT, accept);
        if let Some(etag) = &validators.etag {
            get = get.header(IF_NONE_MATCH, etag);
        }
        if let Some(date) = &validators.last_modified {
            get = get.header(IF_MODIFIED_SINCE, date);
        }
        get.send().await.map_err(|e| network_error(url, &e))
    }

    async fn body(&self, url: &Url, mut response: Response) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|e| network_error(url, &e))? {
            if body.len() + chunk.len() > self.options.max_bytes {
                return Err(failed(
                    url,
                    &format!("larger than {} bytes", self.options.max_bytes),
                ));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
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

    async fn fetch(&self, request: &FetchRequest) -> Result<FetchedDocument> {
        let all = async {
            let (url, response) = self.follow(request).await?;
            let status = response.status();
            match status {
                StatusCode::NOT_MODIFIED => return Ok(FetchedDocument::NotModified),
                StatusCode::UNAUTHORIZED | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                    return Ok(FetchedDocument::NeedsAuth {
                        auth_type: "login".to_owned(),
                        domain: registrable_domain(url.as_str()).unwrap_or_default(),
                    });
                }
                _ if !status.is_success() => {
                    return Err(failed(&url, &format!("answered {status}")));
                }
                _ => {}
            }
            let headers = response.headers();
            let content_type = text_header(headers, CONTENT_TYPE.as_str());
            let validators = Validators {
                etag: text_header(headers, ETAG.as_str()),
                last_modified: text_header(headers, LAST_MODIFIED.as_str()),
            };
            let body = self.body(&url, response).await?;
            Ok(FetchedDocument::Found {
                final_url: url.into(),
                status: Some(status.as_u16()),
                content_type,
                body,
                known: Box::new(DocumentMeta::default()),
                validators,
            })
        };
        tokio::time::timeout(self.options.timeout, all)
            .await
            .unwrap_or_else(|_| {
                let patience = self.options.timeout;
                Err(Error::new(
                    ErrorKind::Timeout,
                    format!("{}: no answer within {patience:?}", request.url),
                ))
            })
    }
}

fn client_builder(options: &HttpOptions) -> ClientBuilder {
    // Another library in the process may have chosen a provider; any of them will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!(
            "lyra/",
            env!("CARGO_PKG_VERSION"),
            " (evidence engine)"
        ))
        .redirect(redirect::Policy::none())
        .dns_resolver(Arc::new(PublicResolver {
            allow_private: options.allow_private_hosts,
        }))
        .no_proxy()
        .connect_timeout(Duration::from_secs(10))
        .timeout(options.timeout)
}

fn redirect_of(url: &Url, response: &Response) -> Result<Option<Url>> {
    if !response.status().is_redirection() || response.status() == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    let Some(location) = text_header(response.headers(), LOCATION.as_str()) else {
        return Ok(None);
    };
    url.join(&location).map(Some).map_err(|e| {
        failed(
            url,
            &format!("redirects to {location:?}, which is no address: {e}"),
        )
    })
}

fn text_header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}

fn failed(url: &Url, why: &str) -> Error {
    Error::new(ErrorKind::Backend, format!("{url}: {why}"))
}

fn network_error(url: &Url, error: &reqwest::Error) -> Error {
    if error.is_timeout() {
        return Error::new(ErrorKind::Timeout, format!("{url}: no answer in time"));
    }
    // The useful part is at the end of the chain: "connection refused", "private address".
    let mut reason = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        reason = cause.to_string();
        source = cause.source();
    }
    failed(url, &reason)
}

/// Resolves names to public addresses only.
#[derive(Debug)]
struct PublicResolver {
    allow_private: bool,
}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let allow_private = self.allow_private;
        Box::pin(async move {
            let host = name.as_str().to_owned();
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let usable: Vec<_> = found
                .filter(|a| allow_private || is_public(a.ip()))
                .collect();
            if usable.is_empty() {
                return Err(format!("{host} has no public address").into());
            }
            Ok(Box::new(usable.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Answers every request with a redirect to the path that it asks for, slash left out.
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
        // The name stands for a public host: to the fetcher it is one, although it is served here.
        let options = HttpOptions::default();
        let builder = client_builder(&options).resolve("papers.example", server);
        let fetcher = HttpFetcher::with_client(builder, options).unwrap();
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
                validators: Validators::default(),
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
