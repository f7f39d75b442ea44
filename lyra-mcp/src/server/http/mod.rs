//! MCP over Streamable HTTP: many clients, each identified by a token.

mod answer;
mod gate;
mod hosts;
mod rate;
mod sessions;

use super::metrics::Metrics;
use super::run::Shared;
use super::serve::{Background, Signals};
use super::{Server, Service};
use crate::access::Tokens;
use gate::Gate;
use hosts::Hosts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use lyra_core::{Error, ErrorKind, Result};
use rate::Rates;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sessions::Sessions;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

/// Maximum number of connections; further ones wait until one ends.
const CONNECTIONS: usize = 1_024;

/// Time limit for receiving the head of a request, and for keeping a connection open without a
/// request.
const HEAD_TIME: Duration = Duration::from_secs(60);

/// Time limit for closing connections after their answers have been sent.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// Maximum number of answers that the shutdown of the server waits for.
const ANSWERS: u32 = 1 << 20;

/// How long accepting pauses if the system has no resources for another connection.
const PAUSE: Duration = Duration::from_millis(100);

/// The address to serve, and its clients.
pub(crate) struct Listen {
    pub(crate) address: SocketAddr,
    /// The token file. Without one, all programs on this machine can call, and no others.
    pub(crate) tokens: Option<PathBuf>,
    pub(crate) origins: Vec<String>,
    pub(crate) hosts: Vec<String>,
    /// Allowed requests per second of one token.
    pub(crate) per_second: f64,
    pub(crate) burst: u32,
    /// Maximum size of a body, in bytes.
    pub(crate) max_body: usize,
    /// Time limit for answers in progress when the server is told to end.
    pub(crate) drain: Duration,
}

/// Serves until the process is told to end. Then it accepts no new connections, waits for the
/// answers in progress within the time limit, and ends.
///
/// # Errors
/// `InvalidInput` for an address that others can reach without tokens, and for invalid tokens,
/// hosts and origins; `Backend` if it cannot listen on the address.
pub(crate) async fn serve_http(service: Service, listen: Listen) -> Result<()> {
    let tokens = tokens(&listen)?;
    let has_tokens = tokens.is_some();
    let hosts = Hosts::new(listen.address, &listen.hosts, &listen.origins)?;
    let listener = bind(listen.address).await?;
    let address = listener.local_addr().unwrap_or(listen.address);
    let mut signals = Signals::listen()?;
    let background = Background::start(&service.engine);
    let (stop, stopping) = watch::channel(false);
    let end = CancellationToken::new();
    let metrics = Metrics::new();
    let sessions = Sessions::new();
    let gate = Arc::new(Gate {
        engine: service.engine.clone(),
        hosts,
        tokens,
        rates: Rates::new(listen.per_second, listen.burst),
        max_body: listen.max_body,
        metrics: Arc::clone(&metrics),
        sessions: Arc::clone(&sessions),
        mcp: mcp(
            service,
            sessions,
            (metrics, stopping),
            &end,
            listen.max_body,
        ),
        drain: Arc::new(Semaphore::new(ANSWERS as usize)),
        ending: AtomicBool::new(false),
    });
    announce(address, has_tokens);
    let connections = GracefulShutdown::new();
    let signal = tokio::select! {
        signal = signals.wait() => signal,
        never = accept(listener, &gate, &connections) => match never {},
    };
    crate::log::line(&format!(
        "{signal}: ending; what is running goes back to the queue"
    ));
    gate.ending.store(true, Ordering::Relaxed);
    // Long polls are answered now.
    let _ = stop.send(true);
    // Connections close as soon as they have nothing left to send.
    let mut closed = tokio::spawn(connections.shutdown());
    tokio::select! {
        () = answered(&gate) => {}
        () = tokio::time::sleep(listen.drain) => {
            crate::log::warn("some answers were not complete in time and are cut off");
        }
        signal = signals.wait() => crate::log::warn(&format!("{signal} again: ending at once")),
    }
    end.cancel();
    let _ = tokio::time::timeout(LAST_BYTES, &mut closed).await;
    background.end().await;
    Ok(())
}

fn tokens(listen: &Listen) -> Result<Option<Tokens>> {
    if let Some(path) = &listen.tokens {
        return Tokens::open(path).map(Some);
    }
    let address = listen.address;
    if address.ip().to_canonical().is_loopback() {
        return Ok(None);
    }
    let message = format!("other machines can reach {address}, and there are no tokens");
    Err(Error::invalid(message).with_hint(
        "make a token with `lyra-mcp token add` and name its file with --tokens, or serve on 127.0.0.1",
    ))
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| {
        let message = format!("{address} cannot be listened on: {error}");
        Error::new(ErrorKind::Backend, message).with_hint("give another address with --http")
    })
}

fn announce(address: SocketAddr, has_tokens: bool) {
    crate::log::line(&format!("serving MCP on http://{address}/mcp"));
    if !has_tokens {
        crate::log::warn("there are no tokens: every program on this machine may call");
    } else if !address.ip().to_canonical().is_loopback() {
        crate::log::warn(
            "tokens and answers are sent without encryption: put a proxy with TLS in front",
        );
    }
}

fn mcp(
    service: Service,
    sessions: Arc<Sessions>,
    (metrics, stopping): (Arc<Metrics>, watch::Receiver<bool>),
    end: &CancellationToken,
    max_body: usize,
) -> StreamableHttpService<Server, Sessions> {
    // The gate has already checked hosts and origins, for every path.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(max_body)
        .with_json_response(true)
        // Streams of requests begin so, where the client's revision knows it.
        .with_sse_retry(None)
        .with_cancellation_token(end.clone());
    let shared = Shared::new(Some(metrics));
    let server = move || {
        Ok(Server::new(
            service.clone(),
            Arc::clone(&shared),
            stopping.clone(),
        ))
    };
    StreamableHttpService::new(server, sessions, config)
}

/// Accepts connections forever.
async fn accept(
    listener: TcpListener,
    gate: &Arc<Gate>,
    connections: &GracefulShutdown,
) -> Infallible {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else {
            continue;
        };
        match listener.accept().await {
            Ok((stream, client)) => {
                serve_connection(stream, client, (gate, connections, permit));
            }
            Err(error) => {
                crate::log::warn(&format!("a connection was not accepted: {error}"));
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn serve_connection(
    stream: TcpStream,
    client: SocketAddr,
    (gate, connections, permit): (&Arc<Gate>, &GracefulShutdown, OwnedSemaphorePermit),
) {
    let _ = stream.set_nodelay(true);
    let going = gate.metrics.connection_begins();
    let gate = Arc::clone(gate);
    let answer = service_fn(move |request| {
        let gate = Arc::clone(&gate);
        async move { Ok::<_, Infallible>(gate.answer(request, client.ip()).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), answer);
    let connection = connections.watch(connection);
    tokio::spawn(async move {
        // A client that disconnects is not an error of the server.
        let _ = connection.await;
        drop((going, permit));
    });
}

/// Returns when all answers that clients wait for have been sent.
async fn answered(gate: &Gate) {
    let _ = gate.drain.acquire_many(ANSWERS).await;
}
