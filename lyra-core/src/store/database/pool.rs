//! One writer, many readers. Transactions are scoped to closures.

use super::interrupt::Interrupter;
use super::open::{BUSY_TIMEOUT, WRITER_CACHE_KIB, open_writer};
use super::queue::{self, Queue};
use super::source::{DatabaseFile, ReadConnection};
use super::{aggregates, checksums};
use crate::error::{Error, ErrorKind, Result};
use crate::store::database::SqliteResultExt;
use parking_lot::{FairMutex, FairMutexGuard, Mutex};
use r2d2::{ManageConnection, Pool};
use rusqlite::{Connection, ErrorCode, MAIN_DB, Transaction, TransactionBehavior};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The open database file: a connection that writes, unless the file is read-only, and a pool of
/// connections that read.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    source: DatabaseFile,
    // Declared before the writer, because fields are dropped in order, and only a connection that may
    // write removes the log when it is the last one to close.
    readers: Pool<Readers>,
    writer: Option<Arc<Writing>>,
    interrupter: Interrupter,
}

/// The connection that writes. Waiting writers get it in order of arrival, first among the threads of
/// this process and then among the processes.
#[derive(Debug)]
struct Writing {
    connection: FairMutex<Connection>,
    queue: Queue,
    /// Held while other files are attached to the connection.
    attaching: Mutex<()>,
}

/// Opens and checks reading connections for the pool. Our own implementation, because the existing
/// manager lags behind the SQLite binding, and because readers are not opened like the writer.
#[derive(Debug)]
struct Readers {
    source: DatabaseFile,
    interrupter: Interrupter,
}

impl ManageConnection for Readers {
    type Connection = ReadConnection;
    type Error = Error;

    fn connect(&self) -> Result<ReadConnection> {
        let reading = self.source.open()?;
        self.interrupter
            .watch(reading.connection.get_interrupt_handle());
        Ok(reading)
    }

    fn is_valid(&self, reading: &mut ReadConnection) -> Result<()> {
        reading.stamp.check()
    }

    fn has_broken(&self, reading: &mut ReadConnection) -> bool {
        // A reader that was left inside a transaction would read from an old snapshot.
        !reading.connection.is_autocommit()
    }
}

/// Maximum cache in KiB of a large transaction.
const BULK_CACHE_KIB: i64 = 131_072;

/// Maximum number of threads that read at once; further threads wait.
const READERS: u32 = 8;

