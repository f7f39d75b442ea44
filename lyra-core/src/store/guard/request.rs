//! What a caller asks and gets: options, parameters, the reply, the schema snapshot.

use crate::error::{Error, Result};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;
#[cfg(test)]
use std::time::Instant;

/// Rows in a reply at most.
pub(super) const MAX_LIMIT: usize = 200;
/// Milliseconds a query may take at most.
pub(super) const MAX_TIMEOUT_MS: u64 = 2_000;
/// Steps of SQLite's virtual machine a query may take at most.
pub(super) const MAX_VM_STEPS: u64 = 50_000_000;
/// Bytes of JSON a reply needs at least, to hold one row of any honest query.
pub(super) const MIN_BYTES: usize = 1_024;
/// Bytes of JSON in a reply at most.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// How much a query may cost and return.
///
/// ```
/// use lyra_core::store::guard::SqlOptions;
/// let options = SqlOptions { limit: 10, ..SqlOptions::default() };
/// assert!(options.validate().is_ok());
/// let error = SqlOptions { limit: 0, ..options }.validate().unwrap_err();
/// assert_eq!(error.message(), "limit is 0; expected 1 to 200");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlOptions {
    /// Rows in the reply at most: 1 to 200, default 50.
    pub limit: usize,
    /// Rows to skip first, default 0. They are stepped over, never rewritten into the SQL, so
    /// they cost time; without an `ORDER BY` pages may overlap.
    pub offset: usize,
    /// Milliseconds the query may take: 1 to 2,000, default 300.
    pub timeout_ms: u64,
    /// Steps of SQLite's virtual machine (about 6 ns each): 1 to 50,000,000, default 5,000,000.
    /// Counted in thousands, or in `max_vm_steps` where that is less.
    pub max_vm_steps: u64,
    /// Bytes of JSON that `rows` and `columns` may take: 1,024 to 1,048,576, default 40,960.
    pub max_bytes: usize,
    /// Whether the reply carries the list of tables and columns.
    pub include_schema: bool,
}

impl Default for SqlOptions {
    fn default() -> Self {
        Self {
            limit: 50,
            offset: 0,
            timeout_ms: 300,
            max_vm_steps: 5_000_000,
            max_bytes: 40 * 1024,
            include_schema: false,
        }
    }
}

impl SqlOptions {
    /// Checks every field against its range.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) names the field, its value and
    /// the range.
    pub fn validate(&self) -> Result<()> {
        self.validate_size()?;
        in_range("timeout_ms", self.timeout_ms, 1, MAX_TIMEOUT_MS)?;
        in_range("max_vm_steps", self.max_vm_steps, 1, MAX_VM_STEPS)
    }

    /// How long the query may take.
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Checks how much is to come back, and not what it may cost.
    pub(super) fn validate_size(&self) -> Result<()> {
        in_range("limit", self.limit as u64, 1, MAX_LIMIT as u64)?;
        in_range(
            "max_bytes",
            self.max_bytes as u64,
            MIN_BYTES as u64,
            MAX_BYTES as u64,
        )
    }
}

fn in_range(field: &str, value: u64, low: u64, high: u64) -> Result<()> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(
        Error::invalid(format!("{field} is {value}; expected {low} to {high}")).with_hint(format!(
            "give {field} a value from {low} to {high}, or leave it out"
        )),
    )
}

/// Values for the statement's parameters: null, boolean (0 or 1), number or string each.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum SqlParams {
    /// The statement has no parameters.
    #[default]
    None,
    /// For `?` and `?1`, in order.
    Positional(Vec<Value>),
    /// For `:name`, `@name` and `$name`; the key may carry the prefix or leave it out.
    Named(Map<String, Value>),
}

impl SqlParams {
    /// Reads parameters as they come over a wire: null or nothing, an array, or an object.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for any other JSON value.
    ///
    /// ```
    /// use lyra_core::store::guard::SqlParams;
    /// let params = SqlParams::from_json(serde_json::json!({"task_id": "task_1"})).unwrap();
    /// assert!(matches!(params, SqlParams::Named(map) if map.len() == 1));
    /// ```
    pub fn from_json(value: Value) -> Result<Self> {
        match value {
            Value::Null => Ok(Self::None),
            Value::Array(values) => Ok(Self::Positional(values)),
            Value::Object(values) => Ok(Self::Named(values)),
            other => Err(
                Error::invalid(format!("params is {other}; expected an array or object"))
                    .with_hint("give [..] for ? parameters, or {..} for :name parameters"),
            ),
        }
    }
}

/// One untrusted query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SqlRequest {
    /// Exactly one `SELECT` or `WITH … SELECT`, at most 32,768 bytes.
    pub sql: String,
    /// Values for its parameters.
    pub params: SqlParams,
    /// Its budgets.
    pub options: SqlOptions,
}

impl SqlRequest {
    /// When it has to be answered if it was asked just now.
    #[cfg(test)]
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.options.timeout()
    }

    /// A query without parameters, with default budgets.
    pub fn new(sql: impl Into<String>) -> Self {
        Self {
            sql: sql.into(),
            ..Self::default()
        }
    }
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SqlReply {
    /// The rows as objects. Blobs are lower-case hex, non-finite numbers null.
    pub rows: Vec<Map<String, Value>>,
    /// How many rows there are in `rows`.
    pub row_count: usize,
    /// The column names in order; a name that occurs again gets `_2`, `_3`.
    pub columns: Vec<String>,
    /// Whether rows, or the end of a cell, were left out.
    pub truncated: bool,
    /// Where to go on, if rows may be left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Wall-clock milliseconds that the query took.
    pub elapsed_ms: u64,
    /// What can be queried, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaSnapshot>,
}

/// The tables and views that queries may read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SchemaSnapshot {
    /// Tables, full-text tables and views by name; internal tables are not among them.
    pub tables: Vec<SchemaTable>,
}

/// One table or view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaTable {
    /// Its name.
    pub name: String,
    /// `table`, `fts` (answers `MATCH`) or `view`.
    pub kind: &'static str,
    /// What a row is; a view's is in the catalog of views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its columns in order; private columns, which read as null, are left out.
    pub columns: Vec<String>,
    /// Their declared types, in the same order: `TEXT`, `INTEGER`, `REAL` or `BLOB`; empty where a
    /// view computes the column.
    pub types: Vec<String>,
    /// What a column holds, where its name does not say it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub column_notes: BTreeMap<String, String>,
    /// Its foreign keys, each as `column = table.column`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<String>,
}

/// A view that lives on the guard's own connections, not in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TempView {
    /// A lower-case name that begins with `v_`.
    pub name: String,
    /// One `SELECT` without parameters.
    pub select_sql: String,
}
