//! The tables of a folder.

use super::super::fields::{Absent, Field, Kind, LineType, TABLES, Table};
use super::columns::{ColumnType, FlatColumn};
use super::derived::DERIVED;

/// The column by which a table may be partitioned.
pub(super) const TASK_ID: &str = "task_id";

/// One table of the folder.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "parquet"),
    allow(dead_code, reason = "the views read its name and columns only")
)]
pub(crate) struct FlatTable {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<FlatColumn>,
    /// The table of the JSONL format; none for a derived table, which an import ignores.
    pub(super) record: Option<&'static Table>,
    /// SELECT of its columns, without ORDER BY; `None` for tables with a record.
    pub(super) from: &'static str,
    pub(super) order: &'static str,
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
                // A file holds the vectors of one model.
                LineType::Embedding => "model_id, dimension, id",
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

fn column_of(field: &Field) -> FlatColumn {
    let holds = match field.kind {
        Kind::Id | Kind::Text | Kind::Filled | Kind::LongText | Kind::Time => ColumnType::Text,
        Kind::JsonObject | Kind::JsonArray => ColumnType::Text,
        Kind::OneOf(_) => ColumnType::Choice,
        Kind::Int(..) => ColumnType::Int,
        Kind::Unit => ColumnType::Real,
        Kind::Flag => ColumnType::Flag,
        Kind::Vector => ColumnType::Vector,
    };
    FlatColumn {
        // A list of numbers is not a blob; the import accepts both names.
        name: match field.kind {
            Kind::Vector => "vector",
            _ => field.name,
        },
        holds,
        nullable: field.absent != Absent::Refused,
    }
}
