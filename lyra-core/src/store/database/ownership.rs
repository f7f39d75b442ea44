//! Checks whether a database file belongs to Lyra.

use crate::error::{Error, ErrorKind, Result};
use crate::store::database::SqliteResultExt;
use rusqlite::Connection;

/// Marks a file as Lyra's in the SQLite header: "LYRA" in ASCII.
pub(crate) const APPLICATION_ID: i32 = 0x4C59_5241;

/// Refuses databases of other programs.
pub(crate) fn check_ownership(connection: &Connection) -> Result<()> {
    let id: i32 = connection
        .pragma_query_value(None, "application_id", |r| r.get(0))
        .db()?;
    if id == APPLICATION_ID {
        return Ok(());
    }
    let objects: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))
        .db()?;
    if id == 0 && objects == 0 {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Storage,
        "this SQLite file belongs to another program",
    )
    .with_hint("give the path of a new file, or of one that Lyra made, with --db"))
}
