//! Why a line was not stored.

use crate::error::Error;

/// Why a line was not stored.
pub(super) enum Failure {
    /// The line is invalid.
    Line(String),
    /// The database failed.
    Fatal(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self::Line(reason)
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Fatal(Error::sqlite(error))
    }
}
