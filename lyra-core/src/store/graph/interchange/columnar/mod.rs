//! The interchange tables as columns, for programs that read Parquet.
//!
//! A folder holds one folder for each table. The tables of the JSONL format come back by an import.
//! The derived ones hold what the views read besides, so that DuckDB answers them without counting
//! the graph again; an import leaves them out.

#[cfg(feature = "parquet")]
mod bounds;
mod derived;
#[cfg(feature = "parquet")]
mod folder;
#[cfg(feature = "parquet")]
mod layout;
#[cfg(feature = "parquet")]
mod read;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod sums;
#[cfg(feature = "parquet")]
#[cfg(test)]
mod tests;
#[cfg(feature = "parquet")]
mod write;

use super::fields::{Absent, Field, Kind, Record, TABLES, Table};
use derived::DERIVED;

#[cfg(feature = "parquet")]
pub(crate) use read::import_parquet;
#[cfg(feature = "parquet")]
pub(crate) use write::export_parquet;

/// The column that a table may be split by.
const TASK_ID: &str = "task_id";

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// UTF-8; times are RFC 3339 in UTC, JSON is its text.
    Text,
    /// Text with few different values.
    Choice,
    /// 64-bit integer.
    Int,
    /// 64-bit float.
    Real,
    /// true or false.
    Flag,
    /// A list of 32-bit floats, of one length in a file.
    Vector,
}

/// One column of a [`FlatTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) holds: ColumnType,
    pub(crate) nullable: bool,
}

/// One table of the folder.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "the views read its name and columns only")
)]
pub(crate) struct FlatTable {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<Column>,
    /// The table of the JSONL format; none: derived, and left out by an import.
    record: Option<&'static Table>,
    /// SELECT of its columns, without ORDER BY; `None` for tables with a record.
    from: &'static str,
    order: &'static str,
}

impl FlatTable {
    /// Whether each of its rows belongs to a task.
    pub(crate) fn has_task(&self) -> bool {
        self.columns.iter().any(|column| column.name == TASK_ID)
    }

    fn of_record(table: &'static Table) -> Self {
        Self {
            name: table.name,
            columns: table.fields.iter().map(column_of).collect(),
            record: Some(table),
            from: "",
            order: match table.record {
                // One file holds the vectors of one model.
                Record::Embedding => "model_id, dimension, id",
                _ => table.order,
            },
        }
    }
}

/// All tables of a folder, in the order in which they are written.
pub(crate) fn flat_tables() -> Vec<FlatTable> {
    let records = TABLES.iter().map(FlatTable::of_record);
    let derived = DERIVED.iter().map(|table| FlatTable {
        name: table.name,
        columns: table.columns.to_vec(),
        record: None,
        from: table.from,
        order: table.order,
    });
    records.chain(derived).collect()
}

fn column_of(field: &Field) -> Column {
    let holds = match field.kind {
        Kind::Id | Kind::Text | Kind::Filled | Kind::LongText | Kind::Time => ColumnType::Text,
        Kind::JsonObject | Kind::JsonArray => ColumnType::Text,
        Kind::OneOf(_) => ColumnType::Choice,
        Kind::Int(..) => ColumnType::Int,
        Kind::Unit => ColumnType::Real,
        Kind::Flag => ColumnType::Flag,
        Kind::Vector => ColumnType::Vector,
    };
    Column {
        // A list of numbers is no blob; the import knows both names.
        name: match field.kind {
            Kind::Vector => "vector",
            _ => field.name,
        },
        holds,
        nullable: field.absent != Absent::Refused,
    }
}
