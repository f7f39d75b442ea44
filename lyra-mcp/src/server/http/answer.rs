//! Answers of the server itself, and the tracking of every answer until its last byte.

use super::super::caller::Caller;
use super::super::metrics::{Going, Metrics};
use super::super::transport::Fault;
use super::sessions::OpenRequest;
use bytes::Bytes;
use http::header::{self, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::OwnedSemaphorePermit;

/// The body of an answer before it is tracked.
pub(super) type Plain = Response<BoxBody<Bytes, Infallible>>;

/// The code for an HTTP error in the accompanying JSON-RPC body; JSON-RPC leaves it to servers.
const REFUSED: i32 = -32000;

pub(super) fn plain(status: StatusCode, kind: &'static str, text: impl Into<Bytes>) -> Plain {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Why a request is refused, as a JSON-RPC error with an HTTP status.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Boxed, because otherwise every result would have its size.
    body: Box<Value>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, message: impl Into<String>, hint: &'static str) -> Self {
        let message: String = message.into();
        let error = json!({"code": REFUSED, "message": message, "data": {"hint": hint}});
        Self {
            status,
            headers: Vec::new(),
            body: Box::new(json!({"jsonrpc": "2.0", "id": null, "error": error})),
        }
    }

    /// For an invalid message of the protocol.
    pub(super) fn message(fault: Fault) -> Self {
        let hint = "send one JSON-RPC 2.0 message as the body of a POST";
        let mut refusal = Self::new(StatusCode::BAD_REQUEST, fault.message, hint);
        refusal.body["error"]["code"] = fault.code.into();
        refusal.body["id"] = fault.id;
        refusal
    }

    pub(super) fn with_header(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// Adds the time after which to retry, in whole seconds.
    pub(super) fn retry_after(mut self, wait: Duration) -> Self {
        let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
        self.headers.push((header::RETRY_AFTER, seconds.into()));
        self
    }

    pub(super) fn into_response(self) -> Plain {
        let mut response = plain(self.status, "application/json", self.body.to_string());
        for (name, value) in self.headers {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

/// The name of the access log in filters.
const LOG: &str = "lyra_mcp::requests";

/// The status of a request whose client disconnected before the answer, as used by proxies.
const GONE: u16 = 499;

/// The record of a request. When it is dropped, because the last byte of the answer was sent or the
/// client disconnected, the access log and the metrics are updated. It contains nothing that a
/// client wrote: no header, query or argument.
pub(super) struct Record {
    client: IpAddr,
    method: &'static str,
    pub(super) path: &'static str,
    began: Instant,
    /// The JSON-RPC method, if there is one.
    pub(super) rpc: &'static str,
    pub(super) caller: Caller,
    /// The id that is in use until the answer is sent.
    pub(super) open: Option<OpenRequest>,
    /// A permit that the shutdown of the server waits for.
    pub(super) drain: Option<OwnedSemaphorePermit>,
    metrics: Arc<Metrics>,
    status: u16,
    bytes: u64,
    whole: bool,
    _going: Going,
}

impl Record {
    pub(super) fn new(
        client: IpAddr,
        (method, path): (&'static str, &'static str),
        metrics: &Arc<Metrics>,
    ) -> Self {
        Self {
            client,
            method,
            path,
            began: Instant::now(),
            rpc: "-",
            caller: Caller::default(),
            open: None,
            drain: None,
            metrics: Arc::clone(metrics),
            status: GONE,
            bytes: 0,
            whole: false,
            _going: metrics.request_begins(),
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let (method, path, status) = (self.method, self.path, self.status);
        self.metrics.request_ended(path, method, status);
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (tool, outcome) = self.caller.noted().unwrap_or(("-", "-"));
        let token = self.caller.name().unwrap_or("-");
        let (client, rpc, bytes, whole) = (self.client, self.rpc, self.bytes, self.whole);
        // Monitoring queries these every few seconds.
        if path == "/healthz" || path == "/metrics" {
            tracing::debug!(target: LOG, %client, token, method, path, status, ms, bytes, whole, "request");
        } else {
            tracing::info!(target: LOG, %client, token, method, path, rpc, tool, outcome, status, ms, bytes, whole, "request");
        }
    }
}

/// A body together with the record of its request.
pub(super) struct Watched {
    inner: BoxBody<Bytes, Infallible>,
    record: Record,
}

impl Watched {
    pub(super) fn over(response: Plain, mut record: Record) -> Response<Self> {
        let (parts, inner) = response.into_parts();
        record.status = parts.status.as_u16();
        record.whole = inner.is_end_stream();
        Response::from_parts(parts, Self { inner, record })
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.inner).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let length = frame.data_ref().map_or(0, Bytes::len);
                self.record.bytes += length as u64;
                self.record.whole = self.inner.is_end_stream();
            }
            Poll::Ready(None) => self.record.whole = true,
            _ => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
