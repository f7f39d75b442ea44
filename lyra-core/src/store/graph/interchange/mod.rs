//! The interchange format: one JSON object per line, `{"type": "claim", …columns}`.
//!
//! | file | what is in it |
//! |---|---|
//! | `fields` | the format as a table: types, columns, kinds, defaults, references |
//! | `lines`, `json`, `line`, `vector` | bytes → lines → JSON → checked cells; vectors in their three spellings |
//! | `batch` | many lines at a time, on a separate thread |
//! | `checks`, `page_text` | constraints between fields, and between a quote and its page |
//! | `spellings` | the allowed values of fields with few values |
//! | `resources` | the pages that identifiers refer to, if this does not follow from pages and works |
//! | `known` | ids that need not be looked up |
//! | `merge` | lines whose rows already exist |
//! | `columnar` | the same tables as folders of Parquet files |
//! | `canonical` | a hash of the lines, without fields that differ between runs |
//! | `import`, `export` | lines → rows in one transaction; rows → lines in canonical order |
//! | `reports`, `failure` | results of imports and exports; why a line was not stored |

mod batch;
mod canonical;
mod checks;
mod columnar;
mod export;
mod failure;
mod fields;
mod import;
mod json;
mod known;
mod line;
mod lines;
mod merge;
mod page_text;
mod reports;
mod resources;
mod spellings;
#[cfg(test)]
pub(in crate::store::graph) mod testing;
#[cfg(test)]
mod tests;
mod vector;

pub(crate) use canonical::canonical_hash;
pub(super) use checks::{Quote, ends_of, matches};
pub(crate) use columnar::{ColumnType, FlatTable, flat_tables};
#[cfg(feature = "parquet")]
pub(crate) use columnar::{export_parquet, import_parquet};
pub(crate) use export::{export_jsonl, task_scope};
pub(super) use import::MANY_ROWS;
pub(crate) use import::import_jsonl;
pub use lines::ImportProblems;
pub(crate) use page_text::PageText;
pub use reports::{ExportReport, ImportReport};
pub(super) use vector::check as check_vector;
