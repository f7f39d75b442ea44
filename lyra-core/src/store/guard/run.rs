//! Runs one query on a guarded connection, from the text to the reply.

use super::authorizer::{Denial, Phase};
use super::budget::{BRIEF_STEPS, Spent};
use super::collect::{self, CollectError, Collected};
use super::connection::GuardedConnection;
use super::heap::{HeapSpent, Metering};
use super::hint::{self, rejected};
use super::limits::{SQL_BYTES, VALUE_BYTES};
use super::request::{SqlParams, SqlRequest};
use super::temp_files::Quota;
use super::{audit, table};
use crate::error::{Error, Result};
use crate::store::database::SqliteResultExt;
use rusqlite::types::Value as SqlValue;
use rusqlite::{ErrorCode, Statement};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Instant;

/// Bytes and brackets of a statement that may start on the caller's thread: SQLite's parser and planner
/// recurse, and the remaining stack of that thread is unknown.
const BRIEF_BYTES: usize = 2_048;
const BRIEF_BRACKETS: usize = 32;

/// Runs one query, on a thread that may be abandoned during the query.
pub(super) fn run(
    guarded: &mut GuardedConnection,
    request: &SqlRequest,
    end: Instant,
) -> Result<Collected> {
    check_text(&request.sql)?;
    let interval = guarded.budget.start(request.options.max_vm_steps, end);
    metered(guarded, request, interval, prepare_and_step)
}

/// Whether a query may be attempted with [`run_briefly`].
pub(super) fn may_be_brief(sql: &str) -> bool {
    let brackets = sql.bytes().filter(|b| *b == b'(').count();
    sql.len() <= BRIEF_BYTES && brackets <= BRIEF_BRACKETS && !audit::is_needed(sql)
}

/// Runs a query on the caller's own thread if that takes few steps, none of them long. Otherwise returns
/// none: then nothing has been answered, and [`run`] starts again.
pub(super) fn run_briefly(
    guarded: &mut GuardedConnection,
    request: &SqlRequest,
    end: Instant,
) -> Option<Result<Collected>> {
    if let Err(error) = check_text(&request.sql) {
        return Some(Err(error));
    }
    let steps = request.options.max_vm_steps;
    let interval = guarded.budget.start_briefly(steps, end);
    let reply = metered(guarded, request, interval, |guarded, request| {
        let statement = prepare_checked(guarded, request)?;
        if guarded.authorizer.has_slow_steps() {
            return Ok(None);
        }
        step(guarded, request, statement).map(Some)
    });
    let more_steps = request.options.max_vm_steps > BRIEF_STEPS;
    match reply {
        Err(_) if more_steps && guarded.budget.spent() == Some(Spent::Steps) => None,
        reply => reply.transpose(),
    }
}

/// Runs a query within its limits of time, steps, memory and disk space.
fn metered<T>(
    guarded: &mut GuardedConnection,
    request: &SqlRequest,
    interval: i32,
    query: impl FnOnce(&GuardedConnection, &SqlRequest) -> Result<T>,
) -> Result<T> {
    let budget = Arc::clone(&guarded.budget);
    guarded
        .connection
        .progress_handler(interval, Some(move || budget.on_progress()))
        .db()?;
    let deadline = guarded.budget.deadline();
    let metering = Metering::start(deadline);
    let quota = Quota::start(deadline);
    let reply = query(guarded, request).map_err(|error| match Metering::spent() {
        // Any failure in this state was caused by lack of memory.
        Some(HeapSpent::Memory) => hint::interrupted(Spent::Memory, &request.options),
        Some(HeapSpent::Time) => hint::interrupted(Spent::Time, &request.options),
        None => error,
    });
    drop(quota);
    drop(metering);
    guarded.budget.stop();
    guarded.authorizer.enter(Phase::Own);
    reply
}

/// Checks that are made before SQLite parses the text.
fn check_text(sql: &str) -> Result<()> {
    if sql.len() > SQL_BYTES {
        return Err(rejected(format!(
            "the statement has {} bytes; at most {SQL_BYTES} are allowed",
            sql.len()
        ))
        .with_hint("pass long lists as one JSON parameter and read them with json_each(?1)"));
    }
    // SQLite would read up to it and silently ignore the rest.
    if sql.contains('\0') {
        return Err(rejected("the statement contains a NUL character").with_hint("take it out"));
    }
    Ok(())
}

