//! One integration binary for lyra-core, against its public API.

mod demo_corpus;
mod layers;
