//! Arguments that pyo3 alone would read otherwise than a Python user expects: numbers that are out of
//! range get the error that every bad value gets, with their name; lists may be any iterable.

use crate::error::invalid;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyMapping, PyString};

/// Readers of whole numbers, called as their arguments are.
macro_rules! numbers {
    ($($name:ident: $kind:ty),* $(,)?) => {
        $(pub(crate) fn $name(given: &Bound<'_, PyAny>) -> PyResult<$kind> {
            whole(stringify!($name), given)
        })*
    };
}

/// The same for arguments that may be left out.
macro_rules! optional_numbers {
    ($($name:ident: $kind:ty),* $(,)?) => {
        $(pub(crate) fn $name(given: &Bound<'_, PyAny>) -> PyResult<Option<$kind>> {
            if given.is_none() {
                return Ok(None);
            }
            whole(stringify!($name), given).map(Some)
        })*
    };
}

numbers! {
    limit: usize,
    offset: usize,
    timeout_ms: u64,
    max_vm_steps: u64,
    max_bytes: usize,
    top_k: usize,
    min_results: usize,
    max_results: usize,
    evaluations: u32,
    position: i64,
    text_version: i64,
    status: u16,
}

optional_numbers! {
    max_pages: u32,
    max_seconds: u32,
    budget_pages: u32,
    dimension: usize,
    version: i64,
    year: i64,
}

fn whole<T: TryFrom<i64>>(name: &str, given: &Bound<'_, PyAny>) -> PyResult<T> {
    let name = match name {
        "evaluations" => "limit",
        "text_version" => "version",
        name => name,
    };
    if given.is_instance_of::<PyBool>() {
        return Err(PyTypeError::new_err("a bool is no whole number"));
    }
    let number = match given.extract::<i64>() {
        Ok(number) => number,
        Err(e) if e.is_instance_of::<pyo3::exceptions::PyOverflowError>(given.py()) => {
            return Err(invalid(format!("{name} has more than 64 bits")));
        }
        Err(e) => return Err(e),
    };
    T::try_from(number).map_err(|_| {
        let bound = if number < 0 { "0 or more" } else { "less" };
        invalid(format!("{name} is {number}; expected {bound}"))
    })
}

/// Several texts: any iterable of str, but not a str, whose letters nobody means.
pub(crate) fn texts(given: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let is_one = given.is_instance_of::<PyString>()
        || given.is_instance_of::<PyBytes>()
        || given.cast::<PyMapping>().is_ok();
    if is_one {
        let kind = given.get_type();
        return Err(PyTypeError::new_err(format!(
            "expected a list of str, not a {}",
            kind.name()?
        )));
    }
    given.try_iter()?.map(|text| text?.extract()).collect()
}

/// The same for arguments that may be left out.
pub(crate) fn optional_texts(given: &Bound<'_, PyAny>) -> PyResult<Option<Vec<String>>> {
    if given.is_none() {
        return Ok(None);
    }
    texts(given).map(Some)
}

/// Pairs out of any iterable, each a tuple or a list of two.
pub(crate) fn pairs<'py, A, B>(given: &Bound<'py, PyAny>) -> PyResult<Vec<(A, B)>>
where
    A: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    B: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let mut pairs = Vec::new();
    for pair in given.try_iter()? {
        let pair = pair?;
        let parts: Vec<Bound<'py, PyAny>> = match pair.is_instance_of::<PyString>() {
            true => Vec::new(),
            false => pair.try_iter()?.collect::<PyResult<_>>()?,
        };
        let [first, second] = parts.as_slice() else {
            return Err(PyTypeError::new_err("expected pairs: tuples of two"));
        };
        let first = first.extract().map_err(Into::into)?;
        pairs.push((first, second.extract().map_err(Into::into)?));
    }
    Ok(pairs)
}

/// Numbers out of any iterable.
pub(crate) fn scores(given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    given.try_iter()?.map(|score| score?.extract()).collect()
}

/// Premises and hypotheses.
pub(crate) fn text_pairs(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    pairs(given)
}

/// Relations and confidences.
pub(crate) fn verdicts(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Option<f64>)>> {
    pairs(given)
}
