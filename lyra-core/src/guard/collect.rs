//! From SQLite's rows to the reply: names, JSON values, and the bounds on rows and bytes.

use super::hint::rejected;
use super::request::SqlOptions;
use crate::error::Result;
use rusqlite::types::ValueRef;
use serde_json::{Map, Number, Value};
use std::collections::HashSet;
use std::fmt::Write as _;

/// Marks the end of a cell that was cut.
const CUT: &str = "…";

/// What can happen while rows are read: an error of SQLite, or one of ours.
pub(super) enum Failure {
    Sqlite(rusqlite::Error),
    Ours(crate::Error),
}

/// Rows for the reply, as far as they fit.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) rows: Vec<Map<String, Value>>,
    pub(super) truncated: bool,
}

/// Reads rows until there are no more, or the reply is full. At most one row more than the limit
/// is ever asked for.
pub(super) fn collect(
    rows: &mut rusqlite::Rows<'_>,
    columns: &[String],
    options: &SqlOptions,
) -> Result<Collected, Failure> {
    let key_bytes: usize = columns.iter().map(|c| string_bytes(c) + 2).sum();
    // `columns` and the brackets around it and around `rows`.
    let mut bytes = key_bytes + 4;
    if bytes > options.max_bytes {
        return Err(Failure::Ours(
            rejected(format!(
                "the names of the columns need {bytes} bytes and max_bytes is {}",
                options.max_bytes
            ))
            .with_hint("name the columns with AS, select fewer, or raise max_bytes"),
        ));
    }
    let mut collected = Collected::default();
    let mut to_skip = options.offset;
    while let Some(row) = rows.next().map_err(Failure::Sqlite)? {
        if to_skip > 0 {
            to_skip -= 1;
            continue;
        }
        if collected.rows.len() == options.limit {
            collected.truncated = true;
            break;
        }
        let mut values =
            read_row(row, columns.len(), options.max_bytes).map_err(Failure::Sqlite)?;
        let mut row_bytes = row_bytes(&values, key_bytes);
        if bytes + row_bytes > options.max_bytes {
            collected.truncated = true;
            if !collected.rows.is_empty() {
                break;
            }
            // A row that no reply could hold would end the paging here for ever.
            row_bytes = cut_to_fit(
                &mut values,
                key_bytes,
                options.max_bytes.saturating_sub(bytes),
            )
            .map_err(Failure::Ours)?;
        }
        bytes += row_bytes;
        collected
            .rows
            .push(columns.iter().cloned().zip(values).collect());
    }
    Ok(collected)
}

/// Gives every column a name of its own: `id`, `id_2`, `id_3`.
pub(super) fn unique_names(names: &[&str]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::with_capacity(names.len());
    let mut unique = Vec::with_capacity(names.len());
    for name in names {
        let mut candidate = (*name).to_owned();
        let mut number = 1;
        while taken.contains(&candidate) || (number > 1 && names.contains(&candidate.as_str())) {
            number += 1;
            candidate = format!("{name}_{number}");
        }
        taken.insert(candidate.clone());
        unique.push(candidate);
    }
    unique
}

/// Reads a row's cells. No cell is turned into more text than a reply may hold.
fn read_row(
    row: &rusqlite::Row<'_>,
    columns: usize,
    max_bytes: usize,
) -> rusqlite::Result<Vec<Value>> {
    (0..columns)
        .map(|index| Ok(to_json(row.get_ref(index)?, max_bytes)))
        .collect()
}

fn to_json(value: ValueRef<'_>, max_bytes: usize) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => integer.into(),
        ValueRef::Real(real) => Number::from_f64(real).map_or(Value::Null, Value::Number),
        ValueRef::Text(bytes) => {
            // One byte over the bound is enough to see that it does not fit.
            let end = bytes.len().min(max_bytes + 4);
            match std::str::from_utf8(bytes) {
                Ok(text) => text[..text.floor_char_boundary(end)].into(),
                Err(_) => String::from_utf8_lossy(&bytes[..end]).into_owned().into(),
            }
        }
        ValueRef::Blob(bytes) => hex(&bytes[..bytes.len().min(max_bytes / 2 + 2)]).into(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Bytes of the row as a JSON object with the comma after it.
fn row_bytes(values: &[Value], key_bytes: usize) -> usize {
    key_bytes + values.iter().map(value_bytes).sum::<usize>() + 3
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null => 4,
        Value::String(text) => string_bytes(text),
        Value::Number(number) if number.is_i64() => integer_bytes(number.as_i64().unwrap_or(0)),
        other => other.to_string().len(),
    }
}

fn integer_bytes(integer: i64) -> usize {
    let digits = integer
        .unsigned_abs()
        .checked_ilog10()
        .map_or(1, |log| log as usize + 1);
    digits + usize::from(integer < 0)
}

/// Bytes of a string in JSON, quotes and escapes included.
fn string_bytes(text: &str) -> usize {
    let is_escaped = |byte: u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    // Most texts have nothing to escape, and this loop over them takes many bytes at a time.
    let escaped = text.bytes().filter(|byte| is_escaped(*byte)).count();
    if escaped == 0 {
        return text.len() + 2;
    }
    let extra: usize = text
        .bytes()
        .filter(|byte| is_escaped(*byte))
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 1,
            _ => 5,
        })
        .sum();
    text.len() + extra + 2
}

