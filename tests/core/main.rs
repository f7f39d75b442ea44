//! One integration binary for lyra-core, against its public API.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod contract;
mod corpus;
mod demo_corpus;
#[cfg(feature = "http")]
mod http;
mod layers;
#[cfg(feature = "http")]
mod providers;
