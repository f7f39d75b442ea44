//! One integration binary for lyra-core, against its public API.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]
#![allow(clippy::too_many_lines, reason = "cases of a test are a table")]

mod calibration;
mod check;
mod check_again;
mod circles;
mod contract;
mod copies;
mod corpus;
mod demo_corpus;
mod dropped_run;
mod embed_jobs;
mod feedback;
#[cfg(feature = "http")]
mod fetching;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod http_embedder;
mod judge;
mod judgements;
mod large_texts;
mod layers;
#[cfg(feature = "http")]
mod llm;
mod moved_file;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "onnx")]
mod onnx_judge;
#[cfg(feature = "http")]
mod providers;
mod read_only;
mod repeat;
mod review;
mod stages;
#[cfg(feature = "http")]
mod stopping;
mod substance;
mod verification;
