//! The interchange tables as columns, for programs that read Parquet.
//!
//! A folder holds one folder for each table. An import reads the tables of the JSONL format. The derived
//! tables hold the other data that the views read, so that DuckDB can evaluate the views without
//! recomputing it; an import ignores them.

#[cfg(feature = "parquet")]
mod bounds;
mod columns;
mod derived;
#[cfg(feature = "parquet")]
mod folder;
#[cfg(feature = "parquet")]
mod layout;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod read;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod sums;
mod tables;
#[cfg(feature = "parquet")]
#[cfg(test)]
mod tests;
#[cfg(feature = "parquet")]
mod write;

pub(crate) use columns::ColumnType;
pub(crate) use tables::{FlatTable, flat_tables};

#[cfg(feature = "parquet")]
pub(crate) use read::import_parquet;
#[cfg(feature = "parquet")]
pub(crate) use write::export_parquet;
