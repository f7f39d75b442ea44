//! Lyra: an embeddable evidence-graph engine.

pub mod backends;
mod clock;
pub mod confidence;
mod error;
pub mod graph;
pub mod guard;
pub mod model;
pub mod ports;
pub mod ranking;
pub mod security;
#[allow(dead_code)]
mod storage;
pub mod text;
pub mod views;

pub use error::{Error, ErrorKind, Result};
