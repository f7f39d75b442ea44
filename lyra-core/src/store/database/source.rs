//! Opens connections for reading a file that this process may write to, or a read-only one.
//!
//! SQLite reads a database in WAL mode through two files beside it, and creates them if they are
//! missing. In another user's folder this may be forbidden; if it is allowed, the files would stay
//! behind under our user and could prevent the owner from writing. A read-only file to which no one is
//! writing is therefore read as it is, without locks and without a file beside it (`immutable`,
//! sqlite.org/uri.html#uriimmutable). SQLite then does not detect changes, so [`FileStamp`] does: the
//! state of the file must be the same before and after every access. If a log exists beside the file,
//! the file is read through the log like any other (sqlite.org/wal.html#readonly).
//! log stands beside the file, it is read through the log like any other (sqlite.org/wal.html#readonly).

use super::migrate;
use super::open::{check_is_file, open_at, set_up_reader};
use crate::error::{Error, ErrorKind, Result};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A database file, and whether it is read-only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    read_only: bool,
    /// Identity of the file and of the log beside it when they were opened for writing. A read-only file
    /// may be replaced by a newer one at any time.
    files: [Option<FileId>; 2],
}

/// Identifies a file independently of its name: device and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

/// A connection that reads.
#[derive(Debug)]
pub(crate) struct ReadConnection {
    pub(crate) connection: Connection,
    pub(crate) stamp: FileStamp,
}

/// The state of a file when a connection without locks was opened on it; empty for other connections,
/// for which SQLite's locks prevent partial changes from being seen.
#[derive(Debug, Clone)]
pub(crate) struct FileStamp(Option<(PathBuf, FileState)>);

/// Identifies a state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileState {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl DatabaseFile {
    /// A file that this process has open for writing.
    pub(crate) fn writable(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read_only: false,
            files: [path.to_owned(), beside(path, "-wal")]
                .map(|name| FileId::of(&name).ok().flatten()),
        }
    }

    /// A read-only file.
    pub(crate) fn read_only(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read_only: true,
            files: [None; 2],
        }
    }

    /// The same file under another name.
    pub(crate) fn named(&self, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read_only: self.read_only,
            files: self.files,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// When a read-only file, or the log beside it, was last written.
    pub(crate) fn written_at(&self) -> Option<SystemTime> {
        let written = |path: &Path| std::fs::metadata(path).ok()?.modified().ok();
        self.read_only
            .then(|| written(&self.path).max(written(&beside(&self.path, "-wal"))))
            .flatten()
    }

    /// Opens an existing database for reading.
    pub(crate) fn open(&self) -> Result<ReadConnection> {
        self.open_through(None)
    }

    /// The same through a VFS other than SQLite's own, which must be registered.
    pub(crate) fn open_through(&self, vfs: Option<&CStr>) -> Result<ReadConnection> {
        if !self.read_only {
            // A new connection would otherwise open a different file than the others.
            self.check_in_place()?;
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

    /// Returns an error if a file that is open for writing, or its log, is no longer at its path:
    /// anything written to it would be lost when the last program closes it.
    pub(crate) fn check_in_place(&self) -> Result<()> {
        let names = [self.path.clone(), beside(&self.path, "-wal")];
        for (name, file) in names.iter().zip(self.files) {
            let Some(file) = file else { continue };
            let what_happened = match FileId::of(name) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    "removed or moved away"
                }
                Ok(Some(other)) if other != file => "replaced by another file",
                _ => continue,
            };
            let message = format!("{} was {what_happened} while it was open", name.display());
            return Err(Error::new(ErrorKind::Storage, message).with_hint(format!(
                "the database file, or the log that belongs to it, was {what_happened} while it was \
                 open, so nothing more is written to it: put it back under its name, or start again \
                 with the file that is there now"
            )));
        }
        Ok(())
    }

    /// Refuses, without a change, a path that cannot be read as it is: no file, a file of another
    /// program, a schema of another version.
    pub(super) fn check(&self) -> Result<()> {
        check_is_file(&self.path)?;
        if !self.path.exists() {
            let message = format!("there is no database at {}", self.path.display());
            return Err(Error::not_found(message)
                .with_hint("give the path of a graph that is there: read-only, none is made"));
        }
        let reading = self.open().map_err(|error| match is_out_of_reach(&error) {
            true => error.with_hint("check that the file may be read"),
            false => error,
        })?;
        migrate::check_is_current(&reading.connection)
            .map_err(|e| e.context(format!("opening {}", self.path.display())))
    }

    /// Opens the file with SQLite's locks, and through the log if there is one.
    fn open_live(&self, vfs: Option<&CStr>) -> Result<ReadConnection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = open_at(&self.path, &self.path, flags, vfs)?;
        set_up_reader(&connection)?;
        Ok(ReadConnection {
            connection,
            stamp: FileStamp::unneeded(),
        })
    }

    /// Opens the file as it is, without locks.
    fn open_still(&self, vfs: Option<&CStr>) -> Result<ReadConnection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        let stamp = FileStamp::of(&self.path)?;
        let address = immutable_address(&self.path);
        let connection = open_at(Path::new(&address), &self.path, flags, vfs)?;
        set_up_reader(&connection)?;
        Ok(ReadConnection { connection, stamp })
    }

    fn log_out_of_reach(&self, error: Error) -> Error {
        let (path, log) = (self.path.display(), beside(&self.path, "-wal"));
        let message = format!(
            "{path} is being written to, or its last writer was interrupted: a log file lies \
             beside it, and it cannot be read from here ({})",
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

impl FileId {
    #[cfg(unix)]
    fn of(path: &Path) -> std::io::Result<Option<Self>> {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(path).map(|file| Some(Self(file.dev(), file.ino())))
    }

    /// Where files have no numbers, an open file cannot be removed.
    #[cfg(not(unix))]
    fn of(_: &Path) -> std::io::Result<Option<Self>> {
        Ok(None)
    }
}

impl FileStamp {
    /// The stamp of a file that another component opens without locks.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let stamp = FileState::of(path).ok_or_else(|| written_meanwhile(path))?;
        Ok(Self(Some((path.to_owned(), stamp))))
    }

    /// The stamp for a file that SQLite reads with its locks.
    pub(crate) const fn unneeded() -> Self {
        Self(None)
    }

    /// Whether the file is unchanged since the connection was opened.
    pub(crate) fn holds(&self) -> bool {
        match &self.0 {
            None => true,
            Some((path, stamp)) => FileState::of(path) == Some(*stamp),
        }
    }

    /// Returns an error if the file changed while it was read.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.0 {
            Some((path, _)) if !self.holds() => Err(written_meanwhile(path)),
            _ => Ok(()),
        }
    }
}

