//! A separate connection that waits for commits, so that no pooled connection is held for this.

use super::handles::{EvidenceGraph, Reader};
use crate::error::Result;
use crate::store::database::{DatabaseFile, ReadConnection, SqliteResultExt, Statements};

/// A separate connection to the file of a graph.
#[derive(Debug)]
pub(crate) struct Watched {
    source: DatabaseFile,
    reading: ReadConnection,
}

impl EvidenceGraph {
    /// Opens a connection that detects commits.
    pub(crate) fn watch(&self) -> Result<Watched> {
        let source = self.database().source().clone();
        let reading = source.open()?;
        Ok(Watched { source, reading })
    }
}

impl Watched {
    /// Reopens a read-only file if it was replaced; returns whether it was.
    pub(crate) fn reopen_if_replaced(&mut self) -> Result<bool> {
        let is_replaced = !self.reading.stamp.holds();
        if is_replaced {
            self.reading = self.source.open()?;
        }
        Ok(is_replaced)
    }

    /// A number that changes after every commit of another connection, in this process or another.
    pub(crate) fn version(&self) -> Result<i64> {
        let sql = "PRAGMA data_version";
        self.reading.connection.one(sql, [], |r| r.get(0))
    }

    /// Reads inside one snapshot.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Reader<'_>) -> Result<T>) -> Result<T> {
        let snapshot = self.reading.connection.unchecked_transaction().db()?;
        work(&Reader { db: &snapshot })
    }
}
