//! One query on a guarded connection, from the text to the reply.

use super::authorizer::{Denial, Phase};
use super::budget::Spent;
use super::collect::{self, Collected, Failure};
use super::connection::GuardedConnection;
use super::heap::{HeapSpent, Metering};
use super::hint::{self, rejected};
use super::limits::{SQL_BYTES, VALUE_BYTES};
use super::request::{SqlParams, SqlRequest};
use super::temp_files::Quota;
use super::{audit, table};
use crate::error::{Error, ErrorKind, Result, SqliteResultExt};
use rusqlite::types::Value as SqlValue;
use rusqlite::{ErrorCode, Statement};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Answers one query.
pub(super) fn run(guarded: &mut GuardedConnection, request: &SqlRequest) -> Result<Collected> {
    check_text(&request.sql)?;
    let interval = guarded.budget.start(&request.options);
    let budget = Arc::clone(&guarded.budget);
    guarded
        .connection
        .progress_handler(interval, Some(move || budget.on_progress()))
        .db()?;
    let deadline = guarded.budget.deadline();
    let metering = Metering::start(deadline);
    let quota = Quota::start(deadline);
    let reply = prepare_and_step(guarded, request);
    drop(quota);
    drop(metering);
    guarded.budget.stop();
    guarded.authorizer.enter(Phase::Own);
    reply
}

/// What has to be known before SQLite sees the text.
fn check_text(sql: &str) -> Result<()> {
    if sql.len() > SQL_BYTES {
        return Err(rejected(format!(
            "the statement has {} bytes of {SQL_BYTES}",
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
    let fail = |error| explain_failure(guarded, request, error);
    let mut statement = prepare(guarded, &request.sql).map_err(fail)?;
    if statement.column_count() == 0 {
        return Err(rejected("there is no query").with_hint("write one SELECT or WITH … SELECT"));
    }
    // A second opinion: SQLite calls BEGIN and ATTACH read-only, but not VACUUM INTO, of which
    // the authorizer hears nothing.
    if !statement.readonly() {
        return Err(rejected("the statement is not read-only")
            .with_hint("queries only read: write one SELECT or WITH … SELECT"));
    }
    check_unresolved_names(guarded)?;
    if statement.is_explain() == 0 && audit::is_needed(&request.sql) {
        audit::check(guarded, &request.sql)?;
    }
    bind(&mut statement, &request.params)?;
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
        Failure::Sqlite(error) => fail(error),
        Failure::Ours(error) => error,
    })
}

/// Prepares the caller's statement under the authorizer. If FTS5 had to read its tables again,
/// because the schema has changed, it is allowed to do so first.
fn prepare<'a>(guarded: &'a GuardedConnection, sql: &str) -> rusqlite::Result<Statement<'a>> {
    guarded.authorizer.begin_prepare();
    let error = match guarded.connection.prepare(sql) {
        Ok(statement) => return Ok(statement),
        Err(error) => error,
    };
    let by_fts5 = matches!(guarded.authorizer.denial(),
        Some(Denial::Table(name)) if table::is_shadow_table(&name));
    if !by_fts5 || guarded.reload_full_text().is_err() {
        return Err(error);
    }
    guarded.authorizer.begin_prepare();
    guarded.connection.prepare(sql)
}

/// Names that could have been those of CTEs must not be those of tables. A CTE that has the name
/// of a private table is refused with it.
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

/// The statement's parameters as they are written; `?` stands for those without a name.
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
                "parameter {index} has {} bytes of {VALUE_BYTES}",
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

/// What the caller is told about a failure of SQLite.
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
        Some(ErrorCode::OutOfMemory) if Metering::spent() == Some(HeapSpent::Time) => {
            return hint::interrupted(Spent::Time, &request.options);
        }
        Some(ErrorCode::OperationInterrupted) => {
            return hint::interrupted(Spent::Time, &request.options);
        }
        Some(ErrorCode::TooBig) => return hint::too_large("a string or blob is too long"),
        Some(ErrorCode::OutOfMemory) => return hint::too_large("the memory of a query is used up"),
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
    if storage.kind() == ErrorKind::Storage {
        return storage;
    }
    match character {
        Some(character) => failure.context(format!("at character {character}")),
        None => failure,
    }
}

/// SQLite's message without the statement that the binding puts after it, and the character of
/// the statement that it is about.
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
