//! Rows of SQLite → record batches.

use super::columns::ColumnType;
use super::tables::FlatTable;
use crate::error::{Error, ErrorKind, Result};
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, FixedSizeListBuilder, Float32Builder, Float64Builder,
    Int64Builder, ListBuilder, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use rusqlite::types::ValueRef;
use std::sync::Arc;

/// Maximum number of rows in a batch.
const BATCH_ROWS: usize = 4_096;

/// Size in bytes of text and vectors at which a batch is full.
const BATCH_BYTES: usize = 8 << 20;

/// One column of the batch under construction.
enum Growing {
    Text(StringBuilder),
    Choice(StringDictionaryBuilder<Int32Type>),
    Int(Int64Builder),
    Real(Float64Builder),
    Flag(BooleanBuilder),
    Vector(FixedSizeListBuilder<Float32Builder>),
    /// The vectors of a table without rows.
    NoVector(ListBuilder<Float32Builder>),
}

impl Growing {
    fn new(data_type: &DataType) -> Self {
        match data_type {
            DataType::Dictionary(..) => Self::Choice(StringDictionaryBuilder::new()),
            DataType::Int64 => Self::Int(Int64Builder::new()),
            DataType::Float64 => Self::Real(Float64Builder::new()),
            DataType::Boolean => Self::Flag(BooleanBuilder::new()),
            DataType::FixedSizeList(_, dimension) => {
                Self::Vector(FixedSizeListBuilder::new(Float32Builder::new(), *dimension))
            }
            DataType::List(_) => Self::NoVector(ListBuilder::new(Float32Builder::new())),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    fn builder(&mut self) -> &mut dyn ArrayBuilder {
        match self {
            Self::Text(b) => b,
            Self::Choice(b) => b,
            Self::Int(b) => b,
            Self::Real(b) => b,
            Self::Flag(b) => b,
            Self::Vector(b) => b,
            Self::NoVector(b) => b,
        }
    }

    fn push_null(&mut self) {
        match self {
            Self::Text(b) => b.append_null(),
            Self::Choice(b) => b.append_null(),
            Self::Int(b) => b.append_null(),
            Self::Real(b) => b.append_null(),
            Self::Flag(b) => b.append_null(),
            Self::NoVector(b) => b.append_null(),
            Self::Vector(b) => {
                let dimension = usize::try_from(b.value_length()).unwrap_or_default();
                b.values().append_nulls(dimension);
                b.append(false);
            }
        }
    }

    /// Appends a SQLite value; returns its size in bytes, or none if its type does not fit.
    fn push(&mut self, value: ValueRef<'_>) -> Option<usize> {
        match (self, value) {
            (column, ValueRef::Null) => column.push_null(),
            (Self::Int(b), ValueRef::Integer(n)) => b.append_value(n),
            (Self::Flag(b), ValueRef::Integer(n)) => b.append_value(n != 0),
            (Self::Real(b), ValueRef::Real(n)) => b.append_value(n),
            #[allow(clippy::cast_precision_loss, reason = "SQLite reads it so, too")]
            (Self::Real(b), ValueRef::Integer(n)) => b.append_value(n as f64),
            (Self::Text(b), ValueRef::Text(bytes)) => {
                b.append_value(std::str::from_utf8(bytes).ok()?);
                return Some(bytes.len());
            }
            (Self::Choice(b), ValueRef::Text(bytes)) => {
                b.append_value(std::str::from_utf8(bytes).ok()?);
            }
            (Self::Vector(b), ValueRef::Blob(bytes)) => {
                let (values, rest) = bytes.as_chunks::<4>();
                if !rest.is_empty() || i32::try_from(values.len()).ok() != Some(b.value_length()) {
                    return None;
                }
                for value in values {
                    b.values().append_value(f32::from_le_bytes(*value));
                }
                b.append(true);
                return Some(bytes.len());
            }
            _ => return None,
        }
        Some(8)
    }
}

/// A batch under construction.
pub(super) struct Rows {
    schema: Arc<Schema>,
    columns: Vec<Growing>,
    rows: usize,
    bytes: usize,
}

impl Rows {
    pub(super) fn new(schema: Arc<Schema>) -> Self {
        let columns = schema.fields().iter();
        Self {
            columns: columns.map(|f| Growing::new(f.data_type())).collect(),
            schema,
            rows: 0,
            bytes: 0,
        }
    }

    /// Appends a row: one value for each column of the schema, by position.
    pub(super) fn push<'r>(
        &mut self,
        table: &FlatTable,
        value: impl Fn(usize) -> Result<ValueRef<'r>>,
    ) -> Result<()> {
        for (place, column) in self.columns.iter_mut().enumerate() {
            self.bytes += column
                .push(value(place)?)
                .ok_or_else(|| damaged(table, self.schema.field(place).name()))?;
        }
        self.rows += 1;
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// Returns the rows collected so far and starts an empty batch.
    pub(super) fn take(&mut self) -> Result<RecordBatch> {
        let finish = |column: &mut Growing| -> ArrayRef { column.builder().finish() };
        let arrays = self.columns.iter_mut().map(finish).collect();
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .map_err(|e| Error::internal(format!("a batch of rows: {e}")).with_source(e))
    }
}

fn damaged(table: &FlatTable, column: &str) -> Error {
    let holds = table.columns.iter().find(|c| c.name == column);
    let expected = match holds.map(|c| c.holds) {
        Some(ColumnType::Int) => "a whole number",
        Some(ColumnType::Real) => "a number",
        Some(ColumnType::Flag) => "0 or 1",
        Some(ColumnType::Vector) => "a vector of the length in `dimension`",
        _ => "text in UTF-8",
    };
    let message = format!(
        "{}.{column} holds something other than {expected}",
        table.name
    );
    Error::new(ErrorKind::Storage, message)
        .with_hint("`verify` names the rows that another program has damaged")
}
