//! Academic and web search services as search providers.
//!
//! None is asked unless it is named in the configuration.

mod arxiv;
mod brave;
mod crossref;
mod europe_pmc;
mod openalex;
mod record;
mod searxng;
mod semantic_scholar;
#[cfg(test)]
mod tests;

use super::ApiKey;
use super::api::{ApiClient, ApiOptions, KeyPlace, Pace, Service};
use crate::error::{Error, Result};
use crate::ports::{Clock, SearchProvider};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use url::Url;

/// The services that Lyra can ask, in the order in which they are asked for a DOI.
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
    /// <https://docs.searxng.org>; an instance of your own or of somebody you know.
    Searxng,
    /// <https://brave.com/search/api>
    Brave,
}

impl ProviderKind {
    /// All of them.
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

    /// Where it is asked unless the configuration says otherwise; SearXNG has no one place.
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

    /// The rates that the services ask for, or a little less.
    fn pace(self) -> Pace {
        let (per_second, burst, at_once) = match self {
            Self::OpenAlex => (8.0, 8, 4),
            Self::Crossref | Self::EuropePmc => (5.0, 5, 3),
            Self::SemanticScholar | Self::Brave => (1.0, 1, 1),
            Self::Arxiv => (1.0 / 3.0, 1, 1),
            Self::Searxng => (2.0, 4, 2),
        };
        Pace {
            per_second,
            burst,
            at_once,
        }
    }

    fn key_place(self) -> KeyPlace {
        match self {
            Self::OpenAlex => KeyPlace::Parameter("api_key"),
            Self::Crossref => KeyPlace::Header("Crossref-Plus-API-Token", "Bearer "),
            Self::SemanticScholar => KeyPlace::Header("x-api-key", ""),
            Self::Brave => KeyPlace::Header("X-Subscription-Token", ""),
            Self::EuropePmc | Self::Arxiv | Self::Searxng => {
                KeyPlace::Header("Authorization", "Bearer ")
            }
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

/// How one service is asked; what is left out is the default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServiceConfig {
    /// In place of [`ProviderKind::default_base_url`].
    pub base_url: Option<String>,
    /// A key, for services that take one.
    pub key: Option<ApiKey>,
    /// Requests a second, in place of the default.
    pub requests_per_second: Option<f64>,
}

/// Which services are asked, and how. The default asks none.
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
    /// The services that are asked.
    pub enabled: Vec<ProviderKind>,
    /// An address for the `User-Agent`, where services can complain; many give a faster lane for it.
    pub mailto: Option<String>,
    /// What differs from the defaults.
    pub services: BTreeMap<ProviderKind, ServiceConfig>,
    /// Patience, retries, sizes.
    pub api: ApiOptions,
}

impl ProvidersConfig {
    /// The providers, in the order of [`ProviderKind`] whatever the order of `enabled`.
    pub fn build(&self, clock: &Arc<dyn Clock>) -> Result<Vec<Arc<dyn SearchProvider>>> {
        let mut kinds = self.enabled.clone();
        kinds.sort();
        kinds.dedup();
        kinds
            .into_iter()
            .map(|kind| self.provider(kind, clock))
            .collect()
    }

    fn provider(
        &self,
        kind: ProviderKind,
        clock: &Arc<dyn Clock>,
    ) -> Result<Arc<dyn SearchProvider>> {
        let config = self.services.get(&kind).cloned().unwrap_or_default();
        let base = config.base_url.as_deref().or(kind.default_base_url());
        let base = base.ok_or_else(|| {
            Error::invalid(format!("provider {kind}: there is no base URL"))
                .with_hint("give the address of the instance that is to be asked")
        })?;
        let base = Url::parse(base)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| {
                Error::invalid(format!(
                    "provider {kind}: the base URL is not an http(s) address"
                ))
            })?;
        let mut pace = kind.pace();
        if let Some(rate) = config.requests_per_second {
            if !(rate.is_finite() && rate > 0.0 && rate <= 1000.0) {
                return Err(Error::invalid(format!(
                    "provider {kind}: {rate} requests a second; expected more than 0 and at most 1000"
                )));
            }
            pace.per_second = rate;
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 1 and 1000"
            )]
            let burst = rate.ceil() as u32;
            (pace.burst, pace.at_once) = (burst, pace.at_once.max(burst.min(4) as usize));
        }
        let service = Service {
            name: kind.name(),
            base,
            pace,
            key: config.key,
            key_place: kind.key_place(),
            key_required: kind == ProviderKind::Brave,
            mailto: self.mailto.clone(),
        };
        let client = ApiClient::new(service, self.api.clone(), Arc::clone(clock))?;
        Ok(match kind {
            ProviderKind::OpenAlex => Arc::new(openalex::OpenAlex(client)),
            ProviderKind::Crossref => Arc::new(crossref::Crossref(client)),
            ProviderKind::SemanticScholar => Arc::new(semantic_scholar::SemanticScholar(client)),
            ProviderKind::EuropePmc => Arc::new(europe_pmc::EuropePmc(client)),
            ProviderKind::Arxiv => Arc::new(arxiv::Arxiv(client)),
            ProviderKind::Searxng => Arc::new(searxng::Searxng(client)),
            ProviderKind::Brave => Arc::new(brave::Brave(client)),
        })
    }
}
