//! The life cycle of the server: from the first line on standard input to a clean shutdown.

use super::run::Shared;
use super::transport::LineTransport;
use super::{Server, Service};
use crate::error::Code;
use lyra_core::Engine;
use lyra_core::{Error, ErrorKind, Result, Workers};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Time limit for running jobs when the server ends; interrupted jobs are in the queue again when a
/// client restarts the server. Even with blocking work (a document being parsed), the server ends
/// within five seconds.
const PATIENCE: Duration = Duration::from_millis(2_500);

/// Serves one client on standard input and output until it disconnects or the process is told to
/// end. Writes in progress are finished first.
pub(crate) async fn serve(service: Service) -> Result<()> {
    let (stop, stopping) = watch::channel(false);
    let mut signals = Signals::listen()?;
    let background = Background::start(&service.engine);
    let (reader, writer) = rmcp::transport::stdio_pipes();
    let transport = LineTransport::new(reader, writer, stop.clone());
    let server = Server::new(service, Shared::new(None), stopping);
    let result = tokio::select! {
        result = session(server, transport) => result,
        signal = signals.wait() => {
            crate::log::line(&format!("{signal}: ending; what is running goes back to the queue"));
            Ok(())
        }
    };
    let _ = stop.send(true);
    background.end().await;
    result
}

/// Background work: the workers, and the management of vectors in memory.
pub(super) struct Background {
    workers: Workers,
    idle: JoinHandle<()>,
}

impl Background {
    pub(super) fn start(engine: &Engine) -> Self {
        let repeats = Mutex::new(Repeats::default());
        let workers = engine.start_workers(Arc::new(move |error: &Error| {
            let mut repeats = repeats.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(line) = repeats.line(format!("worker: {error:?}"), Instant::now()) {
                crate::log::warn(&line);
            }
        }));
        let warm = engine.clone();
        tokio::task::spawn_blocking(move || {
            if let Err(error) = warm_up(&warm) {
                crate::log::warn(&format!("vectors are not loaded yet: {error:?}"));
            }
        });
        let idle = tokio::spawn(release_when_unused(engine.clone()));
        Self { workers, idle }
    }

    /// Stops it; writes in progress are finished first.
    pub(super) async fn end(self) {
        self.idle.abort();
        self.workers.shutdown(PATIENCE).await;
    }
}

/// Maximum size of vectors, in bytes, that are loaded at the start, before any search. Clients
/// start servers that they may never use: a larger set is loaded by the first search.
const WARM_BYTES: u64 = 24 * 1024 * 1024;

/// How long unused vectors stay in memory.
const UNUSED: Duration = Duration::from_secs(600);

fn warm_up(engine: &Engine) -> Result<()> {
    if engine.vector_bytes()? <= WARM_BYTES {
        engine.load_vectors()?;
    }
    Ok(())
}

async fn release_when_unused(engine: Engine) {
    let mut minutes = tokio::time::interval(Duration::from_secs(60));
    loop {
        minutes.tick().await;
        let engine = engine.clone();
        // Releasing them waits for searches in progress.
        let _ = tokio::task::spawn_blocking(move || engine.release_vectors(UNUSED)).await;
    }
}

/// How long a repeated line is suppressed.
const SAME_LINE: Duration = Duration::from_secs(60);

/// Prevents a worker that fails several times a second, because the database is gone, from filling
/// the log.
#[derive(Default)]
struct Repeats {
    last: String,
    said: Option<Instant>,
    held_back: u32,
}

impl Repeats {
    /// The line to log, if any.
    fn line(&mut self, line: String, now: Instant) -> Option<String> {
        let is_new = line != self.last;
        if !is_new && self.said.is_some_and(|said| now - said < SAME_LINE) {
            self.held_back += 1;
            return None;
        }
        let times = match std::mem::take(&mut self.held_back) {
            0 => String::new(),
            times => format!(" (and {times} times more since)"),
        };
        self.said = Some(now);
        self.last.clone_from(&line);
        Some(if is_new { line } else { line + &times })
    }
}

async fn session<R>(server: Server, transport: LineTransport<R>) -> Result<()>
where
    R: tokio::io::AsyncRead + Unpin + Send + 'static,
{
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // A client that disconnects before it has sent anything is not a failure of the server.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => {
            return Err(Error::new(
                ErrorKind::Backend,
                format!("the handshake failed: {error}"),
            ));
        }
    };
    running.waiting().await.map_err(|error| {
        Error::internal(format!(
            "{}: the session broke off: {error}",
            Code::InternalError.as_str()
        ))
    })?;
    Ok(())
}

/// The signals that tell a process to end.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// From now on the signals are received here, and do not end the process.
    #[cfg(unix)]
    pub(crate) fn listen() -> Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let failed = |error| Error::internal("signals cannot be handled").with_source(error);
        Ok(Self {
            terminate: signal(SignalKind::terminate()).map_err(failed)?,
            interrupt: signal(SignalKind::interrupt()).map_err(failed)?,
        })
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> Result<Self> {
        Ok(Self {})
    }

    /// Returns when the process is told to end, with the name of the signal.
    #[cfg(unix)]
    pub(crate) async fn wait(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn wait(&mut self) -> &'static str {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "Ctrl-C"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_comes_again_is_counted_instead_of_said() {
        let (mut repeats, start) = (Repeats::default(), Instant::now());
        let mut at = |line: &str, seconds| {
            let now = start + Duration::from_secs(seconds);
            repeats.line(line.to_owned(), now)
        };
        assert_eq!(at("a", 0).as_deref(), Some("a"));
        assert_eq!((at("a", 1), at("a", 59)), (None, None));
        assert_eq!(at("a", 60).as_deref(), Some("a (and 2 times more since)"));
        assert_eq!(at("a", 61), None);
        assert_eq!(at("b", 62).as_deref(), Some("b"));
        assert_eq!(at("a", 63).as_deref(), Some("a"));
    }
}
