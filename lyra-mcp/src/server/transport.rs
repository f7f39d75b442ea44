//! One JSON-RPC message per line over a pair of streams.
//!
//! The SDK's own transport does not answer a line that it cannot parse, so a faulty client waits
//! forever. This transport answers it as JSON-RPC requires, and survives any input.

use super::flow::Flow;
use super::long_line::IdScan;
use rmcp::RoleServer;
use rmcp::model::ClientNotification;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Maximum size of one incoming message, in bytes; the arguments of tools are far smaller.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// Time limit for calls that were made before the input ended.
const LAST_ANSWERS: Duration = Duration::from_secs(60);

/// Time limit for a client to read the remaining output when the session is over.
const LAST_WRITES: Duration = Duration::from_secs(5);

/// Maximum number of unreadable lines that are logged; otherwise a client that sends only such
/// lines would fill the log.
const LOGGED_COMPLAINTS: u32 = 20;

const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;

struct Outgoing {
    line: Vec<u8>,
    /// Receives whether the line was written.
    written: Option<oneshot::Sender<io::Result<()>>>,
}

/// The server's end of the connection.
pub(crate) struct LineTransport<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// Set while the current line is over the limit: it is dropped up to its end.
    too_long: Option<IdScan>,
    /// A client may send notifications before its first request, which the SDK would not accept.
    seen_request: bool,
    outgoing: Option<mpsc::UnboundedSender<Outgoing>>,
    writer: Option<JoinHandle<()>>,
    /// Set when the input has ended, so that long polls end as well.
    ended: watch::Sender<bool>,
    flow: Arc<Flow>,
    complaints: u32,
}

enum Line {
    Whole,
    /// With the id of the request.
    TooLong(Value),
    End,
}

impl<R: AsyncRead + Unpin + Send> LineTransport<R> {
    pub(crate) fn new<W>(reader: R, writer: W, ended: watch::Sender<bool>) -> Self
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (outgoing, lines) = mpsc::unbounded_channel();
        let flow = Arc::new(Flow::new());
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            too_long: None,
            seen_request: false,
            outgoing: Some(outgoing),
            writer: Some(tokio::spawn(write_lines(writer, lines, Arc::clone(&flow)))),
            ended,
            flow,
            complaints: 0,
        }
    }

    /// Reads up to the next newline. Cancellation is safe: what was read stays in `self.line`.
    async fn read_line(&mut self) -> Line {
        loop {
            let Ok(available) = self.reader.fill_buf().await else {
                return Line::End;
            };
            if available.is_empty() {
                // The last line counts, with or without a newline.
                return match (self.too_long.take(), self.line.is_empty()) {
                    (Some(scan), _) => Line::TooLong(scan.id()),
                    (None, false) => Line::Whole,
                    (None, true) => Line::End,
                };
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(available.len(), |at| at + 1);
            if self.too_long.is_none() && self.line.len() + taken > MAX_LINE {
                let mut scan = IdScan::default();
                scan.feed(&self.line);
                self.line = Vec::new();
                self.too_long = Some(scan);
            }
            match &mut self.too_long {
                Some(scan) => scan.feed(&available[..taken]),
                None => self.line.extend_from_slice(&available[..taken]),
            }
            self.reader.consume(taken);
            if newline.is_some() {
                return match self.too_long.take() {
                    Some(scan) => Line::TooLong(scan.id()),
                    None => Line::Whole,
                };
            }
        }
    }

    /// Answers a line that is not a valid message.
    fn complain(&mut self, code: i32, message: &str, id: &Value) {
        self.complaints = self.complaints.saturating_add(1);
        if self.complaints <= LOGGED_COMPLAINTS {
            crate::log::warn(&format!("a line from the client was refused: {message}"));
        }
        if self.complaints == LOGGED_COMPLAINTS {
            crate::log::line("more such lines are answered, but not logged");
        }
        let reply =
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
        let line = format!("{reply}\n").into_bytes();
        self.flow.queued(line.len());
        if let Some(outgoing) = &self.outgoing {
            // If the writer has ended, the session is over.
            let _ = outgoing.send(Outgoing {
                line,
                written: None,
            });
        }
    }

    fn message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
        if text.is_empty() {
            return None;
        }
        match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(text) {
            Ok(message) => self.in_order(message, text.len()),
            Err(_) => {
                self.reject(text);
                None
            }
        }
    }

    fn in_order(
        &mut self,
        message: RxJsonRpcMessage<RoleServer>,
        bytes: usize,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        match &message {
            RxJsonRpcMessage::<RoleServer>::Request(request) => {
                self.seen_request = true;
                if !self.flow.asked(request.id.clone(), bytes) {
                    let message = "the id is that of a request that has no answer yet; each request \
                        needs an id of its own";
                    let id = serde_json::to_value(&request.id).unwrap_or_default();
                    self.complain(INVALID_REQUEST, message, &id);
                    return None;
                }
            }
            RxJsonRpcMessage::<RoleServer>::Notification(note) => {
                if let ClientNotification::CancelledNotification(note) = &note.notification
                    && let Some(id) = &note.params.request_id
                {
                    self.flow.cancelled(id);
                }
            }
            _ => {}
        }
        self.seen_request.then_some(message)
    }

    fn reject(&mut self, text: &[u8]) {
        if let Some(fault) = fault(text) {
            self.complain(fault.code, &fault.message, &fault.id);
        }
    }
}

