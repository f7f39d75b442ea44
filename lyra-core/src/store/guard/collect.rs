//! Converts SQLite's rows to the reply: names, JSON values, and the limits on rows and bytes.
//!
//! The worker packs cells into two buffers, and the caller's thread creates the JSON objects from them:
//! hundreds of small allocations that one thread makes and another one frees cost more than all the rest
//! of the guard.

use super::heap::{self, Held};
use super::hint::rejected;
use super::request::{SqlOptions, SqlReply};
use crate::error::Result;
use crate::store::text::hash::hex;
use rusqlite::types::ValueRef;
use serde_json::{Map, Number, Value};
use std::collections::HashSet;
use std::fmt::{self, Write as _};

/// Marks the end of a truncated cell.
const CUT: &str = "…";

/// Initial capacity in rows, and in bytes of text.
const FIRST_ROWS: usize = 64;
const FIRST_TEXT: usize = 8 * 1024;

/// An error while rows are read: one of SQLite, or one of ours.
pub(super) enum CollectError {
    Sqlite(rusqlite::Error),
    Ours(crate::Error),
}

/// One value of a reply.
#[derive(Debug, Clone, Copy)]
enum ReplyCell {
    Null,
    Integer(i64),
    /// Finite.
    Real(f64),
    /// Length of a text in the text buffer, after the texts of the cells before it.
    Text(usize),
}

/// Rows for the reply, as many as fit.
#[derive(Debug, Default)]
pub(super) struct Collected {
    columns: Vec<String>,
    rows: usize,
    /// The cells of all rows, row after row.
    cells: Vec<ReplyCell>,
    /// The texts of all cells, one after another.
    text: String,
    truncated: bool,
    /// Whether the rows are the output of EXPLAIN.
    is_program: bool,
}

/// Reads rows until there are no more, or the reply is full. Never requests more than one row above the
/// limit. `is_program` says that the rows are the output of EXPLAIN.
pub(super) fn collect(
    rows: &mut rusqlite::Rows<'_>,
    columns: Vec<String>,
    is_program: bool,
    options: &SqlOptions,
) -> Result<Collected, CollectError> {
    let key_bytes: usize = columns.iter().map(|c| string_bytes(c) + 2).sum();
    // `columns`, its brackets and those of `rows`.
    let mut bytes = key_bytes + 4;
    if bytes > options.max_bytes {
        return Err(CollectError::Ours(names_too_long(bytes, options.max_bytes)));
    }
    let mut collected = Collected {
        cells: Vec::with_capacity(columns.len() * options.limit.min(FIRST_ROWS)),
        text: String::with_capacity(FIRST_TEXT.min(options.max_bytes)),
        columns,
        is_program,
        ..Collected::default()
    };
    let mut held = Held::default();
    let mut to_skip = options.offset;
    while let Some(row) = rows.next().map_err(CollectError::Sqlite)? {
        if to_skip > 0 {
            to_skip -= 1;
            continue;
        }
        if collected.rows == options.limit {
            collected.truncated = true;
            break;
        }
        let end = (collected.cells.len(), collected.text.len());
        let mut row_bytes = collected
            .push_row(row, key_bytes, options.max_bytes, &mut held)
            .map_err(CollectError::Sqlite)?;
        if bytes + row_bytes > options.max_bytes {
            collected.truncated = true;
            if collected.rows > 0 {
                collected.cells.truncate(end.0);
                collected.text.truncate(end.1);
                break;
            }
            // A row that does not fit into any reply would stop the paging here permanently.
            row_bytes = collected
                .cut_only_row(key_bytes, options.max_bytes - bytes)
                .map_err(CollectError::Ours)?;
        }
        bytes += row_bytes;
        collected.rows += 1;
    }
    Ok(collected)
}

impl Collected {
    /// Adds a row's cells and returns its bytes. No cell is converted to more text than a reply may
    /// hold.
    fn push_row(
        &mut self,
        row: &rusqlite::Row<'_>,
        key_bytes: usize,
        max_bytes: usize,
        held: &mut Held,
    ) -> rusqlite::Result<usize> {
        let mut bytes = key_bytes + ROW_BYTES;
        for index in 0..self.columns.len() {
            let value = heap::read_value(|| row.get_ref(index))?;
            bytes += match value {
                // EXPLAIN outputs the memory address of a virtual table.
                ValueRef::Text(text) if self.is_program && text.starts_with(b"vtab:") => {
                    self.push(ValueRef::Text(b"vtab"), max_bytes)
                }
                value => self.push(value, max_bytes),
            };
            held.hold(self.text.capacity() + self.cells.capacity() * size_of::<ReplyCell>())?;
        }
        Ok(bytes)
    }

