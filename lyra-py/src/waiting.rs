//! Releasing the GIL.
//!
//! A call either returns within milliseconds ([`quick`]), or it may take long ([`long`]): then the
//! work runs on a separate thread, and the calling thread checks for signals every 20 ms, so that
//! Ctrl-C ends the call in any state of the work.

use crate::error::raise;
use lyra_core::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use std::future::Future;
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// How often a waiting call checks for signals.
const LOOK: Duration = Duration::from_millis(20);

/// How long an interrupted call waits for its work to stop.
const LETTING_GO: Duration = Duration::from_millis(60);

/// The runtime of this process. After a fork, the threads of the parent do not exist, so the child
/// creates another runtime and does not use the inherited one.
static RUNTIME: Mutex<Option<(u32, Arc<Runtime>)>> = Mutex::new(None);

pub(crate) fn runtime() -> Result<Arc<Runtime>> {
    let pid = std::process::id();
    let mut slot = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((owner, runtime)) = slot.as_ref()
        && *owner == pid
    {
        return Ok(Arc::clone(runtime));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("lyra")
        .enable_all()
        .build()
        .map_err(|e| Error::internal("the runtime cannot start").with_source(e))?;
    let runtime = Arc::new(runtime);
    if let Some(inherited) = slot.replace((pid, Arc::clone(&runtime))) {
        // Dropping it would wait for threads that exist only in the parent.
        std::mem::forget(inherited);
    }
    Ok(runtime)
}

/// Runs `work` without the GIL, on this thread. Only for work that takes a moment.
pub(crate) fn quick<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send,
) -> PyResult<T> {
    py.detach(|| unwinding(work)).map_err(raise)
}

/// Maximum size, in bytes, that is processed so fast that a late reaction to Ctrl-C is not noticed.
const SMALL: usize = 64 << 10;

/// The same for work on data of this size. Above a certain size it may take long, and a signal then
/// ends the call at once (the work ends later, and its result is ignored).
pub(crate) fn by_size<T: Send + 'static>(
    py: Python<'_>,
    bytes: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    if bytes < SMALL {
        return quick(py, work);
    }
    patient(py, work)
}

/// The same for work that checks regularly whether it is still wanted; after a signal it is not.
pub(crate) fn quick_while_wanted<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&dyn Fn() -> bool) -> Result<T> + Send,
) -> PyResult<T> {
    let interrupted = OnceLock::new();
    let is_wanted = || match Python::attach(|py| py.check_signals()) {
        Ok(()) => true,
        Err(raised) => {
            // The first exception is raised.
            let _ = interrupted.set(raised);
            false
        }
    };
    let outcome = py.detach(|| unwinding(|| work(&is_wanted)));
    match interrupted.into_inner() {
        Some(raised) => Err(raised),
        None => outcome.map_err(raise),
    }
}

/// Runs work that may take long and reports no progress. A write may have to wait until another
/// transaction has ended, in this or another process; Ctrl-C ends the wait, not the write.
pub(crate) fn patient<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    long(py, |_: &Line<()>| work(), |_, ()| Ok(()), || {})
}

/// The same for a future.
pub(crate) fn quick_async<T: Send>(
    py: Python<'_>,
    work: impl Future<Output = Result<T>> + Send,
) -> PyResult<T> {
    let runtime = runtime().map_err(raise)?;
    let outcome = py.detach(|| {
        let watched = async {
            tokio::pin!(work);
            loop {
                tokio::select! {
                    biased;
                    done = &mut work => return Ok(done),
                    () = tokio::time::sleep(LOOK) => Python::attach(|py| py.check_signals())?,
                }
            }
        };
        unwinding(|| Ok(runtime.block_on(watched)))
    });
    match outcome.map_err(raise)? {
        Ok(done) => done.map_err(raise),
        Err(interrupted) => Err(interrupted),
    }
}

/// The connection between long-running work and its caller.
pub(crate) struct Line<P> {
    cancelled: watch::Receiver<bool>,
    tell: Box<dyn Fn(P) + Send + Sync>,
}

impl<P> Line<P> {
    /// Reports progress to the caller.
    pub(crate) fn tell(&self, progress: P) {
        (self.tell)(progress);
    }

