//! Replacements for SQLite's text functions that take quadratic time: these are linear and check the
//! deadline. One call of SQLite's functions on 250 kB runs for seconds, and nothing can stop SQLite
//! inside a function.

use super::budget::{QueryBudget, interrupted};
use super::heap::Held;
use super::like::LikePattern;
use super::limits::{PATTERN_BYTES, VALUE_BYTES};
use super::scalar::{scalar, wrong};
use rusqlite::functions::Context;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result, ffi};
use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// Replaces the functions on a connection.
pub(super) fn register(connection: &Connection, budget: &Arc<QueryBudget>) -> Result<()> {
    type Function = fn(&Context<'_>, &QueryBudget) -> Result<Value>;
    let functions: [(&str, i32, Function); 10] = [
        ("instr", 2, instr),
        ("replace", 3, replace),
        ("trim", 2, |c, _| trim(c, true, true)),
        ("ltrim", 2, |c, _| trim(c, true, false)),
        ("rtrim", 2, |c, _| trim(c, false, true)),
        ("unhex", 2, unhex),
        ("json_patch", 2, json_patch),
        ("like", 2, like),
        ("like", 3, like),
        ("glob", 2, glob),
    ];
    for (name, arguments, function) in functions {
        let budget = Arc::clone(budget);
        scalar(connection, name, arguments, move |context: &Context<'_>| {
            let work = (0..context.len())
                .map(|i| size_of_value(context.get_raw(i)))
                .sum();
            budget.charge(work)?;
            function(context, &budget)
        })?;
    }
    Ok(())
}

fn size_of_value(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len(),
        _ => 8,
    }
}

/// A value as text, as SQLite converts it; none for null.
pub(super) fn bytes_of(value: ValueRef<'_>) -> Option<Cow<'_, [u8]>> {
    match value {
        ValueRef::Null => None,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(Cow::Borrowed(bytes)),
        ValueRef::Integer(integer) => Some(Cow::Owned(integer.to_string().into_bytes())),
        ValueRef::Real(real) => Some(Cow::Owned(real_text(real).into_bytes())),
    }
}

/// A real number as SQLite writes it: with a point, and with the fewest digits that identify it. (SQLite
/// itself occasionally writes one digit more than necessary.)
fn real_text(real: f64) -> String {
    if real.is_infinite() {
        return if real > 0.0 {
            "Inf".into()
        } else {
            "-Inf".into()
        };
    }
    if real == 0.0 {
        return "0.0".into();
    }
    let scientific = format!("{:e}", real.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let sign = if real < 0.0 { "-" } else { "" };
    let or_zero = |text: &str| {
        if text.is_empty() {
            "0".to_owned()
        } else {
            text.to_owned()
        }
    };
    if !(-4..17).contains(&exponent) {
        let (head, tail) = digits.split_at(1);
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!(
            "{sign}{head}.{}e{exponent_sign}{:02}",
            or_zero(tail),
            exponent.abs()
        );
    }
    let Ok(whole) = usize::try_from(exponent + 1) else {
        return format!(
            "{sign}0.{}{digits}",
            "0".repeat(exponent.unsigned_abs() as usize - 1)
        );
    };
    if whole == 0 {
        return format!("{sign}0.{digits}");
    }
    let padded = format!("{digits:0<whole$}");
    let (head, tail) = padded.split_at(whole);
    format!("{sign}{head}.{}", or_zero(tail))
}

fn text_value(bytes: Vec<u8>) -> Value {
    Value::Text(
        String::from_utf8(bytes)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()),
    )
}

/// Finds bytes in linear time. The standard library does so for text, so invalid UTF-8 is searched with
/// each byte as one character.
fn find_all(haystack: &[u8], needle: &[u8], at_most: usize) -> Vec<usize> {
    match (std::str::from_utf8(haystack), std::str::from_utf8(needle)) {
        (Ok(haystack), Ok(needle)) => haystack
            .match_indices(needle)
            .map(|(index, _)| index)
            .take(at_most)
            .collect(),
        _ => {
            let needle = widen(needle);
            let text = widen(haystack);
            // A widened character takes one byte below 0x80 and two from there on.
            let mut narrow = 0;
            let mut wide = 0;
            text.match_indices(&needle)
                .take(at_most)
                .map(|(index, _)| {
                    narrow += text[wide..index].chars().count();
                    wide = index;
                    narrow
                })
                .collect()
        }
    }
}

fn widen(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn instr(context: &Context<'_>, _: &QueryBudget) -> Result<Value> {
    let (haystack, needle) = (context.get_raw(0), context.get_raw(1));
    let by_bytes = matches!((haystack, needle), (ValueRef::Blob(_), ValueRef::Blob(_)));
    let (Some(haystack), Some(needle)) = (bytes_of(haystack), bytes_of(needle)) else {
        return Ok(Value::Null);
    };
    if needle.is_empty() {
        return Ok(Value::Integer(1));
    }
    let Some(index) = find_all(&haystack, &needle, 1).first().copied() else {
        return Ok(Value::Integer(0));
    };
    let before = if by_bytes {
        index
    } else {
        haystack[..index]
            .iter()
            .filter(|b| **b & 0xC0 != 0x80)
            .count()
    };
    Ok(Value::Integer(before as i64 + 1))
}

fn replace(context: &Context<'_>, _: &QueryBudget) -> Result<Value> {
    let (Some(text), Some(from)) = (bytes_of(context.get_raw(0)), bytes_of(context.get_raw(1)))
    else {
        return Ok(Value::Null);
    };
    if from.is_empty() {
        return Ok(text_value(text.into_owned()));
    }
    let Some(to) = bytes_of(context.get_raw(2)) else {
        return Ok(Value::Null);
    };
    let found = find_all(&text, &from, usize::MAX);
    if text.len() - found.len() * from.len() + found.len() * to.len() > VALUE_BYTES {
        return Err(too_big());
    }
    let mut replaced = Vec::with_capacity(text.len());
    let mut position = 0;
    for index in found {
        replaced.extend_from_slice(&text[position..index]);
        replaced.extend_from_slice(&to);
        position = index + from.len();
    }
    replaced.extend_from_slice(&text[position..]);
    Ok(text_value(replaced))
}

/// SQLite's error for a value above its length limit. It has no message, because a message would change
/// the code to that of a general error.
fn too_big() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_TOOBIG), None)
}

