//! Python callables behind the ports of lyra-core.
//!
//! Every call of one happens on a thread where it may block, with the GIL; its exceptions become
//! errors that carry them as their cause.

mod claims;
mod embedder;
mod provider;
mod stance;

pub(crate) use claims::open as claim_extractor;
pub(crate) use embedder::{as_floats, as_matrix, open as embedder};
pub(crate) use provider::PythonProvider;
pub(crate) use stance::open as judge;

use crate::error::{invalid, of_callable, raise};
use lyra_core::backends::ApiKey;
use lyra_core::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A model as the arguments of the constructor describe it.
pub(crate) struct Choice<'py> {
    /// What these arguments are called: `embedder`, `embedder_url`, `embedder_key`.
    pub(crate) name: &'static str,
    /// The variable that may hold the key, as on the command line.
    pub(crate) key_variable: &'static str,
    /// None, a name, or something to call.
    pub(crate) which: Option<Bound<'py, PyAny>>,
    pub(crate) url: Option<String>,
    pub(crate) key: Option<String>,
}

impl Choice<'_> {
    /// The address and the key, which only a server's model has.
    fn server(
        &self,
        py: Python<'_>,
        is_remote: bool,
    ) -> PyResult<(Option<String>, Option<ApiKey>)> {
        let name = self.name;
        if !is_remote {
            let given = [("url", self.url.is_some()), ("key", self.key.is_some())];
            return match given.iter().find(|(_, is_given)| *is_given) {
                None => Ok((None, None)),
                Some((part, _)) => Err(raise(
                    Error::invalid(format!("{name}_{part} is given, but no {name} on a server"))
                        .with_hint(format!(
                            "{name}=\"openai:MODEL\" or \"ollama:MODEL\" names one"
                        )),
                )),
            };
        }
        let key = match &self.key {
            Some(key) => Some(ApiKey::new(format!("{name}_key"), key)),
            None => variable(py, self.key_variable)?
                .and_then(|key| key.into_string().ok())
                .map(|key| ApiKey::new(self.key_variable, &key)),
        };
        Ok((self.url.clone(), key.transpose().map_err(raise)?))
    }
}

/// A variable of the environment, as `os.environ` has it.
fn variable(py: Python<'_>, name: &str) -> PyResult<Option<OsString>> {
    let environment = py.import("os")?.getattr("environ")?;
    environment.call_method1("get", (name,))?.extract()
}

/// The ONNX Runtime library: the one that is named, else that of the environment, else that of the
/// Python package, where it is installed.
fn onnx_runtime(py: Python<'_>, named: Option<PathBuf>) -> PyResult<Option<PathBuf>> {
    if named.is_some() {
        return Ok(named);
    }
    for name in ["LYRA_ONNX_RUNTIME", "ORT_DYLIB_PATH"] {
        if let Some(place) = variable(py, name)? {
            return Ok(Some(place.into()));
        }
    }
    let found = py
        .import("importlib.util")
        .and_then(|util| util.call_method1("find_spec", ("onnxruntime",)))
        .and_then(|spec| spec.getattr("origin"));
    let file = found.and_then(|origin| origin.extract::<PathBuf>());
    Ok(file.ok().and_then(|file| Some(file.parent()?.join("capi"))))
}

/// The error for what is neither a name nor callable.
fn not_callable(name: &str, given: &Bound<'_, PyAny>, wanted: &str) -> PyResult<PyErr> {
    let kind = given.get_type();
    Ok(invalid(format!(
        "{name} is of type {}; expected None, a name, or {wanted}",
        kind.name()?
    )))
}

/// A callable of the user's.
#[derive(Clone)]
pub(crate) struct Callable {
    function: Arc<Py<PyAny>>,
    /// What it stands for and what it is called, in messages.
    role: String,
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Callable({})", self.role)
    }
}

impl Callable {
    pub(crate) fn new(function: Bound<'_, PyAny>, role: &str, name: &str) -> Self {
        Self {
            function: Arc::new(function.unbind()),
            role: format!("{role} {name}"),
        }
    }

    /// Calls it where it may block. `work` makes the arguments and reads the result.
    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
    ) -> Result<T> {
        let (function, role) = (Arc::clone(&self.function), self.role.clone());
        let called = tokio::task::spawn_blocking(move || {
            Python::try_attach(|py| work(function.bind(py)).map_err(|e| of_callable(&role, e)))
        });
        match called.await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => Err(Error::new(ErrorKind::Backend, "the interpreter is ending")),
            Err(broken) => Err(Error::internal(format!("the {}: {broken}", self.role))),
        }
    }
}

/// What is stored as the origin of what a callable made: its attribute, or `python:` and its name.
pub(crate) fn id_of(function: &Bound<'_, PyAny>, attribute: &str) -> PyResult<String> {
    if let Some(own) = function.getattr_opt(attribute)? {
        return own.extract();
    }
    let named = if function.getattr_opt("__qualname__")?.is_some() {
        function.clone()
    } else {
        function.get_type().into_any()
    };
    let module: String = named.getattr("__module__")?.extract().unwrap_or_default();
    let name: String = named.getattr("__qualname__")?.extract()?;
    Ok(format!("python:{module}.{name}"))
}
