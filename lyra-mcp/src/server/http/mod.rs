//! MCP over Streamable HTTP: many clients, each with a token that says who it is.

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

/// Connections at a time; more wait until one of them ends.
const CONNECTIONS: usize = 1_024;

/// How long a client may take to send the head of a request, or keep a connection without one.
const HEAD_TIME: Duration = Duration::from_secs(60);

/// How long connections may take to close when their answers are out.
const LAST_BYTES: Duration = Duration::from_secs(1);

/// Answers at a time that the end of the server waits for.
const ANSWERS: u32 = 1 << 20;

/// How long accepting pauses where the system has no room for one more connection.
const PAUSE: Duration = Duration::from_millis(100);

/// Where and for whom to serve.
pub(crate) struct Listen {
    pub(crate) address: SocketAddr,
    /// The token file; without one, only programs on this machine can call, and all of them.
    pub(crate) tokens: Option<PathBuf>,
    pub(crate) origins: Vec<String>,
    pub(crate) hosts: Vec<String>,
    /// Requests of one token.
    pub(crate) per_second: f64,
    pub(crate) burst: u32,
    /// Bytes of a body at most.
    pub(crate) max_body: usize,
    /// How long answers may take that are under way when the server is told to end.
    pub(crate) drain: Duration,
}

/// Serves until the process is told to end. Then it accepts nothing new, lets the answers that are
/// under way go out within the time for that, and ends.
///
/// # Errors
/// `InvalidInput` for an address that others can reach without tokens, and for tokens, hosts and
/// origins that cannot be read; `Backend` where the address cannot be listened on.
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
    // Long polls answer now.
    let _ = stop.send(true);
    // Connections close as soon as they have nothing to send.
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
    // The gate has looked at hosts and origins already, for every path.
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

/// Accepts connections for ever.
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
        // A client that goes away is no fault of the server.
        let _ = connection.await;
        drop((going, permit));
    });
}

/// Comes back when every answer is out that a client waits for.
async fn answered(gate: &Gate) {
    let _ = gate.drain.acquire_many(ANSWERS).await;
}
