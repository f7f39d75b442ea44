//! The open graph, and its handles for reading and writing.

use crate::clock::{Clock, JumpWatch, Trust, format_ms};
use crate::error::{Error, Result};
use crate::store::database::{Database, Interrupter, Statements, aggregates, backup, vacuum};
use rusqlite::{Connection, Transaction, params};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The evidence graph in one SQLite file.
///
/// Reading never waits for writing. One write transaction runs at a time, across all processes that have
/// the file open.
#[derive(Debug, Clone)]
pub struct EvidenceGraph {
    db: Database,
    clock: Arc<dyn Clock>,
    jumps: Arc<JumpWatch>,
    /// Name of the actor who writes, if known.
    actor: Option<Arc<str>>,
}

/// Reads inside one snapshot.
#[derive(Debug)]
pub struct Reader<'c> {
    pub(in crate::store) db: &'c Connection,
}

/// Writes inside one transaction, and reads what it wrote.
#[derive(Debug)]
pub struct Writer<'t> {
    pub(in crate::store) db: &'t Transaction<'t>,
    pub(in crate::store) now: String,
    pub(crate) actor: Option<&'t str>,
}

/// For tests above the store that write and read rows for which there is no method.
#[cfg(test)]
impl Reader<'_> {
    pub(crate) fn sql(&self) -> &Connection {
        self.db
    }
}

#[cfg(test)]
impl Writer<'_> {
    pub(crate) fn sql(&self) -> &Connection {
        self.db
    }
}

impl EvidenceGraph {
    /// Opens the file; creates it or updates its schema first if necessary.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # let folder = tempfile::tempdir().unwrap();
    /// use lyra_core::{store::graph::EvidenceGraph, ports::SystemClock};
    /// let graph = EvidenceGraph::open(&folder.path().join("g.db"), Arc::new(SystemClock))?;
    /// let tasks = graph.read(|r| r.tasks())?;
    /// assert!(tasks.is_empty());
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    pub fn open(path: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        let graph = Self {
            db: Database::open(path)?,
            clock,
            jumps: Arc::default(),
            actor: None,
        };
        graph.catch_up()?;
        Ok(graph)
    }

    /// Opens an existing file for reading only: nothing is written to it or beside it, and every
    /// operation that would write returns [`Error::read_only`](crate::Error::read_only).
    ///
    /// # Errors
    /// `NotFound` if there is no such file; `Storage` for a file of another program, for another schema
    /// version, and if a log beside the file cannot be read.
    pub fn open_read_only(path: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        Ok(Self {
            db: Database::open_read_only(path)?,
            clock,
            jumps: Arc::default(),
            actor: None,
        })
    }

    /// Whether the graph is open read-only.
    pub fn is_read_only(&self) -> bool {
        self.db.source().is_read_only()
    }

    /// The same graph for a named actor: its changes are logged under that name.
    pub(crate) fn acting_as(&self, actor: Option<Arc<str>>) -> Self {
        Self {
            actor,
            ..self.clone()
        }
    }

    /// Returns an error if the graph is open read-only, before any work that leads to a write.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.is_read_only() {
            true => Err(Error::read_only()),
            false => Ok(()),
        }
    }

    /// Returns an error if the file was removed or replaced since it was opened.
    pub(crate) fn check_in_place(&self) -> Result<()> {
        self.db.source().check_in_place()
    }

    /// Whether the counts that views read are out of date or belong to another year.
    pub(crate) fn is_behind(&self) -> Result<bool> {
        let year = i64::from(self.clock.year());
        self.db.read(|connection| {
            Ok(
                aggregates::is_stale(connection)?
                    || aggregates::reference_year(connection)? != year,
            )
        })
    }

    /// Updates the counts for rows that another program wrote without counting, and sets the year from
    /// which "recent" is measured to the clock's year. Writes only if there is something to do and no
    /// other writer is active; existing rows can be read at the same time.
    pub fn catch_up(&self) -> Result<()> {
        if self.is_read_only() || !self.is_behind()? {
            return Ok(());
        }
        let year = i64::from(self.clock.year());
        self.db
            .write_if_free(|transaction| aggregates::set_reference_year(transaction, year))?;
        Ok(())
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        self.db.path()
    }

    /// The clock that stamps every row.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Whether the clock was changed within the last `span_ms`, as far as this process knows.
    pub(crate) fn trust_in_clock(&self, span_ms: i64) -> Trust {
        self.jumps.look(self.clock.as_ref(), span_ms)
    }

    /// Runs `work` inside one snapshot.
    pub fn read<T>(&self, work: impl FnOnce(&Reader<'_>) -> Result<T>) -> Result<T> {
        self.db.read(|connection| work(&Reader { db: connection }))
    }

    /// Runs `work` inside one transaction: all of it is stored, or nothing.
    pub fn write<T>(&self, work: impl FnOnce(&Writer<'_>) -> Result<T>) -> Result<T> {
        self.db.write(|transaction| {
            work(&Writer {
                db: transaction,
                // Read here and not earlier, because the transaction may have waited for its turn.
                now: self.clock.now(),
                actor: self.actor.as_deref(),
            })
        })
    }

    /// Interrupts running reads and writes from another thread.
    pub fn interrupter(&self) -> Interrupter {
        self.db.interrupter()
    }

    /// Copies the database to a new file; see [`Engine::backup`](crate::Engine::backup).
    pub fn backup(&self, to: &Path) -> Result<()> {
        backup(self.db.source(), to, false)
    }

    /// The same, replacing an older copy.
    pub fn update_copy(&self, to: &Path) -> Result<()> {
        backup(self.db.source(), to, true)
    }

    /// When the file of a read-only graph was last written, RFC 3339; none if the graph is writable
    /// here.
    pub fn as_of(&self) -> Option<String> {
        let written = self
            .db
            .source()
            .written_at()?
            .duration_since(UNIX_EPOCH)
            .ok()?;
        i64::try_from(written.as_millis()).ok().map(format_ms)
    }

    /// The same without the session cookies that humans supplied.
    pub(crate) fn backup_without_sessions(&self, to: &Path) -> Result<()> {
        backup(self.db.source(), to, false)?;
        let copy = Self::open(to, Arc::clone(self.clock()))?;
        if copy.write(|w| w.forget_sessions())? > 0 {
            drop(copy);
            vacuum(to)?;
        }
        Ok(())
    }

    pub(crate) fn database(&self) -> &Database {
        &self.db
    }
}

impl Writer<'_> {
    /// The same rows, for reading.
    pub fn reader(&self) -> Reader<'_> {
        Reader { db: self.db }
    }

    /// The time that this transaction stamps on its rows.
    pub fn now(&self) -> &str {
        &self.now
    }

    /// The name to log for a caller's request: that of the actor, or `unnamed` if the graph was opened
    /// without an actor.
    pub(crate) fn actor_or(&self, unnamed: &'static str) -> &str {
        self.actor.unwrap_or(unnamed)
    }

    /// Adds a line to the append-only audit log. `details` never holds secrets.
    pub fn log_event(
        &self,
        actor: &str,
        action: &str,
        task_id: Option<&str>,
        subject_id: Option<&str>,
        details: &serde_json::Value,
    ) -> Result<()> {
        self.db.run(
            "INSERT INTO event_log (at, actor, action, task_id, subject_id, details_json)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                self.now,
                actor,
                action,
                task_id,
                subject_id,
                details.to_string()
            ],
        )?;
        Ok(())
    }
}