impl Database {
    /// Opens the file; creates or migrates it first if necessary.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let writer = open_writer(path)?;
        Self::over(DatabaseFile::writable(path), Some(writer))
    }

    /// Opens an existing file of this version, and writes neither to it nor beside it.
    pub(crate) fn open_read_only(path: &Path) -> Result<Self> {
        let source = DatabaseFile::read_only(path);
        source.check()?;
        Self::over(source, None)
    }

    fn over(source: DatabaseFile, writer: Option<Connection>) -> Result<Self> {
        let interrupter = Interrupter::default();
        if let Some(writer) = &writer {
            interrupter.watch(writer.get_interrupt_handle());
        }
        let readers = Pool::builder()
            .max_size(READERS)
            .min_idle(Some(0))
            // Only a connection without locks can be out of date.
            .test_on_check_out(source.is_read_only())
            // Connections stay open: preparing statements costs more than an idle descriptor.
            .idle_timeout(None)
            .max_lifetime(None)
            .connection_timeout(Duration::from_secs(30))
            .build(Readers {
                source: source.clone(),
                interrupter: interrupter.clone(),
            })
            .map_err(pool_error)?;
        Ok(Self {
            writer: writer.map(|connection| {
                Arc::new(Writing {
                    connection: FairMutex::new(connection),
                    queue: Queue::of(source.path()),
                    attaching: Mutex::new(()),
                })
            }),
            source,
            readers,
            interrupter,
        })
    }

    /// Path of the file.
    pub(crate) fn path(&self) -> &Path {
        self.source.path()
    }

    /// The source from which reading connections are opened.
    pub(crate) fn source(&self) -> &DatabaseFile {
        &self.source
    }

    /// Interrupts running statements from another thread.
    pub(crate) fn interrupter(&self) -> Interrupter {
        self.interrupter.clone()
    }

    /// Runs `work` on a reading connection, inside one snapshot.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let mut reading = self.readers.get().map_err(pool_error)?;
        let snapshot = reading.connection.transaction().db()?;
        let answer = work(&snapshot);
        let finished = snapshot.finish().db();
        // Data read from two states of a file at once may even look like corruption.
        reading.stamp.check()?;
        match answer.and_then(|answer| finished.map(|()| answer)) {
            Ok(answer) => Ok(answer),
            // A graph whose file was removed may look like one without tasks.
            Err(error) => self.source.check_in_place().and(Err(error)),
        }
    }

    /// Runs `work` inside one IMMEDIATE transaction, which is committed if the result is Ok and rolled
    /// back otherwise. The counts of the views are updated before the commit.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] if others write for longer than a writer waits.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        self.transact(true, work)
    }

    fn transact<T>(
        &self,
        derive: bool,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let writing = self.writing()?;
        let until = Instant::now() + queue::PATIENCE;
        let connection = writing.connection(until)?;
        let head = writing.queue.wait(until)?;
        let transaction = begin(&connection, until)?;
        drop(head);
        finish(transaction, derive, work)
    }

    /// The same if no one else is writing, here or in another process, and the file is writable;
    /// otherwise does nothing and returns none.
    pub(crate) fn write_if_free<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let Some(writing) = &self.writer else {
            return Ok(None);
        };
        self.source.check_in_place()?;
        let Some(connection) = writing.connection.try_lock() else {
            return Ok(None);
        };
        if connection.is_readonly(MAIN_DB).db()? {
            return Ok(None);
        }
        let Some(head) = writing.queue.try_head() else {
            return Ok(None);
        };
        match begin(&connection, Instant::now()) {
            Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
            Err(error) => Err(error),
            Ok(transaction) => {
                drop(head);
                finish(transaction, true, work).map(Some)
            }
        }
    }

    /// The same for a transaction that may become large: its pages stay in memory instead of being
    /// written to the log and read again. `derive` says whether counts and checksums are updated before
    /// the commit.
    pub(crate) fn write_in_bulk<T>(
        &self,
        derive: bool,
        work: impl FnOnce(&Transaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.maintain(|connection| {
            // Data that is sorted for an index may exceed the memory; the excess goes to a file.
            set_temporary_storage(connection, "FILE")?;
            set_cache(connection, BULK_CACHE_KIB)
        })?;
        let answer = self.transact(derive, work);
        // The transaction is committed, whether or not memory can be released immediately.
        let _ = self.maintain(|connection| {
            set_temporary_storage(connection, "MEMORY")?;
            set_cache(connection, WRITER_CACHE_KIB)?;
            connection.execute_batch("PRAGMA shrink_memory").db()
        });
        answer
    }

    /// Runs work that attaches other files to the writing connection; only one such work runs at a time.
    pub(crate) fn attaching<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _alone = self.writing()?.attaching.lock();
        work()
    }

    /// Runs `work` on the writing connection outside of any transaction.
    pub(crate) fn maintain<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let connection = self
            .writing()?
            .connection(Instant::now() + queue::PATIENCE)?;
        connection.busy_timeout(BUSY_TIMEOUT).db()?;
        let answer = work(&connection);
        connection.busy_timeout(Duration::ZERO).db()?;
        answer
    }

    fn writing(&self) -> Result<&Writing> {
        let writing = self.writer.as_deref().ok_or_else(Error::read_only)?;
        self.source.check_in_place()?;
        Ok(writing)
    }
}

impl Writing {
    fn connection(&self, until: Instant) -> Result<FairMutexGuard<'_, Connection>> {
        self.connection
            .try_lock_until(until)
            .ok_or_else(queue::busy)
    }
}