fn trim(context: &Context<'_>, left: bool, right: bool) -> Result<Value> {
    let (Some(text), Some(set)) = (bytes_of(context.get_raw(0)), bytes_of(context.get_raw(1)))
    else {
        return Ok(Value::Null);
    };
    let text = String::from_utf8_lossy(&text);
    let set: HashSet<char> = String::from_utf8_lossy(&set).chars().collect();
    let in_set = |c: char| set.contains(&c);
    let mut trimmed: &str = &text;
    if left {
        trimmed = trimmed.trim_start_matches(in_set);
    }
    if right {
        trimmed = trimmed.trim_end_matches(in_set);
    }
    Ok(Value::Text(trimmed.to_owned()))
}

/// `unhex(x, ignored)`: null unless the text consists of hexadecimal pairs with ignored characters
/// between them.
fn unhex(context: &Context<'_>, _: &QueryBudget) -> Result<Value> {
    let (Some(text), Some(ignored)) = (bytes_of(context.get_raw(0)), bytes_of(context.get_raw(1)))
    else {
        return Ok(Value::Null);
    };
    let text = String::from_utf8_lossy(&text);
    let ignored: HashSet<char> = String::from_utf8_lossy(&ignored).chars().collect();
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let high = character.to_digit(16);
        match (high, ignored.contains(&character)) {
            (Some(high), _) => match characters.next().and_then(|c| c.to_digit(16)) {
                Some(low) => bytes.push((high * 16 + low) as u8),
                None => return Ok(Value::Null),
            },
            (None, true) => {}
            (None, false) => return Ok(Value::Null),
        }
    }
    Ok(Value::Blob(bytes))
}

/// RFC 7396 over plain JSON; unlike SQLite's function it does not accept JSON5 and JSONB.
fn json_patch(context: &Context<'_>, _: &QueryBudget) -> Result<Value> {
    let (Some(target), Some(patch)) = (bytes_of(context.get_raw(0)), bytes_of(context.get_raw(1)))
    else {
        return Ok(Value::Null);
    };
    let parse = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|_| wrong("malformed JSON"));
    let mut target = parse(&target)?;
    merge(&mut target, parse(&patch)?);
    Ok(Value::Text(target.to_string()))
}

fn merge(target: &mut serde_json::Value, patch: serde_json::Value) {
    let serde_json::Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = serde_json::Value::Object(serde_json::Map::new());
    }
    let Some(object) = target.as_object_mut() else {
        return;
    };
    let mut removed = HashSet::new();
    for (key, value) in patch {
        if value.is_null() {
            removed.insert(key);
        } else {
            merge(object.entry(key).or_insert(serde_json::Value::Null), value);
        }
    }
    // One pass for all keys: removing them one by one would move the rest each time.
    object.retain(|key, _| !removed.contains(key));
}

fn like(context: &Context<'_>, budget: &QueryBudget) -> Result<Value> {
    let escape = match context.len() {
        3 => match bytes_of(context.get_raw(2)) {
            Some(escape) => Some(single_character(&escape)?),
            None => return Ok(Value::Null),
        },
        _ => None,
    };
    run_pattern(context, budget, escape, LikePattern::like)
}

fn glob(context: &Context<'_>, budget: &QueryBudget) -> Result<Value> {
    run_pattern(context, budget, None, |pattern, _| {
        LikePattern::glob(pattern)
    })
}

fn single_character(escape: &[u8]) -> Result<char> {
    let escape = String::from_utf8_lossy(escape);
    let mut characters = escape.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(character),
        _ => Err(wrong("ESCAPE expression must be a single character")),
    }
}

