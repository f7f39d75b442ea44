//! Limits that SQLite itself enforces, while it parses a statement and while it runs one.

use crate::error::Result;
use crate::store::database::SqliteResultExt;
use rusqlite::Connection;
use rusqlite::limits::Limit;
use std::time::Duration;

/// How long a query waits for a lock; SQLite's default of seconds would exceed its deadline.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_millis(100);

/// Bytes of the longest string or blob, stored or computed. It stops `zeroblob(1e9)`,
/// `printf('%.*c', 1e9, 'x')` and similar calls before they allocate.
pub(super) const VALUE_BYTES: usize = 262_144;

/// Bytes of the longest statement.
pub(super) const SQL_BYTES: usize = 32_768;

/// Bytes of the longest LIKE, GLOB or REGEXP pattern: matching costs pattern × text.
pub(super) const PATTERN_BYTES: usize = 128;

/// Maximum number of parameters in a statement.
pub(super) const PARAMETERS: usize = 64;

/// Maximum number of calls written in a statement, each of which runs without a clock check.
pub(super) const FUNCTION_CALLS: u32 = 128;

/// The limits with their values. Tighter ones, such as those that sqlite.org recommends for hostile SQL,
/// would refuse honest analysis.
const LIMITS: [(Limit, usize); 13] = [
    (Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES),
    // Columns of a result, a table or an index; also the terms of ORDER BY and GROUP BY.
    (Limit::SQLITE_LIMIT_COLUMN, 128),
    // Includes nested selects, once for every use of a CTE: v_citation_clusters needs over 100.
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 300),
    (Limit::SQLITE_LIMIT_PARSER_DEPTH, 100),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 50),
    // Straight-line code runs without a clock check, so its length is limited.
    (Limit::SQLITE_LIMIT_VDBE_OP, 6_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 32),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_BYTES),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, PARAMETERS),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Sets the limits on a connection.
pub(super) fn apply(connection: &Connection) -> Result<()> {
    for (limit, value) in LIMITS {
        connection
            .set_limit(limit, i32::try_from(value).unwrap_or(i32::MAX))
            .db()?;
    }
    Ok(())
}