/// Why a text is not a valid message of the protocol.
pub(super) struct Fault {
    pub(super) code: i32,
    pub(super) message: String,
    /// The id of the request, as far as it can be recognised.
    pub(super) id: Value,
}

/// The fault of a text that the SDK does not accept as a message. `None` for a notification: no
/// client waits for an answer to one, even if it is malformed.
pub(super) fn fault(text: &[u8]) -> Option<Fault> {
    let value = match serde_json::from_slice::<Value>(text) {
        Ok(value) => value,
        Err(error) => {
            return Some(Fault {
                code: PARSE_ERROR,
                message: format!("the message is not JSON: {error}"),
                id: Value::Null,
            });
        }
    };
    let id = match value.get("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        Some(_) => Value::Null,
        None if value.get("method").is_some_and(Value::is_string) => return None,
        None => Value::Null,
    };
    let message = match value {
        Value::Array(_) => "batches are not supported; send one message at a time",
        _ => "the message is no JSON-RPC 2.0 request, notification or response of this protocol",
    };
    Some(Fault {
        code: INVALID_REQUEST,
        message: message.to_owned(),
        id,
    })
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        let flow = Arc::clone(&self.flow);
        let answers = match &item {
            TxJsonRpcMessage::<RoleServer>::Response(response) => Some(response.id.clone()),
            TxJsonRpcMessage::<RoleServer>::Error(error) => error.id.clone(),
            _ => None,
        };
        // For a slow client, bytes are queued instead of the far larger parsed value.
        if let Some(id) = &answers {
            flow.answering(id);
        }
        let line = serde_json::to_vec(&item).map(|mut line| {
            line.push(b'\n');
            line.shrink_to_fit();
            flow.queued(line.len());
            line
        });
        async move {
            let result = match line {
                Ok(line) => write_one(outgoing, line).await,
                Err(error) => Err(error.into()),
            };
            if answers.is_some() {
                flow.answered();
            }
            result
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let flow = Arc::clone(&self.flow);
        loop {
            let line = tokio::select! {
                () = flow.deaf() => {
                    let _ = self.ended.send(true);
                    return None;
                }
                line = async {
                    flow.room().await;
                    self.read_line().await
                } => line,
            };
            match line {
                Line::Whole => {
                    if let Some(message) = self.message() {
                        return Some(message);
                    }
                }
                Line::TooLong(id) => self.complain(
                    INVALID_REQUEST,
                    &format!("the message is longer than {MAX_LINE} bytes"),
                    &id,
                ),
                Line::End => {
                    let _ = self.ended.send(true);
                    let _ = tokio::time::timeout(LAST_ANSWERS, flow.quiet()).await;
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        let Some(mut writer) = self.writer.take() else {
            return Ok(());
        };
        match tokio::time::timeout(LAST_WRITES, &mut writer).await {
            Ok(ended) => ended.map_err(io::Error::other),
            Err(_) => {
                writer.abort();
                Err(io::ErrorKind::TimedOut.into())
            }
        }
    }
}

/// Queues a line and waits until it is written.
async fn write_one(
    outgoing: Option<mpsc::UnboundedSender<Outgoing>>,
    line: Vec<u8>,
) -> io::Result<()> {
    let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
    let (written, told) = oneshot::channel();
    let written = Some(written);
    outgoing
        .ok_or_else(closed)?
        .send(Outgoing { line, written })
        .map_err(|_| closed())?;
    told.await.map_err(|_| closed())?
}

/// Writes complete lines in order. If one cannot be written, the client has stopped reading and the
/// session is over.
async fn write_lines<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::UnboundedReceiver<Outgoing>,
    flow: Arc<Flow>,
) {
    while let Some(Outgoing { line, written }) = lines.recv().await {
        let mut result = writer.write_all(&line).await;
        if result.is_ok() {
            result = writer.flush().await;
        }
        if let Err(error) = &result
            && flow.deafened()
        {
            crate::log::line(&format!(
                "the client does not read its answers any more ({error}); the session ends"
            ));
        }
        flow.written(line.len());
        if let Some(written) = written {
            let _ = written.send(result);
        }
    }
}

/// The output for `input` if every request is answered with an empty result: the number of accepted
/// messages, all answers, and whether the end was noticed.
#[cfg(any(test, fuzzing))]
pub(super) async fn feed(input: &[u8]) -> (usize, Vec<Value>, bool) {
    use tokio::io::AsyncReadExt;
    let (ended, seen) = watch::channel(false);
    let (mut ours, theirs) = tokio::io::duplex(64 << 20);
    let mut transport = LineTransport::new(io::Cursor::new(input.to_vec()), theirs, ended);
    let mut messages = 0;
    while let Some(message) = transport.receive().await {
        let Some((_, id)) = message.into_request() else {
            continue;
        };
        messages += 1;
        // After the last line, the transport waits until these requests are answered.
        let result = rmcp::model::ServerResult::empty(());
        let answer = TxJsonRpcMessage::<RoleServer>::response(result, id);
        transport.send(answer).await.expect("written");
    }
    transport.close().await.expect("closes");
    drop(transport);
    let mut text = String::new();
    ours.read_to_string(&mut text).await.expect("text");
    let replies = text.lines().map(|l| serde_json::from_str(l).expect("JSON"));
    (messages, replies.collect(), *seen.borrow())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_line_is_let_through_or_answered() {
        const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        for (input, messages, codes) in [
            (format!("{PING}\n"), 1, vec![]),
            (format!("\n  \r\n{PING}\r\n\n{PING}\n"), 2, vec![]),
            ("{nonsense\n".to_owned(), 0, vec![(-32700, Value::Null)]),
            (
                "{\"a\":\"\u{fffd}\n".to_owned(),
                0,
                vec![(-32700, Value::Null)],
            ),
            (format!("[{PING}]\n"), 0, vec![(-32600, Value::Null)]),
            ("5\n".to_owned(), 0, vec![(-32600, Value::Null)]),
            ("{\"id\":7}\n".to_owned(), 0, vec![(-32600, json!(7))]),
            (
                "{\"jsonrpc\":\"1.0\",\"id\":\"x\",\"method\":\"ping\"}\n".to_owned(),
                0,
                vec![(-32600, json!("x"))],
            ),
            // A notification before the first request does not end the session.
            (
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}\n{PING}\n"
                ),
                1,
                vec![],
            ),
            (
                format!("{}{PING}\n", "[".repeat(100_000) + "\n"),
                1,
                vec![(-32700, Value::Null)],
            ),
            (format!("{PING}\n{PING}"), 2, vec![]),
            ("{\"id\": 8".to_owned(), 0, vec![(-32700, Value::Null)]),
            ("x".repeat(MAX_LINE + 1), 0, vec![(-32600, Value::Null)]),
            (
                format!("{}\n{PING}\n", "x".repeat(MAX_LINE + 1)),
                1,
                vec![(-32600, Value::Null)],
            ),
            (
                PING.replace(
                    '}',
                    &format!(",\"params\":{{\"x\":\"{}\"}}}}", "x".repeat(MAX_LINE)),
                ),
                0,
                vec![(-32600, json!(1))],
            ),
        ] {
            let (seen, replies, ended) = feed(input.as_bytes()).await;
            let complaints = replies.iter().filter(|reply| reply.get("error").is_some());
            let label: String = input.chars().take(60).collect();
            assert_eq!(seen, messages, "{label}");
            let got: Vec<(i64, Value)> = complaints
                .map(|c| {
                    (
                        c["error"]["code"].as_i64().expect("a code"),
                        c["id"].clone(),
                    )
                })
                .collect();
            let expected: Vec<(i64, Value)> = codes;
            assert_eq!(got, expected, "{label}");
            assert!(ended);
        }
    }
}
