//! One writer, many readers. Closures own transactions.

use super::interrupt::Interrupter;
use super::open::{WRITER_CACHE_KIB, open_writer, wait_patiently};
use super::source::{Reading, Source};
use super::{aggregates, checksums};
use crate::error::{Error, ErrorKind, Result, SqliteResultExt};
use r2d2::{ManageConnection, Pool};
use rusqlite::{Connection, ErrorCode, MAIN_DB, Transaction, TransactionBehavior};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// The database file, open: a connection that writes, unless the file is only looked at, and a pool
/// of those that read.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    source: Source,
    // Before the writer, because fields are dropped in order, and only a connection that may write
    // takes the log away when it is the last one to close.
    readers: Pool<Readers>,
    writer: Option<Arc<Mutex<Connection>>>,
    interrupter: Interrupter,
}

/// Opens and checks reading connections for the pool. Ours, because the ready-made manager lags
/// behind the SQLite binding, and because readers are not opened like the writer.
#[derive(Debug)]
struct Readers {
    source: Source,
    interrupter: Interrupter,
}

impl ManageConnection for Readers {
    type Connection = Reading;
    type Error = Error;

    fn connect(&self) -> Result<Reading> {
        let reading = self.source.open()?;
        self.interrupter
            .watch(reading.connection.get_interrupt_handle());
        Ok(reading)
    }

    fn is_valid(&self, reading: &mut Reading) -> Result<()> {
        reading.still.check()
    }

    fn has_broken(&self, reading: &mut Reading) -> bool {
        // A reader that was left inside a transaction would answer from an old snapshot.
        !reading.connection.is_autocommit()
    }
}

/// KiB of pages that a large transaction keeps in memory, if it needs as many.
const BULK_CACHE_KIB: i64 = 262_144;

/// At most so many threads read at once; more wait their turn.
const READERS: u32 = 8;

impl Database {
    /// Opens the file, creating or migrating it first.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let writer = open_writer(path)?;
        Self::over(Source::writable(path), Some(writer))
    }

    /// Opens a file that is there, of this version, and writes neither to it nor beside it.
    pub(crate) fn open_read_only(path: &Path) -> Result<Self> {
        let source = Source::read_only(path);
        source.check()?;
        Self::over(source, None)
    }

    fn over(source: Source, writer: Option<Connection>) -> Result<Self> {
        let interrupter = Interrupter::default();
        if let Some(writer) = &writer {
            interrupter.watch(writer.get_interrupt_handle());
        }
        let readers = Pool::builder()
            .max_size(READERS)
            .min_idle(Some(0))
            // Only a connection without locks can be behind the file.
            .test_on_check_out(source.is_read_only())
            // Connections stay open: a prepared statement costs more than an idle descriptor.
            .idle_timeout(None)
            .max_lifetime(None)
            .connection_timeout(Duration::from_secs(30))
            .build(Readers {
                source: source.clone(),
                interrupter: interrupter.clone(),
            })
            .map_err(pool_error)?;
        Ok(Self {
            source,
            writer: writer.map(|writer| Arc::new(Mutex::new(writer))),
            readers,
            interrupter,
        })
    }

    /// Where the file is.
    pub(crate) fn path(&self) -> &Path {
        self.source.path()
    }

    /// Where reading connections come from.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Ends running statements from another thread.
    pub(crate) fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }

    /// Runs `work` on a reading connection, inside one snapshot.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let mut reading = self.readers.get().map_err(pool_error)?;
        let snapshot = reading.connection.transaction().db()?;
        let answer = work(&snapshot);
        let finished = snapshot.finish().db();
        // What was read from two states of a file at once may even look like a broken one.
        reading.still.check()?;
        let answer = answer?;
        finished?;
        Ok(answer)
    }

    /// Runs `work` inside one IMMEDIATE transaction, which is committed if it answers Ok and
    /// rolled back otherwise. What the views count is counted again first.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut connection = lock(self.writer()?);
        write(&mut connection, work)
    }

    /// The same if nobody else is writing, here or in another process, and the file can be written
    /// at all; otherwise does nothing and answers none.
    pub(crate) fn write_if_free<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(writer) = &self.writer else {
            return Ok(None);
        };
        let mut connection = match writer.try_lock() {
            Ok(connection) => connection,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(None),
        };
        if connection.is_readonly(MAIN_DB).db()? {
            return Ok(None);
        }
        connection.busy_timeout(Duration::ZERO).db()?;
        let begun = connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK");
        wait_patiently(&mut connection)?;
        match begun {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(None),
            Err(error) => Err(error).db(),
            Ok(()) => write(&mut connection, work).map(Some),
        }
    }

    /// The same for a transaction that may grow large: its pages stay in memory instead of going
    /// to the log and coming back.
    pub(crate) fn write_in_bulk<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.maintain(|connection| {
            // What is sorted for an index may be larger than memory; it goes to a file beyond that.
            set_temporary_storage(connection, "FILE")?;
            set_cache(connection, BULK_CACHE_KIB)
        })?;
        let answer = self.write(work);
        // What was committed is committed, whether or not memory is given back at once.
        let _ = self.maintain(|connection| {
            set_temporary_storage(connection, "MEMORY")?;
            set_cache(connection, WRITER_CACHE_KIB)?;
            connection.execute_batch("PRAGMA shrink_memory").db()
        });
        answer
    }

    /// Runs `work` on the writing connection outside of any transaction.
    pub(crate) fn maintain<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        work(&lock(self.writer()?))
    }

    fn writer(&self) -> Result<&Mutex<Connection>> {
        self.writer.as_deref().ok_or_else(Error::read_only)
    }
}

