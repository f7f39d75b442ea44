//! How connections are opened: flags and pragmas, each with its reason.

use super::{migrate, private, tokenizer};
use crate::error::{Error, ErrorKind, Result};
use crate::store::database::SqliteResultExt;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use std::ffi::CStr;
use std::path::Path;
use std::time::Duration;

/// How long a connection of Lyra waits for another one's lock.
pub(super) const BUSY_TIMEOUT: Duration = super::queue::PATIENCE;

/// How long a process waits while another one updates the schema.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(600);

/// Cache size in KiB of the writing connection: it holds the upper levels of its b-trees.
pub(super) const WRITER_CACHE_KIB: i64 = 16_384;
/// Cache size of a reader. There are several readers, and the operating system caches the file's pages
/// for all of them.
const READER_CACHE_KIB: i64 = 4_096;

/// Opens (and creates or migrates) the database for writing.
pub(crate) fn open_writer(path: &Path) -> Result<Connection> {
    // No SQLITE_OPEN_URI: a path that contains "?mode=" is an ordinary path.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    check_is_file(path)?;
    private::make(path);
    let mut connection = open_at(path, path, flags, None)?;
    let setup = |connection: &mut Connection| -> Result<()> {
        // Must precede any change: setting WAL mode writes to the file.
        migrate::check(connection)?;
        // With WAL, readers never wait for the writer, and a killed process loses nothing committed.
        connection.pragma_update(None, "journal_mode", "WAL").db()?;
        // In WAL mode, NORMAL survives a killed process; only a power failure can lose the last
        // transactions, and never consistency (sqlite.org/pragma.html#pragma_synchronous).
        connection
            .pragma_update(None, "synchronous", "NORMAL")
            .db()?;
        connection.pragma_update(None, "foreign_keys", true).db()?;
        connection
            .pragma_update(None, "cache_size", -WRITER_CACHE_KIB)
            .db()?;
        connection
            .pragma_update(None, "temp_store", "MEMORY")
            .db()?;
        keep_statements(connection)?;
        // Another process may be counting a large file for the first time.
        connection.busy_timeout(MIGRATION_TIMEOUT).db()?;
        migrate::migrate(connection)?;
        // From here on, writers wait in `Database::write`.
        connection.busy_timeout(Duration::ZERO).db()
    };
    setup(&mut connection).map_err(|e| e.context(format!("opening {}", path.display())))?;
    Ok(connection)
}

/// Settings of every reading connection.
pub(super) fn set_up_reader(connection: &Connection) -> Result<()> {
    connection.pragma_update(None, "query_only", true).db()?;
    connection
        .pragma_update(None, "cache_size", -READER_CACHE_KIB)
        .db()?;
    keep_statements(connection)
}

/// Statements stay prepared. By default, SQLite prepares a statement again whenever a value is
/// bound that it has compared with the condition of a partial index. No query needs that: queries that
/// use such an index contain its condition in their text.
fn keep_statements(connection: &Connection) -> Result<()> {
    connection.set_prepared_statement_cache_capacity(128);
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .db()?;
    Ok(())
}

/// Refuses paths for which SQLite would give each connection a separate database, so that no connection
/// would see another's data.
pub(super) fn check_is_file(path: &Path) -> Result<()> {
    let shown = path.as_os_str();
    if shown.is_empty() || shown == ":memory:" || shown.as_encoded_bytes().starts_with(b"file:") {
        return Err(
            Error::invalid(format!("{path:?} is no file; a graph is a file"))
                .with_hint("for a temporary graph, give a file in a temporary folder"),
        );
    }
    if path.is_dir() {
        let message = format!("{} is a folder; a graph is a file", path.display());
        return Err(Error::invalid(message).with_hint(format!(
            "give the path of a file in it, such as {}",
            path.join("evidence.db").display()
        )));
    }
    Ok(())
}

/// Opens the file at `path` with the given address for SQLite.
#[allow(
    clippy::disallowed_methods,
    reason = "this is where connections are opened"
)]
pub(super) fn open_at(
    address: &Path,
    path: &Path,
    flags: OpenFlags,
    vfs: Option<&CStr>,
) -> Result<Connection> {
    let connection = match vfs {
        None => Connection::open_with_flags(address, flags),
        Some(vfs) => Connection::open_with_flags_and_vfs(address, flags, vfs),
    };
    let connection = connection
        .db()
        .map_err(|e| e.context(format!("opening {}", path.display())))?;
    connection.busy_timeout(BUSY_TIMEOUT).db()?;
    // SQLite opens a read-only file for reading and reports this at the first write. This check comes
    // before the first access, because that would create files owned by us beside another user's file.
    if flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE) && connection.is_readonly(MAIN_DB).db()? {
        let message = format!("opening {}: the file cannot be written", path.display());
        return Err(Error::new(ErrorKind::Storage, message).with_hint(Error::LOOK_ONLY_HINT));
    }
    // The first access to the file; it fails if the file is not a database.
    connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .db()
        .map_err(|e| e.context(format!("opening {}", path.display())))?;
    tokenizer::register(&connection)?;
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_refused() {
        for path in ["", ":memory:"] {
            let error = open_writer(Path::new(path)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path:?}");
            assert!(error.hint().is_some_and(|hint| hint.contains("temporary")));
        }
        let folder = tempfile::tempdir().unwrap();
        let error = open_writer(folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.message().ends_with(" is a folder; a graph is a file"));
        assert!(error.hint().is_some_and(|hint| hint.contains(".db")));
    }
}
