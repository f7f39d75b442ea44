//! Ready-made implementations of the ports; never used by the pipeline.

pub mod builtin_claims;
pub mod builtin_stance;
