//! The types of requests and replies: options, parameters, the reply, the schema snapshot.

use crate::error::{Error, Result};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;
#[cfg(test)]
use std::time::Instant;

/// Maximum number of rows in a reply.
pub(super) const MAX_LIMIT: usize = 200;
/// Maximum time of a query in milliseconds.
pub(super) const MAX_TIMEOUT_MS: u64 = 2_000;
/// Maximum number of steps of SQLite's virtual machine in a query.
pub(super) const MAX_VM_STEPS: u64 = 50_000_000;
/// Minimum size of a reply in bytes of JSON: enough for one row of any honest query.
pub(super) const MIN_BYTES: usize = 1_024;
/// Maximum size of a reply in bytes of JSON.
pub(super) const MAX_BYTES: usize = 1 << 20;

/// Limits on the cost and the reply of a query.
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
    /// Maximum number of rows in the reply: 1 to 200, default 50.
    pub limit: usize,
    /// Number of rows to skip first, default 0. They are read and discarded; the SQL is not rewritten,
    /// so they cost time. Without an `ORDER BY`, pages may overlap.
    pub offset: usize,
    /// Maximum time of the query in milliseconds: 1 to 2,000, default 300.
    pub timeout_ms: u64,
    /// Maximum number of steps of SQLite's virtual machine (about 6 ns each): 1 to 50,000,000, default
    /// 5,000,000. Counted in thousands, or in `max_vm_steps` if that is less.
    pub max_vm_steps: u64,
    /// Maximum size of `rows` and `columns` in bytes of JSON: 1,024 to 1,048,576, default 40,960.
    pub max_bytes: usize,
    /// Whether the reply includes the list of tables and columns.
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

    /// The maximum time of the query.
    pub(super) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Checks the limits on the reply, but not those on the cost.
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
    /// For `:name`, `@name` and `$name`; the key may include or omit the prefix.
    Named(Map<String, Value>),
}

impl SqlParams {
    /// Reads parameters from JSON: null, an array, or an object.
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
    /// The deadline if the query were requested now.
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
    /// Number of rows in `rows`.
    pub row_count: usize,
    /// The column names in order; a name that occurs again gets `_2`, `_3`.
    pub columns: Vec<String>,
    /// Whether rows were left out or cells truncated.
    pub truncated: bool,
    /// Offset of the next page, if there may be more rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    /// Wall-clock milliseconds that the query took.
    pub elapsed_ms: u64,
    /// The tables and columns that can be queried, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaSnapshot>,
}

/// The tables and views that queries may read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SchemaSnapshot {
    /// Tables, full-text tables and views by name; internal tables are not listed.
    pub tables: Vec<SchemaTable>,
}

/// One table or view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaTable {
    /// Its name.
    pub name: String,
    /// `table`, `fts` (supports `MATCH`) or `view`.
    pub kind: &'static str,
    /// The meaning of a row; for views, it is in the catalog of views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its columns in order; private columns, which read as null, are left out.
    pub columns: Vec<String>,
    /// Their declared types, in the same order: `TEXT`, `INTEGER`, `REAL` or `BLOB`; empty if a view
    /// computes the column.
    pub types: Vec<String>,
    /// The contents of a column, if its name does not explain them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub column_notes: BTreeMap<String, String>,
    /// Its foreign keys, each as `column = table.column`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<String>,
}

/// A view on the guard's connections that is not stored in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TempView {
    /// A lower-case name that begins with `v_`.
    pub name: String,
    /// One `SELECT` without parameters.
    pub select_sql: String,
}