    /// Adds a cell and returns its bytes in JSON.
    fn push(&mut self, value: ValueRef<'_>, max_bytes: usize) -> usize {
        let before = self.text.len();
        match value {
            ValueRef::Integer(integer) => {
                self.cells.push(ReplyCell::Integer(integer));
                return integer_bytes(integer);
            }
            ValueRef::Real(real) if real.is_finite() => {
                self.cells.push(ReplyCell::Real(real));
                return real_bytes(real);
            }
            ValueRef::Null | ValueRef::Real(_) => {
                self.cells.push(ReplyCell::Null);
                return NULL_BYTES;
            }
            ValueRef::Text(bytes) => {
                // One byte above the limit is enough to detect that it does not fit.
                let end = bytes.len().min(max_bytes + 4);
                match std::str::from_utf8(bytes) {
                    Ok(text) => self.text.push_str(&text[..text.floor_char_boundary(end)]),
                    Err(_) => self.text.push_str(&String::from_utf8_lossy(&bytes[..end])),
                }
            }
            ValueRef::Blob(bytes) => {
                self.text
                    .push_str(&hex(&bytes[..bytes.len().min(max_bytes / 2 + 2)]));
            }
        }
        self.cells.push(ReplyCell::Text(self.text.len() - before));
        string_bytes(&self.text[before..])
    }

    /// Truncates the first row, which is not counted yet, to `max_bytes`; returns its size afterwards.
    fn cut_only_row(&mut self, key_bytes: usize, max_bytes: usize) -> crate::error::Result<usize> {
        let mut values: Vec<Value> = self.values().collect();
        let bytes = cut_to_fit(&mut values, key_bytes, max_bytes)?;
        self.text.clear();
        for (cell, value) in self.cells.iter_mut().zip(&values) {
            if let (ReplyCell::Text(length), Value::String(text)) = (cell, value) {
                *length = text.len();
                self.text.push_str(text);
            }
        }
        Ok(bytes)
    }

    /// All cells as JSON values, row after row.
    fn values(&self) -> impl Iterator<Item = Value> {
        let mut position = 0;
        self.cells.iter().map(move |cell| match *cell {
            ReplyCell::Null => Value::Null,
            ReplyCell::Integer(integer) => integer.into(),
            ReplyCell::Real(real) => Number::from_f64(real).map_or(Value::Null, Value::Number),
            ReplyCell::Text(length) => {
                let start = position;
                position += length;
                self.text[start..position].into()
            }
        })
    }

    /// The reply, without the fields that only the caller knows.
    pub(super) fn into_reply(self, offset: usize) -> SqlReply {
        let mut values = self.values();
        let rows: Vec<Map<String, Value>> = (0..self.rows)
            .map(|_| self.columns.iter().cloned().zip(&mut values).collect())
            .collect();
        drop(values);
        SqlReply {
            rows,
            row_count: self.rows,
            truncated: self.truncated,
            next_offset: self.truncated.then(|| offset + self.rows),
            columns: self.columns,
            elapsed_ms: 0,
            schema: None,
        }
    }
}

fn names_too_long(bytes: usize, max_bytes: usize) -> crate::Error {
    rejected(format!(
        "the names of the columns need {bytes} bytes and max_bytes is {max_bytes}"
    ))
    .with_hint("name the columns with AS, select fewer, or raise max_bytes")
}

/// Makes column names unique: `id`, `id_2`, `id_3`.
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

const NULL_BYTES: usize = 4;

/// The braces of a row and the comma after it.
const ROW_BYTES: usize = 3;

/// Bytes of the row as a JSON object with the comma after it.
fn row_bytes(values: &[Value], key_bytes: usize) -> usize {
    key_bytes + values.iter().map(value_bytes).sum::<usize>() + ROW_BYTES
}

fn value_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => string_bytes(text),
        other => length_of(other),
    }
}

fn real_bytes(real: f64) -> usize {
    Number::from_f64(real).map_or(NULL_BYTES, |number| length_of(&number))
}

/// Length of the displayed value in bytes.
fn length_of(shown: &impl fmt::Display) -> usize {
    struct Counter(usize);
    impl fmt::Write for Counter {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // The counter never fails.
    let _ = write!(counter, "{shown}");
    counter.0
}

fn integer_bytes(integer: i64) -> usize {
    let digits = integer
        .unsigned_abs()
        .checked_ilog10()
        .map_or(1, |log| log as usize + 1);
    digits + usize::from(integer < 0)
}

/// Whether a byte takes more than one byte in JSON. Without branches, so that the compiler can vectorize
/// it.
fn is_escaped(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Bytes of a string in JSON, quotes and escapes included.
fn string_bytes(text: &str) -> usize {
    // Most texts have nothing to escape. Pieces of a fixed size that are always processed to the end let
    // the compiler vectorize the loop.
    let (pieces, rest) = text.as_bytes().as_chunks::<32>();
    let escapes_in = |piece: &[u8; 32]| {
        let mut any = 0;
        for byte in piece {
            any |= u8::from(is_escaped(*byte));
        }
        any != 0
    };
    if !pieces.iter().any(escapes_in) && !rest.iter().any(|byte| is_escaped(*byte)) {
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

/// Truncates the longest texts of a row, at character boundaries, until it fits; returns its size
/// afterwards.
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

/// Removes at least `excess` bytes of JSON from the end of a text, or everything but the mark.
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
            let mut collected = Collected::default();
            let bytes = collected.push(value, 1_000);
            assert_eq!(bytes, expected.to_string().len(), "{value:?}");
            assert_eq!(
                collected.values().collect::<Vec<_>>(),
                [expected],
                "{value:?}"
            );
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