/// Brings the log home with the last handle: whoever copies the file after a program has ended
/// copies all of it, also where the pool's threads still hold a reader open.
impl Drop for Database {
    fn drop(&mut self) {
        if let Some(writer) = &self.writer
            && Arc::strong_count(writer) == 1
        {
            // PASSIVE waits for nobody; what it leaves, the log keeps.
            let _ = lock(writer).execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
        }
    }
}

/// A panic inside a transaction rolled it back when it unwound; the connection is sound.
fn lock(writer: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T>,
) -> Result<T> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .db()?;
    let answer = work(&transaction)?;
    aggregates::refresh(&transaction)?;
    checksums::refresh(&transaction)?;
    transaction.commit().db()?;
    Ok(answer)
}

fn set_cache(connection: &Connection, kib: i64) -> Result<()> {
    connection.pragma_update(None, "cache_size", -kib).db()
}

fn set_temporary_storage(connection: &Connection, place: &str) -> Result<()> {
    connection.pragma_update(None, "temp_store", place).db()
}

fn pool_error(error: r2d2::Error) -> Error {
    Error::new(
        ErrorKind::Storage,
        format!("no reading connection: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDLESS: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

    fn open() -> (tempfile::TempDir, Database) {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(&folder.path().join("g.db")).unwrap();
        (folder, db)
    }

    #[test]
    fn running_statements_can_be_ended() {
        let (_folder, db) = open();
        let interrupter = db.interrupter();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    interrupter.interrupt();
                    std::thread::sleep(Duration::from_millis(5));
                }
            });
            let read = db.read(|c| c.query_row(ENDLESS, [], |r| r.get::<_, i64>(0)).db());
            assert_eq!(read.unwrap_err().kind(), ErrorKind::QueryInterrupted);
            let write = db.write(|t| {
                t.execute(
                    "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t', 'h', '')",
                    [],
                )
                .db()?;
                t.query_row(ENDLESS, [], |r| r.get::<_, i64>(0)).db()
            });
            assert_eq!(write.unwrap_err().kind(), ErrorKind::QueryInterrupted);
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let left = db.read(|c| {
            c.query_row("SELECT count(*) FROM tasks", [], |r| r.get::<_, i64>(0))
                .db()
        });
        assert_eq!(
            left.unwrap(),
            0,
            "the interrupted transaction was rolled back"
        );
    }

    #[test]
    fn a_closed_database_is_whole_in_its_file() {
        let (folder, db) = open();
        let add = "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t', 'h', '')";
        db.write(|t| t.execute(add, []).db()).unwrap();
        let count = |c: &Connection| {
            c.query_row("SELECT count(*) FROM tasks", [], |r| r.get::<_, i64>(0))
                .db()
        };
        db.read(count).unwrap();
        drop(db);
        let copy = folder.path().join("copy.db");
        std::fs::copy(folder.path().join("g.db"), &copy).unwrap();
        assert_eq!(Database::open(&copy).unwrap().read(count).unwrap(), 1);
    }

    #[test]
    fn a_reader_sees_one_snapshot_while_the_writer_goes_on() {
        let (_folder, db) = open();
        let count = |c: &Connection| {
            c.query_row("SELECT count(*) FROM tasks", [], |r| r.get::<_, i64>(0))
                .db()
        };
        let seen = db.read(|c| {
            let before = count(c)?;
            db.write(|t| {
                t.execute(
                    "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t', 'h', '')",
                    [],
                )
                .db()
            })?;
            Ok((before, count(c)?))
        });
        assert_eq!(seen.unwrap(), (0, 0));
        assert_eq!(db.read(count).unwrap(), 1);
    }

    #[test]
    fn what_another_program_wrote_is_counted_when_nobody_is_writing() {
        let (_folder, db) = open();
        #[allow(clippy::disallowed_methods, reason = "stands for another program")]
        let other = Connection::open(db.path()).unwrap();
        other
            .execute_batch(
                "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('t', 'h', '');
                 INSERT INTO claims (id, task_id, claim_text, created_at) VALUES ('c', 't', 'x', '');
                 INSERT INTO edges (id, source_type, source_id, target_type, target_id, relation, created_at)
                   VALUES ('e', 'fragment', 'f', 'claim', 'c', 'refutes', '')",
            )
            .unwrap();
        let refutes = |c: &Connection| {
            let sql = "SELECT coalesce(sum(refute_count), 0) FROM stat_claims";
            c.query_row(sql, [], |r| r.get::<_, i64>(0)).db()
        };
        assert!(db.read(aggregates::is_stale).unwrap());
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(db.write_if_free(|_| Ok(())).unwrap(), None);
        assert_eq!(db.read(refutes).unwrap(), 0);
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(db.write_if_free(|_| Ok(())).unwrap(), Some(()));
        assert_eq!(db.read(refutes).unwrap(), 1);
        assert!(!db.read(aggregates::is_stale).unwrap());
    }

    #[test]
    fn files_that_are_not_ours_are_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, make: &dyn Fn(&Path), expected: &str| {
            let path = folder.path().join(name);
            make(&path);
            let before = std::fs::read(&path).unwrap();
            let error = Database::open(&path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Storage, "{name}: {error}");
            assert!(error.to_string().contains(expected), "{name}: {error}");
            assert!(error.hint().is_some(), "{name}");
            assert!(
                std::fs::read(&path).unwrap() == before,
                "{name} was changed"
            );
        };
        #[allow(clippy::disallowed_methods, reason = "makes files that are not ours")]
        let sql =
            |path: &Path, sql: &str| Connection::open(path).unwrap().execute_batch(sql).unwrap();
        check(
            "text",
            &|p| {
                std::fs::write(p, "no database, only text, and enough of it to be read as a header of one hundred bytes or more").unwrap()
            },
            "not a database",
        );
        check(
            "foreign",
            &|p| sql(p, "CREATE TABLE albums (x)"),
            "another program",
        );
        check(
            "newer",
            &|p| {
                sql(
                    p,
                    "PRAGMA application_id = 1280922177; PRAGMA user_version = 99",
                )
            },
            "schema version 99",
        );
    }
}
