//! Ready-made implementations of the ports; the pipeline never names one.

#[cfg(feature = "http")]
mod api;
mod api_key;
mod builtin_claims;
mod builtin_stance;
mod corpus;
pub mod documents;
mod embedder_choice;
mod file_fetch;
#[cfg(feature = "http")]
mod http_embedder;
#[cfg(feature = "http")]
mod http_fetch;
#[cfg(feature = "onnx")]
mod onnx_embedder;
mod parser;
#[cfg(feature = "http")]
mod providers;
mod static_embedder;
mod unit_vector;

#[cfg(feature = "http")]
pub use api::{ApiOptions, Backoff};
pub use api_key::ApiKey;
pub use builtin_claims::BuiltinClaimExtractor;
pub use builtin_stance::{BuiltinStanceJudge, choose_premise};
pub use corpus::{CorpusProvider, SyncReport};
pub use embedder_choice::{EmbedderChoice, EmbedderSettings};
pub use file_fetch::FileFetcher;
#[cfg(feature = "http")]
pub use http_embedder::{EmbeddingApi, HttpEmbedder, HttpEmbedderOptions};
#[cfg(feature = "http")]
pub use http_fetch::{HttpFetcher, HttpOptions, detect_challenge};
#[cfg(feature = "onnx")]
pub use onnx_embedder::{OnnxEmbedder, OnnxOptions};
pub use parser::Documents;
#[cfg(feature = "http")]
pub use providers::{ProviderKind, ProvidersConfig, ServiceConfig};
pub use static_embedder::{MODEL_ID as STATIC_MODEL_ID, StaticEmbedder};
pub use unit_vector::normalise;
