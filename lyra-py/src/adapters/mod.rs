//! Implements the ports of lyra-core with Python callables.
//!
//! Every callable is called on a thread where it may block, with the GIL; its exceptions become
//! errors that carry them as their cause.

mod claims;
mod embedder;
mod provider;
mod stance;

pub(crate) use claims::open as claim_extractor;
pub(crate) use embedder::{as_floats, as_matrix, open as embedder};
pub(crate) use provider::PythonProvider;
pub(crate) use stance::open as judge;

use crate::argument::is_async;
use crate::error::{invalid, of_answer, of_callable, raise, shown};
use lyra_core::web::ApiKey;
use lyra_core::{Error, ErrorKind, Result};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping, PyString};
use std::cell::RefCell;
use std::ffi::{CString, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A model as described by the arguments of the constructor.
pub(crate) struct Choice<'py> {
    /// The names of these arguments: `embedder`, `embedder_url`, `embedder_key`.
    pub(crate) name: &'static str,
    /// The variable that may contain the key, as on the command line.
    pub(crate) key_variable: &'static str,
    /// None, a name, or a callable.
    pub(crate) which: Option<Bound<'py, PyAny>>,
    pub(crate) url: Option<String>,
    pub(crate) key: Option<String>,
    /// The file of the graph that uses it.
    pub(crate) graph: Arc<Path>,
}

impl Choice<'_> {
    /// The address and the key, which only a model on a server has.
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

/// An environment variable, as in `os.environ`.
fn variable(py: Python<'_>, name: &str) -> PyResult<Option<OsString>> {
    let environment = py.import("os")?.getattr("environ")?;
    environment.call_method1("get", (name,))?.extract()
}

/// The ONNX Runtime library: the named one, otherwise that of the environment, otherwise that of
/// the Python package, if installed.
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

/// The error for a value that is neither a name nor callable.
fn not_callable(name: &str, given: &Bound<'_, PyAny>, wanted: &str) -> PyResult<PyErr> {
    let kind = given.get_type();
    Ok(invalid(format!(
        "{name} is of type {}; expected None, a name, or {wanted}",
        kind.name()?
    )))
}

/// The error for an async function, which would have to be awaited.
fn refuse_async(name: &str, called: &Bound<'_, PyAny>) -> PyResult<()> {
    if !is_async(called)? {
        return Ok(());
    }
    let error = Error::invalid(format!(
        "{name} is a coroutine function; expected an ordinary function"
    ));
    Err(raise(error.with_hint(
        "it is called on a separate thread, where it may block: asyncio.run(…) works there",
    )))
}

thread_local! {
    /// The graph and the callable that this thread is currently running.
    static INSIDE: RefCell<Option<(Arc<Path>, Arc<str>)>> = const { RefCell::new(None) };
}

/// The callable of this graph that the calling thread is currently running.
pub(crate) fn inside_of(graph: &Path) -> Option<Arc<str>> {
    INSIDE.with_borrow(|inside| match inside {
        Some((own, role)) if **own == *graph => Some(Arc::clone(role)),
        _ => None,
    })
}

/// Marks the thread as running a callable until this is dropped.
struct Inside;

impl Inside {
    fn enter(graph: Arc<Path>, role: Arc<str>) -> Self {
        INSIDE.set(Some((graph, role)));
        Self
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(None);
    }
}

/// Why a call of a callable failed.
pub(crate) enum Fault {
    /// It raised this exception.
    Raised(PyErr),
    /// It returned this, which is invalid.
    Gave(String, PyErr),
}

impl Fault {
    /// For an invalid return value, with the error that gives the reason.
    fn gave(given: &Bound<'_, PyAny>, why: PyErr) -> Self {
        Self::Gave(shown(given), why)
    }

    /// As an error about `role`.
    fn error(self, role: &str) -> Error {
        match self {
            Self::Raised(raised) => of_callable(role, raised),
            Self::Gave(given, why) => of_answer(role, &given, why),
        }
    }
}

impl From<PyErr> for Fault {
    fn from(raised: PyErr) -> Self {
        Self::Raised(raised)
    }
}

