//! Converts arguments for which pyo3's behaviour would surprise a Python user: numbers out of range
//! raise the same error as other invalid values, with the argument's name; lists may be any iterable.

use crate::error::invalid;
use numpy::{PyArray1, PyArrayMethods, PyUntypedArray};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyMapping, PyString};

/// Converters of integers, named after their arguments.
macro_rules! numbers {
    ($($name:ident: $kind:ty),* $(,)?) => {
        $(pub(crate) fn $name(given: &Bound<'_, PyAny>) -> PyResult<$kind> {
            whole(stringify!($name), given)
        })*
    };
}

/// The same for optional arguments.
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
    batch_size: usize,
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
        Err(e) if e.is_instance_of::<PyOverflowError>(given.py()) => {
            return Err(invalid(format!("{name} has more than 64 bits")));
        }
        Err(e) => return Err(e),
    };
    T::try_from(number).map_err(|_| {
        let bound = if number < 0 { "0 or more" } else { "less" };
        invalid(format!("{name} is {number}; expected {bound}"))
    })
}

/// The lines (start, end) of a file.
pub(crate) fn lines(given: &Bound<'_, PyAny>) -> PyResult<Option<(usize, usize)>> {
    if given.is_none() {
        return Ok(None);
    }
    let parts: Vec<Bound<'_, PyAny>> = given.try_iter()?.collect::<PyResult<_>>()?;
    let [start, end] = parts.as_slice() else {
        return Err(PyTypeError::new_err("expected lines as (start, end)"));
    };
    Ok(Some((whole("lines[0]", start)?, whole("lines[1]", end)?)))
}

/// Number of items read between two checks for signals and for threads that wait for the GIL.
const BREATH: usize = 1_024;

/// The items of any iterable, each converted by `read`. Reading them needs the GIL, and there may
/// be millions of them.
pub(crate) fn each<'py, T>(
    given: &Bound<'py, PyAny>,
    mut read: impl FnMut(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let py = given.py();
    let mut all = Vec::new();
    for item in given.try_iter()? {
        all.push(read(item?)?);
        if all.len() % BREATH == 0 {
            py.check_signals()?;
            py.detach(|| ());
        }
    }
    Ok(all)
}

/// Whether calling the object returns an awaitable, which is not supported.
pub(crate) fn is_async(function: &Bound<'_, PyAny>) -> PyResult<bool> {
    let inspect = function.py().import("inspect")?;
    let own_call = function.getattr_opt("__call__")?;
    for called in [Some(function.clone()), own_call].into_iter().flatten() {
        for kind in ["iscoroutinefunction", "isasyncgenfunction"] {
            if inspect.call_method1(kind, (&called,))?.is_truthy()? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Several texts: any iterable of str, but not a str itself, which would be split into letters.
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
    each(given, |text| text.extract())
}

/// The same for optional arguments.
pub(crate) fn optional_texts(given: &Bound<'_, PyAny>) -> PyResult<Option<Vec<String>>> {
    if given.is_none() {
        return Ok(None);
    }
    texts(given).map(Some)
}

/// Pairs from any iterable, each a tuple or a list of two.
pub(crate) fn pairs<'py, A, B>(given: &Bound<'py, PyAny>) -> PyResult<Vec<(A, B)>>
where
    A: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    B: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    each(given, |given| pair(&given))
}

/// A tuple, a list or another iterable of two.
pub(crate) fn pair<'py, A, B>(given: &Bound<'py, PyAny>) -> PyResult<(A, B)>
where
    A: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    B: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    let parts: Vec<Bound<'py, PyAny>> = match given.is_instance_of::<PyString>() {
        true => Vec::new(),
        false => given.try_iter()?.collect::<PyResult<_>>()?,
    };
    let [first, second] = parts.as_slice() else {
        return Err(PyTypeError::new_err("expected pairs: tuples of two"));
    };
    let first = first.extract().map_err(Into::into)?;
    Ok((first, second.extract().map_err(Into::into)?))
}

/// Numbers from an array, which is read directly, or from any iterable.
pub(crate) fn scores(given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let py = given.py();
    if given.hasattr("__array__")? {
        let is_plain = given.is_exact_instance_of::<PyUntypedArray>();
        let array = match given.cast::<PyArray1<f64>>() {
            Ok(array) if is_plain => array.clone().into_any(),
            _ => {
                let arrays = py.import("lyra._arrays")?;
                arrays.call_method1("float64_of", (given, "scores"))?
            }
        };
        if let Ok(array) = array.cast::<PyArray1<f64>>() {
            let array = array.try_readonly()?;
            let numbers = array.as_array();
            return Ok(py.detach(|| numbers.to_vec()));
        }
    }
    each(given, |score| {
        score.extract().map_err(|e: PyErr| {
            if e.is_instance_of::<PyOverflowError>(py) {
                return invalid("a score is out of the range of a float");
            }
            e
        })
    })
}

/// Premises and hypotheses.
pub(crate) fn text_pairs(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    pairs(given)
}

/// Relations and confidences.
pub(crate) fn verdicts(given: &Bound<'_, PyAny>) -> PyResult<Vec<(String, Option<f64>)>> {
    pairs(given)
}