fn prepare_and_step(guarded: &GuardedConnection, request: &SqlRequest) -> Result<Collected> {
    let statement = prepare_checked(guarded, request)?;
    step(guarded, request, statement)
}

/// The prepared statement, after all checks that are possible before it runs.
fn prepare_checked<'a>(
    guarded: &'a GuardedConnection,
    request: &SqlRequest,
) -> Result<Statement<'a>> {
    let fail = |error| explain_failure(guarded, request, error);
    let mut statement = prepare(guarded, &request.sql).map_err(fail)?;
    // A second check: SQLite reports BEGIN and ATTACH as read-only, but not VACUUM INTO, for which the
    // authorizer is not called.
    if !statement.readonly() {
        let first = request.sql.split_whitespace().next().unwrap_or_default();
        if first.eq_ignore_ascii_case("vacuum") {
            return Err(rejected("VACUUM writes a database file").with_hint(
                "queries only read; to copy the graph, its owner runs `lyra-mcp backup FILE`",
            ));
        }
        return Err(rejected("the statement is not read-only")
            .with_hint("queries only read: write one SELECT or WITH … SELECT"));
    }
    if statement.column_count() == 0 {
        return Err(rejected("there is no query").with_hint("write one SELECT or WITH … SELECT"));
    }
    check_unresolved_names(guarded)?;
    if statement.is_explain() == 0 && audit::is_needed(&request.sql) {
        audit::check(guarded, &request.sql)?;
    }
    bind(&mut statement, &request.params)?;
    Ok(statement)
}

fn step(
    guarded: &GuardedConnection,
    request: &SqlRequest,
    mut statement: Statement<'_>,
) -> Result<Collected> {
    guarded.authorizer.enter(Phase::Run);
    let columns = collect::unique_names(&statement.column_names().collect::<Vec<_>>());
    let is_program = statement.is_explain() == 1;
    let collected = collect::collect(
        &mut statement.raw_query(),
        columns,
        is_program,
        &request.options,
    );
    collected.map_err(|failure| match failure {
        CollectError::Sqlite(error) => explain_failure(guarded, request, error),
        CollectError::Ours(error) => error,
    })
}

/// Prepares the caller's statement under the authorizer. If FTS5 must read its tables again because the
/// schema has changed, this is allowed first.
fn prepare<'a>(guarded: &'a GuardedConnection, sql: &str) -> rusqlite::Result<Statement<'a>> {
    guarded.authorizer.begin_prepare();
    let error = match guarded.connection.prepare(sql) {
        Ok(statement) => return Ok(statement),
        Err(error) => error,
    };
    let by_fts5 = matches!(guarded.authorizer.denial(),
        Some(Denial::Table(name)) if guarded.authorizer.allowlist().is_shadow_table(&name));
    if !by_fts5 || guarded.reload_full_text().is_err() {
        return Err(error);
    }
    guarded.authorizer.begin_prepare();
    guarded.connection.prepare(sql)
}

/// Names that could be those of CTEs must not be those of tables. A CTE with the name of a private table
/// is therefore refused.
fn check_unresolved_names(guarded: &GuardedConnection) -> Result<()> {
    for name in guarded.authorizer.take_unresolved() {
        let is_table = guarded.connection.table_exists(None, name.as_str()).db()?;
        let is_function = table::pragma_function(&name).is_some();
        if is_table || is_function {
            return Err(hint::denied(&Denial::Table(name), &guarded.schema));
        }
    }
    Ok(())
}

fn bind(statement: &mut Statement<'_>, params: &SqlParams) -> Result<()> {
    match params {
        SqlParams::None => expect_parameters(statement, 0),
        SqlParams::Positional(values) => {
            expect_parameters(statement, values.len())?;
            for (index, value) in values.iter().enumerate() {
                bind_value(statement, index + 1, value)?;
            }
            Ok(())
        }
        SqlParams::Named(values) => bind_named(statement, values),
    }
}

