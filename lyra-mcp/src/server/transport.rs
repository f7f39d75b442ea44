//! One JSON-RPC message a line over a pair of streams.
//!
//! The SDK's own transport is silent about a line that it cannot read, so a client with a defect
//! waits for ever. This one answers it as JSON-RPC says, and outlives everything that comes in.

use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// Bytes of one incoming message at most; what a tool takes is far below.
const MAX_LINE: usize = 4 * 1024 * 1024;

/// Lines that wait to be written at most, before a sender has to wait.
const OUTGOING: usize = 256;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

struct Outgoing {
    line: Vec<u8>,
    /// Told whether the line was written.
    written: Option<oneshot::Sender<io::Result<()>>>,
}

/// The server's end of the line.
pub(crate) struct LineTransport<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// The line that is being read is over the limit: drop it up to its end.
    too_long: bool,
    /// A client may send notifications before its first request; the SDK would give up on them.
    seen_request: bool,
    outgoing: Option<mpsc::Sender<Outgoing>>,
    writer: Option<JoinHandle<()>>,
    /// Set when the input has ended, so that long polls end, too.
    ended: watch::Sender<bool>,
}

enum Line {
    Whole,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin + Send> LineTransport<R> {
    pub(crate) fn new<W>(reader: R, writer: W, ended: watch::Sender<bool>) -> Self
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (outgoing, lines) = mpsc::channel(OUTGOING);
        Self {
            reader: BufReader::new(reader),
            line: Vec::new(),
            too_long: false,
            seen_request: false,
            outgoing: Some(outgoing),
            writer: Some(tokio::spawn(write_lines(writer, lines))),
            ended,
        }
    }

    /// Reads up to the next newline. Cancelling loses nothing: what was read stays in `self.line`.
    async fn read_line(&mut self) -> Line {
        loop {
            let Ok(available) = self.reader.fill_buf().await else {
                return Line::End;
            };
            if available.is_empty() {
                return Line::End;
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.map_or(available.len(), |at| at + 1);
            self.too_long |= self.line.len() + taken > MAX_LINE;
            if self.too_long {
                self.line.clear();
            } else {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.reader.consume(taken);
            if newline.is_some() {
                return if std::mem::take(&mut self.too_long) {
                    Line::TooLong
                } else {
                    Line::Whole
                };
            }
        }
    }

    /// Answers a line that is no message. Where the queue is full the client does not read its
    /// answers, and one more would not help it.
    fn complain(&self, code: i32, message: &str, id: &Value) {
        let reply =
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
        let line = format!("{reply}\n").into_bytes();
        if let Some(outgoing) = &self.outgoing {
            let _ = outgoing.try_send(Outgoing {
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
            Ok(message) => self.in_order(message),
            Err(_) => {
                self.reject(text);
                None
            }
        }
    }

    fn in_order(
        &mut self,
        message: RxJsonRpcMessage<RoleServer>,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.seen_request |= matches!(message, RxJsonRpcMessage::<RoleServer>::Request(_));
        self.seen_request.then_some(message)
    }

    fn reject(&self, text: &[u8]) {
        let Ok(value) = serde_json::from_slice::<Value>(text) else {
            return self.complain(PARSE_ERROR, "the line is not JSON", &Value::Null);
        };
        let id = match value.get("id") {
            Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
            Some(_) => Value::Null,
            // Nobody waits for an answer to a notification, however odd it is.
            None if value.get("method").is_some_and(Value::is_string) => return,
            None => Value::Null,
        };
        let message = match value {
            Value::Array(_) => "batches are not supported; send one message a line",
            _ => {
                "the message is no JSON-RPC 2.0 request, notification or response of this protocol"
            }
        };
        self.complain(INVALID_REQUEST, message, &id);
    }
}

impl<R: AsyncRead + Unpin + Send + 'static> Transport<RoleServer> for LineTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let outgoing = self.outgoing.clone();
        async move {
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let (written, told) = oneshot::channel();
            let outgoing = outgoing.ok_or_else(closed)?;
            outgoing
                .send(Outgoing {
                    line,
                    written: Some(written),
                })
                .await
                .map_err(|_| closed())?;
            told.await.map_err(|_| closed())?
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.read_line().await {
                Line::Whole => {
                    if let Some(message) = self.message() {
                        return Some(message);
                    }
                }
                Line::TooLong => self.complain(
                    INVALID_REQUEST,
                    &format!("the message is longer than {MAX_LINE} bytes"),
                    &Value::Null,
                ),
                Line::End => {
                    let _ = self.ended.send(true);
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        if let Some(writer) = self.writer.take() {
            writer.await.map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// Writes lines whole and in order, and flushes whenever there is nothing more to write.
async fn write_lines<W: AsyncWrite + Unpin>(mut writer: W, mut lines: mpsc::Receiver<Outgoing>) {
    while let Some(Outgoing { line, written }) = lines.recv().await {
        let mut result = writer.write_all(&line).await;
        if result.is_ok() {
            result = writer.flush().await;
        }
        if let Some(written) = written {
            let _ = written.send(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    /// What comes out for `input`: the messages let through, and the complaints.
    async fn feed(input: &[u8]) -> (usize, Vec<Value>, bool) {
        let (ended, seen) = watch::channel(false);
        let (mut ours, theirs) = tokio::io::duplex(1 << 20);
        let mut transport = LineTransport::new(io::Cursor::new(input.to_vec()), theirs, ended);
        let mut messages = 0;
        while transport.receive().await.is_some() {
            messages += 1;
        }
        transport.close().await.expect("closes");
        drop(transport);
        let mut text = String::new();
        ours.read_to_string(&mut text).await.expect("text");
        let complaints = text
            .lines()
            .map(|l| serde_json::from_str(l).expect("JSON"))
            .collect();
        (messages, complaints, *seen.borrow())
    }

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
            // A notification before the first request is no reason to end the session.
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
            (
                format!("{}\n{PING}\n", "x".repeat(MAX_LINE + 1)),
                1,
                vec![(-32600, Value::Null)],
            ),
        ] {
            let (seen, complaints, ended) = feed(input.as_bytes()).await;
            let label: String = input.chars().take(60).collect();
            assert_eq!(seen, messages, "{label}");
            let got: Vec<(i64, Value)> = complaints
                .iter()
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
