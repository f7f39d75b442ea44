//! One line of the format: JSON text → the cells of a row, each checked against its field.

use super::fields::{Absent, Field, Kind, MAX_CELL_BYTES, TABLES, Table};
use super::json::{Entries, Json, SHOWN, shown};
use super::vector;
use crate::clock::{format_ms, parse_ms};
use crate::store::text::names::nearest;
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use std::borrow::Cow;

/// A value to be stored in a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell<'a> {
    Null,
    Int(i64),
    Real(f64),
    Text(Cow<'a, str>),
    Blob(Vec<u8>),
}

/// A well-formed line: one cell for each field of its table.
#[derive(Debug)]
pub(super) struct LineRow<'a> {
    pub(super) table: &'static Table,
    pub(super) cells: Vec<Cell<'a>>,
    /// Bit n: the line gives field n, so its default is not used.
    pub(super) given: u32,
}

/// Why a line is refused, and the id that it would have defined, if it could be read.
#[derive(Debug)]
pub(super) struct RefusedLine {
    pub(super) reason: String,
    pub(super) names: Option<(&'static Table, String)>,
}

impl RefusedLine {
    /// A refusal of a line whose id is unknown.
    pub(super) fn unnamed(reason: String) -> Self {
        Self {
            reason,
            names: None,
        }
    }
}

/// Parses a line. `now` replaces missing times.
pub(super) fn parse<'a>(line: &'a str, now: &'a str) -> Result<LineRow<'a>, RefusedLine> {
    let Entries(entries) =
        serde_json::from_str(line).map_err(|e| RefusedLine::unnamed(json_problem(line, &e)))?;
    let table = table_of(&entries).map_err(RefusedLine::unnamed)?;
    let key = table.key[0];
    let names = |entries: &[(Cow<'a, str>, Json<'a>)]| {
        entries.iter().find_map(|(name, value)| match value {
            Json::Text(id) if name == key => Some((table, id.clone().into_owned())),
            _ => None,
        })
    };
    let defined = if table.key.len() == 1 {
        names(&entries)
    } else {
        None
    };
    fill(table, entries, now).map_err(|reason| RefusedLine {
        reason,
        names: defined,
    })
}

fn fill<'a>(
    table: &'static Table,
    entries: Vec<(Cow<'a, str>, Json<'a>)>,
    now: &'a str,
) -> Result<LineRow<'a>, String> {
    let mut cells: Vec<Cell<'a>> = vec![Cell::Null; table.fields.len()];
    let (mut seen, mut given) = (0_u32, 0_u32);
    for (name, value) in entries {
        if name == "type" {
            continue;
        }
        let place = table
            .position(&name)
            .ok_or_else(|| unknown_field(table, &name))?;
        if seen & (1 << place) != 0 {
            return Err(format!("field {name:?} appears twice"));
        }
        seen |= 1 << place;
        if !matches!(value, Json::Null) {
            cells[place] = cell(&table.fields[place], value)
                .map_err(|reason| format!("field {name:?}: {reason}"))?;
            given |= 1 << place;
        }
    }
    for (place, field) in table.fields.iter().enumerate() {
        if given & (1 << place) != 0 {
            continue;
        }
        cells[place] = match field.absent {
            Absent::Refused => {
                let what = if seen & (1 << place) == 0 {
                    "is missing"
                } else {
                    "is null"
                };
                return Err(format!(
                    "field {:?} {what}; a {} needs it",
                    field.name, table.tag
                ));
            }
            Absent::Null => Cell::Null,
            Absent::Now => Cell::Text(Cow::Borrowed(now)),
            Absent::Int(number) => Cell::Int(number),
            Absent::Text(text) => Cell::Text(Cow::Borrowed(text)),
        };
    }
    Ok(LineRow {
        table,
        cells,
        given,
    })
}

fn table_of(entries: &[(Cow<'_, str>, Json<'_>)]) -> Result<&'static Table, String> {
    let mut types = entries.iter().filter(|(name, _)| name == "type");
    let tags = || TABLES.iter().map(|t| t.tag);
    let all = || tags().collect::<Vec<_>>().join(", ");
    let tag = match (types.next(), types.next()) {
        (Some((_, Json::Text(tag))), None) => tag,
        (Some(_), Some(_)) => return Err("field \"type\" appears twice".to_owned()),
        (Some((_, other)), None) => {
            return Err(format!(
                "field \"type\": expected a string, found {}",
                other.what()
            ));
        }
        (None, _) => {
            return Err(format!("field \"type\" is missing; it is one of {}", all()));
        }
    };
    Table::of_tag(tag).ok_or_else(|| {
        let near = nearest(tag, tags())
            .first()
            .map(|n| format!("; did you mean {n:?}?"));
        format!(
            "field \"type\": {} is not one of {}{}",
            shown(tag),
            all(),
            near.unwrap_or_default()
        )
    })
}

