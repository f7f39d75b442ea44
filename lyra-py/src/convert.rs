//! JSON values and replies of lyra-core → Python objects, and back.

use crate::error::{invalid, raise};
use lyra_core::Error;
use pyo3::prelude::*;
use pyo3::types::{
    IntoPyDict, PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping,
    PyMemoryView, PyString, PyTuple,
};
use serde::Serialize;
use serde_json::{Map, Number, Value};
use std::fmt;

/// Maximum nesting of values from Python.
const DEEPEST: usize = 64;

/// A reply as nested dicts and lists.
pub(crate) fn reply<'py, T: Serialize>(py: Python<'py>, reply: &T) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(reply)
        .map_err(|e| raise(Error::internal("a reply is not JSON").with_source(e)))?;
    object(py, &value)
}

/// A reply as a `lyra.Report`: a dict whose entries are attributes as well.
pub(crate) fn report<'py, T: Serialize>(
    py: Python<'py>,
    kind: &str,
    given: &T,
) -> PyResult<Bound<'py, PyAny>> {
    let class = py.import("lyra._reply")?.getattr(kind)?;
    class.call1((reply(py, given)?,))
}

/// A JSON value as a Python object.
pub(crate) fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Number(number) => number_object(py, number)?,
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(values) => {
            let values: PyResult<Vec<_>> = values.iter().map(|value| object(py, value)).collect();
            PyList::new(py, values?)?.into_any()
        }
        Value::Object(fields) => dict(py, fields)?.into_any(),
    })
}

fn number_object<'py>(py: Python<'py>, number: &Number) -> PyResult<Bound<'py, PyAny>> {
    Ok(match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(whole), _, _) => whole.into_pyobject(py)?.into_any(),
        (None, Some(whole), _) => whole.into_pyobject(py)?.into_any(),
        (None, None, Some(real)) => PyFloat::new(py, real).into_any(),
        (None, None, None) => py.None().into_bound(py),
    })
}

fn dict<'py>(py: Python<'py>, fields: &Map<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let filled = PyDict::new(py);
    for (name, value) in fields {
        filled.set_item(PyString::intern(py, name), object(py, value)?)?;
    }
    Ok(filled)
}

/// The fields of a reply in addition to its rows.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    pub(crate) columns: Vec<String>,
    pub(crate) truncated: bool,
    pub(crate) next_offset: Option<usize>,
    pub(crate) elapsed_ms: u64,
}

/// Rows as a `lyra.Rows`.
pub(crate) fn rows<'py>(
    py: Python<'py>,
    rows: &[Map<String, Value>],
    beside: Beside,
) -> PyResult<Bound<'py, PyAny>> {
    let list = PyList::empty(py);
    for row in rows {
        list.append(dict(py, row)?)?;
    }
    let class = py.import("lyra._reply")?.getattr("Rows")?;
    let Beside {
        columns,
        truncated,
        next_offset,
        elapsed_ms,
    } = beside;
    class.call1((list, columns, truncated, next_offset, elapsed_ms))
}

/// The location of a value in an argument, in Python notation: `params["a"][0]`.
enum Place<'a> {
    /// An argument. Keyword arguments are named directly, since their dict has no name.
    Argument(&'a str),
    Entry(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
    /// A value that was converted from the one at this place.
    Made(&'a Place<'a>),
}

impl Place<'_> {
    fn argument(&self) -> &str {
        match self {
            Self::Argument(name) | Self::Entry(Place::Argument(""), name) => name,
            Self::Entry(outer, _) | Self::Item(outer, _) | Self::Made(outer) => outer.argument(),
        }
    }

    fn depth(&self) -> usize {
        match self {
            Self::Argument(_) => 0,
            Self::Entry(outer, _) | Self::Item(outer, _) | Self::Made(outer) => outer.depth() + 1,
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(name) | Self::Entry(Place::Argument(""), name) => f.write_str(name),
            Self::Entry(outer, name) => write!(f, "{outer}[{name:?}]"),
            Self::Item(outer, number) => write!(f, "{outer}[{number}]"),
            Self::Made(outer) => outer.fmt(f),
        }
    }
}

/// A Python object as a JSON value: None, bool, int, float, str, list, tuple, dict, dates, paths,
/// and numpy numbers. `name` is that of the argument, for messages.
pub(crate) fn value(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    value_at(given, &Place::Argument(name))
}

