//! The checks of every request: host and origin, token, rate, size; then it goes to the SDK.

use super::super::caller::Caller;
use super::super::metrics::Metrics;
use super::super::transport::{Fault, INVALID_REQUEST, fault};
use super::super::{METHODS, Server};
use super::answer::{Plain, Record, Refusal, Watched, plain};
use super::hosts::{Hosts, Origin};
use super::rate::Rates;
use super::sessions::Sessions;
use crate::access::{Access, Tokens};
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use lyra_core::Engine;
use rmcp::RoleServer;
use rmcp::model::ClientRequest;
use rmcp::service::RxJsonRpcMessage;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Time limit for receiving a body.
const BODY_TIME: Duration = Duration::from_secs(30);

const SESSION: &str = "mcp-session-id";
const JSON: &str = "application/json";

/// Headers that pages of an allowed origin may send and read.
const SENT: &str = "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, \
                    MCP-Protocol-Version, Mcp-Method, Mcp-Name";
const READ: &str = "Mcp-Session-Id, WWW-Authenticate, Retry-After";

/// The state for deciding about requests.
pub(super) struct Gate {
    pub(super) engine: Engine,
    pub(super) hosts: Hosts,
    /// `None` if all clients that can reach the address may call.
    pub(super) tokens: Option<Tokens>,
    pub(super) rates: Rates,
    pub(super) max_body: usize,
    pub(super) metrics: Arc<Metrics>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) mcp: StreamableHttpService<Server, Sessions>,
    /// A permit for each answer that the shutdown of the server waits for.
    pub(super) drain: Arc<Semaphore>,
    pub(super) ending: AtomicBool,
}

impl Gate {
    /// Answers a request of any kind.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
        client: IpAddr,
    ) -> Response<Watched> {
        let names = (
            known_method(request.method()),
            known_path(request.uri().path()),
        );
        let mut record = Record::new(client, names, &self.metrics);
        record.drain = Arc::clone(&self.drain).try_acquire_owned().ok();
        let origin = self.hosts.allow_origin(request.uri(), request.headers());
        let response = match self.admit(request, &origin, &mut record).await {
            Ok(response) => response,
            Err(refusal) => refusal.into_response(),
        };
        Watched::over(for_origin(response, &origin), record)
    }

    async fn admit(
        &self,
        request: Request<Incoming>,
        origin: &Origin,
        record: &mut Record,
    ) -> Result<Plain, Refusal> {
        // Probes use the address of a container and no token; the answer reveals nothing.
        if record.path == "/healthz" {
            only_get(request.method())?;
            return self.health().await;
        }
        if !self.hosts.allow_host(request.uri(), request.headers()) {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "the Host header is not one of this server's hosts",
                "name the host with --allow-host",
            ));
        }
        if *origin == Origin::Refused {
            return Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "the Origin header is not one of this server's origins",
                "name the origin with --allow-origin",
            ));
        }
        if request.method() == Method::OPTIONS {
            return Ok(preflight());
        }
        let access = self.authenticate(request.headers())?;
        record.caller = Caller::new(access);
        let token = record.caller.name().unwrap_or_default().to_owned();
        if let Err(wait) = self.rates.take(&token, Instant::now()) {
            let message = "the token has sent too many requests";
            let hint = "wait as long as Retry-After says";
            let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, message, hint);
            return Err(refusal.retry_after(wait));
        }
        match record.path {
            "/metrics" => {
                only_get(request.method())?;
                let page = self.metrics.page(self.sessions.count());
                Ok(plain(StatusCode::OK, "text/plain; version=0.0.4", page))
            }
            "/mcp" => self.mcp(request, &token, record).await,
            _ => Err(Refusal::new(
                StatusCode::NOT_FOUND,
                "there is nothing at this path",
                "the endpoint is /mcp; /healthz and /metrics are beside it",
            )),
        }
    }

    /// The access of the request's token.
    fn authenticate(&self, headers: &HeaderMap) -> Result<Option<Arc<Access>>, Refusal> {
        let Some(tokens) = &self.tokens else {
            return Ok(None);
        };
        let refused = |message, challenge| {
            let hint = "send the header Authorization: Bearer TOKEN";
            Refusal::new(StatusCode::UNAUTHORIZED, message, hint)
                .with_header(header::WWW_AUTHENTICATE, challenge)
        };
        let Some(token) = bearer(headers) else {
            return Err(refused("a token is needed", "Bearer realm=\"lyra\""));
        };
        tokens.find(token).map(Some).ok_or_else(|| {
            refused(
                "the token is not valid",
                "Bearer realm=\"lyra\", error=\"invalid_token\"",
            )
        })
    }

    async fn mcp(
        &self,
        request: Request<Incoming>,
        token: &str,
        record: &mut Record,
    ) -> Result<Plain, Refusal> {
        let (mut parts, body) = request.into_parts();
        let session = parts.headers.get(SESSION);
        let session = session.and_then(|id| id.to_str().ok()).map(str::to_owned);
        if let Some(id) = &session
            && !self.sessions.is_of(id, token)
        {
            return Err(Refusal::new(
                StatusCode::NOT_FOUND,
                "there is no such session of this token",
                "begin again with initialize",
            ));
        }
        let body = match parts.method {
            Method::POST => {
                let body = self.body_of(&parts.headers, body).await?;
                self.look_at(&body, session.as_deref(), token, record)?;
                body
            }
            // Event streams do not delay the shutdown of the server.
            _ => {
                record.drain = None;
                Bytes::new()
            }
        };
        // The code from here on does not need the token.
        parts.headers.remove(header::AUTHORIZATION);
        parts.extensions.insert(record.caller.clone());
        let request = Request::from_parts(parts, Full::new(body));
        let response = self.mcp.handle(request).await;
        if let Some(id) = response.headers().get(SESSION)
            && let Ok(id) = id.to_str()
        {
            self.sessions.belongs_to(id, token);
        }
        Ok(response)
    }

    async fn body_of(&self, headers: &HeaderMap, body: Incoming) -> Result<Bytes, Refusal> {
        let too_large = || {
            let message = format!("the body is longer than {} bytes", self.max_body);
            let hint = "send less at a time";
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message, hint)
        };
        let length = headers.get(header::CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > self.max_body) {
            return Err(too_large());
        }
        let read = Limited::new(body, self.max_body).collect();
        match tokio::time::timeout(BODY_TIME, read).await {
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
            Ok(Err(_)) => Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                "the body broke off",
                "send the whole body",
            )),
            Err(_) => Err(Refusal::new(
                StatusCode::REQUEST_TIMEOUT,
                format!("the body did not come within {} s", BODY_TIME.as_secs()),
                "send the body at once",
            )),
        }
    }

    /// Refuses invalid messages of the protocol, as on standard input, and requests with which the
    /// SDK would mix up answers.
    fn look_at(
        &self,
        body: &Bytes,
        session: Option<&str>,
        token: &str,
        record: &mut Record,
    ) -> Result<(), Refusal> {
        let request = match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(body) {
            Ok(RxJsonRpcMessage::<RoleServer>::Request(request)) => Some(request),
            Ok(_) => None,
            Err(_) => {
                let fault = fault(body).unwrap_or_else(|| Fault {
                    code: INVALID_REQUEST,
                    message: "the notification has parameters of the wrong types".to_owned(),
                    id: Value::Null,
                });
                return Err(Refusal::message(fault));
            }
        };
        record.rpc = known_rpc(body);
        let Some(request) = request else {
            return Ok(());
        };
        let begins = matches!(request.request, ClientRequest::InitializeRequest(_));
        if begins && !self.sessions.has_room_for(token) {
            let message = "the token has too many open sessions";
            let hint = "end sessions that are not used with DELETE";
            let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, message, hint);
            return Err(refusal.retry_after(BODY_TIME));
        }
        let Some(session) = session else {
            return Ok(());
        };
        let id = serde_json::to_value(&request.id).unwrap_or_default();
        record.open = self.sessions.open(session, &id);
        if record.open.is_none() {
            let message = "the id is that of a request that has no answer yet; each request needs an \
                id of its own";
            return Err(Refusal::message(Fault {
                code: INVALID_REQUEST,
                message: message.to_owned(),
                id,
            }));
        }
        Ok(())
    }

    async fn health(&self) -> Result<Plain, Refusal> {
        let engine = self.engine.clone();
        let read = tokio::task::spawn_blocking(move || engine.vector_bytes()).await;
        let (status, word) = match read {
            _ if self.ending.load(Ordering::Relaxed) => (StatusCode::SERVICE_UNAVAILABLE, "ending"),
            Ok(Ok(_)) => (StatusCode::OK, "ok"),
            _ => (StatusCode::SERVICE_UNAVAILABLE, "failing"),
        };
        let version = env!("CARGO_PKG_VERSION");
        let body = json!({ "status": word, "version": version }).to_string();
        Ok(plain(status, JSON, body))
    }
}

