//! SQL functions of the guard's connections: mathematics, statistics, REGEXP, slices of page texts. The
//! bundled SQLite lacks the first three.

use super::budget::{QueryBudget, interrupted};
use super::heap::{self, Held};
use super::limits::{BUSY_TIMEOUT, PATTERN_BYTES, VALUE_BYTES};
use super::scalar::{PURE, read_arguments, scalar, wrong};
use super::text_functions;
use crate::error::Result;
use crate::store::database::SqliteResultExt;
use crate::store::database::{DatabaseFile, ReadConnection};
use regex::bytes::{Regex, RegexBuilder};
use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, OptionalExtension};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of values that one `median()` or `percentile()` may collect: 8 MiB.
const MAX_COLLECTED: usize = 1 << 20;

/// Maximum size of a compiled regular expression in bytes. Matching costs at most program × text.
const REGEX_BYTES: usize = 64 * 1024;

/// Bytes of the matching cache, in each of its two directions.
const REGEX_CACHE_BYTES: usize = 128 * 1024;

/// Memory that is counted for a regular expression: its program, in the forms for both directions, and
/// the matching caches.
const REGEX_HELD: usize = 4 * REGEX_BYTES + 2 * REGEX_CACHE_BYTES;

/// Maximum number of characters that one call of `page_text_slice()` returns: with four bytes each they
/// are still no longer than a value may be.
const SLICE_CHARACTERS: i64 = (VALUE_BYTES / 4) as i64;

/// Registers all functions on a connection.
pub(super) fn register(
    connection: &Connection,
    budget: &Arc<QueryBudget>,
    database: &DatabaseFile,
) -> Result<()> {
    mathematics(connection).db()?;
    statistics(connection).db()?;
    regexp(connection, budget).db()?;
    page_text_slice(connection, budget, database).db()?;
    text_functions::register(connection, budget).db()
}

fn mathematics(connection: &Connection) -> rusqlite::Result<()> {
    type Unary = fn(f64) -> f64;
    let unary: [(&str, Unary); 20] = [
        ("acos", f64::acos),
        ("acosh", f64::acosh),
        ("asin", f64::asin),
        ("asinh", f64::asinh),
        ("atan", f64::atan),
        ("atanh", f64::atanh),
        ("cos", f64::cos),
        ("cosh", f64::cosh),
        ("degrees", f64::to_degrees),
        ("exp", f64::exp),
        ("ln", f64::ln),
        ("log", f64::log10),
        ("log10", f64::log10),
        ("log2", f64::log2),
        ("radians", f64::to_radians),
        ("sin", f64::sin),
        ("sinh", f64::sinh),
        ("sqrt", f64::sqrt),
        ("tan", f64::tan),
        ("tanh", f64::tanh),
    ];
    for (name, function) in unary {
        scalar(connection, name, 1, move |c: &Context<'_>| {
            Ok(number(c.get_raw(0)).map(function).and_then(defined))
        })?;
    }
    let rounding: [(&str, Unary); 4] = [
        ("ceil", f64::ceil),
        ("ceiling", f64::ceil),
        ("floor", f64::floor),
        ("trunc", f64::trunc),
    ];
    for (name, function) in rounding {
        scalar(connection, name, 1, move |c: &Context<'_>| {
            Ok(match c.get_raw(0) {
                ValueRef::Integer(integer) => Value::Integer(integer),
                ValueRef::Real(real) => Value::Real(function(real)),
                _ => Value::Null,
            })
        })?;
    }
    type Binary = fn(f64, f64) -> f64;
    let binary: [(&str, Binary); 5] = [
        ("atan2", f64::atan2),
        ("log", |base, x| x.ln() / base.ln()),
        ("mod", |x, y| x % y),
        ("pow", f64::powf),
        ("power", f64::powf),
    ];
    for (name, function) in binary {
        scalar(connection, name, 2, move |c: &Context<'_>| {
            let arguments = number(c.get_raw(0)).zip(number(c.get_raw(1)));
            Ok(arguments.and_then(|(x, y)| defined(function(x, y))))
        })?;
    }
    scalar(connection, "pi", 0, |_: &Context<'_>| {
        Ok(std::f64::consts::PI)
    })
}