fn unknown_field(table: &Table, name: &str) -> String {
    let names = || {
        table
            .fields
            .iter()
            .flat_map(|f| f.aliases.iter().chain([&f.name]))
            .copied()
    };
    match nearest(name, names()).first() {
        Some(near) => format!("unknown field {}; did you mean {near:?}?", shown(name)),
        None => format!(
            "unknown field {}; a {} has {}",
            shown(name),
            table.tag,
            table.columns()
        ),
    }
}

/// The value in the form in which the column stores it.
fn cell<'a>(field: &Field, value: Json<'a>) -> Result<Cell<'a>, String> {
    match field.kind {
        Kind::Id => text(value, 1024).and_then(filled),
        Kind::Text => text(value, MAX_CELL_BYTES),
        Kind::Filled => text(value, MAX_CELL_BYTES).and_then(filled),
        Kind::LongText => text(value, usize::MAX).and_then(filled),
        Kind::Time => match value {
            Json::Text(t) => time(&t).map(|t| Cell::Text(Cow::Owned(t))),
            other => Err(format!("expected a time, found {}", other.what())),
        },
        Kind::Int(low, high) => whole(&value, low, high),
        Kind::Unit => match value.number() {
            Some(n) if (0.0..=1.0).contains(&n) => Ok(Cell::Real(n)),
            Some(n) => Err(format!("{n} is not from 0 to 1")),
            None => Err(format!(
                "expected a number from 0 to 1, found {}",
                value.what()
            )),
        },
        Kind::Flag => match value {
            Json::Bool(flag) => Ok(Cell::Int(i64::from(flag))),
            Json::Int(flag @ (0 | 1)) => Ok(Cell::Int(flag)),
            other => Err(format!("expected true or false, found {}", other.what())),
        },
        Kind::OneOf(check) => match value {
            Json::Text(t) => match check(&t) {
                Ok(()) => Ok(Cell::Text(t)),
                Err(e) if t.len() <= SHOWN => Err(e.message().to_owned()),
                Err(_) => Err(format!("{} is not one of the known values", shown(&t))),
            },
            other => Err(format!("expected a string, found {}", other.what())),
        },
        Kind::JsonObject => json_text(value, "object", serde_json::Value::is_object),
        Kind::JsonArray => json_text(value, "array", serde_json::Value::is_array),
        Kind::Vector => vector::from_json(value).map(Cell::Blob),
    }
}

