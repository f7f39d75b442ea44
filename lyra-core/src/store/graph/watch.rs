//! A connection that waits for commits and takes none from those who ask questions.

use super::handles::{EvidenceGraph, Reader};
use crate::error::Result;
use crate::store::database::{Reading, Source, SqliteResultExt, Statements};

/// A connection of its own to the file of a graph.
#[derive(Debug)]
pub(crate) struct Watched {
    source: Source,
    reading: Reading,
}

impl EvidenceGraph {
    /// Opens a connection that tells when something was committed.
    pub(crate) fn watch(&self) -> Result<Watched> {
        let source = self.database().source().clone();
        let reading = source.open()?;
        Ok(Watched { source, reading })
    }
}

impl Watched {
    /// Opens a read-only file again that another one has taken the place of; answers whether it did.
    pub(crate) fn reopen_if_replaced(&mut self) -> Result<bool> {
        let is_replaced = !self.reading.stamp.holds();
        if is_replaced {
            self.reading = self.source.open()?;
        }
        Ok(is_replaced)
    }

    /// Differs after every commit of another connection, in this process or in another.
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