/// Cuts the longest texts of a row, at a character, until it fits; returns its bytes then.
fn cut_to_fit(values: &mut [Value], key_bytes: usize, max_bytes: usize) -> Result<usize> {
    loop {
        let bytes = row_bytes(values, key_bytes);
        if bytes <= max_bytes {
            return Ok(bytes);
        }
        let longest = values
            .iter_mut()
            .filter_map(as_text)
            .max_by_key(|text| string_bytes(text));
        match longest {
            Some(text) if text.len() > 2 * CUT.len() => shorten(text, bytes - max_bytes),
            _ => {
                return Err(rejected(format!(
                    "one row needs {bytes} bytes and {max_bytes} are left of max_bytes"
                ))
                .with_hint("select fewer columns, give them shorter names, or raise max_bytes"));
            }
        }
    }
}

fn as_text(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Takes at least `excess` bytes of JSON off the end of a text, or all but the mark.
fn shorten(text: &mut String, excess: usize) {
    let mut removed = 0;
    let mut end = text.len();
    for (index, character) in text.char_indices().rev() {
        if removed >= excess + CUT.len() {
            break;
        }
        let mut buffer = [0; 4];
        removed += string_bytes(character.encode_utf8(&mut buffer)) - 2;
        end = index;
    }
    text.truncate(end);
    text.push_str(CUT);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_become_unique() {
        for (names, expected) in [
            (vec!["a", "b"], vec!["a", "b"]),
            (vec!["a", "a", "a"], vec!["a", "a_2", "a_3"]),
            (vec!["a", "a", "a_2"], vec!["a", "a_3", "a_2"]),
            (vec!["a_2", "a", "a"], vec!["a_2", "a", "a_3"]),
            (vec!["", ""], vec!["", "_2"]),
        ] {
            assert_eq!(unique_names(&names), expected, "{names:?}");
        }
    }

    #[test]
    fn values_become_json() {
        for (value, expected) in [
            (ValueRef::Null, Value::Null),
            (ValueRef::Integer(i64::MIN), i64::MIN.into()),
            (ValueRef::Real(0.5), 0.5.into()),
            (ValueRef::Real(f64::INFINITY), Value::Null),
            (ValueRef::Real(f64::NAN), Value::Null),
            (ValueRef::Text("糖尿病".as_bytes()), "糖尿病".into()),
            (ValueRef::Text(b"a\xFFb"), "a\u{FFFD}b".into()),
            (ValueRef::Blob(&[0, 0xAB, 255]), "00abff".into()),
        ] {
            assert_eq!(to_json(value, 1_000), expected, "{value:?}");
        }
    }

    #[test]
    fn a_row_without_text_that_does_not_fit_is_an_error() {
        let error =
            cut_to_fit(&mut [Value::from(i64::MAX), Value::from("ab")], 10, 20).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::QueryRejected);
    }

    proptest! {
        #[test]
        fn the_estimate_is_what_serde_writes(text in "\\PC{0,40}|[\\x00-\\x7f]{0,40}", n: i64, f: f64) {
            let values = vec![Value::from(text), Value::from(n), Value::from(f), Value::Null];
            for value in &values {
                prop_assert_eq!(value_bytes(value), serde_json::to_string(value).unwrap().len());
            }
            let columns = ["a", "b", "c", "d\n"];
            let key_bytes: usize = columns.iter().map(|c| string_bytes(c) + 2).sum();
            let row: Map<String, Value> =
                columns.iter().map(|c| (*c).to_owned()).zip(values.clone()).collect();
            let written = serde_json::to_string(&row).unwrap().len();
            let estimate = row_bytes(&values, key_bytes);
            prop_assert!(written <= estimate && estimate <= written + 3, "{} {}", written, estimate);
        }

        #[test]
        fn a_long_row_is_cut_at_characters_to_the_bound(
            a in "\\PC{0,300}", b in "[\\x00-\\x1f\"\\\\]{0,100}", max in 60_usize..400,
        ) {
            let mut values = vec![Value::from(a), Value::from(b)];
            let bytes = cut_to_fit(&mut values, 10, max).unwrap();
            prop_assert!(bytes <= max);
            prop_assert_eq!(bytes, row_bytes(&values, 10));
        }
    }
}