fn text(value: Json<'_>, longest: usize) -> Result<Cell<'_>, String> {
    let Json::Text(text) = value else {
        return Err(format!("expected a string, found {}", value.what()));
    };
    if text.len() > longest {
        return Err(format!(
            "{} bytes long; at most {longest} are kept",
            text.len()
        ));
    }
    // SQLite's substr() and length() stop at NUL, which would break every offset after it.
    if text.contains('\0') {
        return Err("holds the character U+0000, which SQLite cannot count past".to_owned());
    }
    Ok(Cell::Text(text))
}

fn filled(cell: Cell<'_>) -> Result<Cell<'_>, String> {
    match cell.as_text() {
        Some(text) if text.trim().is_empty() => Err("is empty".to_owned()),
        _ => Ok(cell),
    }
}

fn whole(value: &Json<'_>, low: i64, high: i64) -> Result<Cell<'static>, String> {
    let number = match *value {
        Json::Int(n) => n,
        // Data frames write integer columns as 2020.0; beyond 2^53 a float does not identify a single
        // integer.
        #[allow(clippy::cast_possible_truncation, reason = "whole, and within 2^53")]
        Json::Float(n) if n.fract() == 0.0 && n.abs() <= 9_007_199_254_740_992.0 => n as i64,
        Json::Float(n) => return Err(format!("expected a whole number, found {n}")),
        ref other => return Err(format!("expected a whole number, found {}", other.what())),
    };
    if (low..=high).contains(&number) {
        return Ok(Cell::Int(number));
    }
    Err(if high == i64::MAX {
        format!("{number} is below {low}")
    } else {
        format!("{number} is not from {low} to {high}")
    })
}

fn json_text<'a>(
    value: Json<'a>,
    wanted: &str,
    fits: fn(&serde_json::Value) -> bool,
) -> Result<Cell<'a>, String> {
    let text = match value {
        Json::Text(text) => match serde_json::from_str(&text) {
            Ok(parsed) if fits(&parsed) => text,
            Ok(_) => return Err(format!("expected a JSON {wanted}, found other JSON")),
            Err(e) => return Err(format!("expected a JSON {wanted} in the string: {e}")),
        },
        Json::Nested(parsed) if fits(&parsed) => Cow::Owned(parsed.to_string()),
        Json::Numbers(empty) if empty.is_empty() && wanted == "array" => Cow::Borrowed("[]"),
        other => return Err(format!("expected a JSON {wanted}, found {}", other.what())),
    };
    self::text(Json::Text(text), MAX_CELL_BYTES)
}

/// RFC 3339 with any offset, or SQLite's date and time format, which is in UTC.
fn time(text: &str) -> Result<String, String> {
    let civil = || {
        let civil: jiff::civil::DateTime = text.parse().ok()?;
        let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(zoned.timestamp().as_millisecond())
    };
    parse_ms(text)
        .or_else(civil)
        .map(format_ms)
        // A year before 0 has a different form, which does not sort as text.
        .filter(|t| t.starts_with(|c: char| c.is_ascii_digit()))
        .ok_or_else(|| {
            format!(
                "{} is not a time; expected one like \"2026-03-01T12:00:00Z\"",
                shown(text)
            )
        })
}

fn json_problem(line: &str, error: &serde_json::Error) -> String {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    if error.is_data() {
        return message.to_owned();
    }
    let before = line
        .as_bytes()
        .iter()
        .take(error.column().saturating_sub(1));
    let column = before.filter(|b| **b & 0xC0 != 0x80).count() + 1;
    format!("column {column}: not JSON: {message}")
}

impl<'a> LineRow<'a> {
    fn place(&self, name: &str) -> Option<usize> {
        self.table.fields.iter().position(|f| f.name == name)
    }

    /// The cell of a column of this table.
    pub(super) fn get(&self, name: &str) -> &Cell<'a> {
        self.place(name)
            .map_or(&Cell::Null, |place| &self.cells[place])
    }

    /// The text of a column; "" if it has none.
    pub(super) fn text(&self, name: &str) -> &str {
        self.get(name).as_text().unwrap_or_default()
    }

    /// The whole number of a column, if there is one.
    pub(super) fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Cell::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// Sets a column to a value computed from the others.
    pub(super) fn set(&mut self, name: &str, cell: Cell<'a>) {
        if let Some(place) = self.place(name) {
            self.cells[place] = cell;
        }
    }

    /// Whether the line itself gives field number `place`.
    pub(super) fn gives(&self, place: usize) -> bool {
        self.given & (1 << place) != 0
    }

    /// Marks the field as given, for values that were computed and are not defaults.
    pub(super) fn mark_given(&mut self, name: &str) {
        if let Some(place) = self.place(name) {
            self.given |= 1 << place;
        }
    }

    /// The table and the id of a row that others may refer to.
    pub(super) fn single_key(&self) -> Option<(&'static Table, String)> {
        let [key] = self.table.key else { return None };
        let id = self.get(key).as_text()?;
        Some((self.table, id.to_owned()))
    }

    /// The name of the row in messages: `claim "c1"`.
    pub(super) fn label(&self) -> String {
        let key: Vec<String> = self
            .table
            .key
            .iter()
            .map(|k| match self.get(k) {
                Cell::Text(t) => shown(t),
                Cell::Int(n) => n.to_string(),
                _ => "?".to_owned(),
            })
            .collect();
        format!("{} {}", self.table.tag, key.join(" "))
    }
}

impl Cell<'_> {
    /// The text, if the cell is text.
    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a stored value is equal.
    pub(super) fn equals(&self, stored: ValueRef<'_>) -> bool {
        match (self, stored) {
            (Self::Null, ValueRef::Null) => true,
            (Self::Int(a), ValueRef::Integer(b)) => *a == b,
            #[allow(clippy::float_cmp, reason = "the same number, not a near one")]
            (Self::Real(a), ValueRef::Real(b)) => *a == b,
            (Self::Text(a), ValueRef::Text(b)) => a.as_bytes() == b,
            (Self::Blob(a), ValueRef::Blob(b)) => a == b,
            _ => false,
        }
    }

    /// Whether this value is greater than a stored number or text.
    pub(super) fn exceeds(&self, stored: ValueRef<'_>) -> bool {
        match (self, stored) {
            (Self::Int(a), ValueRef::Integer(b)) => *a > b,
            (Self::Text(a), ValueRef::Text(b)) => a.as_bytes() > b,
            _ => false,
        }
    }
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(n) => ValueRef::Integer(*n),
            Self::Real(n) => ValueRef::Real(*n),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}
