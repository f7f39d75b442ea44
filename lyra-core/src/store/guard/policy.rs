//! What queries may read and call, in the evidence graph or in a caller's database.

use super::public::{DERIVED_TABLES, FTS_TABLES, PUBLIC_TABLES};
use super::scalar::{scalar, wrong};
use crate::error::{Error, Result};
use crate::store::database::SqliteResultExt;
use rusqlite::Connection;
use rusqlite::functions::Context;
use rusqlite::types::{Value as Cell, ValueRef};
use serde_json::Value;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// The tables, columns and functions of a database other than Lyra's that queries may use. Anything else
/// is hidden: not readable, not listed, not callable. The functions that every guard offers need not be
/// named (docs/sql-guard.md).
///
/// ```
/// use lyra_core::store::guard::GuardPolicy;
/// let policy = GuardPolicy::new()
///     .table("orders")
///     .table_without("customers", ["email"])
///     .function("half", 1, |values| Ok(values[0].as_f64().map(|n| n / 2.0).into()));
/// ```
#[derive(Clone, Default)]
pub struct GuardPolicy {
    pub(super) tables: Vec<PolicyTable>,
    /// Readable tables that are not listed in the schema.
    pub(super) derived: Vec<String>,
    pub(super) full_text: Vec<String>,
    functions: Vec<PolicyFunction>,
    /// Whether a missing table is an error.
    is_strict: bool,
    /// CREATE statements whose comments describe tables and columns.
    pub(super) notes: &'static str,
}

/// A table that queries may read.
#[derive(Debug, Clone)]
pub(super) struct PolicyTable {
    pub(super) name: String,
    /// Columns that always read as null.
    pub(super) private_columns: Vec<String>,
}

#[derive(Clone)]
struct PolicyFunction {
    name: String,
    arguments: u8,
    call: ScalarFunction,
}

type ScalarFunction = Arc<dyn Fn(&[Value]) -> std::result::Result<Value, String> + Send + Sync>;

impl fmt::Debug for GuardPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions: Vec<&str> = self.functions.iter().map(|f| f.name.as_str()).collect();
        f.debug_struct("GuardPolicy")
            .field("tables", &self.tables)
            .field("full_text", &self.full_text)
            .field("functions", &functions)
            .finish_non_exhaustive()
    }
}

impl GuardPolicy {
    /// A policy under which nothing is readable.
    pub fn new() -> Self {
        Self {
            is_strict: true,
            ..Self::default()
        }
    }

    /// A table or a view of the file, with all its columns.
    #[must_use]
    pub fn table(self, name: impl Into<String>) -> Self {
        self.table_without(name, [""; 0])
    }

    /// A table in which some columns read as null. A column that is part of an index cannot be private:
    /// the guard then fails to open.
    #[must_use]
    pub fn table_without<C: Into<String>>(
        mut self,
        name: impl Into<String>,
        private_columns: impl IntoIterator<Item = C>,
    ) -> Self {
        self.tables.push(PolicyTable {
            name: name.into(),
            private_columns: private_columns.into_iter().map(Into::into).collect(),
        });
        self
    }

    /// A full-text table (FTS5) with one of SQLite's own tokenizers.
    #[must_use]
    pub fn full_text_table(mut self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.full_text.push(name.clone());
        self.table(name)
    }

    /// Adds a function of the caller: it takes the given number of values and returns one, or an error
    /// message. It must depend only on its arguments, and be quick: no deadline interrupts it. Blobs are
    /// not passed to it. A list or an object is passed as its JSON text.
    #[must_use]
    pub fn function(
        mut self,
        name: impl Into<String>,
        arguments: u8,
        call: impl Fn(&[Value]) -> std::result::Result<Value, String> + Send + Sync + 'static,
    ) -> Self {
        self.functions.push(PolicyFunction {
            name: name.into(),
            arguments,
            call: Arc::new(call),
        });
        self
    }