fn expect_parameters(statement: &Statement<'_>, given: usize) -> Result<()> {
    let expected = statement.parameter_count();
    if expected == given {
        return Ok(());
    }
    Err(rejected(format!(
        "the statement has {expected} parameters and {given} values were given"
    ))
    .with_hint(format!(
        "parameters: {}",
        parameter_names(statement).join(", ")
    )))
}

fn bind_named(statement: &mut Statement<'_>, values: &Map<String, Value>) -> Result<()> {
    let names = parameter_names(statement);
    let mut used = 0;
    for (index, name) in names.iter().enumerate() {
        let bare = name.trim_start_matches([':', '@', '$']);
        let value = values
            .get(name)
            .or_else(|| values.get(bare))
            .ok_or_else(|| {
                rejected(format!("no value for parameter {name}"))
                    .with_hint(format!("parameters: {}", names.join(", ")))
            })?;
        used += usize::from(values.contains_key(name)) + usize::from(values.contains_key(bare));
        bind_value(statement, index + 1, value)?;
    }
    if used < values.len() {
        let unknown = values.keys().find(|key| {
            !names
                .iter()
                .any(|name| name == *key || name.get(1..) == Some(key.as_str()))
        });
        let unknown = unknown.map_or("", String::as_str);
        return Err(
            rejected(format!("the statement has no parameter {unknown}"))
                .with_hint(format!("parameters: {}", names.join(", "))),
        );
    }
    Ok(())
}

/// The names of the statement's parameters as written; `?` stands for those without a name.
fn parameter_names(statement: &Statement<'_>) -> Vec<String> {
    (1..=statement.parameter_count())
        .map(|index| statement.parameter_name(index).unwrap_or("?").to_owned())
        .collect()
}

fn bind_value(statement: &mut Statement<'_>, index: usize, value: &Value) -> Result<()> {
    let value = match value {
        Value::Null => SqlValue::Null,
        Value::Bool(flag) => SqlValue::Integer(i64::from(*flag)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => SqlValue::Integer(integer),
            (None, Some(real)) => SqlValue::Real(real),
            (None, None) => return Err(rejected(format!("parameter {index} is out of range"))),
        },
        Value::String(text) if text.len() > VALUE_BYTES => {
            return Err(rejected(format!(
                "parameter {index} has {} bytes; at most {VALUE_BYTES} are allowed",
                text.len()
            )));
        }
        Value::String(text) => SqlValue::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => {
            return Err(
                rejected(format!("parameter {index} is a list or an object"))
                    .with_hint("pass it as JSON text and read it with json_each(?1)"),
            );
        }
    };
    statement.raw_bind_parameter(index, value).db()
}

/// The error message for a failure of SQLite.
fn explain_failure(
    guarded: &GuardedConnection,
    request: &SqlRequest,
    error: rusqlite::Error,
) -> Error {
    if matches!(error, rusqlite::Error::MultipleStatement) {
        return rejected("more than one statement")
            .with_hint("send one SELECT or WITH … SELECT at a time");
    }
    if let Some(spent) = guarded.budget.spent() {
        return hint::interrupted(spent, &request.options);
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => {
            return hint::interrupted(Spent::Time, &request.options);
        }
        Some(ErrorCode::TooBig) => return hint::too_long(&request.sql),
        Some(ErrorCode::OutOfMemory) => return hint::interrupted(Spent::Memory, &request.options),
        Some(ErrorCode::DiskFull) => return hint::out_of_space(Quota::is_over()),
        _ => {}
    }
    if let Some(denial) = guarded.authorizer.denial() {
        return hint::denied(&denial, &guarded.schema);
    }
    let (message, character) = message_of(&error, &request.sql);
    let failure = match guarded.authorizer.phase() {
        Phase::Run => hint::failed_while_running(&message, &request.sql),
        Phase::Prepare | Phase::Own => hint::failed(&message, &request.sql, &guarded.schema),
    };
    let storage = Error::sqlite(error);
    if storage.kind().is_of_database() {
        return storage;
    }
    match character {
        Some(character) => failure.context(format!("at character {character}")),
        None => failure,
    }
}

