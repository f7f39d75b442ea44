//! The Python module `lyra._lyra`: a thin layer over lyra-core.
//!
//! For now it opens a graph, runs guarded SQL on it and verifies it, which proves the build, the
//! linking and the error path; the whole surface of the wheel comes later.

use lyra_core::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::{Engine, EngineConfig, Error};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// An evidence graph in one SQLite file.
#[pyclass(frozen, module = "lyra")]
#[derive(Debug)]
struct EvidenceGraph {
    engine: Engine,
}

#[pymethods]
impl EvidenceGraph {
    #[new]
    fn open(py: Python<'_>, path: std::path::PathBuf) -> PyResult<Self> {
        py.detach(|| Engine::open(EngineConfig::new(path)))
            .map(|engine| Self { engine })
            .map_err(raise)
    }

    /// Runs one read-only statement; answers its reply as a JSON text.
    fn query_json(&self, py: Python<'_>, sql: String) -> PyResult<String> {
        let request = SqlRequest {
            sql,
            params: SqlParams::None,
            options: SqlOptions::default(),
        };
        let reply = py
            .detach(|| self.engine.query_sql(&request))
            .map_err(raise)?;
        serde_json::to_string(&reply).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }

    /// The number of rows that break an invariant of the graph; 0 is right.
    fn violations(&self, py: Python<'_>) -> PyResult<usize> {
        py.detach(|| self.engine.verify())
            .map(|report| report.violations.len())
            .map_err(raise)
    }
}

fn raise(error: Error) -> PyErr {
    let hint = error
        .hint()
        .map(|hint| format!(" ({hint})"))
        .unwrap_or_default();
    PyRuntimeError::new_err(format!("{error}{hint}"))
}

/// The compiled half of the package `lyra`.
#[pymodule]
fn _lyra(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<EvidenceGraph>()?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
