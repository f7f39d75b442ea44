//! Safe execution of untrusted SQL.
//!
//! [`QueryGuard`] runs statements that nobody has reviewed, such as those that a language model writes,
//! on a database that another connection may be writing to. It allows analysis (joins, CTEs, windows,
//! JSON, full text, the `v_…` views) and stops everything else at the level of the database engine: it
//! does not search for keywords, and does not rewrite statements. docs/sql-guard.md describes the threat
//! model and which defence stops what.
//!
//! Replies are limited to `limit` rows and `max_bytes` bytes of JSON. If a single row does not fit into
//! a reply, its longest texts are truncated (they end in `…`) and `truncated: true` is set, so that
//! paging can continue.

mod audit;
mod authorizer;
mod budget;
mod collect;
mod connection;
mod full_text;
mod functions;
mod heap;
mod hint;
mod like;
mod limits;
mod policy;
mod public;
mod request;
mod run;
mod scalar;
mod schema;
mod table;
mod temp_files;
mod text_functions;
mod turns;
mod worker;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod foreign;
#[cfg(test)]
mod tests;

pub(crate) use hint::spent;
pub use policy::GuardPolicy;
pub use request::{
    SchemaSnapshot, SchemaTable, SqlOptions, SqlParams, SqlReply, SqlRequest, TempView,
};

use crate::error::Result;
use crate::store::database::DatabaseFile;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use worker::WorkerPool;

/// Runs untrusted queries on one database file.
///
/// It may be shared between threads; four queries run at a time, and long queries do not block short
/// ones.
#[derive(Debug)]
pub struct QueryGuard {
    workers: WorkerPool,
    schema: SchemaSnapshot,
}

impl QueryGuard {
    /// Limits the memory that SQLite allocates for one query to 32 MiB, in all guards of the process.
    ///
    /// SQLite accepts this only before the process opens its first connection, whoever opens it;
    /// afterwards this has no effect. Returns whether the limit is in place. It may be called
    /// repeatedly.
    pub fn cap_memory() -> bool {
        heap::install()
    }

    /// Opens a guard over an existing database, with additional views that queries may read.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`](crate::ErrorKind::Storage) if the file cannot be read;
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) names a view that does not work.
    pub fn open(db_path: &Path, temp_views: Vec<TempView>) -> Result<Self> {
        Self::over(&DatabaseFile::writable(db_path), temp_views)
    }

    /// Opens a guard over any SQLite database: queries can read only what the policy names.
    ///
    /// ```
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("shop.db");
    /// # rusqlite::Connection::open(&path).unwrap().execute_batch(
    /// #     "CREATE TABLE customers (id INTEGER PRIMARY KEY, town TEXT, email TEXT);
    /// #      INSERT INTO customers VALUES (1, 'Bern', 'ada@example.org'); CREATE TABLE keys (k TEXT)").unwrap();
    /// use lyra_core::store::guard::{GuardPolicy, QueryGuard, SqlRequest};
    /// let policy = GuardPolicy::new().table_without("customers", ["email"]);
    /// let guard = QueryGuard::open_with(&path, policy, Vec::new())?;
    /// let reply = guard.query(&SqlRequest::new("SELECT town, email FROM customers"))?;
    /// assert_eq!(reply.rows[0]["town"], "Bern");
    /// assert!(reply.rows[0]["email"].is_null());
    /// assert!(guard.query(&SqlRequest::new("SELECT * FROM keys")).is_err());
    /// assert!(guard.query(&SqlRequest::new("DELETE FROM customers")).is_err());
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open); [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) names a table
    /// or a column of the policy that the database does not have.
    pub fn open_with(
        db_path: &Path,
        policy: GuardPolicy,
        temp_views: Vec<TempView>,
    ) -> Result<Self> {
        let file = DatabaseFile::writable(db_path);
        let (workers, schema) = WorkerPool::open(file, temp_views, Arc::new(policy))?;
        Ok(Self { workers, schema })
    }

    /// The same, for the engine's own file.
    pub(crate) fn over(source: &DatabaseFile, temp_views: Vec<TempView>) -> Result<Self> {
        let (workers, schema) =
            WorkerPool::open(source.clone(), temp_views, GuardPolicy::of_graph())?;
        Ok(Self { workers, schema })
    }

    /// Runs one statement.
    ///
    /// # Errors
    /// - [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput): an option is out of range.
    /// - [`ErrorKind::QueryRejected`](crate::ErrorKind::QueryRejected): the statement is not one
    ///   query, uses something that queries may not use, or does not fit its parameters.
    /// - [`ErrorKind::QueryInterrupted`](crate::ErrorKind::QueryInterrupted): it ran out of time,
    ///   steps or memory; the message names the budget.
    ///
    /// The hint explains what to do in each case.
    pub fn query(&self, request: &SqlRequest) -> Result<SqlReply> {
        self.query_while(request, &|| true)
    }

    /// The same for as long as the caller wants the answer: `is_wanted` is called every 20 ms, on this
    /// thread, while the query runs on another; after false, the query ends as if it had run out of
    /// time.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_while(
        &self,
        request: &SqlRequest,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<SqlReply> {
        self.query_since(Instant::now(), request, is_wanted)
    }

    /// The same for a query that was waiting before this call: its time began when it was requested.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub fn query_since(
        &self,
        asked_at: Instant,
        request: &SqlRequest,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<SqlReply> {
        request.options.validate()?;
        self.run(asked_at, request, &|| !is_wanted())
    }

    /// The same for the statement of a view, whose time and steps the caller chooses.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    pub(crate) fn query_view(
        &self,
        request: &SqlRequest,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<SqlReply> {
        request.options.validate_size()?;
        self.run(Instant::now(), request, &|| !is_wanted())
    }

    fn run(
        &self,
        asked_at: Instant,
        request: &SqlRequest,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<SqlReply> {
        let start = Instant::now();
        let mut reply = self.workers.query(request, asked_at, is_unwanted)?;
        reply.elapsed_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        reply.schema = request.options.include_schema.then(|| self.schema.clone());
        Ok(reply)
    }

    /// The tables and views that queries may read, as of the opening of the guard.
    pub fn schema(&self) -> SchemaSnapshot {
        self.schema.clone()
    }
}
