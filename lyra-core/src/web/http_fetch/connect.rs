//! The client: the addresses it connects to, and its error messages.

use super::options::HttpOptions;
use crate::error::{Error, ErrorKind};
use crate::security::url_policy::is_public;
use crate::web::web_client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::HeaderMap;
use reqwest::{ClientBuilder, redirect};
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// The product token that `robots.txt` files may name (RFC 9309, section 2.2.1).
pub(super) const PRODUCT: &str = "lyra";

/// A client without cookies, proxies or automatic redirects: a proxy would resolve names itself,
/// and each redirect must be checked separately.
pub(super) fn client_builder(options: &HttpOptions) -> ClientBuilder {
    web_client::builder()
        .redirect(redirect::Policy::none())
        .dns_resolver(Arc::new(PublicResolver {
            allow_private: options.allow_private_hosts,
        }))
        .no_proxy()
        .referer(false)
        .connect_timeout(Duration::from_secs(10).min(options.timeout))
}

/// Resolves names only to public addresses. The client connects to exactly the addresses returned
/// here, so a name cannot be checked with one address and fetched from another.
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

pub(super) fn text_header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned)
}

pub(super) fn failed(url: &Url, why: &str) -> Error {
    Error::new(ErrorKind::Backend, format!("{url}: {why}"))
}

pub(super) fn network_error(url: &Url, error: &reqwest::Error) -> Error {
    if error.is_timeout() {
        return Error::new(ErrorKind::Timeout, format!("{url}: no answer in time"));
    }
    failed(url, &web_client::cause(error))
}
