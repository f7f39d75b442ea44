//! The network: HTTP requests, search providers, the fetcher of addresses, and keys.

#[cfg(feature = "http")]
pub(crate) mod api;
mod api_key;
#[cfg(feature = "http")]
mod http_fetch;
#[cfg(feature = "http")]
mod providers;
#[cfg(feature = "http")]
pub(crate) mod retry;
pub(crate) mod services;
#[cfg(feature = "http")]
pub(crate) mod web_client;

pub use api_key::ApiKey;
#[cfg(feature = "http")]
pub use http_fetch::{HttpFetcher, HttpOptions, detect_challenge};
pub use services::{ApiOptions, Backoff, ProviderKind, ProvidersConfig, ServiceConfig};
