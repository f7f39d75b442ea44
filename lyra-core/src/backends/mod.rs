//! Ready-made implementations of the ports; the pipeline never names one.

#[cfg(feature = "http")]
mod api;
mod builtin_claims;
mod builtin_stance;
mod corpus;
pub mod documents;
mod file_fetch;
#[cfg(feature = "http")]
mod http_fetch;
mod parser;
#[cfg(feature = "http")]
mod providers;
mod static_embedder;

#[cfg(feature = "http")]
pub use api::{ApiKey, ApiOptions, Backoff};
pub use builtin_claims::BuiltinClaimExtractor;
pub use builtin_stance::{BuiltinStanceJudge, choose_premise};
pub use corpus::{CorpusProvider, SyncReport};
pub use file_fetch::FileFetcher;
#[cfg(feature = "http")]
pub use http_fetch::{HttpFetcher, HttpOptions};
pub use parser::Documents;
#[cfg(feature = "http")]
pub use providers::{ProviderKind, ProvidersConfig, ServiceConfig};
pub use static_embedder::{MODEL_ID as STATIC_MODEL_ID, StaticEmbedder};
