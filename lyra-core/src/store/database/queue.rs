//! Determines which writer is next.
//!
//! SQLite gives its write lock to the first process that tries after it was released. If a process
//! commits one transaction after the other, a process that retries at intervals almost never finds the
//! lock free. So a writer first locks a file beside the database, `<database>-queue`: only its holder
//! tries to get SQLite's lock, and releases the file as soon as it has it. A process that has just
//! committed then finds the file locked by the waiting process, and comes after it.
//!
//! The lock on the file only determines the order: where it is not available, as in a file system
//! without locks, writers proceed without it. The system releases it when a process dies. Other programs
//! do not use the file; against them, a waiting writer has a chance at each attempt.

use crate::error::{Error, ErrorKind};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a writer waits for its turn.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Time between two attempts to get a lock that another process holds.
pub(super) const LOOK: Duration = Duration::from_millis(1);

/// The file in which the writers of all processes queue.
#[derive(Debug)]
pub(super) struct Queue(PathBuf);

/// The first place in the queue, until it is dropped; empty if no queue is available.
#[derive(Debug)]
pub(super) struct QueueHead(Option<File>);

impl Queue {
    /// The queue of a database.
    pub(super) fn of(database: &Path) -> Self {
        let mut name = database.as_os_str().to_owned();
        name.push("-queue");
        Self(name.into())
    }

    /// Waits for the first place in the queue.
    pub(super) fn wait(&self, until: Instant) -> Result<QueueHead, Error> {
        loop {
            match self.try_head() {
                Some(head) => return Ok(head),
                None if Instant::now() >= until => return Err(busy()),
                None => sleep(LOOK),
            }
        }
    }

    /// Takes the first place in the queue, if it is free.
    pub(super) fn try_head(&self) -> Option<QueueHead> {
        // Opened each time: the last process to close the database deletes the file.
        let writable = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.0);
        // The file may belong to another user who shares the database.
        let Ok(file) = writable.or_else(|_| File::open(&self.0)) else {
            return Some(QueueHead(None));
        };
        match file.try_lock() {
            Ok(()) => Some(QueueHead(Some(file))),
            Err(TryLockError::WouldBlock) => None,
            Err(TryLockError::Error(_)) => Some(QueueHead(None)),
        }
    }

    #[cfg(test)]
    pub(super) fn exists(&self) -> bool {
        self.0.exists()
    }

    /// Deletes the file if no one waits. A process that opened it before and locks it afterwards only
    /// loses its place in the order.
    pub(super) fn remove(&self) {
        if self.try_head().is_some() {
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

impl Drop for QueueHead {
    fn drop(&mut self) {
        // Closing alone would leave the lock with a child process that has inherited the file.
        if let Some(file) = &self.0 {
            let _ = file.unlock();
        }
    }
}

/// The error if others wrote for as long as a writer waits.
pub(super) fn busy() -> Error {
    let message = format!(
        "the database was busy for {} seconds: others were writing to it, and nothing was changed",
        PATIENCE.as_secs()
    );
    Error::new(ErrorKind::Busy, message).with_hint(
        "try again; a long import, a forget or another program may be writing to the database",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Result;
    use crate::store::database::Database;
    use crate::store::database::SqliteResultExt;
    use rusqlite::Connection;
    use std::process::{Command, Stdio};
    use std::sync::atomic::{AtomicBool, Ordering};

    const ROUNDS: i64 = 10;

    /// Names the database of a second process, and marks the process as the second one.
    const RIVAL: &str = "LYRA_TEST_RIVAL";

    /// Writes one transaction after the other, each of which increments a counter.
    fn write_in_a_loop(db: &Database, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            db.write(|t| {
                std::thread::sleep(Duration::from_millis(20));
                t.execute(
                    "UPDATE tasks SET hypothesis = hypothesis + 1 WHERE id = 'n'",
                    [],
                )
                .db()
            })
            .unwrap();
        }
    }

    /// The second process; does nothing in an ordinary test run.
    #[test]
    fn the_process_that_writes_in_a_loop() {
        if let Some(path) = std::env::var_os(RIVAL) {
            let db = Database::open(Path::new(&path)).unwrap();
            write_in_a_loop(&db, &AtomicBool::new(false));
        }
    }

    fn counted(c: &Connection) -> Result<i64> {
        let sql = "SELECT CAST(hypothesis AS INTEGER) FROM tasks WHERE id = 'n'";
        c.query_row(sql, [], |r| r.get(0)).db()
    }

    /// Number of transactions that a rival commits while this thread waits for its turn.
    fn overtaken(db: &Database) -> i64 {
        let began = Instant::now();
        let moved = |from: i64| {
            while db.read(counted).unwrap() < from + 1 {
                assert!(began.elapsed() < Duration::from_secs(120), "no rival");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let mut times = 0;
        for _ in 0..ROUNDS {
            moved(db.read(counted).unwrap());
            let before = db.read(counted).unwrap();
            times += db.write(|t| counted(t)).unwrap() - before;
        }
        times
    }

    #[test]
    fn a_writer_gets_its_turn_beside_one_that_writes_in_a_loop() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(&folder.path().join("g.db")).unwrap();
        db.write(|t| {
            t.execute(
                "INSERT INTO tasks (id, hypothesis, created_at) VALUES ('n', '0', '')",
                [],
            )
            .db()
        })
        .unwrap();
        // One transaction is in progress when the wait begins, and one more may be about to begin.
        let fair = 3 * ROUNDS;
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| write_in_a_loop(&db, &stop));
            let times = overtaken(&db);
            stop.store(true, Ordering::Relaxed);
            assert!(times <= fair, "a thread came first {times} times");
        });
        let mut rival = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "store::database::queue::tests::the_process_that_writes_in_a_loop",
            ])
            .env(RIVAL, db.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let times = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| overtaken(&db)));
        rival.kill().unwrap();
        rival.wait().unwrap();
        let times = times.unwrap();
        assert!(times <= fair, "a process came first {times} times");
        // Killed at any point, it blocks no one.
        db.write(|_| Ok(())).unwrap();
        drop(folder);
    }
}
