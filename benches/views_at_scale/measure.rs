//! Queries one view in three ways: through the engine, as rendered SQL on a bare connection, and as
//! plain SQL over the stored rows on a bare connection.

use lyra_core::store::views::{RenderedView, ViewCatalog, ViewParams};
use lyra_core::{Engine, Error, Result, ViewReply, ViewRequest};
use rusqlite::functions::FunctionFlags;
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, StatementStatus};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Number of rows requested.
pub(crate) const ROWS: usize = 50;
/// Maximum number of runs of one query, and their maximum total time.
const RUNS: usize = 9;
const PATIENCE: Duration = Duration::from_secs(2);
/// Steps of SQLite's virtual machine between two checks of the time.
const STEPS_PER_LOOK: i32 = 10_000;

pub(crate) type Row = Map<String, Value>;

/// Milliseconds and the result, or the reason for its absence.
pub(crate) type Timed<T> = std::result::Result<(f64, T), String>;

/// The measurements of one view.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) is_task_scoped: bool,
    /// The first answer of a newly opened engine.
    pub(crate) cold: Timed<ViewReply>,
    /// The median of the following answers.
    pub(crate) warm: Timed<ViewReply>,
    /// The SQL of the view, stepped to one row more than a reply contains.
    pub(crate) bare: Stepped,
    /// The plain SQL of the view.
    pub(crate) plain: Stepped,
}

impl Measured {
    /// Whether the plain SQL gives the same rows; none if one of the two did not answer.
    pub(crate) fn is_equal(&self) -> Option<bool> {
        let Ok((_, ours)) = &self.warm else {
            return None;
        };
        let plain = self.plain.is_complete.then_some(&self.plain.rows)?;
        // A reply is also limited in bytes, and may therefore end before the 50th row.
        let is_whole = ours.rows.len() == plain.len();
        let is_cut = ours.truncated && !ours.rows.is_empty() && ours.rows.len() < plain.len();
        let pairs = ours.rows.iter().zip(plain);
        Some((is_whole || is_cut) && pairs.into_iter().all(|(a, b)| same_row(a, b)))
    }
}

/// The result of stepping through a statement.
#[derive(Debug)]
pub(crate) struct Stepped {
    pub(crate) rows: Vec<Row>,
    pub(crate) milliseconds: f64,
    /// Steps of SQLite's virtual machine.
    pub(crate) steps: u32,
    /// False if the cut-off was reached before the last row.
    pub(crate) is_complete: bool,
}

/// Requests the first rows: once, and then repeatedly for the median.
pub(crate) fn through_the_engine(
    engine: &Engine,
    request: &ViewRequest,
) -> (Timed<ViewReply>, Timed<ViewReply>) {
    let ask = || {
        let start = Instant::now();
        let reply = engine.query_view(request).map_err(|e| e.to_string())?;
        Ok((milliseconds(start), reply))
    };
    let cold = ask();
    if cold.is_err() {
        return (cold.clone(), cold);
    }
    let start = Instant::now();
    let mut times = Vec::new();
    loop {
        match ask() {
            Err(reason) => return (cold, Err(reason)),
            Ok((time, reply)) => {
                times.push(time);
                if times.len() == RUNS || start.elapsed() > PATIENCE {
                    times.sort_by(f64::total_cmp);
                    return (cold, Ok((times[times.len() / 2], reply)));
                }
            }
        }
    }
}

/// A connection as any program would open it, plus the one function that the views need and that
/// this build of SQLite lacks.
#[allow(
    clippy::disallowed_methods,
    reason = "what is measured is SQLite without the library around it"
)]
pub(crate) fn bare_connection(db: &Path, flags: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(db, flags).map_err(broken)?;
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection
        .create_scalar_function("sqrt", 1, flags, |context| {
            context.get::<f64>(0).map(f64::sqrt)
        })
        .map_err(broken)?;
    Ok(connection)
}

