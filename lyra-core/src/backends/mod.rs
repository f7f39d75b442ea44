//! Ready-made implementations of the ports; the pipeline never names one.
//!
//! ```
//! use lyra_core::backends::StaticEmbedder;
//! use lyra_core::ports::{Embedder, TextRole};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let embedder = StaticEmbedder::new()?;
//! let vectors = embedder.embed(&["night work", "sleep"], TextRole::Query).await?;
//! assert_eq!((vectors.len(), vectors[0].len()), (2, embedder.info().dimension));
//! # Ok::<(), lyra_core::Error>(()) }).unwrap();
//! ```

#[cfg(feature = "http")]
mod api;
mod api_key;
mod builtin_claims;
mod builtin_stance;
mod corpus;
pub mod documents;
mod embedder_choice;
mod file_fetch;
mod hostile_documents;
#[cfg(feature = "http")]
mod http_embedder;
#[cfg(feature = "http")]
mod http_fetch;
mod judge_choice;
#[cfg(feature = "http")]
mod llm;
mod llm_choice;
mod local_file;
#[cfg(feature = "http")]
mod model_hub;
mod network;
#[cfg(feature = "onnx")]
mod onnx;
mod parser;
mod parser_process;
#[cfg(feature = "http")]
mod providers;
mod static_embedder;
mod unit_vector;
#[cfg(feature = "http")]
mod web_client;

#[cfg(feature = "http")]
pub use api::{ApiOptions, Backoff};
pub use api_key::ApiKey;
pub use builtin_claims::BuiltinClaimExtractor;
pub use builtin_stance::{BuiltinStanceJudge, choose_premise};
pub use corpus::{CorpusProvider, CorpusReport, FileNote, FolderReport, SyncReport};
pub use embedder_choice::{EmbedderChoice, EmbedderSettings, onnx_can_run};
pub use file_fetch::FileFetcher;
pub(crate) use hostile_documents::HostileDocuments;
#[cfg(feature = "http")]
pub use http_embedder::{EmbeddingApi, HttpEmbedder, HttpEmbedderOptions};
#[cfg(feature = "http")]
pub use http_fetch::{HttpFetcher, HttpOptions, detect_challenge};
pub use judge_choice::{JudgeChoice, JudgeSettings};
#[cfg(feature = "http")]
pub use llm::{ChatApi, LlmClaimExtractor, LlmOptions, LlmStanceJudge};
pub use llm_choice::{LlmChoice, LlmSettings};
#[cfg(feature = "http")]
pub use model_hub::{HubFile, HubModel, ModelHub, USUAL_HUB};
#[cfg(feature = "onnx")]
pub use onnx::{OnnxEmbedder, OnnxOptions, OnnxStanceJudge};
pub use parser::Documents;
pub use parser_process::{ParserLimits, ParserProcess, serve_parser};
#[cfg(feature = "http")]
pub use providers::{ProviderKind, ProvidersConfig, ServiceConfig};
pub use static_embedder::{MODEL_ID as STATIC_MODEL_ID, StaticEmbedder};
pub use unit_vector::normalise;