fn number(value: ValueRef<'_>) -> Option<f64> {
    match value {
        ValueRef::Integer(integer) => Some(integer as f64),
        ValueRef::Real(real) => Some(real),
        _ => None,
    }
}

/// Outside its domain a function returns null, as in SQLite.
fn defined(result: f64) -> Option<f64> {
    (!result.is_nan()).then_some(result)
}

fn statistics(connection: &Connection) -> rusqlite::Result<()> {
    connection.create_aggregate_function("median", 1, PURE, Percentile { fixed: Some(50.0) })?;
    connection.create_aggregate_function("percentile", 2, PURE, Percentile { fixed: None })?;
    connection.create_aggregate_function("variance", 1, PURE, Spread { root: false })?;
    connection.create_aggregate_function("stddev", 1, PURE, Spread { root: true })
}

/// `median(x)` and `percentile(x, p)` with p from 0 to 100, interpolated between neighbours as
/// SQLite's percentile extension does.
struct Percentile {
    fixed: Option<f64>,
}

#[derive(Default)]
struct CollectedValues {
    values: Vec<f64>,
    rank: Option<f64>,
    held: Held,
}

impl CollectedValues {
    fn push(&mut self, value: f64) -> rusqlite::Result<()> {
        let Self { values, held, .. } = self;
        if values.len() >= MAX_COLLECTED {
            return Err(wrong(format!(
                "median and percentile take {MAX_COLLECTED} values"
            )));
        }
        if values.len() == values.capacity() {
            let room = (2 * values.len()).max(64);
            held.hold(room * size_of::<f64>())?;
            values.reserve_exact(room - values.len());
        }
        values.push(value);
        Ok(())
    }
}

impl Aggregate<CollectedValues, Option<f64>> for Percentile {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<CollectedValues> {
        Ok(CollectedValues {
            rank: self.fixed,
            ..CollectedValues::default()
        })
    }

    fn step(
        &self,
        context: &mut Context<'_>,
        collected: &mut CollectedValues,
    ) -> rusqlite::Result<()> {
        read_arguments(context)?;
        if self.fixed.is_none() {
            let rank = number(context.get_raw(1)).filter(|p| (0.0..=100.0).contains(p));
            let rank =
                rank.ok_or_else(|| wrong("percentile(x, p): p is a number from 0 to 100"))?;
            if *collected.rank.get_or_insert(rank) != rank {
                return Err(wrong("percentile(x, p): p is the same in all rows"));
            }
        }
        match number(context.get_raw(0)).and_then(defined) {
            Some(value) => collected.push(value),
            None => Ok(()),
        }
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        collected: Option<CollectedValues>,
    ) -> rusqlite::Result<Option<f64>> {
        let CollectedValues {
            mut values, rank, ..
        } = collected.unwrap_or_default();
        let (Some(rank), Some(last)) = (rank, values.len().checked_sub(1)) else {
            return Ok(None);
        };
        let position = rank / 100.0 * last as f64;
        let (lower, fraction) = (position.floor() as usize, position.fract());
        let (_, below, above) = values.select_nth_unstable_by(lower, f64::total_cmp);
        let below = *below;
        let next = above
            .iter()
            .copied()
            .min_by(f64::total_cmp)
            .unwrap_or(below);
        Ok(Some(below + (next - below) * fraction))
    }
}

/// `variance(x)` and `stddev(x)` of a sample (n − 1), by Welford's method; null below two values.
struct Spread {
    root: bool,
}

#[derive(Default)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Aggregate<Moments, Option<f64>> for Spread {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Moments> {
        Ok(Moments::default())
    }

    fn step(&self, context: &mut Context<'_>, moments: &mut Moments) -> rusqlite::Result<()> {
        read_arguments(context)?;
        if let Some(value) = number(context.get_raw(0)) {
            moments.count += 1.0;
            let before = value - moments.mean;
            moments.mean += before / moments.count;
            moments.squares += before * (value - moments.mean);
        }
        Ok(())
    }

    fn finalize(
        &self,
        _: &mut Context<'_>,
        moments: Option<Moments>,
    ) -> rusqlite::Result<Option<f64>> {
        let Moments { count, squares, .. } = moments.unwrap_or_default();
        if count < 2.0 {
            return Ok(None);
        }
        let variance = squares / (count - 1.0);
        Ok(defined(if self.root { variance.sqrt() } else { variance }))
    }
}

