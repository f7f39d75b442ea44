//! Sessions of the protocol revisions before 2026-07-28. The SDK manages them; this module records
//! to which token each belongs, which of its requests have no answer yet, and which events its
//! client can read.

use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// How long a session without a request is kept. Many clients do not start a new session by
/// themselves.
const UNUSED: Duration = Duration::from_secs(3_600);

/// Maximum number of sessions per token.
const MOST_OF_A_TOKEN: usize = 256;

struct Session {
    /// The name of its token; `None` while the session is being opened.
    owner: Option<String>,
    /// Whether its client supports events without data, which allow it to resume a stream.
    primes: bool,
    /// Ids of requests without an answer, as JSON.
    open: HashSet<String>,
}

/// The sessions of the server.
pub(super) struct Sessions {
    inner: LocalSessionManager,
    known: Mutex<HashMap<String, Session>>,
}

/// A request without an answer; its id is free again when this is dropped.
pub(super) struct OpenRequest {
    sessions: Arc<Sessions>,
    session: String,
    id: String,
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.known().get_mut(&self.session) {
            session.open.remove(&self.id);
        }
    }
}

impl Sessions {
    pub(super) fn new() -> Arc<Self> {
        let mut config = SessionConfig::default();
        config.keep_alive = Some(UNUSED);
        let mut inner = LocalSessionManager::default();
        inner.session_config = config;
        Arc::new(Self {
            inner,
            known: Mutex::default(),
        })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn count(&self) -> usize {
        self.known().len()
    }

    /// Whether this token may open another session.
    pub(super) fn has_room_for(&self, owner: &str) -> bool {
        let known = self.known();
        let of_owner = known
            .values()
            .filter(|session| session.owner.as_deref() == Some(owner));
        of_owner.count() < MOST_OF_A_TOKEN
    }

    /// Records the owner of the session, unless it has already ended.
    pub(super) fn belongs_to(&self, id: &str, owner: &str) {
        if let Some(session) = self.known().get_mut(id) {
            session.owner = Some(owner.to_owned());
        }
    }

    /// Whether the session belongs to this token.
    pub(super) fn is_of(&self, id: &str, owner: &str) -> bool {
        self.known()
            .get(id)
            .is_some_and(|s| s.owner.as_deref() == Some(owner))
    }

    /// Registers a request of the session. `None` if another one with the same id has no answer
    /// yet: the answers could not be distinguished.
    pub(super) fn open(self: &Arc<Self>, session: &str, id: &Value) -> Option<OpenRequest> {
        let id = id.to_string();
        let is_free = match self.known().get_mut(session) {
            Some(session) => session.open.insert(id.clone()),
            // The SDK reports that the session does not exist.
            None => true,
        };
        is_free.then(|| OpenRequest {
            sessions: Arc::clone(self),
            session: session.to_owned(),
            id,
        })
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        self.inner.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let answer = self.inner.initialize_session(id, message).await?;
        let session = Session {
            owner: None,
            primes: knows_events_without_data(&answer),
            open: HashSet::new(),
        };
        self.known().insert(id.to_string(), session);
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        let closed = self.inner.close_session(id).await;
        self.known().remove(&**id);
        closed
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.inner.create_stream(id, message).await?;
        let primes = self.known().get(&**id).is_some_and(|s| s.primes);
        Ok(Readable {
            inner: Box::pin(stream),
            primes,
        })
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.inner.resume(id, last_event_id).await
    }
}

/// Events without data were introduced in revision 2025-11-25; older clients take them for broken
/// messages.
fn knows_events_without_data(answer: &ServerJsonRpcMessage) -> bool {
    match answer {
        ServerJsonRpcMessage::Response(response) => match &response.result {
            ServerResult::InitializeResult(result) => {
                result.protocol_version >= ProtocolVersion::V_2025_11_25
            }
            _ => false,
        },
        _ => false,
    }
}

/// Only the events that the client of a session can read.
struct Readable {
    inner: Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>,
    primes: bool,
}

impl Stream for Readable {
    type Item = ServerSseMessage;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<ServerSseMessage>> {
        loop {
            match self.inner.as_mut().poll_next(context) {
                Poll::Ready(Some(event)) if !self.primes && event.message.is_none() => {}
                polled => return polled,
            }
        }
    }
}
