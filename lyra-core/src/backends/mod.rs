//! Ready-made implementations of the ports; never used by the pipeline.

pub mod documents;