/// The token in the only Authorization header. The query is ignored, since proxies log it.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(given), None) = (given.next(), given.next()) else {
        return None;
    };
    let (scheme, token) = given.to_str().ok()?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

fn only_get(method: &Method) -> Result<(), Refusal> {
    match *method {
        Method::GET | Method::HEAD => Ok(()),
        _ => Err(Refusal::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this path can only be read",
            "use GET",
        )
        .with_header(header::ALLOW, "GET, HEAD")),
    }
}

/// The answer to a browser's preflight request.
fn preflight() -> Plain {
    let mut response = plain(StatusCode::NO_CONTENT, JSON, Bytes::new());
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, SENT),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
        (header::ALLOW, "GET, POST, DELETE, OPTIONS"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Lets a page of an allowed origin read the answer.
fn for_origin(mut response: Plain, origin: &Origin) -> Plain {
    if let Origin::Allowed(origin) = origin
        && let Ok(origin) = HeaderValue::from_str(origin)
    {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        let read = HeaderValue::from_static(READ);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, read);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

/// The log and the metrics use only these names; otherwise clients could write into them.
fn known_path(path: &str) -> &'static str {
    let known = ["/mcp", "/healthz", "/metrics"];
    known
        .into_iter()
        .find(|name| *name == path)
        .unwrap_or("other")
}

fn known_method(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "DELETE", "OPTIONS"];
    let name = method.as_str();
    known.into_iter().find(|k| *k == name).unwrap_or("other")
}

fn known_rpc(body: &[u8]) -> &'static str {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        method: Option<Cow<'a, str>>,
    }
    let notes = ["notifications/initialized", "notifications/cancelled"];
    let head = serde_json::from_slice::<Head<'_>>(body).ok();
    match head.and_then(|head| head.method) {
        None => "-",
        Some(method) => {
            let mut known = METHODS.into_iter().chain(notes);
            known.find(|name| *name == method).unwrap_or("other")
        }
    }
}