/// `text REGEXP pattern`, which SQLite turns into `regexp(pattern, text)`.
fn regexp(connection: &Connection, budget: &Arc<QueryBudget>) -> rusqlite::Result<()> {
    let budget = Arc::clone(budget);
    scalar(connection, "regexp", 2, move |context: &Context<'_>| {
        let Some(text) = text_functions::bytes_of(context.get_raw(1)) else {
            return Ok(None);
        };
        if matches!(context.get_raw(0), ValueRef::Null) {
            return Ok(None);
        }
        budget.charge(text.len())?;
        let compiled: Arc<CompiledRegex> = context.get_or_create_aux(0, compile_regex)?;
        Ok(Some(compiled.regex.is_match(&text)))
    })
}

/// A compiled pattern that SQLite keeps for all rows.
struct CompiledRegex {
    regex: Regex,
    _held: Held,
}

fn compile_regex(pattern: ValueRef<'_>) -> rusqlite::Result<CompiledRegex> {
    let pattern = pattern
        .as_str()
        .map_err(|_| wrong("REGEXP takes its pattern as text"))?;
    if pattern.len() > PATTERN_BYTES {
        return Err(wrong(format!(
            "a REGEXP pattern has at most {PATTERN_BYTES} bytes"
        )));
    }
    let mut held = Held::default();
    held.hold(REGEX_HELD)?;
    let regex = RegexBuilder::new(pattern)
        .size_limit(REGEX_BYTES)
        .dfa_size_limit(REGEX_CACHE_BYTES)
        .build()
        .map_err(|e| wrong(format!("REGEXP pattern: {e}")))?;
    Ok(CompiledRegex { regex, _held: held })
}

/// `page_text_slice(page_id, version, start, length)`: characters of a page's text, however long the
/// text is; `start` counts from 0. A query cannot read a text above the length limit directly.
///
/// It reads through a separate connection and statement, which are not bound by the limit. A version of
/// a page never changes, so it does not matter that this connection may see a later state of the file.
fn page_text_slice(
    connection: &Connection,
    budget: &Arc<QueryBudget>,
    database: &DatabaseFile,
) -> rusqlite::Result<()> {
    let texts = PageTexts {
        database: database.clone(),
        reading: Mutex::new(None),
    };
    let budget = Arc::clone(budget);
    scalar(
        connection,
        "page_text_slice",
        4,
        move |context: &Context<'_>| {
            let (ValueRef::Text(page_id), ValueRef::Integer(version)) =
                (context.get_raw(0), context.get_raw(1))
            else {
                return Ok(None);
            };
            let (ValueRef::Integer(start), ValueRef::Integer(length)) =
                (context.get_raw(2), context.get_raw(3))
            else {
                return Err(wrong(
                    "page_text_slice(page_id, version, start, length): integers",
                ));
            };
            if start < 0 || !(0..=SLICE_CHARACTERS).contains(&length) {
                return Err(wrong(format!(
                    "page_text_slice: start is 0 or more, length is 0 to {SLICE_CHARACTERS}"
                )));
            }
            if budget.is_late() {
                return Err(interrupted());
            }
            texts.slice(&String::from_utf8_lossy(page_id), version, start, length)
        },
    )
}

/// The separate connection of `page_text_slice`, opened at the first call.
struct PageTexts {
    database: DatabaseFile,
    reading: Mutex<Option<ReadConnection>>,
}

impl PageTexts {
    fn slice(
        &self,
        page_id: &str,
        version: i64,
        start: i64,
        length: i64,
    ) -> rusqlite::Result<Option<String>> {
        let mut guard = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.as_ref().is_none_or(|reading| !reading.stamp.holds()) {
            let opened = self.database.open().map_err(|e| wrong(e.message()))?;
            opened.connection.busy_timeout(BUSY_TIMEOUT)?;
            *guard = Some(opened);
        }
        let Some(reading) = guard.as_ref() else {
            return Ok(None);
        };
        reading
            .connection
            .prepare_cached(
                "SELECT substr(text, ?3 + 1, ?4) FROM page_texts WHERE page_id = ?1 AND version = ?2",
            )?
            .query_row((page_id, version, start, length), |row| {
                heap::read_value(|| row.get(0))
            })
            .optional()
    }
}
