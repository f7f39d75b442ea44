//! Models in ONNX files: sentence encoders ([`OnnxEmbedder`]) and cross-encoders that judge pairs
//! ([`OnnxStanceJudge`]), in the folders that exports of Hugging Face models make.
//!
//! The graph runs in the ONNX Runtime library, which is loaded at run time and is not part of the
//! build. Texts are tokenized, sorted by length and run in small batches; results are in the order
//! of the texts.

mod embedder;
mod fingerprint;
mod folder;
mod graph;
mod judge;
mod model;
mod runtime;
mod tokens;

pub use embedder::OnnxEmbedder;
pub use judge::OnnxStanceJudge;
pub use model::OnnxOptions;

use crate::error::Result;
use std::path::Path;

/// Whether the ONNX Runtime library can be loaded.
pub(super) fn check_runtime(runtime: Option<&Path>) -> Result<()> {
    runtime::environment(runtime).map(|_| ())
}
