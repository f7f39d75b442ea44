//! Rows of the part of the graph that is exported.

use crate::error::{Result, SqliteResultExt};
use crate::store::graph::{Reader, task_scope};
use rusqlite::{Row, params_from_iter};

/// The whole graph, or what belongs to one task.
pub(super) struct Part<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) task_id: Option<&'a str>,
}

impl<'a> Part<'a> {
    pub(super) fn new(reader: &'a Reader<'a>, task_id: Option<&'a str>) -> Self {
        Self { reader, task_id }
    }

    /// Runs a query in which `{claims}`, `{edges}`, `{fragments}`, `{pages}`, `{works}` and
    /// `{citations}` stand for a test of the expression before them (`p.id {pages}`), and hands each
    /// row on.
    pub(super) fn each(
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
            take(row)?;
        }
        Ok(())
    }

    /// The same, as a list.
    pub(super) fn list<T>(
        &self,
        sql: &str,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut list = Vec::new();
        self.each(sql, |row| {
            list.push(read(row).db()?);
            Ok(())
        })?;
        Ok(list)
    }
}
