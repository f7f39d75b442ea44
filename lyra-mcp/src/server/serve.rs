//! The server's life: from the first line on standard input to a clean end.

use super::Server;
use super::transport::LineTransport;
use crate::error::Code;
use lyra_core::Engine;
use lyra_core::ports::Clock;
use lyra_core::{Error, ErrorKind, Result};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long running jobs may take to finish when the server ends; a client that starts us again
/// finds what was cut off back in the queue.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves one client on standard input and output until it goes away or the process is told to
/// end. What is being written is finished first.
pub(crate) async fn serve(engine: Engine, clock: Arc<dyn Clock>) -> Result<()> {
    let (stop, stopping) = watch::channel(false);
    let mut signals = Signals::listen()?;
    let workers = engine.start_workers(Arc::new(|error: &Error| {
        crate::log::line(&format!("worker: {error:?}"));
    }));
    let warm = engine.clone();
    tokio::task::spawn_blocking(move || {
        if let Err(error) = warm.load_vectors() {
            crate::log::line(&format!("vectors are not loaded yet: {error:?}"));
        }
    });
    let (reader, writer) = rmcp::transport::stdio_pipes();
    let transport = LineTransport::new(reader, writer, stop.clone());
    let server = Server::new(engine, clock, stopping);
    let result = tokio::select! {
        result = session(server, transport) => result,
        () = signals.wait() => Ok(()),
    };
    let _ = stop.send(true);
    workers.shutdown(PATIENCE).await;
    result
}

async fn session<R>(server: Server, transport: LineTransport<R>) -> Result<()>
where
    R: tokio::io::AsyncRead + Unpin + Send + 'static,
{
    let running = match server.serve(transport).await {
        Ok(running) => running,
        // A client that goes away before it has said anything is no failure of ours.
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

/// The signals that ask a process to end.
pub(crate) struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    /// From now on the signals are heard here, and do not end the process.
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

    /// Comes back when the process is asked to end.
    #[cfg(unix)]
    pub(crate) async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) async fn wait(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