/// SQLite's message without the statement that the binding appends to it, and the character of the
/// statement to which it refers.
fn message_of(error: &rusqlite::Error, sql: &str) -> (String, Option<usize>) {
    match error {
        rusqlite::Error::SqlInputError { msg, offset, .. } => {
            let before = usize::try_from(*offset).ok().and_then(|end| sql.get(..end));
            (msg.clone(), before.map(|text| text.chars().count() + 1))
        }
        rusqlite::Error::SqliteFailure(_, Some(message)) => (message.clone(), None),
        other => (other.to_string(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use crate::error::ErrorKind;
    use crate::store::database::DatabaseFile;

    #[test]
    fn only_short_queries_without_slow_steps_are_answered_on_the_callers_thread() {
        let mut guarded = GuardedConnection::open(
            &DatabaseFile::writable(fixture::shared()),
            &[],
            &crate::store::guard::GuardPolicy::of_graph(),
        )
        .unwrap();
        for (sql, expected) in [
            ("SELECT id FROM claims WHERE id = 'claim_7'", Some(1)),
            (
                "SELECT sum(length(text_content)) FROM fragments WHERE text_content LIKE '%7%'",
                None,
            ),
            (
                "SELECT lower(id) FROM claims WHERE claim_text LIKE '%7 says%' LIMIT 5",
                Some(5),
            ),
            (
                "SELECT id FROM fragments ORDER BY text_content LIMIT 3",
                None,
            ),
            ("SELECT count(*) FROM tasks", None),
            ("SELECT json_extract('[1]', '$[0]')", None),
            ("SELECT value FROM json_each('[1]')", None),
            ("SELECT name FROM pragma_table_info('claims')", None),
            ("SELECT rowid FROM claims_fts LIMIT 1", None),
            ("SELECT replace('a', 'a', 'b')", None),
        ] {
            assert!(may_be_brief(sql), "{sql}");
            let request = SqlRequest {
                sql: sql.into(),
                ..SqlRequest::default()
            };
            let brief =
                run_briefly(&mut guarded, &request, request.deadline()).map(|reply| reply.unwrap());
            let rows = brief.map(|collected| collected.into_reply(0).rows);
            assert_eq!(rows.as_ref().map(Vec::len), expected, "{sql}");
            let whole = run(&mut guarded, &request, request.deadline())
                .unwrap()
                .into_reply(0)
                .rows;
            assert!(rows.is_none_or(|rows| rows == whole), "{sql}");
        }
        let nested = format!("SELECT {}1{}", "(".repeat(40), ")".repeat(40));
        let long = format!("SELECT '{}'", "x".repeat(2_100));
        for sql in [
            &nested,
            &long,
            "SELECT id FROM claims JOIN edges USING (id)",
        ] {
            assert!(!may_be_brief(sql), "{sql}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_query_is_said_at_once() {
        let mut guarded = GuardedConnection::open(
            &DatabaseFile::writable(fixture::shared()),
            &[],
            &crate::store::guard::GuardPolicy::of_graph(),
        )
        .unwrap();
        for (sql, max_vm_steps, kind) in [
            (
                "SELECT nothing FROM claims",
                5_000_000,
                ErrorKind::QueryRejected,
            ),
            ("DELETE FROM claims", 5_000_000, ErrorKind::QueryRejected),
            (
                "SELECT id FROM claims\0",
                5_000_000,
                ErrorKind::QueryRejected,
            ),
            (
                "SELECT max(claim_text) FROM claims",
                300,
                ErrorKind::QueryInterrupted,
            ),
        ] {
            let options = super::super::SqlOptions {
                max_vm_steps,
                ..Default::default()
            };
            let request = SqlRequest {
                sql: sql.into(),
                options,
                ..SqlRequest::default()
            };
            let reply = run_briefly(&mut guarded, &request, request.deadline()).unwrap();
            assert_eq!(reply.unwrap_err().kind(), kind, "{sql}");
        }
    }
}
