//! A folder of Parquet files → rows, converted to lines of the JSONL format, so that all checks of an
//! import are in one place.

use super::super::fields::{Kind, Table};
use super::super::import::import_jsonl;
use super::super::lines::ImportProblems;
use super::super::reports::ImportReport;
use super::super::vector::push_hex;
use super::folder::{PartFile, parts};
use super::tables::TASK_ID;
use super::{bounds, sums};
use crate::error::{Error, Result};
use crate::store::database::Database;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, ListArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema};
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use std::fs::File;
use std::io::{BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Reads a folder that [`super::export_parquet`] wrote into the graph: all of it, or nothing. Derived
/// tables are ignored because they follow from the others.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] with the file, the row and the reason; then nothing was written.
pub(crate) fn import_parquet(db: &Database, now: &str, dir: &Path) -> Result<ImportReport> {
    let parts = parts(dir)?;
    sums::check(dir, &parts)?;
    for part in &parts {
        open(part)?;
    }
    let mut lines = RowLines::new(parts);
    let imported = import_jsonl(db, now, &mut lines);
    match (imported, lines.failure.take()) {
        (Ok(report), _) => Ok(report),
        (Err(_), Some(failure)) => Err(failure),
        (Err(error), None) => Err(lines.located(error)),
    }
}

/// Opens a file and checks its columns.
fn open(part: &PartFile) -> Result<ParquetRecordBatchReader> {
    let file = File::open(&part.path).map_err(|e| unreadable(part, e))?;
    // Use the Parquet types, regardless of which program wrote the file and of its own type system.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = without_panic(part, || {
        let file = file.try_clone()?;
        ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)
    })?;
    check_columns(part, builder.schema())?;
    check_compression(part, builder.metadata())?;
    let rows = without_panic(part, || bounds::batch_rows(&file, builder.metadata()))?;
    without_panic(part, || builder.with_batch_size(rows).build())
}

/// Converts panics into errors: some damaged files make the library panic.
fn without_panic<T>(
    part: &PartFile,
    work: impl FnOnce() -> parquet::errors::Result<T>,
) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|e| unreadable(part, e)),
        Err(_) => Err(unreadable(
            part,
            std::io::Error::other("it contradicts itself"),
        )),
    }
}

fn check_columns(part: &PartFile, schema: &Schema) -> Result<()> {
    for column in schema.fields() {
        let place = part.table.position(column.name());
        let Some(field) = place.map(|place| &part.table.fields[place]) else {
            let message = format!("{}: unknown column {:?}", part.label, column.name());
            return Err(Error::invalid(message).with_hint(format!(
                "nothing was written; {} has the columns {}",
                part.table.name,
                part.table.columns()
            )));
        };
        if !fits(field.kind, column.data_type()) {
            let message = format!(
                "{}: column {:?} is of type {}; expected {}",
                part.label,
                column.name(),
                column.data_type(),
                expected(field.kind)
            );
            return Err(Error::invalid(message).with_hint("nothing was written"));
        }
    }
    Ok(())
}

fn check_compression(part: &PartFile, metadata: &ParquetMetaData) -> Result<()> {
    let groups = metadata.row_groups().iter();
    let mut used = groups.flat_map(|group| group.columns().iter().map(|c| c.compression()));
    let unread = used.find(|c| !matches!(c, Compression::UNCOMPRESSED | Compression::SNAPPY));
    match unread {
        None => Ok(()),
        Some(other) => Err(Error::invalid(format!(
            "{} is compressed with {other}; expected Snappy or no compression",
            part.label
        ))
        .with_hint("nothing was written; write the file again with Snappy")),
    }
}

fn fits(kind: Kind, found: &DataType) -> bool {
    let is_number = found.is_integer() && *found != DataType::UInt64;
    let is_real = matches!(found, DataType::Float32 | DataType::Float64);
    match kind {
        // A column without any values.
        _ if *found == DataType::Null => true,
        // Data frames with missing values store integers as floats.
        Kind::Int(..) => is_number || is_real,
        Kind::Unit => is_number || is_real,
        Kind::Flag => is_number || *found == DataType::Boolean,
        Kind::Vector => matches!(found, DataType::List(item)
            if matches!(item.data_type(), DataType::Float32 | DataType::Float64)),
        _ => *found == DataType::Utf8,
    }
}

fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Int(..) => "whole numbers",
        Kind::Unit => "numbers",
        Kind::Flag => "true and false",
        Kind::Vector => "lists of 32-bit floats",
        Kind::Time => "text (RFC 3339)",
        _ => "text",
    }
}

/// The values of one column of a batch.
enum ColumnValues {
    Nothing,
    Text(StringArray),
    Flag(BooleanArray),
    Int(ArrayRef, Vec<i64>),
    Real(ArrayRef, Vec<f64>),
    Vector(ListArray),
}

macro_rules! numbers {
    ($array:expr, $kind:ty) => {
        $array
            .as_primitive::<$kind>()
            .values()
            .iter()
            .map(|n| (*n).into())
            .collect()
    };
}

impl ColumnValues {
    /// The values of an array whose type [`fits`].
    fn of(array: &ArrayRef) -> Self {
        let whole: Vec<i64> = match array.data_type() {
            DataType::Utf8 => return Self::Text(array.as_string().clone()),
            DataType::Boolean => return Self::Flag(array.as_boolean().clone()),
            DataType::List(_) => return Self::Vector(array.as_list().clone()),
            DataType::Float32 => {
                return Self::Real(array.clone(), numbers!(array, Float32Type));
            }
            DataType::Float64 => {
                return Self::Real(array.clone(), numbers!(array, Float64Type));
            }
            DataType::Int8 => numbers!(array, Int8Type),
            DataType::Int16 => numbers!(array, Int16Type),
            DataType::Int32 => numbers!(array, Int32Type),
            DataType::Int64 => numbers!(array, Int64Type),
            DataType::UInt8 => numbers!(array, UInt8Type),
            DataType::UInt16 => numbers!(array, UInt16Type),
            DataType::UInt32 => numbers!(array, UInt32Type),
            _ => return Self::Nothing,
        };
        Self::Int(array.clone(), whole)
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Nothing => true,
            Self::Text(a) => a.is_null(row),
            Self::Flag(a) => a.is_null(row),
            Self::Int(a, _) | Self::Real(a, _) => a.is_null(row),
            Self::Vector(a) => a.is_null(row),
        }
    }

    /// Writes a value that is not null as JSON.
    fn push(&self, out: &mut Vec<u8>, row: usize) -> serde_json::Result<()> {
        match self {
            Self::Nothing => serde_json::to_writer(out, &()),
            Self::Text(a) => serde_json::to_writer(out, a.value(row)),
            Self::Flag(a) => serde_json::to_writer(out, &a.value(row)),
            Self::Int(_, n) => serde_json::to_writer(out, &n[row]),
            Self::Real(_, n) if n[row].is_finite() => serde_json::to_writer(out, &n[row]),
            // JSON has no such number; written as text, it is refused with a reason.
            Self::Real(_, n) => serde_json::to_writer(out, &n[row].to_string()),
            Self::Vector(a) => {
                out.push(b'"');
                push_vector(out, &a.value(row));
                out.push(b'"');
                Ok(())
            }
        }
    }
}

/// Writes the f32 bytes in hex. A missing value becomes NaN, which no vector may contain.
fn push_vector(out: &mut Vec<u8>, values: &ArrayRef) {
    let at = |place: usize| -> f32 {
        match values.data_type() {
            _ if values.is_null(place) => f32::NAN,
            DataType::Float32 => values.as_primitive::<Float32Type>().value(place),
            #[allow(clippy::cast_possible_truncation, reason = "vectors are stored as f32")]
            _ => values.as_primitive::<Float64Type>().value(place) as f32,
        }
    };
    for place in 0..values.len() {
        push_hex(out, &at(place).to_le_bytes());
    }
}

/// The rows of all files as lines.
struct RowLines {
    /// Files still to be read, in reverse order.
    waiting: Vec<PartFile>,
    open: Option<(PartFile, ParquetRecordBatchReader)>,
    /// The lines of the last batch.
    bytes: Vec<u8>,
    at: usize,
    lines: u64,
    /// For each file, its name and the number of lines before it.
    begun: Vec<(u64, String)>,
    failure: Option<Error>,
}

