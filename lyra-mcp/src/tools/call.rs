//! One call of a tool: what it was given, and what it may use.

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

/// A call, its arguments already checked and completed.
pub(crate) struct Call {
    pub(crate) engine: Engine,
    pub(crate) arguments: Map<String, Value>,
    /// The names of those that the client gave.
    pub(crate) given: Vec<String>,
    /// The client: the name of its token, else as it named itself.
    pub(crate) client: String,
    /// What the caller's token allows, where it has one.
    pub(crate) access: Option<Arc<Access>>,
    /// Where progress goes, if the client asked for it.
    pub(crate) progress: Option<Progress>,
    /// Turns true when the server is about to end.
    pub(crate) stopping: watch::Receiver<bool>,
    /// When it came.
    pub(crate) asked_at: Instant,
    /// A permit for each query that may be at the guard.
    pub(crate) queries: Arc<Semaphore>,
    /// The evidence pages that clients are fetching.
    pub(crate) pages: Arc<Pages>,
}

impl Call {
    /// Whether the client gave this argument; otherwise it has its default.
    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.given.iter().any(|given| given == name)
    }

    /// The user, in the log. A server without tokens has one user.
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

    /// Tells the client; a client that has gone away is noticed elsewhere.
    pub(crate) async fn send(&self, done: f64, total: f64, message: String) {
        let note = ProgressNotificationParam::new(self.token.clone(), done)
            .with_total(total)
            .with_message(message);
        let _ = self.peer.notify_progress(note).await;
    }
}