    /// A reader or writer that fails as soon as the call is interrupted, so that the operation that
    /// uses it ends there and is undone.
    pub(crate) fn watched<S>(&self, stream: S) -> Watched<S> {
        let cancelled = self.cancelled.clone();
        Watched { stream, cancelled }
    }

    /// Runs a future to its end, or drops it as soon as the call is interrupted.
    pub(crate) fn drive<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mut cancelled = self.cancelled.clone();
        runtime()?.block_on(async {
            tokio::select! {
                biased;
                _ = cancelled.wait_for(|is_cancelled| *is_cancelled) => {
                    Err(Error::new(ErrorKind::Pipeline, "interrupted"))
                }
                done = work => done,
            }
        })
    }
}

/// See [`Line::watched`].
pub(crate) struct Watched<S> {
    stream: S,
    cancelled: watch::Receiver<bool>,
}

impl<S> Watched<S> {
    fn unless_cancelled(&mut self) -> io::Result<&mut S> {
        if *self.cancelled.borrow() {
            return Err(io::Error::other("interrupted"));
        }
        Ok(&mut self.stream)
    }
}

impl<S: Read> Read for Watched<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.unless_cancelled()?.read(buffer)
    }
}

impl<S: Write> Write for Watched<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless_cancelled()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless_cancelled()?.flush()
    }
}

/// Starts `work` on a separate thread, on which `tell` and `finished` are also called. Sending true
/// drops the future that the work is driving.
pub(crate) fn start<T: 'static, P: 'static>(
    work: impl FnOnce(&Line<P>) -> Result<T> + Send + 'static,
    tell: impl Fn(P) + Send + Sync + 'static,
    finished: impl FnOnce(Result<T>) + Send + 'static,
) -> Result<watch::Sender<bool>> {
    let (cancel, cancelled) = watch::channel(false);
    let line = Line {
        cancelled,
        tell: Box::new(tell),
    };
    runtime()?.spawn_blocking(move || finished(unwinding(|| work(&line))));
    Ok(cancel)
}

enum Heard<T, P> {
    Progress(P),
    Done(Result<T>),
}

/// Runs `work` on a separate thread until it is done or a signal arrives. Its progress is passed to
/// `on_progress` on the calling thread; an exception there ends the work as a signal does.
/// `interrupt` is called, perhaps more than once, if the work should end early.
pub(crate) fn long<T: Send + 'static, P: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Line<P>) -> Result<T> + Send + 'static,
    mut on_progress: impl FnMut(Python<'_>, P) -> PyResult<()>,
    interrupt: impl Fn() + Send + Sync,
) -> PyResult<T> {
    let (say, hear) = channel();
    let done = say.clone();
    let cancel = start(
        work,
        // If the caller has stopped waiting, the message is dropped.
        move |progress| drop(say.send(Heard::Progress(progress))),
        move |outcome| drop(done.send(Heard::Done(outcome))),
    )
    .map_err(raise)?;
    let hear = Mutex::new(hear);
    let next = || {
        let hear = hear.lock().unwrap_or_else(PoisonError::into_inner);
        hear.recv_timeout(LOOK)
    };
    loop {
        let listened = match py.detach(next) {
            Ok(Heard::Done(outcome)) => return outcome.map_err(raise),
            Ok(Heard::Progress(progress)) => on_progress(py, progress),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(raise(Error::internal("the work ended without a result")));
            }
        };
        if let Err(raised) = listened.and_then(|()| py.check_signals()) {
            py.detach(|| {
                let _ = cancel.send(true);
                let until = Instant::now() + LETTING_GO;
                // Between two statements there is nothing to interrupt, so one call is not enough.
                interrupt();
                while Instant::now() < until && !matches!(next(), Ok(Heard::Done(_))) {
                    interrupt();
                }
            });
            return Err(raised);
        }
    }
}

/// A panic is a bug in this library and becomes an ordinary error, not an exception that
/// `except Exception` does not catch.
fn unwinding<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned());
        let said = said.unwrap_or_else(|| "no message".to_owned());
        Err(Error::internal(format!("a bug in lyra: {said}"))
            .with_hint("report it with the steps that led to it"))
    })
}
