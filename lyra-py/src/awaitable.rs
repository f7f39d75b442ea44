//! Long-running work for asyncio: a coroutine whose cancellation ends the work.

use crate::error::raise;
use crate::waiting::{Line, start};
use lyra_core::Result;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

type Begin = Box<dyn FnOnce(Py<PyAny>, Py<PyAny>) -> Result<watch::Sender<bool>> + Send>;

/// Work that `lyra._async.drive` begins inside its event loop, and cancels.
#[pyclass(frozen, module = "lyra._lyra")]
struct Work {
    begin: Mutex<Option<Begin>>,
    running: Mutex<Option<watch::Sender<bool>>>,
}

#[pymethods]
impl Work {
    /// Begins the work; the outcome goes into `future`, which belongs to `event_loop`.
    fn begin(&self, event_loop: Py<PyAny>, future: Py<PyAny>) -> PyResult<()> {
        let begin = self
            .begin
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(begin) = begin {
            let cancel = begin(event_loop, future).map_err(raise)?;
            *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel);
        }
        Ok(())
    }

    /// Ends the work before its time.
    fn cancel(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cancel) = running.as_ref() {
            let _ = cancel.send(true);
        }
    }
}

/// A coroutine that runs `work` on a separate thread. `to_python` converts its result; progress is
/// passed to `progress`, on the event loop.
pub(crate) fn coroutine<T: 'static, P: 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Line<P>) -> Result<T> + Send + 'static,
    progress: Option<Py<PyAny>>,
    progress_to_python: fn(Python<'_>, P) -> PyResult<Py<PyAny>>,
    to_python: fn(Python<'_>, T) -> PyResult<Py<PyAny>>,
) -> PyResult<Py<PyAny>> {
    let begin = move |event_loop: Py<PyAny>, future: Py<PyAny>| {
        let event_loop = Arc::new(event_loop);
        let future = Arc::new(future);
        let (for_progress, its_future) = (Arc::clone(&event_loop), Arc::clone(&future));
        let tell = move |told: P| {
            let Some(progress) = &progress else { return };
            // During interpreter shutdown there is no event loop any more, and no listener.
            Python::try_attach(|py| {
                let tell = py.import("lyra._async")?.getattr("tell")?;
                let told = progress_to_python(py, told)?;
                let arguments = (tell, &*its_future, progress, told);
                for_progress.call_method1(py, "call_soon_threadsafe", arguments)
            });
        };
        let finished = move |outcome: Result<T>| {
            Python::try_attach(|py| {
                let settle = py.import("lyra._async")?.getattr("settle")?;
                let outcome = outcome.map_err(raise).and_then(|done| to_python(py, done));
                let (result, raised) = match outcome {
                    Ok(result) => (result, py.None()),
                    Err(raised) => (py.None(), raised.into_value(py).into_any()),
                };
                let arguments = (settle, &*future, result, raised);
                event_loop.call_method1(py, "call_soon_threadsafe", arguments)
            });
        };
        start(work, tell, finished)
    };
    let work = Work {
        begin: Mutex::new(Some(Box::new(begin))),
        running: Mutex::new(None),
    };
    let drive = py.import("lyra._async")?.getattr("drive")?;
    drive.call1((work,)).map(Bound::unbind)
}