impl RowLines {
    fn new(mut parts: Vec<PartFile>) -> Self {
        parts.reverse();
        Self {
            waiting: parts,
            open: None,
            bytes: Vec::new(),
            at: 0,
            lines: 0,
            begun: Vec::new(),
            failure: None,
        }
    }

    /// Reads the next batch that has rows; leaves the buffer empty at the end.
    fn refill(&mut self) -> Result<()> {
        self.bytes.clear();
        self.at = 0;
        while self.bytes.is_empty() {
            if self.open.is_none() {
                let Some(part) = self.waiting.pop() else {
                    return Ok(());
                };
                self.begun.push((self.lines, part.label.clone()));
                let reader = open(&part)?;
                self.open = Some((part, reader));
            }
            let Some((part, reader)) = &mut self.open else {
                continue;
            };
            let next = || reader.next().transpose().map_err(ParquetError::from);
            match without_panic(part, next)? {
                None => self.open = None,
                Some(batch) => {
                    push_lines(&mut self.bytes, part, &batch)?;
                    self.lines += batch.num_rows() as u64;
                }
            }
        }
        Ok(())
    }

    /// The error of an import, with lines given as file and row.
    fn located(&self, error: Error) -> Error {
        let source = std::error::Error::source(&error);
        let Some(problems) = source.and_then(|e| e.downcast_ref::<ImportProblems>()) else {
            return error;
        };
        let place = |line: u64| {
            let file = self.begun.iter().rev().find(|(before, _)| *before < line);
            file.map_or_else(String::new, |(before, label)| {
                format!("{label}, row {}: ", line - before)
            })
        };
        Error::invalid(problems.described(place))
            .with_hint("nothing was written; mend the rows that are named and import again")
            .with_source(problems.clone())
    }
}

impl Read for RowLines {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let ready = self.fill_buf()?;
        let length = ready.len().min(buffer.len());
        buffer[..length].copy_from_slice(&ready[..length]);
        self.consume(length);
        Ok(length)
    }
}

impl BufRead for RowLines {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if self.at >= self.bytes.len()
            && let Err(error) = self.refill()
        {
            let message = error.message().to_owned();
            self.failure = Some(error);
            return Err(std::io::Error::other(message));
        }
        Ok(&self.bytes[self.at..])
    }

    fn consume(&mut self, amount: usize) {
        self.at = self.bytes.len().min(self.at + amount);
    }
}

/// Converts the rows of a batch to lines.
fn push_lines(out: &mut Vec<u8>, part: &PartFile, batch: &RecordBatch) -> Result<()> {
    let schema = batch.schema();
    let columns: Vec<(&str, ColumnValues)> = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, array)| (field.name().as_str(), ColumnValues::of(array)))
        .collect();
    // A table that another program partitioned may also contain the task as a column.
    let inside = columns.iter().any(|(name, _)| *name == TASK_ID);
    let task_id = part.task_id.as_deref().filter(|_| !inside);
    for row in 0..batch.num_rows() {
        push_line(out, part.table, task_id, &columns, row)
            .map_err(|e| Error::internal("a value is not JSON").with_source(e))?;
    }
    Ok(())
}

fn push_line(
    out: &mut Vec<u8>,
    table: &Table,
    task_id: Option<&str>,
    columns: &[(&str, ColumnValues)],
    row: usize,
) -> serde_json::Result<()> {
    out.extend_from_slice(b"{\"type\":");
    serde_json::to_writer(&mut *out, table.tag)?;
    if let Some(task_id) = task_id {
        out.extend_from_slice(b",\"task_id\":");
        serde_json::to_writer(&mut *out, task_id)?;
    }
    for (name, values) in columns.iter().filter(|(_, values)| !values.is_null(row)) {
        out.push(b',');
        serde_json::to_writer(&mut *out, name)?;
        out.push(b':');
        values.push(out, row)?;
    }
    out.extend_from_slice(b"}\n");
    Ok(())
}

fn unreadable(part: &PartFile, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let message = format!("{} is not a valid Parquet file: {error}", part.label);
    Error::invalid(message)
        .with_hint("nothing was written; export the graph again")
        .with_source(error)
}