    /// The policy for the evidence graph.
    pub(super) fn of_graph() -> Arc<Self> {
        static GRAPH: LazyLock<Arc<GuardPolicy>> = LazyLock::new(|| {
            let tables = PUBLIC_TABLES.iter().map(|table| PolicyTable {
                name: table.name.to_owned(),
                private_columns: table
                    .private_columns
                    .iter()
                    .map(|c| (*c).to_owned())
                    .collect(),
            });
            Arc::new(GuardPolicy {
                tables: tables.collect(),
                derived: DERIVED_TABLES.map(str::to_owned).to_vec(),
                full_text: FTS_TABLES.map(str::to_owned).to_vec(),
                notes: include_str!("../database/sql/schema.sql"),
                ..GuardPolicy::default()
            })
        });
        Arc::clone(&GRAPH)
    }

    pub(super) fn has_function(&self, name: &str) -> bool {
        self.functions
            .iter()
            .any(|f| f.name.eq_ignore_ascii_case(name))
    }

    /// Refuses a policy that names something that the database does not have.
    pub(super) fn check(&self, connection: &Connection) -> Result<()> {
        if !self.is_strict {
            return Ok(());
        }
        for table in &self.tables {
            let mut statement = connection
                .prepare("SELECT name FROM pragma_table_info(?1)")
                .db()?;
            let names = statement.query_map([&table.name], |r| r.get(0)).db()?;
            let names: Vec<String> = names.collect::<rusqlite::Result<_>>().db()?;
            if names.is_empty() {
                return Err(Error::invalid(format!(
                    "the policy names the table {:?}, which the database does not have",
                    table.name
                )));
            }
            let has = |column: &String| names.iter().any(|n| n.eq_ignore_ascii_case(column));
            if let Some(column) = table.private_columns.iter().find(|c| !has(c)) {
                return Err(Error::invalid(format!(
                    "the policy names the column {column:?} of {:?}, which has no such column",
                    table.name
                )));
            }
            check_indexes(connection, table)?;
        }
        Ok(())
    }

    pub(super) fn register_functions(&self, connection: &Connection) -> Result<()> {
        for function in &self.functions {
            let (name, call) = (function.name.clone(), Arc::clone(&function.call));
            scalar(
                connection,
                &function.name,
                i32::from(function.arguments),
                move |context| {
                    let values = arguments(context, &name)?;
                    call(&values)
                        .map(cell)
                        .map_err(|e| wrong(format!("{name}: {e}")))
                },
            )
            .db()?;
        }
        Ok(())
    }
}

/// Refuses a private column in an index: a query could compare its real values there.
fn check_indexes(connection: &Connection, table: &PolicyTable) -> Result<()> {
    let mut statement = connection
        .prepare(
            "SELECT i.name FROM pragma_index_list(?1) AS l JOIN pragma_index_info(l.name) AS i
             WHERE i.name IS NOT NULL",
        )
        .db()?;
    let names = statement.query_map([&table.name], |r| r.get(0)).db()?;
    let indexed: Vec<String> = names.collect::<rusqlite::Result<_>>().db()?;
    let is_indexed = |column: &&String| indexed.iter().any(|n| n.eq_ignore_ascii_case(column));
    match table.private_columns.iter().find(is_indexed) {
        None => Ok(()),
        Some(column) => Err(Error::invalid(format!(
            "the column {column:?} of {:?} cannot be private, because an index holds it",
            table.name
        ))
        .with_hint("copy the other columns into a table of their own, and name that one")),
    }
}

fn arguments(context: &Context<'_>, name: &str) -> rusqlite::Result<Vec<Value>> {
    (0..context.len())
        .map(|place| match context.get_raw(place) {
            ValueRef::Null => Ok(Value::Null),
            ValueRef::Integer(n) => Ok(n.into()),
            ValueRef::Real(n) => Ok(n.into()),
            ValueRef::Text(text) => Ok(String::from_utf8_lossy(text).into()),
            ValueRef::Blob(_) => Err(wrong(format!("{name} takes no blobs"))),
        })
        .collect()
}

fn cell(value: Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(yes) => Cell::Integer(yes.into()),
        Value::Number(n) => n
            .as_i64()
            .map_or_else(|| n.as_f64().map_or(Cell::Null, Cell::Real), Cell::Integer),
        Value::String(text) => Cell::Text(text),
        list => Cell::Text(list.to_string()),
    }
}