/// A pattern with the escape character that it was compiled for.
struct CompiledLike {
    pattern: LikePattern,
    escape: Option<char>,
    _held: Held,
}

/// Memory that is counted for a compiled pattern: at most one token per byte, with the ranges of its
/// classes.
const PATTERN_HELD: usize = 64 * PATTERN_BYTES;

fn run_pattern(
    context: &Context<'_>,
    budget: &QueryBudget,
    escape: Option<char>,
    compile: fn(&[u8], Option<char>) -> LikePattern,
) -> Result<Value> {
    let (Some(pattern), Some(text)) = (bytes_of(context.get_raw(0)), bytes_of(context.get_raw(1)))
    else {
        return Ok(Value::Null);
    };
    if pattern.len() > PATTERN_BYTES {
        return Err(wrong(format!(
            "a LIKE or GLOB pattern has at most {PATTERN_BYTES} bytes"
        )));
    }
    // SQLite keeps data of a constant argument for all rows; the escape may still differ.
    let kept = context
        .get_aux::<CompiledLike>(0)?
        .filter(|kept| kept.escape == escape);
    let compiled = match kept {
        Some(kept) => kept,
        None => {
            let mut held = Held::default();
            held.hold(PATTERN_HELD)?;
            let compiled = CompiledLike {
                pattern: compile(&pattern, escape),
                escape,
                _held: held,
            };
            context.set_aux(0, compiled)?
        }
    };
    match compiled.pattern.matches(&text, || budget.is_late()) {
        Ok(matched) => Ok(Value::Integer(i64::from(matched))),
        Err(_) => Err(interrupted()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bare() -> Connection {
        #[allow(clippy::disallowed_methods, reason = "a bare SQLite to compare with")]
        Connection::open_in_memory().unwrap()
    }

    fn ours() -> Connection {
        let connection = bare();
        register(&connection, &Arc::new(QueryBudget::new())).unwrap();
        connection
    }

    #[test]
    fn bytes_are_found_whether_or_not_they_are_text() {
        for (haystack, needle, expected) in [
            (&b"abcabc"[..], &b"bc"[..], vec![1, 4]),
            ("é糖é".as_bytes(), "é".as_bytes(), vec![0, 5]),
            (b"\xFFa\xFFa", b"a", vec![1, 3]),
            (b"aaaa", b"aa", vec![0, 2]),
            (b"a", b"b", vec![]),
        ] {
            assert_eq!(
                find_all(haystack, needle, usize::MAX),
                expected,
                "{haystack:?}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3_000))]

        #[test]
        fn reals_are_written_as_sqlite_writes_them(real in any::<f64>(), small in -1e6..1e6_f64) {
            thread_local! { static BARE: Connection = bare(); }
            if real.is_finite() {
                prop_assert_eq!(real_text(real).parse::<f64>(), Ok(real));
            }
            for real in [(small * 100.0).round() / 100.0, small.round(), small.round() * 1e14] {
                let theirs: String = BARE
                    .with(|c| c.query_row("SELECT CAST(?1 AS TEXT)", [real], |r| r.get(0)))
                    .unwrap();
                prop_assert_eq!(real_text(real), theirs);
            }
        }

        #[test]
        fn replaced_functions_answer_as_sqlites_do(
            a in "[abé糖 ]{0,8}|[0-9]{1,4}",
            b in "[abé糖 ]{0,3}|[0-9]{1,2}",
            c in "[xé]{0,2}",
            number in -999..999_i64,
        ) {
            thread_local! { static BOTH: (Connection, Connection) = (bare(), ours()); }
            for sql in [
                "SELECT instr(?1, ?2)",
                "SELECT instr(CAST(?1 AS BLOB), CAST(?2 AS BLOB))",
                "SELECT instr(?4, ?2)",
                "SELECT replace(?1, ?2, ?3)",
                "SELECT replace(?4 / 8.0, ?2, ?3)",
                "SELECT trim(?1, ?2) || '|' || ltrim(?1, ?2) || '|' || rtrim(?1, ?2)",
                "SELECT hex(unhex(hex(?1) || ?3, ?3))",
                "SELECT unhex(?1, ?2)",
                "SELECT json_patch(json_object(?1, 1, 'k', json_object('x', ?4)), json_object(?2, NULL, 'k', json_object('y', ?3)))",
                "SELECT ?4 LIKE ?2 || '%'",
                "SELECT ?1 GLOB '*' || ?2",
            ] {
                let ask = |c0: &Connection| -> rusqlite::Result<Value> {
                    c0.query_row(
                        &format!("SELECT x FROM (SELECT ({sql}) AS x, ?1, ?2, ?3, ?4)"),
                        rusqlite::params![a, b, c, number],
                        |row| row.get(0),
                    )
                };
                let (theirs, ours) = BOTH.with(|(bare, ours)| (ask(bare), ask(ours)));
                prop_assert_eq!(ours.unwrap(), theirs.unwrap(), "{}", sql);
            }
        }
    }
}
