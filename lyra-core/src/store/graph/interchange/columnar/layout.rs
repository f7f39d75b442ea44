//! The names of folders and files, and the Arrow schema of a table.

use super::columns::{ColumnType, FlatColumn};
use super::tables::{FlatTable, TASK_ID};
use crate::error::{Error, ErrorKind, Result};
use arrow_schema::{DataType, Field, Schema};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::path::Path;
use std::sync::Arc;

/// The script that creates the views in DuckDB, stored beside the tables.
pub(super) const SCRIPT: &str = "views.sql";

/// Extension of files with rows.
pub(super) const EXTENSION: &str = "parquet";

/// Hive's name for a partition without a value; here for a table without rows.
const NO_TASK: &str = "__HIVE_DEFAULT_PARTITION__";

/// Longest name in bytes that common file systems allow.
const MAX_NAME_BYTES: usize = 255;

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-').remove(b'.');

/// The name of file number `n` of a table.
pub(super) fn part_name(n: usize) -> String {
    format!("part-{n}.{EXTENSION}")
}

/// The folder of the rows of one task.
pub(super) fn partition_name(task_id: Option<&str>) -> Result<String> {
    let Some(task_id) = task_id else {
        return Ok(format!("{TASK_ID}={NO_TASK}"));
    };
    let name = format!("{TASK_ID}={}", utf8_percent_encode(task_id, ESCAPED));
    if name.len() > MAX_NAME_BYTES || task_id == NO_TASK {
        return Err(
            Error::invalid(format!("the task id {task_id:?} cannot name a folder"))
                .with_hint("export without a partition by task"),
        );
    }
    Ok(name)
}

/// The task of a folder that [`partition_name`] named; none for any other name.
pub(super) fn task_of(folder: &str) -> Option<Option<String>> {
    let value = folder.strip_prefix(TASK_ID)?.strip_prefix('=')?;
    if value == NO_TASK {
        return Some(None);
    }
    let task_id = percent_decode_str(value).decode_utf8().ok()?;
    Some(Some(task_id.into_owned()))
}

/// The schema of a file; with `partitioned`, the task is only in the name of the folder. `dimension` is
/// the length of the vectors; none if there are no vectors.
pub(super) fn schema(table: &FlatTable, partitioned: bool, dimension: Option<i32>) -> Schema {
    let columns = table.columns.iter();
    let inside = columns.filter(|column| !(partitioned && column.name == TASK_ID));
    Schema::new(
        inside
            .map(|column| field(column, dimension))
            .collect::<Vec<_>>(),
    )
}

fn field(column: &FlatColumn, dimension: Option<i32>) -> Field {
    let data_type = match column.holds {
        ColumnType::Text => DataType::Utf8,
        ColumnType::Choice => {
            DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
        }
        ColumnType::Int => DataType::Int64,
        ColumnType::Real => DataType::Float64,
        ColumnType::Flag => DataType::Boolean,
        ColumnType::Vector => {
            let item = Arc::new(Field::new_list_field(DataType::Float32, true));
            match dimension {
                Some(dimension) => DataType::FixedSizeList(item, dimension),
                None => DataType::List(item),
            }
        }
    };
    Field::new(column.name, data_type, column.nullable)
}

pub(super) fn unwritable(
    place: &Path,
    error: impl std::error::Error + Send + Sync + 'static,
) -> Error {
    let message = format!("{} cannot be written: {error}", place.display());
    Error::new(ErrorKind::Backend, message).with_source(error)
}

/// The file with the checksums.
pub(super) const SUMS: &str = "SHA256SUMS";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_names_its_task() {
        for task_id in ["task_0a1b", "a/b=c %é", "..", "A", "値🙂"] {
            let name = partition_name(Some(task_id)).unwrap();
            assert!(name.is_ascii() && !name.contains('/'), "{name}");
            assert_eq!(task_of(&name), Some(Some(task_id.to_owned())));
        }
        assert_eq!(task_of(&partition_name(None).unwrap()), Some(None));
        assert_eq!(task_of("claim_id=1"), None);
        assert_eq!(task_of("task_id=%ff"), None);
        assert!(partition_name(Some(&"é".repeat(50))).is_err());
        assert!(partition_name(Some(NO_TASK)).is_err());
    }
}
