//! A copy of the database as it is at one moment, whoever writes to it meanwhile.

use super::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::store::database::SqliteResultExt;
use rusqlite::Connection;
use rusqlite::backup::Backup;
use std::path::Path;
use std::time::Duration;

/// Pages that are copied at a time, and the pause after them: the file is not held up for long.
const PAGES: std::ffi::c_int = 4_096;
const PAUSE: Duration = Duration::from_millis(1);

#[allow(
    clippy::disallowed_methods,
    reason = "an empty file that is filled with a copy, settings and all"
)]
/// Copies the database to a new file, its owner's alone, which appears when it is whole.
pub(crate) fn backup(source: &Source, to: &Path) -> Result<()> {
    let failed = |error: std::io::Error| {
        Error::new(
            ErrorKind::Backend,
            format!("{} cannot be written: {error}", to.display()),
        )
    };
    if to.symlink_metadata().is_ok() {
        return Err(taken(to));
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
    match copy.persist_noclobber(to) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Err(taken(to)),
        Err(error) => Err(failed(error.error)),
    }
}

/// Writes the file anew, so that nothing is left in it of what was deleted.
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

fn taken(to: &Path) -> Error {
    Error::invalid(format!("there is something at {} already", to.display()))
        .with_hint("a backup is a new file: give another name")
}
