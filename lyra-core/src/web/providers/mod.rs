//! Academic and web search services as search providers.
//!
//! None is queried unless it is enabled in the configuration.

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

use super::api::{ApiClient, KeyPlace, Service, ServicePace};
use super::services::{ProviderKind, ProvidersConfig};
use crate::error::{Error, Result};
use crate::ports::{Clock, SearchProvider};
use std::sync::Arc;
use url::Url;

impl ProviderKind {
    /// The rate limits of the services, or slightly less.
    fn pace(self) -> ServicePace {
        let (per_second, burst, at_once) = match self {
            Self::OpenAlex => (8.0, 8, 4),
            Self::Crossref | Self::EuropePmc => (5.0, 5, 3),
            Self::SemanticScholar | Self::Brave => (1.0, 1, 1),
            Self::Arxiv => (1.0 / 3.0, 1, 1),
            Self::Searxng => (2.0, 4, 2),
        };
        ServicePace {
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

impl ProvidersConfig {
    /// The providers, in the order of [`ProviderKind`], regardless of the order of `enabled`.
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
