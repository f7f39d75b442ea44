//! Converts SQLite's errors to Lyra's.

use crate::error::{Error, ErrorKind, Result};

impl Error {
    /// Turns an SQLite error into ours; not a `From`, so that the dependency stays private.
    #[track_caller]
    pub(in crate::store) fn sqlite(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as C;
        let (kind, hint) = match error.sqlite_error_code() {
            Some(C::NotADatabase) => (
                ErrorKind::Storage,
                Some("the file is not an SQLite database; give another --db path"),
            ),
            Some(C::DatabaseCorrupt) => (
                ErrorKind::Storage,
                Some("restore a copy, or recover with the sqlite3 shell's .recover"),
            ),
            Some(C::ReadOnly | C::CannotOpen | C::PermissionDenied) => {
                (ErrorKind::Storage, Some(Self::LOOK_ONLY_HINT))
            }
            Some(C::DiskFull) => (
                ErrorKind::Storage,
                Some("free some disk space and try again"),
            ),
            Some(C::DatabaseBusy | C::DatabaseLocked) => (
                ErrorKind::Busy,
                Some("another process holds the database; try again"),
            ),
            Some(C::OperationInterrupted) => (ErrorKind::QueryInterrupted, None),
            Some(C::ConstraintViolation) => (ErrorKind::InvalidInput, None),
            _ => (ErrorKind::Internal, None),
        };
        // The statement, which may be long, is written to the log and not to the message.
        let said = match &error {
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            other => other.to_string(),
        };
        let mut e = Self::new(kind, format!("database: {said}"));
        if let Some(hint) = hint {
            e = e.with_hint(hint);
        }
        e.with_source(error)
    }
}

/// Converts SQLite results without an `impl From` that would leak the dependency.
pub(in crate::store) trait SqliteResultExt<T> {
    /// Maps the error side with [`Error::sqlite`].
    fn db(self) -> Result<T>;
}

impl<T> SqliteResultExt<T> for std::result::Result<T, rusqlite::Error> {
    #[track_caller]
    fn db(self) -> Result<T> {
        self.map_err(Error::sqlite)
    }
}
