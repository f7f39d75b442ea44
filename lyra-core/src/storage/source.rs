//! Where reading connections come from: a file that this process may write to, or one that it only
//! looks at.
//!
//! SQLite reads a database in WAL mode through two files beside it, and makes them where they are
//! missing. In somebody else's folder that may be forbidden; where it is not, they would stay behind
//! in our name and could keep the owner from writing. A file that is only looked at, and that nobody
//! is writing to, is therefore read as it lies there, without locks and without a file beside it
//! (`immutable`, sqlite.org/uri.html#uriimmutable). SQLite then notices no change, so that
//! [`Still`] does: what it was opened on has to be the same before and after every look. Where a
//! log stands beside the file, it is read through the log like any other (sqlite.org/wal.html#readonly).

use super::migrate;
use super::open::{check_is_file, open_at, set_up_reader};
use crate::error::{Error, ErrorKind, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A database file, and whether it is only looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    path: PathBuf,
    read_only: bool,
}

/// A connection that reads.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) connection: Connection,
    pub(crate) still: Still,
}

/// What a file was like when a connection without locks was opened on it; nothing for other
/// connections, which SQLite keeps from seeing half a change.
#[derive(Debug, Clone)]
pub(crate) struct Still(Option<(PathBuf, Stamp)>);

/// Tells two states of a file apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Source {
    /// A file that this process may also write to.
    pub(crate) fn writable(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read_only: false,
        }
    }

    /// A file that is only looked at.
    pub(crate) fn read_only(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read_only: true,
        }
    }

    /// The same file under another name.
    pub(crate) fn named(&self, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read_only: self.read_only,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Opens an existing database for reading.
    pub(crate) fn open(&self) -> Result<Reading> {
        self.open_through(None)
    }

    /// The same through a VFS other than SQLite's own, which has to be registered.
    pub(crate) fn open_through(&self, vfs: Option<&CStr>) -> Result<Reading> {
        if !self.read_only {
            return self.open_live(vfs);
        }
        if cfg!(windows) || !is_alone(&self.path) {
            let error = match self.open_live(vfs) {
                Err(error) if is_out_of_reach(&error) => error,
                opened => return opened,
            };
            if cfg!(windows) || !is_quiet(&self.path) {
                return Err(self.log_out_of_reach(error));
            }
        }
        self.open_still(vfs)
    }

    /// Refuses, without a change, what cannot be looked at as it is: no file, a file of another
    /// program, a schema of another version.
    pub(super) fn check(&self) -> Result<()> {
        check_is_file(&self.path)?;
        if !self.path.exists() {
            let message = format!("there is no database at {}", self.path.display());
            return Err(Error::not_found(message)
                .with_hint("give the path of a graph that is there: read-only, none is made"));
        }
        let reading = self.open().map_err(|error| match error.hint() {
            _ if is_out_of_reach(&error) => error.with_hint("check that the file may be read"),
            _ => error,
        })?;
        migrate::check_is_current(&reading.connection)
            .map_err(|e| e.context(format!("opening {}", self.path.display())))
    }

    /// With SQLite's locks, and through the log if there is one.
    fn open_live(&self, vfs: Option<&CStr>) -> Result<Reading> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = open_at(&self.path, &self.path, flags, vfs)?;
        set_up_reader(&connection)?;
        Ok(Reading {
            connection,
            still: Still(None),
        })
    }

    /// As the file lies there.
    fn open_still(&self, vfs: Option<&CStr>) -> Result<Reading> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let stamp = Stamp::of(&self.path).ok_or_else(|| written_meanwhile(&self.path))?;
        let address = immutable_address(&self.path);
        let connection = open_at(Path::new(&address), &self.path, flags, vfs)?;
        set_up_reader(&connection)?;
        Ok(Reading {
            connection,
            still: Still(Some((self.path.clone(), stamp))),
        })
    }

    fn log_out_of_reach(&self, error: Error) -> Error {
        let (path, log) = (self.path.display(), beside(&self.path, "-wal"));
        let message = format!(
            "{path} is being written to, or its last writer broke off: a log stands beside it, and \
             it cannot be read from here ({})",
            error.message()
        );
        Error::new(ErrorKind::Storage, message)
            .with_hint(format!(
                "let its owner open and close it once, or copy it together with {} into a folder of \
                 your own and open the copy",
                log.display()
            ))
            .with_source(error)
    }
}

impl Still {
    /// Whether the file is what it was when the connection was opened.
    pub(crate) fn holds(&self) -> bool {
        match &self.0 {
            None => true,
            Some((path, stamp)) => Stamp::of(path) == Some(*stamp),
        }
    }

    /// Refuses what was read if the file changed under it.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.0 {
            Some((path, _)) if !self.holds() => Err(written_meanwhile(path)),
            _ => Ok(()),
        }
    }
}

impl Stamp {
    /// None where somebody writes to the file, or where there is none.
    fn of(path: &Path) -> Option<Self> {
        let file = std::fs::metadata(path).ok()?;
        is_quiet(path).then(|| Self {
            bytes: file.len(),
            modified: file.modified().ok(),
        })
    }
}

fn written_meanwhile(path: &Path) -> Error {
    let message = format!("{} was written to while it was read", path.display());
    Error::new(ErrorKind::Storage, message).with_hint("try again")
}

/// Whether SQLite could not get at a file, as opposed to finding something wrong in it.
fn is_out_of_reach(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let code = source
        .and_then(|source| source.downcast_ref::<rusqlite::Error>())
        .and_then(rusqlite::Error::sqlite_error_code);
    matches!(
        code,
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied)
    )
}

/// The file that SQLite puts beside a database under its name and this ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Whether nobody has a file open for writing or has left off in the middle: there is no log beside
/// it.
pub(crate) fn is_alone(path: &Path) -> bool {
    ["-wal", "-journal"]
        .iter()
        .all(|ending| !beside(path, ending).exists())
}

/// Whether all that was committed is in the file itself: a log beside it, if there is one, is empty.
fn is_quiet(path: &Path) -> bool {
    let log = std::fs::metadata(beside(path, "-wal"));
    log.map_or(true, |log| log.len() == 0) && !beside(path, "-journal").exists()
}

/// The address under which SQLite reads a file as it lies there.
pub(crate) fn immutable_address(path: &Path) -> String {
    let mut address = String::from(if path.has_root() { "file://" } else { "file:" });
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                address.push(char::from(*byte));
            }
            other => address.push_str(&format!("%{other:02x}")),
        }
    }
    address + "?immutable=1"
}