/// Writes the log back to the file when the last handle is dropped, so that a copy of the file made
/// after a program has ended is complete, even if the pool's threads still hold a reader open.
impl Drop for Database {
    fn drop(&mut self) {
        if let Some(writer) = &self.writer
            && Arc::strong_count(writer) == 1
        {
            // PASSIVE does not wait; anything that it leaves stays in the log.
            let _ = writer
                .connection
                .lock()
                .execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
            writer.queue.remove();
        }
    }
}

/// Begins a transaction that holds SQLite's write lock.
fn begin(connection: &Connection, until: Instant) -> Result<Transaction<'_>> {
    loop {
        // Unchecked is correct: no two of them are open at a time, because the guard is held.
        match Transaction::new_unchecked(connection, TransactionBehavior::Immediate) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                if Instant::now() >= until {
                    return Err(queue::busy().with_source(error));
                }
                std::thread::sleep(queue::LOOK);
            }
            begun => return begun.db(),
        }
    }
}

fn finish<T>(
    transaction: Transaction<'_>,
    derive: bool,
    work: impl FnOnce(&Transaction<'_>) -> Result<T>,
) -> Result<T> {
    let answer = work(&transaction)?;
    if derive {
        aggregates::refresh(&transaction)?;
        checksums::refresh(&transaction)?;
    }
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
        assert!(
            !Queue::of(&folder.path().join("g.db")).exists(),
            "nothing stays beside it"
        );
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
    fn who_waits_in_vain_is_told_that_others_write() {
        let (_folder, db) = open();
        #[allow(clippy::disallowed_methods, reason = "stands for another program")]
        let other = Connection::open(db.path()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let writing = db.writing().unwrap();
        let connection = writing.connection.lock();
        let refused = begin(&connection, Instant::now()).unwrap_err();
        let in_line = writing.queue.try_head().unwrap();
        let behind = writing.queue.wait(Instant::now()).unwrap_err();
        let beside = writing.connection(Instant::now()).unwrap_err();
        drop(in_line);
        for error in [refused, behind, beside] {
            assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
            assert!(
                error
                    .hint()
                    .is_some_and(|hint| hint.starts_with("try again"))
            );
        }
        assert!(writing.queue.try_head().is_some(), "the place is given up");
        other.execute_batch("ROLLBACK").unwrap();
        assert!(begin(&connection, Instant::now()).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_not_in_its_place_any_more_is_not_written_to() {
        let (folder, db) = open();
        let [away, other] = ["away.db", "other.db"].map(|name| folder.path().join(name));
        drop(Database::open(&other).unwrap());
        let add = "INSERT INTO tasks (id, hypothesis, created_at) VALUES (?1, 'h', '')";
        let write = |id: &str| db.write(|t| t.execute(add, [id]).db());
        let count = |c: &Connection| {
            c.query_row("SELECT count(*) FROM tasks", [], |r| r.get::<_, i64>(0))
                .db()
        };
        write("a").unwrap();
        db.read(count).unwrap();
        let refused = |said: &str| {
            let errors = [
                write("b").unwrap_err(),
                db.write_if_free(|_| Ok(())).unwrap_err(),
                db.maintain(|_| Ok(())).unwrap_err(),
                db.source().open().unwrap_err(),
            ];
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::Storage, "{error}");
                assert!(error.message().contains(said), "{error}");
                assert!(
                    error
                        .hint()
                        .is_some_and(|hint| hint.contains("put it back"))
                );
            }
        };
        std::fs::rename(db.path(), &away).unwrap();
        refused("removed or moved away");
        std::fs::rename(&other, db.path()).unwrap();
        refused("replaced by another file");
        assert_eq!(db.read(count).unwrap(), 1, "what is open is read on");
        std::fs::rename(&away, db.path()).unwrap();
        write("b").unwrap();
        assert_eq!(db.read(count).unwrap(), 2);
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
