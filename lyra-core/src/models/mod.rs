//! Implementations of the embedder, claim extractor and judge ports. The research pipeline depends
//! on none of them.
//!
//! ```
//! use lyra_core::models::StaticEmbedder;
//! use lyra_core::ports::{Embedder, TextRole};
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let embedder = StaticEmbedder::new()?;
//! let vectors = embedder.embed(&["night work", "sleep"], TextRole::Query).await?;
//! assert_eq!((vectors.len(), vectors[0].len()), (2, embedder.info().dimension));
//! # Ok::<(), lyra_core::Error>(()) }).unwrap();
//! ```

mod builtin_claims;
mod builtin_stance;
mod embedder_choice;
#[cfg(feature = "http")]
mod http_embedder;
mod judge_choice;
#[cfg(feature = "http")]
mod llm;
mod llm_choice;
#[cfg(feature = "http")]
mod model_hub;
mod network;
#[cfg(feature = "onnx")]
mod onnx;
mod parallel;
mod static_embedder;
mod unit_vector;

pub use builtin_claims::BuiltinClaimExtractor;
pub(crate) use builtin_claims::{EXTRACTOR_ID, asserts_nothing};
pub use builtin_stance::{BuiltinStanceJudge, choose_premise};
pub use embedder_choice::{EmbedderChoice, EmbedderSettings, onnx_can_run};
#[cfg(feature = "http")]
pub use http_embedder::{EmbeddingApi, HttpEmbedder, HttpEmbedderOptions};
pub use judge_choice::{JudgeChoice, JudgeSettings};
#[cfg(feature = "http")]
pub use llm::{ChatApi, LlmClaimExtractor, LlmOptions, LlmStanceJudge};
pub use llm_choice::{LlmChoice, LlmSettings};
#[cfg(feature = "http")]
pub use model_hub::{HubFile, HubModel, ModelHub, USUAL_HUB};
#[cfg(feature = "onnx")]
pub use onnx::{OnnxEmbedder, OnnxOptions, OnnxStanceJudge};
pub use static_embedder::{MODEL_ID as STATIC_MODEL_ID, StaticEmbedder};
pub use unit_vector::normalise;
