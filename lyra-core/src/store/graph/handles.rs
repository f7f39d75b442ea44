//! The open graph, and what reads and writes go through.

use crate::clock::{Clock, JumpWatch, Trust, format_ms};
use crate::error::{Error, Result};
use crate::store::database::{Database, Interrupter, Statements, aggregates, backup, vacuum};
use rusqlite::{Connection, Transaction, params};
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

/// The evidence graph in one SQLite file.
///
/// Reading never waits for writing; writing is one transaction at a time, here and in every other
/// process that has the file open.
#[derive(Debug, Clone)]
pub struct EvidenceGraph {
    db: Database,
    clock: Arc<dyn Clock>,
    jumps: Arc<JumpWatch>,
    /// Whose writes these are, where that is known.
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

/// For tests above the store, which stage and read rows that no verb does.
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
    /// Opens the file, making it or bringing its schema up to date first.
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

    /// Opens a file that is there to look at it: nothing is written to it or beside it, and whatever
    /// would write answers [`Error::read_only`](crate::Error::read_only).
    ///
    /// # Errors
    /// `NotFound` where there is no such file; `Storage` for a file of another program, for one of
    /// another schema version, and where a log beside it cannot be read.
    pub fn open_read_only(path: &Path, clock: Arc<dyn Clock>) -> Result<Self> {
        Ok(Self {
            db: Database::open_read_only(path)?,
            clock,
            jumps: Arc::default(),
            actor: None,
        })
    }

    /// Whether the graph can be looked at and not changed.
    pub fn is_read_only(&self) -> bool {
        self.db.source().is_read_only()
    }

    /// The same graph for a named actor: what it does is logged under that name.
    pub(crate) fn acting_as(&self, actor: Option<Arc<str>>) -> Self {
        Self {
            actor,
            ..self.clone()
        }
    }

    /// Refuses a graph that is open read-only, before anything is done that leads to a write.
    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.is_read_only() {
            true => Err(Error::read_only()),
            false => Ok(()),
        }
    }

    /// Refuses a file that was removed or replaced since it was opened.
    pub(crate) fn check_in_place(&self) -> Result<()> {
        self.db.source().check_in_place()
    }

    /// Whether the counts that views read are behind what is stored, or of another year.
    pub(crate) fn is_behind(&self) -> Result<bool> {
        let year = i64::from(self.clock.year());
        self.db.read(|connection| {
            Ok(
                aggregates::is_stale(connection)?
                    || aggregates::reference_year(connection)? != year,
            )
        })
    }

    /// Counts again what another program wrote without counting, and lets "recent" begin with the
    /// clock's year. Writes only where there is something to do and nobody else is writing: what
    /// is there already can be read meanwhile.
    pub fn catch_up(&self) -> Result<()> {
        if self.is_read_only() || !self.is_behind()? {
            return Ok(());
        }
        let year = i64::from(self.clock.year());
        self.db
            .write_if_free(|transaction| aggregates::set_reference_year(transaction, year))?;
        Ok(())
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        self.db.path()
    }

    /// The clock that stamps every row.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    /// Whether the clock was set within the last `span_ms`, as far as this process has seen.
    pub(crate) fn trust_in_clock(&self, span_ms: i64) -> Trust {
        self.jumps.look(self.clock.as_ref(), span_ms)
    }

    /// Runs `work` inside one snapshot.
    pub fn read<T>(&self, work: impl FnOnce(&Reader<'_>) -> Result<T>) -> Result<T> {
        self.db.read(|connection| work(&Reader { db: connection }))
    }

    /// Runs `work` inside one transaction: all of it is stored, or none.
    pub fn write<T>(&self, work: impl FnOnce(&Writer<'_>) -> Result<T>) -> Result<T> {
        self.db.write(|transaction| {
            work(&Writer {
                db: transaction,
                // Here and not before: it may have waited for its turn.
                now: self.clock.now(),
                actor: self.actor.as_deref(),
            })
        })
    }

    /// Ends running reads and writes from another thread.
    pub fn interrupter(&self) -> Interrupter {
        self.db.interrupter()
    }

    /// Copies the database to a new file; see [`Engine::backup`](crate::Engine::backup).
    pub fn backup(&self, to: &Path) -> Result<()> {
        backup(self.db.source(), to, false)
    }

    /// The same in the place of an older copy.
    pub fn update_copy(&self, to: &Path) -> Result<()> {
        backup(self.db.source(), to, true)
    }

    /// When the file of a read-only graph was written last, RFC 3339; none where it can be written here.
    pub fn as_of(&self) -> Option<String> {
        let written = self
            .db
            .source()
            .written_at()?
            .duration_since(UNIX_EPOCH)
            .ok()?;
        i64::try_from(written.as_millis()).ok().map(format_ms)
    }

    /// The same without the cookies that humans gave.
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

    /// Who is written into the log for what a caller asked for: the name of the actor, or `unnamed`
    /// where the graph was opened for nobody in particular.
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
