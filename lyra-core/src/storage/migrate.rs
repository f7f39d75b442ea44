//! Numbered steps from any released schema to the newest.

use super::aggregates;
use super::open::{APPLICATION_ID, check_ownership};
use crate::error::{Error, ErrorKind, Result, SqliteResultExt};
use rusqlite::{Connection, TransactionBehavior};

/// One step a released schema version; step N leads from version N to N + 1.
const STEPS: &[&str] = &[
    include_str!("sql/schema.sql"),
    include_str!("sql/aggregates.sql"),
];

/// The schema version that this library writes.
pub(crate) const SCHEMA_VERSION: i64 = STEPS.len() as i64;

/// Refuses, without a change, a file that is not ours or that is newer than this program.
pub(crate) fn check(connection: &Connection) -> Result<()> {
    check_ownership(connection)?;
    let found = version(connection)?;
    if (0..=SCHEMA_VERSION).contains(&found) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Storage,
        format!(
            "the database has schema version {found}; this program knows up to {SCHEMA_VERSION}"
        ),
    )
    .with_hint("open it with a newer version of Lyra"))
}

/// Brings the schema up to date. Several processes may do so at once: the first one wins, the
/// others find the work done.
pub(crate) fn migrate(connection: &mut Connection) -> Result<()> {
    if version(connection)? == SCHEMA_VERSION {
        return Ok(());
    }
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .db()?;
    check(&transaction)?;
    let done = usize::try_from(version(&transaction)?).unwrap_or_default();
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step).db()?;
    }
    aggregates::refresh(&transaction)?;
    transaction
        .pragma_update(None, "application_id", APPLICATION_ID)
        .db()?;
    transaction
        .pragma_update(None, "user_version", SCHEMA_VERSION)
        .db()?;
    transaction.commit().db()
}

fn version(connection: &Connection) -> Result<i64> {
    connection
        .pragma_query_value(None, "user_version", |r| r.get(0))
        .db()
}
