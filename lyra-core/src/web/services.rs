//! Settings of the search services. They exist in every build; without the feature `http` no service can be
//! enabled.

use super::ApiKey;
use crate::error::{Error, Result};
#[cfg(not(feature = "http"))]
use crate::{
    error::ErrorKind,
    ports::{Clock, SearchProvider},
};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
#[cfg(not(feature = "http"))]
use std::sync::Arc;
use std::time::Duration;

/// The services that Lyra can query, in the order in which they are tried for a DOI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProviderKind {
    /// <https://openalex.org>
    OpenAlex,
    /// <https://www.crossref.org>
    Crossref,
    /// <https://www.semanticscholar.org>
    SemanticScholar,
    /// <https://europepmc.org>
    EuropePmc,
    /// <https://arxiv.org>
    Arxiv,
    /// <https://docs.searxng.org>; your own instance or one of somebody you know.
    Searxng,
    /// <https://brave.com/search/api>
    Brave,
}

impl ProviderKind {
    /// All services.
    pub const ALL: [Self; 7] = [
        Self::OpenAlex,
        Self::Crossref,
        Self::SemanticScholar,
        Self::EuropePmc,
        Self::Arxiv,
        Self::Searxng,
        Self::Brave,
    ];

    /// Its name in configurations, in `queue_targets` and in `serp_items.engine`.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAlex => "openalex",
            Self::Crossref => "crossref",
            Self::SemanticScholar => "semantic_scholar",
            Self::EuropePmc => "europe_pmc",
            Self::Arxiv => "arxiv",
            Self::Searxng => "searxng",
            Self::Brave => "brave",
        }
    }

    /// The default base address; SearXNG has none.
    pub fn default_base_url(self) -> Option<&'static str> {
        match self {
            Self::OpenAlex => Some("https://api.openalex.org"),
            Self::Crossref => Some("https://api.crossref.org"),
            Self::SemanticScholar => Some("https://api.semanticscholar.org/graph/v1"),
            Self::EuropePmc => Some("https://www.ebi.ac.uk/europepmc/webservices/rest"),
            Self::Arxiv => Some("https://export.arxiv.org/api"),
            Self::Searxng => None,
            Self::Brave => Some("https://api.search.brave.com/res/v1"),
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ProviderKind {
    type Err = Error;

    /// ```
    /// use lyra_core::web::ProviderKind;
    /// assert_eq!("openalex".parse::<ProviderKind>()?, ProviderKind::OpenAlex);
    /// assert!("altavista".parse::<ProviderKind>().is_err());
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    fn from_str(name: &str) -> Result<Self> {
        let plain = |text: &str| text.to_ascii_lowercase().replace(['_', '-', ' '], "");
        let found = Self::ALL
            .into_iter()
            .find(|kind| plain(kind.name()) == plain(name));
        found.ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            let known = known.join(", ");
            Error::invalid(format!("no provider {name:?}; there are: {known}"))
        })
    }
}

/// The configuration of a service; unset fields have defaults.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServiceConfig {
    /// Replaces [`ProviderKind::default_base_url`].
    pub base_url: Option<String>,
    /// A key, for services that take one.
    pub key: Option<ApiKey>,
    /// Requests per second, instead of the default.
    pub requests_per_second: Option<f64>,
}

/// Which services are queried, and how. By default none is.
///
/// ```
/// use lyra_core::web::{ProviderKind, ProvidersConfig};
/// use lyra_core::EngineConfig;
/// let mut config = EngineConfig::new("evidence.db");
/// config.search.enabled = vec![ProviderKind::OpenAlex, ProviderKind::EuropePmc];
/// config.search.mailto = Some("me@example.org".into());
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProvidersConfig {
    /// The enabled services.
    pub enabled: Vec<ProviderKind>,
    /// A contact address for the `User-Agent`; many services respond faster if it is given.
    pub mailto: Option<String>,
    /// Settings that differ from the defaults.
    pub services: BTreeMap<ProviderKind, ServiceConfig>,
    /// Timeouts, retries, sizes.
    pub api: ApiOptions,
}

/// Timeouts and retries of the clients of services. The defaults suit public services.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiOptions {
    /// Timeout of one request.
    pub timeout: Duration,
    /// Maximum number of requests per query, including retries; at least 1.
    pub attempts: u32,
    /// The waits between retries.
    pub backoff: Backoff,
    /// Maximum wait for a turn or for `Retry-After`; if a service demands more, this counts as rate
    /// limiting.
    pub patience: Duration,
    /// Maximum size of a decoded reply, in bytes.
    pub max_bytes: usize,
    /// Number of consecutive failures after which a service is paused.
    pub opens_after: u32,
    /// Duration of the first pause.
    pub rest: Duration,
    /// A seed that makes the waits reproducible.
    pub seed: Option<u64>,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(20),
            attempts: 4,
            backoff: Backoff {
                base: Duration::from_millis(500),
                max: Duration::from_secs(20),
            },
            patience: Duration::from_secs(30),
            max_bytes: 8 * 1024 * 1024,
            opens_after: 6,
            rest: Duration::from_secs(30),
            seed: None,
        }
    }
}

/// Exponential waits: `base · 2^attempt`, at most `max`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// Maximum before the first retry.
    pub base: Duration,
    /// Maximum before any retry.
    pub max: Duration,
}

#[cfg(not(feature = "http"))]
impl ProvidersConfig {
    /// No providers: this build cannot send requests, so that an enabled service is an error.
    pub fn build(&self, _clock: &Arc<dyn Clock>) -> Result<Vec<Arc<dyn SearchProvider>>> {
        let Some(kind) = self.enabled.first() else {
            return Ok(Vec::new());
        };
        let message = format!("provider {kind}: this build has no network");
        Err(Error::new(ErrorKind::Unsupported, message)
            .with_hint("compile lyra-core with the feature http"))
    }
}
