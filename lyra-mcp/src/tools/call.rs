//! One call of a tool: its arguments, and the resources that it may use.

use super::Pages;
use crate::access::Access;
use crate::error::ToolError;
use lyra_core::Engine;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::{Peer, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Semaphore, watch};

/// A call whose arguments have been checked and completed.
pub(crate) struct Call {
    pub(crate) engine: Engine,
    pub(crate) arguments: Map<String, Value>,
    /// The names of the arguments that the client gave.
    pub(crate) given: Vec<String>,
    /// The client: the name of its token, otherwise the name that it reported.
    pub(crate) client: String,
    /// The permissions of the caller's token, if it has one.
    pub(crate) access: Option<Arc<Access>>,
    /// Receives progress, if the client asked for it.
    pub(crate) progress: Option<Progress>,
    /// Becomes true when the server is about to end.
    pub(crate) stopping: watch::Receiver<bool>,
    /// When the call arrived.
    pub(crate) asked_at: Instant,
    /// Permits for queries at the guard.
    pub(crate) queries: Arc<Semaphore>,
    /// The evidence pages that clients are currently fetching.
    pub(crate) pages: Arc<Pages>,
}

impl Call {
    /// Whether the client gave this argument; otherwise it has its default.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|given| given == name)
    }

    /// The user name for the log. A server without tokens has one user.
    pub(crate) fn user(&self) -> &str {
        self.access.as_deref().map_or("user", Access::name)
    }

    /// The arguments as the type that the tool works with.
    ///
    /// The schema was checked before, so a failure here means that schema and type disagree.
    pub(crate) fn parse<T: DeserializeOwned>(&mut self) -> Result<T, ToolError> {
        serde_json::from_value(Value::Object(std::mem::take(&mut self.arguments)))
            .map_err(|error| ToolError::invalid(format!("the arguments cannot be read: {error}")))
    }

    /// Runs `work` on a thread where it may block.
    pub(crate) async fn blocking<T, F>(&self, work: F) -> Result<T, ToolError>
    where
        T: Send + 'static,
        F: FnOnce(&Engine) -> lyra_core::Result<T> + Send + 'static,
    {
        let engine = self.engine.clone();
        match tokio::task::spawn_blocking(move || work(&engine)).await {
            Ok(result) => result.map_err(ToolError::from),
            Err(broken) => match broken.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(ToolError::internal("a blocking thread was cancelled")),
            },
        }
    }
}

/// Progress notifications of one call.
pub(crate) struct Progress {
    peer: Peer<RoleServer>,
    token: ProgressToken,
}

impl Progress {
    pub(crate) fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token }
    }

    /// Notifies the client; a disconnected client is detected elsewhere.
    pub(crate) async fn send(&self, done: f64, total: f64, message: String) {
        let note = ProgressNotificationParam::new(self.token.clone(), done)
            .with_total(total)
            .with_message(message);
        let _ = self.peer.notify_progress(note).await;
    }
}