/// A bare connection on which the plain SQL of every view is an ordinary temporary view.
pub(crate) fn plain_views(db: &Path, folder: &Path, year: i32) -> Result<Connection> {
    let connection = bare_connection(db, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let catalog = ViewCatalog::builtin()?.with_folder(folder)?;
    for (name, sql) in catalog.temp_views(year) {
        connection
            .execute_batch(&format!("CREATE TEMP VIEW {name} AS {sql}"))
            .map_err(broken)?;
    }
    Ok(connection)
}

/// Steps through the view's own SQL to one row more than a reply contains.
pub(crate) fn step_view(
    connection: &mut Connection,
    view: &str,
    params: &ViewParams,
    cut_off: Duration,
) -> Result<Stepped> {
    let RenderedView { sql, bindings } = ViewCatalog::builtin()?.render(view, params)?;
    step(connection, &sql, &bindings, ROWS + 1, cut_off)
}

/// Queries the plain view for its first rows, of one task if one is given.
pub(crate) fn step_plain(
    connection: &mut Connection,
    view: &str,
    task_id: Option<&str>,
    cut_off: Duration,
) -> Result<Stepped> {
    let (filter, bindings) = match task_id {
        Some(task_id) => (
            "WHERE task_id = :task_id",
            Row::from_iter([("task_id".to_owned(), json!(task_id))]),
        ),
        None => ("", Row::new()),
    };
    let sql = format!("SELECT * FROM {view} {filter} LIMIT {ROWS}");
    step(connection, &sql, &bindings, ROWS, cut_off)
}

fn step(
    connection: &mut Connection,
    sql: &str,
    bindings: &Row,
    most_rows: usize,
    cut_off: Duration,
) -> Result<Stepped> {
    let start = Instant::now();
    let is_late = move || start.elapsed() > cut_off;
    connection
        .progress_handler(STEPS_PER_LOOK, Some(is_late))
        .map_err(broken)?;
    let mut statement = connection.prepare(sql).map_err(broken)?;
    for (name, value) in bindings {
        let index = statement
            .parameter_index(&format!(":{name}"))
            .map_err(broken)?
            .ok_or_else(|| Error::internal(format!("no parameter {name} in {sql}")))?;
        statement
            .raw_bind_parameter(index, to_sql(value))
            .map_err(broken)?;
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let (mut rows, mut is_complete) = (Vec::new(), true);
    let mut answers = statement.raw_query();
    while rows.len() < most_rows {
        match answers.next() {
            Ok(Some(row)) => rows.push(read(row, &columns).map_err(broken)?),
            Ok(None) => break,
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) => {
                is_complete = false;
                break;
            }
            Err(e) => return Err(broken(e)),
        }
    }
    let milliseconds = milliseconds(start);
    drop(answers);
    // SQLite counts with an unsigned integer and returns it as a signed one.
    let steps = statement
        .get_status(StatementStatus::VmStep)
        .cast_unsigned();
    Ok(Stepped {
        rows,
        milliseconds,
        steps,
        is_complete,
    })
}

fn to_sql(value: &Value) -> Sql {
    match value {
        Value::Bool(flag) => Sql::Integer(i64::from(*flag)),
        Value::Number(number) => match number.as_i64() {
            Some(integer) => Sql::Integer(integer),
            None => number.as_f64().map_or(Sql::Null, Sql::Real),
        },
        Value::String(text) => Sql::Text(text.clone()),
        _ => Sql::Null,
    }
}

fn read(row: &rusqlite::Row<'_>, columns: &[String]) -> rusqlite::Result<Row> {
    let cell = |(index, name): (usize, &String)| {
        let value = match row.get_ref(index)? {
            ValueRef::Null | ValueRef::Blob(_) => Value::Null,
            ValueRef::Integer(integer) => json!(integer),
            ValueRef::Real(real) => json!(real),
            ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
        };
        Ok((name.clone(), value))
    };
    columns.iter().enumerate().map(cell).collect()
}

/// Whether two rows have the same cells in the same order, numbers within 1e-6.
fn same_row(a: &Row, b: &Row) -> bool {
    let same = |a: &Value, b: &Value| match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-6,
        _ => a == b,
    };
    let pairs = a.iter().zip(b);
    a.len() == b.len()
        && pairs
            .into_iter()
            .all(|((m, x), (n, y))| m == n && same(x, y))
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1_000.0
}

/// An error of the bare connection, which does not use the library's errors.
pub(crate) fn broken(error: rusqlite::Error) -> Error {
    Error::internal(format!("on the bare connection: {error}")).with_source(error)
}
