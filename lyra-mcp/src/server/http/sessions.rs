//! Sessions of the revisions before 2026-07-28: the SDK keeps them, and here is written down which
//! token each belongs to and which of its requests have no answer yet.

use futures_core::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a session without a request is kept. Many clients do not begin again by themselves.
const UNUSED: Duration = Duration::from_secs(3_600);

/// Sessions of one token at most.
const MOST_OF_A_TOKEN: usize = 256;

#[derive(Default)]
struct Session {
    owner: String,
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

    /// Whether this token may open one more.
    pub(super) fn has_room_for(&self, owner: &str) -> bool {
        let known = self.known();
        let of_owner = known.values().filter(|session| session.owner == owner);
        of_owner.count() < MOST_OF_A_TOKEN
    }

    /// Writes down whose session this is.
    pub(super) async fn belongs_to(&self, id: &str, owner: &str) {
        let session = Session {
            owner: owner.to_owned(),
            ..Session::default()
        };
        self.known().insert(id.to_owned(), session);
        // It may have ended in between, and would stay here for ever.
        let id: SessionId = id.into();
        if !self.inner.has_session(&id).await.unwrap_or(false) {
            self.known().remove(&*id);
        }
    }

    /// Whether the session is this token's.
    pub(super) fn is_of(&self, id: &str, owner: &str) -> bool {
        self.known().get(id).is_some_and(|s| s.owner == owner)
    }

    /// A request of the session begins. None where another one with the same id has no answer yet:
    /// the answers could not be told apart.
    pub(super) fn open(self: &Arc<Self>, session: &str, id: &Value) -> Option<OpenRequest> {
        let id = id.to_string();
        let is_free = match self.known().get_mut(session) {
            Some(session) => session.open.insert(id.clone()),
            // The SDK says that there is no such session.
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
        self.inner.initialize_session(id, message).await
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
        self.inner.create_stream(id, message).await
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