impl FileState {
    /// None if the file is being written to, or does not exist.
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

/// Whether SQLite could not access a file, as opposed to finding an error in it.
fn is_out_of_reach(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let code = source
        .and_then(|source| source.downcast_ref::<rusqlite::Error>())
        .and_then(rusqlite::Error::sqlite_error_code);
    matches!(
        code,
        Some(
            ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::SystemIoFailure
        )
    )
}

/// The file that SQLite creates beside a database under its name with this suffix.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Whether no process has the file open for writing or was interrupted while writing: there is no log
/// beside it.
pub(crate) fn is_alone(path: &Path) -> bool {
    ["-wal", "-journal"]
        .iter()
        .all(|ending| !beside(path, ending).exists())
}

/// Whether all committed data is in the file itself: a log beside it, if there is one, is empty.
fn is_quiet(path: &Path) -> bool {
    let log = std::fs::metadata(beside(path, "-wal"));
    log.map_or(true, |log| log.len() == 0) && !beside(path, "-journal").exists()
}

/// The address under which SQLite reads a file as it is, without locks.
pub(crate) fn immutable_address(path: &Path) -> String {
    file_address(path, "immutable=1")
}

/// The address of a file with a parameter for SQLite's open mode.
pub(crate) fn file_address(path: &Path, parameter: &str) -> String {
    let mut address = String::from(if path.has_root() { "file://" } else { "file:" });
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                address.push(char::from(*byte));
            }
            other => address.push_str(&format!("%{other:02x}")),
        }
    }
    address + "?" + parameter
}

#[cfg(test)]
mod tests {
    use super::super::Database;
    use super::*;
    use crate::store::database::SqliteResultExt;

    fn made(folder: &tempfile::TempDir) -> PathBuf {
        let path = folder.path().join("a b%20#?é.db");
        drop(Database::open(&path).unwrap());
        path
    }

    fn add(db: &Database, id: &str) {
        let sql = "INSERT INTO tasks (id, hypothesis, created_at) VALUES (?1, 'h', '')";
        db.write(|t| t.execute(sql, [id]).db()).unwrap();
    }

    fn tasks(db: &Database) -> Result<i64> {
        let sql = "SELECT count(*) FROM tasks";
        db.read(|c| c.query_row(sql, [], |r| r.get(0)).db())
    }

    fn entries(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_file_that_nobody_writes_to_is_read_as_it_lies_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = made(&folder);
        let before = std::fs::read(&path).unwrap();
        let db = Database::open_read_only(&path).unwrap();
        assert_eq!(tasks(&db).unwrap(), 0);
        assert_eq!(entries(folder.path()), 1, "nothing beside it");
        for write in [
            db.write(|_| Ok(())),
            db.write_in_bulk(true, |_| Ok(())),
            db.maintain(|_| Ok(())),
        ] {
            assert_eq!(write.unwrap_err().kind(), ErrorKind::Unsupported);
        }
        assert_eq!(db.write_if_free(|_| Ok(())).unwrap(), None);
        let read = db.read(|c| c.execute("DELETE FROM tasks", []).db());
        assert!(read.is_err(), "SQLite itself refuses");
        drop(db);
        assert!(std::fs::read(&path).unwrap() == before);
    }