fn value_at(given: &Bound<'_, PyAny>, place: &Place<'_>) -> PyResult<Value> {
    if place.depth() > DEEPEST {
        // The full place would be a long line of brackets.
        let name = place.argument();
        return Err(invalid(format!("a value in {name} is nested too deeply")));
    }
    if given.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = given.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.to_owned()));
    }
    if given.is_instance_of::<PyInt>() {
        return whole(given, place);
    }
    if given.is_instance_of::<PyFloat>() {
        return real(given.extract()?, place);
    }
    if let Ok(mapping) = given.cast::<PyMapping>() {
        return fields_at(mapping, place).map(Value::Object);
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let values: PyResult<Vec<Value>> = given
            .try_iter()?
            .enumerate()
            .map(|(number, item)| value_at(&item?, &Place::Item(place, number)))
            .collect();
        return values.map(Value::Array);
    }
    let is_bytes = given.is_instance_of::<PyBytes>()
        || given.is_instance_of::<PyByteArray>()
        || given.is_instance_of::<PyMemoryView>();
    if is_bytes {
        let error = Error::invalid(strange(given, place)?);
        let hint = "pass and compare bytes in hex: value.hex(), and in SQL lower(hex(column))";
        return Err(raise(error.with_hint(hint)));
    }
    if let Some(text) = point_in_time(given)? {
        return Ok(Value::String(text));
    }
    if given.hasattr("tolist")? {
        return value_at(&given.call_method0("tolist")?, &Place::Made(place));
    }
    if given.hasattr("__fspath__")? {
        return value_at(&given.call_method0("__fspath__")?, &Place::Made(place));
    }
    Err(invalid(strange(given, place)?))
}

fn strange(given: &Bound<'_, PyAny>, place: &Place<'_>) -> PyResult<String> {
    let kind = given.get_type();
    Ok(format!(
        "{place} is of type {}; expected None, bool, int, float, str, date, list or dict",
        kind.name()?
    ))
}

/// A date as its day, and a datetime in the format of the graph: RFC 3339 with milliseconds, in
/// UTC. `None` for any other value.
pub(crate) fn point_in_time(given: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = given.py();
    let module = py.import("datetime")?;
    if !given.is_instance(&module.getattr("date")?)? {
        return Ok(None);
    }
    if given.is_instance(&module.getattr("datetime")?)? {
        // The pandas value for a missing time is a datetime without an offset.
        let offset = given.call_method0("utcoffset");
        if offset
            .map_err(|_| invalid(format!("{given} is no point in time")))?
            .is_none()
        {
            return Err(raise(
                Error::invalid(format!("{given} has no time zone"))
                    .with_hint("add one: datetime.now(timezone.utc), or time.astimezone()"),
            ));
        }
        let utc = module.getattr("timezone")?.getattr("utc")?;
        let options = [("timespec", "milliseconds")].into_py_dict(py)?;
        let utc = given.call_method1("astimezone", (utc,))?;
        let text: String = utc
            .call_method("isoformat", (), Some(&options))?
            .extract()?;
        return Ok(Some(text.replace("+00:00", "Z")));
    }
    given.call_method0("isoformat")?.extract().map(Some)
}

/// The file stores signed 64-bit integers, and would round others.
fn whole(given: &Bound<'_, PyAny>, place: &Place<'_>) -> PyResult<Value> {
    let number = given.extract::<i64>().map_err(|_| {
        let message = format!("{place} does not fit into 64 bits: expected -2^63 to 2^63-1");
        raise(Error::invalid(message).with_hint("pass it as a float, or as a str"))
    })?;
    Ok(Value::from(number))
}

fn real(number: f64, place: &Place<'_>) -> PyResult<Value> {
    let finite = Number::from_f64(number);
    finite.map(Value::Number).ok_or_else(|| {
        invalid(format!(
            "{place} is not finite; expected a finite number, or None"
        ))
    })
}

/// A mapping as a JSON object. `name` is that of the argument, for messages; empty for keywords.
pub(crate) fn fields(name: &str, given: &Bound<'_, PyMapping>) -> PyResult<Map<String, Value>> {
    fields_at(given, &Place::Argument(name))
}

fn fields_at(given: &Bound<'_, PyMapping>, place: &Place<'_>) -> PyResult<Map<String, Value>> {
    let mut fields = Map::new();
    for item in given.items()?.try_iter()? {
        let (name, field): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item?.extract()?;
        let Ok(name) = name.cast::<PyString>() else {
            return Err(invalid(format!("the key {name} is not a str")));
        };
        let name = name.to_str()?;
        let field = value_at(&field, &Place::Entry(place, name))?;
        fields.insert(name.to_owned(), field);
    }
    Ok(fields)
}

/// One of a closed set of strings.
pub(crate) fn one_of<T: Copy>(name: &str, given: &str, words: &[(&str, T)]) -> PyResult<T> {
    let found = words.iter().find(|(word, _)| *word == given);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let known = known.join(", ");
        invalid(format!("{name} is {given:?}; expected one of {known}"))
    })
}