/// The first `most` items returned by a callable, each converted by `read`; `wanted` describes the
/// expected value. A text or a dict is one value, not a list of letters or keys.
fn listed<'py, T>(
    said: &Bound<'py, PyAny>,
    most: usize,
    wanted: &str,
    mut read: impl FnMut(&Bound<'py, PyAny>) -> PyResult<T>,
) -> Result<Vec<T>, Fault> {
    let is_one = said.is_instance_of::<PyString>()
        || said.is_instance_of::<PyBytes>()
        || said.cast::<PyMapping>().is_ok();
    let items = said.try_iter().ok().filter(|_| !is_one);
    let Some(items) = items else {
        return Err(Fault::gave(said, invalid(format!("expected {wanted}"))));
    };
    let mut all = Vec::new();
    for item in items.take(most) {
        // An exception of a generator belongs to the callable.
        let item = item?;
        all.push(read(&item).map_err(|why| Fault::gave(&item, why))?);
    }
    Ok(all)
}

/// A callable of the user.
#[derive(Clone)]
pub(crate) struct Callable {
    function: Arc<Py<PyAny>>,
    /// Its role and its name, for messages.
    role: Arc<str>,
    /// The file of the graph that uses it.
    graph: Arc<Path>,
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Callable({})", self.role)
    }
}

impl Callable {
    fn new(function: Bound<'_, PyAny>, role: &str, name: &str, graph: Arc<Path>) -> Self {
        Self {
            function: Arc::new(function.unbind()),
            role: format!("{role} {name}").into(),
            graph,
        }
    }

    /// Calls it where it may block. `work` builds the arguments and reads the result.
    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        let (function, role) = (Arc::clone(&self.function), Arc::clone(&self.role));
        let graph = Arc::clone(&self.graph);
        let called = tokio::task::spawn_blocking(move || {
            let _inside = Inside::enter(graph, Arc::clone(&role));
            Python::try_attach(|py| work(function.bind(py)).map_err(|fault| fault.error(&role)))
        });
        match called.await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => Err(Error::new(ErrorKind::Backend, "the interpreter is ending")),
            Err(broken) => Err(Error::internal(format!("the {}: {broken}", self.role))),
        }
    }
}

/// The name that a callable gives itself in an attribute, if it has that attribute.
fn own_name(function: &Bound<'_, PyAny>, attribute: &str) -> PyResult<Option<String>> {
    let Some(own) = function.getattr_opt(attribute)? else {
        return Ok(None);
    };
    let Ok(text) = own.cast::<PyString>() else {
        let kind = own.get_type();
        return Err(invalid(format!(
            "the {attribute} of {} is of type {}; expected a str",
            shown(function),
            kind.name()?
        )));
    };
    let text = text.to_str()?;
    if text.trim().is_empty() {
        return Err(invalid(format!(
            "the {attribute} of {} is empty; expected the name under which its results are stored",
            shown(function)
        )));
    }
    Ok(Some(text.to_owned()))
}

/// Warns about a function without a name: its results cannot be distinguished from those of others.
fn warn_of_namesakes(function: &Bound<'_, PyAny>, attribute: &str) -> PyResult<()> {
    let py = function.py();
    let partial = py.import("functools")?.getattr("partial")?;
    let name = function.getattr_opt("__name__")?;
    let is_lambda = name.is_some_and(|name| name.eq("<lambda>").unwrap_or(false));
    if !is_lambda && !function.is_instance(&partial)? {
        return Ok(());
    }
    let message = format!(
        "{} has no {attribute}: its results are stored under the name that all such functions share, \
         and cannot be told apart from theirs; set its attribute {attribute}",
        shown(function)
    );
    let message = CString::new(message.replace('\0', " "))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)
}

/// The id stored with what a callable produces: its attribute, or `python:` and its name.
fn id_of(function: &Bound<'_, PyAny>, attribute: &str) -> PyResult<String> {
    if let Some(own) = own_name(function, attribute)? {
        return Ok(own);
    }
    warn_of_namesakes(function, attribute)?;
    let named = if function.getattr_opt("__qualname__")?.is_some() {
        function.clone()
    } else {
        function.get_type().into_any()
    };
    let module: String = named.getattr("__module__")?.extract().unwrap_or_default();
    let name: String = named.getattr("__qualname__")?.extract()?;
    Ok(format!("python:{module}.{name}"))
}
