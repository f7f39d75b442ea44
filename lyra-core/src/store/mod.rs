//! The evidence graph in one SQLite file: its data model, tables, typed reads and writes, guarded SQL,
//! views, vectors, and the pure functions that they use. No code above this module names SQLite.

pub mod confidence;
pub(crate) mod database;
mod diff;
pub mod graph;
pub mod guard;
pub mod model;
pub mod ranking;
pub mod text;
pub mod vectors;
pub mod views;

pub use diff::{
    ChangeCause, ClaimChange, ConfidenceChange, EdgeChange, EdgeEvent, GraphDiff, NewSource,
    RetractedWork, StanceChange, TextChange,
};
pub(crate) use diff::{diff_from, diff_since};
