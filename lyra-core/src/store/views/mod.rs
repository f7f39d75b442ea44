//! Ready-made queries on the graph: one SQL template per file, catalogued by its own header.
//!
//! A template includes clauses depending on the parameters that are present (`{% if task_id %}`); values
//! are bound (`:task_id`), never rendered into the text. One source serves three uses: a standalone
//! query ([`ViewCatalog::render`]), a building block inside `WITH x AS (…)`, and a temporary view that
//! `query_sql` can read ([`ViewCatalog::temp_views`]).

mod catalog;
mod duckdb;
mod header;
mod params;
mod render;
mod scan;
#[cfg(test)]
mod tests;

pub(crate) use catalog::view_name;
pub use catalog::{BrokenView, ViewCatalog, ViewInfo};
pub use params::{ParameterType, ViewParameter, ViewParams};
pub use render::RenderedView;
