//! Why a line was not stored.

use crate::error::Error;

/// Why a line was not stored.
pub(super) enum LineFailure {
    /// The line is invalid.
    Line(String),
    /// The database failed.
    Fatal(Error),
}

impl From<Error> for LineFailure {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

impl From<String> for LineFailure {
    fn from(reason: String) -> Self {
        Self::Line(reason)
    }
}

impl From<rusqlite::Error> for LineFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Fatal(Error::sqlite(error))
    }
}
