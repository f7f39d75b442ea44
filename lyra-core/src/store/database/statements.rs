//! Statements on a connection: prepared once, bound, and with errors converted to Lyra's.

use crate::error::Result;
use crate::store::database::SqliteResultExt;
use rusqlite::{Connection, OptionalExtension, Params, Row};

pub(in crate::store) trait Statements {
    /// Executes a statement that changes rows; returns their number.
    fn run(&self, sql: &str, params: impl Params) -> Result<usize>;

    /// Whether a query returns any row.
    fn holds(&self, sql: &str, params: impl Params) -> Result<bool>;

    /// The first row of a query, if there is one.
    fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>>;

    /// The row of a query that always returns one.
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T>;

    /// All rows of a query.
    fn all<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<C>;
}

impl Statements for Connection {
    #[track_caller]
    fn run(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.prepare_cached(sql).db()?.execute(params).db()
    }

    #[track_caller]
    fn holds(&self, sql: &str, params: impl Params) -> Result<bool> {
        self.prepare_cached(sql).db()?.exists(params).db()
    }

    #[track_caller]
    fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.prepare_cached(sql).db()?;
        statement.query_row(params, read).optional().db()
    }

    #[track_caller]
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.prepare_cached(sql).db()?.query_row(params, read).db()
    }

    #[track_caller]
    fn all<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<C> {
        let mut statement = self.prepare_cached(sql).db()?;
        let rows = statement.query_map(params, read).db()?;
        rows.collect::<rusqlite::Result<C>>().db()
    }
}