    #[test]
    fn a_file_that_changes_under_a_look_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = made(&folder);
        let db = Database::open_read_only(&path).unwrap();
        assert_eq!(tasks(&db).unwrap(), 0);
        let writer = Database::open(&path).unwrap();
        let error = db.read(|_| {
            add(&writer, "t");
            Ok(())
        });
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert!(error.message().contains("was written to while it was read"));
        assert_eq!(tasks(&db).unwrap(), 1, "through the log");
        add(&writer, "u");
        assert_eq!(tasks(&db).unwrap(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_log_that_cannot_be_read_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = made(&folder);
        let writer = Database::open(&path).unwrap();
        add(&writer, "t");
        let copy = folder.path().join("copy.db");
        std::fs::copy(&path, &copy).unwrap();
        std::fs::copy(beside(&path, "-wal"), beside(&copy, "-wal")).unwrap();
        let (log, index) = (beside(&copy, "-wal"), beside(&copy, "-shm"));
        // SQLite does not follow a link there, whatever the user: it cannot create the index of the log.
        std::os::unix::fs::symlink("nowhere", &index).unwrap();
        let error = Database::open_read_only(&copy).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert!(
            error.message().contains("a log file lies beside it"),
            "{error}"
        );
        let hint = error.hint().unwrap();
        assert!(hint.contains(&log.display().to_string()), "{hint}");
        // Nor can it be opened for writing; the hint explains how to read it.
        let error = Database::open(&copy).unwrap_err();
        assert!(error.hint().unwrap().contains("--read-only"), "{error:?}");
        // An empty log can be ignored.
        std::fs::write(&log, "").unwrap();
        assert_eq!(tasks(&Database::open_read_only(&copy).unwrap()).unwrap(), 0);
        // With both files in a folder of our own, everything can be read.
        std::fs::copy(beside(&path, "-wal"), &log).unwrap();
        std::fs::remove_file(&index).unwrap();
        let (file, in_log) = (std::fs::read(&copy).unwrap(), std::fs::read(&log).unwrap());
        assert_eq!(tasks(&Database::open_read_only(&copy).unwrap()).unwrap(), 1);
        assert!(std::fs::read(&copy).unwrap() == file);
        assert!(std::fs::read(&log).unwrap() == in_log);
    }

    #[test]
    fn what_cannot_be_looked_at_as_it_is_is_refused_and_left_alone() {
        #[allow(clippy::disallowed_methods, reason = "makes files that are not ours")]
        let sql =
            |path: &Path, sql: &str| Connection::open(path).unwrap().execute_batch(sql).unwrap();
        let folder = tempfile::tempdir().unwrap();
        type Make<'a> = &'a dyn Fn(&Path);
        let cases: [(&str, ErrorKind, &str, Make<'_>); 6] = [
            ("none", ErrorKind::NotFound, "no database at", &|_| ()),
            ("empty", ErrorKind::Storage, "no graph is in", &|p| {
                std::fs::write(p, "").unwrap();
            }),
            ("foreign", ErrorKind::Storage, "another program", &|p| {
                sql(p, "CREATE TABLE albums (x)");
            }),
            (
                "older",
                ErrorKind::Storage,
                "not brought up to date",
                &|p| {
                    drop(Database::open(p).unwrap());
                    sql(p, "PRAGMA user_version = 1");
                },
            ),
            ("newer", ErrorKind::Storage, "schema version 99", &|p| {
                drop(Database::open(p).unwrap());
                sql(p, "PRAGMA user_version = 99");
            }),
            ("folder", ErrorKind::InvalidInput, "is a folder", &|p| {
                std::fs::create_dir(p).unwrap();
            }),
        ];
        for (name, kind, message, make) in cases {
            let path = folder.path().join(name);
            make(&path);
            let (before, beside) = (std::fs::read(&path).ok(), entries(folder.path()));
            let error = Database::open_read_only(&path).unwrap_err();
            assert_eq!(error.kind(), kind, "{name}: {error}");
            assert!(error.message().contains(message), "{name}: {error}");
            assert!(error.hint().is_some(), "{name}");
            assert!(std::fs::read(&path).ok() == before, "{name} was changed");
            assert_eq!(entries(folder.path()), beside, "{name}");
        }
    }

    #[test]
    fn an_address_leads_to_the_file_whatever_its_name() {
        for (path, expected) in [
            ("a.db", "file:a.db?immutable=1"),
            ("/x/a b.db", "file:///x/a%20b.db?immutable=1"),
            ("//x/?#%.db", "file:////x/%3f%23%25.db?immutable=1"),
        ] {
            assert_eq!(immutable_address(Path::new(path)), expected);
        }
    }
}
