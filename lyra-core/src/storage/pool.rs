//! One writer, many readers. Closures own transactions.

use super::open::{open_reader, open_writer};
use crate::error::{Error, ErrorKind, Result, SqliteResultExt};
use r2d2::{ManageConnection, Pool};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The database file, open: a connection that writes and a pool of those that read.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    path: PathBuf,
    writer: Arc<Mutex<Connection>>,
    readers: Pool<Readers>,
}

/// Opens and checks reading connections for the pool. Ours, because the ready-made manager lags
/// behind the SQLite binding, and because readers are not opened like the writer.
#[derive(Debug)]
struct Readers(PathBuf);

impl ManageConnection for Readers {
    type Connection = Connection;
    type Error = Error;

    fn connect(&self) -> Result<Connection> {
        open_reader(&self.0)
    }

    fn is_valid(&self, connection: &mut Connection) -> Result<()> {
        connection.execute_batch("").db()
    }

    fn has_broken(&self, connection: &mut Connection) -> bool {
        // A reader that was left inside a transaction would answer from an old snapshot.
        !connection.is_autocommit()
    }
}

/// At most so many threads read at once; more wait their turn.
const READERS: u32 = 8;

impl Database {
    /// Opens the file, creating or migrating it first.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let writer = open_writer(path)?;
        let readers = Pool::builder()
            .max_size(READERS)
            .min_idle(Some(0))
            .test_on_check_out(false)
            .connection_timeout(Duration::from_secs(30))
            .build(Readers(path.to_path_buf()))
            .map_err(pool_error)?;
        Ok(Self {
            path: path.to_path_buf(),
            writer: Arc::new(Mutex::new(writer)),
            readers,
        })
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `work` on a reading connection, inside one snapshot.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let mut connection = self.readers.get().map_err(pool_error)?;
        let snapshot = connection.transaction().db()?;
        let answer = work(&snapshot)?;
        snapshot.finish().db()?;
        Ok(answer)
    }

    /// Runs `work` inside one IMMEDIATE transaction, which is committed if it answers Ok and
    /// rolled back otherwise.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        // A panic inside a transaction rolled it back when it unwound; the connection is sound.
        let mut connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .db()?;
        let answer = work(&transaction)?;
        transaction.commit().db()?;
        Ok(answer)
    }

    /// Runs `work` on the writing connection outside of any transaction.
    pub(crate) fn maintain<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let connection = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connection)
    }
}

fn pool_error(error: r2d2::Error) -> Error {
    Error::new(
        ErrorKind::Storage,
        format!("no reading connection: {error}"),
    )
}
