//! A copy of the database at one moment, even while others write to it.

use super::{APPLICATION_ID, DatabaseFile, is_alone};
use crate::error::{Error, ErrorKind, Result};
use crate::store::database::SqliteResultExt;
use rusqlite::Connection;
use rusqlite::backup::Backup;
use std::path::Path;
use std::time::Duration;

/// Number of pages copied at a time, and the pause after them, so that the file is not blocked for long.
const PAGES: std::ffi::c_int = 4_096;
const PAUSE: Duration = Duration::from_millis(1);

#[allow(
    clippy::disallowed_methods,
    reason = "an empty file that is filled with a copy, settings and all"
)]
/// Copies the database to a file that only its owner may read and that appears only when complete: a new
/// file or, with `replace`, one that replaces an older copy.
pub(crate) fn backup(source: &DatabaseFile, to: &Path, replace: bool) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::new(
            ErrorKind::Backend,
            format!("{} cannot be written: {error}", to.display()),
        )
    };
    if to.symlink_metadata().is_ok() {
        if !replace {
            return Err(taken(to));
        }
        check_is_copy(source, to)?;
    }
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let copy = tempfile::Builder::new()
        .prefix(".lyra-")
        .suffix(".part")
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .map_err(|error| failed(error.kind().into()))?;
    let reading = source.open()?;
    let mut target = Connection::open(copy.path()).db()?;
    Backup::new(&reading.connection, &mut target)
        .and_then(|copying| copying.run_to_completion(PAGES, PAUSE, None))
        .db()?;
    target.close().map_err(|(_, error)| error).db()?;
    copy.as_file().sync_all().map_err(failed)?;
    if replace {
        return copy
            .persist(to)
            .map(drop)
            .map_err(|error| failed(error.error));
    }
    match copy.persist_noclobber(to) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(taken(to)),
        Err(error) => Err(failed(error.error)),
    }
}

/// Rewrites the file, so that no deleted data is left in it.
#[allow(
    clippy::disallowed_methods,
    reason = "a copy that nobody else has open, as a whole"
)]
pub(crate) fn vacuum(file: &Path) -> Result<()> {
    let connection = Connection::open(file).db()?;
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)")
        .db()?;
    connection.close().map_err(|(_, error)| error).db()
}

/// Refuses to replace a file that is not a graph, or a graph that is being written to.
fn check_is_copy(source: &DatabaseFile, to: &Path) -> Result<()> {
    let same = std::fs::canonicalize(source.path()).ok() == std::fs::canonicalize(to).ok();
    if same || !is_alone(to) {
        return Err(
            Error::invalid(format!("{} is open for writing", to.display()))
                .with_hint("give a file that only read-only servers have open"),
        );
    }
    let reading = DatabaseFile::read_only(to).open()?;
    let owner: i32 = reading
        .connection
        .pragma_query_value(None, "application_id", |r| r.get(0))
        .db()?;
    if owner == APPLICATION_ID {
        return Ok(());
    }
    Err(Error::invalid(format!("{} is no graph", to.display()))
        .with_hint("give a new file, or an older copy of a graph"))
}

fn taken(to: &Path) -> Error {
    Error::invalid(format!("there is something at {} already", to.display()))
        .with_hint("a backup is a new file: give another name")
}
