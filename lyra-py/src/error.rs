//! Errors → exceptions of `lyra._errors`, and exceptions of callables → errors.

use lyra_core::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyType};

/// The exception for an error; an exception of a callable becomes its cause.
pub(crate) fn raise(error: Error) -> PyErr {
    Python::attach(|py| match exception(py, &error) {
        Ok(raised) | Err(raised) => raised,
    })
}

fn exception(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let class = py
        .import("lyra._errors")?
        .getattr(class_of(error.kind()))?
        .cast_into::<PyType>()?;
    let named = [("code", Some(error.kind().code())), ("hint", error.hint())].into_py_dict(py)?;
    let raised = PyErr::from_value(class.call((error.message(),), Some(&named))?);
    if let Some(cause) = cause_of(error) {
        raised.set_cause(py, Some(cause.clone_ref(py)));
    }
    Ok(raised)
}

fn cause_of(error: &Error) -> Option<&PyErr> {
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        if let Some(raised) = inner.downcast_ref::<PyErr>() {
            return Some(raised);
        }
        source = inner.source();
    }
    None
}

/// The class in `lyra._errors`.
fn class_of(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidInput => "InvalidInputError",
        ErrorKind::TaskNotFound => "TaskNotFoundError",
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::BudgetExhausted => "BudgetExhaustedError",
        ErrorKind::AuthRequired => "AuthRequiredError",
        ErrorKind::QueryRejected => "QueryRejectedError",
        ErrorKind::QueryInterrupted => "QueryInterruptedError",
        ErrorKind::Pipeline | ErrorKind::HostileDocument => "PipelineError",
        ErrorKind::Backend => "BackendError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::Calibration => "CalibrationError",
        ErrorKind::Timeout | ErrorKind::Busy => "LyraTimeoutError",
        ErrorKind::Storage => "StorageError",
        // An unknown kind is a bug in this crate, not a mistake of the caller.
        ErrorKind::Internal | _ => "InternalError",
    }
}

/// Maximum number of characters of an exception's message that are copied into our error, and so
/// into the graph; the exception itself is the cause.
const LONGEST_MESSAGE: usize = 500;

/// The error for an exception raised by a user's callable.
pub(crate) fn of_callable(what: &str, raised: PyErr) -> Error {
    let message = Python::attach(|py| {
        let class = raised.get_type(py);
        let name = class.name().map(|name| name.to_string());
        let name = name.unwrap_or_else(|_| "an exception".to_owned());
        let said = shortened(&raised.value(py).to_string(), LONGEST_MESSAGE);
        format!("the {what} raised {name}: {said}")
    });
    Error::new(ErrorKind::Backend, message).with_source(raised)
}

/// Maximum number of characters of a returned value in a message.
const LONGEST_SHOWN: usize = 120;

/// A user's value in a message: its Python representation, or its type if there is none.
pub(crate) fn shown(given: &Bound<'_, PyAny>) -> String {
    match given.repr() {
        Ok(text) => shortened(&text.to_string_lossy(), LONGEST_SHOWN),
        Err(_) => given.get_type().to_string(),
    }
}

fn shortened(text: &str, most: usize) -> String {
    let start: String = text.chars().take(most).collect();
    let cut = if start.len() < text.len() { "…" } else { "" };
    format!("{start}{cut}")
}

/// The error for an invalid return value of a user's callable; `why` is the reason.
pub(crate) fn of_answer(what: &str, given: &str, why: PyErr) -> Error {
    let said = Python::attach(|py| why.value(py).to_string());
    let said = shortened(&said, LONGEST_MESSAGE);
    let message = format!("the {what} gave {given}: {said}");
    Error::new(ErrorKind::Backend, message).with_source(why)
}

/// `InvalidInput` for an argument.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    raise(Error::invalid(message))
}
