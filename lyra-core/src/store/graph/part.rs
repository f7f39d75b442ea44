//! Rows of the exported part of the graph.

use super::handles::Reader;
use super::task_scope;
use crate::error::Result;
use crate::store::database::SqliteResultExt;
use rusqlite::types::{FromSql, ValueRef};
use rusqlite::{Params, params_from_iter};
use serde_json::Value;

/// The whole graph, or what belongs to one task.
pub(crate) struct Part<'a> {
    pub(crate) reader: &'a Reader<'a>,
    pub(crate) task_id: Option<&'a str>,
}

/// A row of a query.
pub(crate) struct Row<'r>(&'r rusqlite::Row<'r>);

impl Row<'_> {
    /// The cell of a column.
    pub(crate) fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        self.0.get(column).db()
    }

    /// The cell of a column, by its name.
    pub(crate) fn named<T: FromSql>(&self, column: &str) -> Result<T> {
        self.0.get(column).db()
    }

    /// The cell of a column as JSON; null for bytes.
    pub(crate) fn value(&self, column: usize) -> Result<Value> {
        Ok(match self.0.get_ref(column).db()? {
            ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into(),
            ValueRef::Integer(n) => n.into(),
            ValueRef::Real(x) => x.into(),
            ValueRef::Null | ValueRef::Blob(_) => Value::Null,
        })
    }
}

impl Reader<'_> {
    /// The rows of a query for an export or a review.
    pub(crate) fn select<T>(
        &self,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.db.prepare_cached(sql).db()?;
        let mut rows = statement.query(values).db()?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().db()? {
            found.push(read(&Row(row))?);
        }
        Ok(found)
    }
}

impl<'a> Part<'a> {
    pub(crate) fn new(reader: &'a Reader<'a>, task_id: Option<&'a str>) -> Self {
        Self { reader, task_id }
    }

    /// Runs a query in which `{claims}`, `{edges}`, `{fragments}`, `{pages}`, `{works}` and
    /// `{citations}` stand for a test of the preceding expression (`p.id {pages}`), and passes on each
    /// row. `?1` is the task, if there is one.
    pub(crate) fn each(
        &self,
        sql: &str,
        mut take: impl FnMut(&Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut sql = sql.to_owned();
        for set in [
            "claims",
            "edges",
            "fragments",
            "pages",
            "works",
            "citations",
        ] {
            let test = match self.task_id {
                Some(_) => format!("IN (SELECT id FROM scope_{set})"),
                None => "IS NOT NULL".to_owned(),
            };
            sql = sql.replace(&format!("{{{set}}}"), &test);
        }
        if self.task_id.is_some() {
            sql = format!("{} {sql}", task_scope());
        }
        let mut statement = self.reader.db.prepare(&sql).db()?;
        let mut rows = statement.query(params_from_iter(self.task_id)).db()?;
        while let Some(row) = rows.next().db()? {
            take(&Row(row))?;
        }
        Ok(())
    }

    /// The same, as a list.
    pub(crate) fn list<T>(
        &self,
        sql: &str,
        mut read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut list = Vec::new();
        self.each(sql, |row| {
            list.push(read(row)?);
            Ok(())
        })?;
        Ok(list)
    }
}
