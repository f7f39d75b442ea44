//! The Python module `lyra._lyra`: arguments in, one call of lyra-core, results out.
//!
//! | module | contents |
//! |---|---|
//! | `waiting` | releasing the GIL: how a call waits, handles Ctrl-C, survives a fork or a panic |
//! | `awaitable` | the same for asyncio |
//! | `convert` | JSON values and replies → Python objects, and back |
//! | `argument` | numbers and lists as arguments |
//! | `error` | errors → exceptions, and back |
//! | `adapters` | implements the ports of lyra-core with Python callables |
//! | `graph` | the class `EvidenceGraph` |
//! | `functions` | functions that need no graph |
//! | `stages` | reading and judging for graphs that are elsewhere |
//! | `parser_process` | the interpreter as a process that parses documents |

mod adapters;
mod argument;
mod awaitable;
mod convert;
mod error;
mod functions;
mod graph;
mod parser_process;
mod stages;
mod waiting;

use lyra_core::store::guard::QueryGuard;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use std::sync::OnceLock;

/// The interpreter of this process that may use the module, identified by the address of its `sys`.
/// Classes and threads are shared by the whole process, so a second interpreter would see objects of
/// the first.
static INTERPRETER: OnceLock<usize> = OnceLock::new();

/// The compiled part of the package `lyra`.
#[pymodule]
fn _lyra(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let here = module.py().import("sys")?.as_ptr() as usize;
    if *INTERPRETER.get_or_init(|| here) != here {
        return Err(PyImportError::new_err(
            "another interpreter of this process has imported lyra; use one process for each",
        ));
    }
    // SQLite accepts this only before the first connection. The extension has its own SQLite, so Python's
    // `sqlite3` is not affected.
    QueryGuard::cap_memory();
    module.add_class::<graph::EvidenceGraph>()?;
    functions::add_to(module)?;
    stages::add_to(module)?;
    let close_all = wrap_pyfunction!(graph::_close_all, module)?;
    let at_exit = module.py().import("atexit")?;
    at_exit.call_method1("register", (close_all,))?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
