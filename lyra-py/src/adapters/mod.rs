//! Python callables behind the ports of lyra-core.
//!
//! Every call of one happens on a thread where it may block, with the GIL; its exceptions become
//! errors that carry them as their cause.

mod claims;
mod embedder;
mod provider;
mod stance;

pub(crate) use claims::PythonExtractor;
pub(crate) use embedder::{Choice as EmbedderChoice, as_matrix, open as embedder};
pub(crate) use provider::PythonProvider;
pub(crate) use stance::PythonJudge;

use crate::error::of_callable;
use lyra_core::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use std::fmt;
use std::sync::Arc;

/// A callable of the user's.
#[derive(Clone)]
pub(crate) struct Callable {
    function: Arc<Py<PyAny>>,
    /// What it stands for, in messages.
    role: &'static str,
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Callable({})", self.role)
    }
}

impl Callable {
    pub(crate) fn new(function: Bound<'_, PyAny>, role: &'static str) -> Self {
        Self {
            function: Arc::new(function.unbind()),
            role,
        }
    }

    /// Calls it where it may block. `work` makes the arguments and reads the result.
    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T> + Send + 'static,
    ) -> Result<T> {
        let (function, role) = (Arc::clone(&self.function), self.role);
        let called = tokio::task::spawn_blocking(move || {
            Python::try_attach(|py| work(function.bind(py)).map_err(|e| of_callable(role, e)))
        });
        match called.await {
            Ok(Some(outcome)) => outcome,
            Ok(None) => Err(Error::new(ErrorKind::Backend, "the interpreter is ending")),
            Err(broken) => Err(Error::internal(format!("the {role}: {broken}"))),
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
