//! The interchange tables as columns, for programs that read Parquet.
//!
//! A folder holds one folder for each table. The tables of the JSONL format come back by an import.
//! The derived ones hold what the views read besides, so that DuckDB answers them without counting
//! the graph again; an import leaves them out.

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
