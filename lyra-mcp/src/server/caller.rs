//! What is known about a caller in addition to the request. For a client on standard input there is
//! nothing.

use crate::access::Access;
use lyra_core::Engine;
use rmcp::model::Extensions;
use std::sync::{Arc, OnceLock};

/// The sender of an HTTP request. It is passed with the request to the tool.
#[derive(Clone, Default)]
pub(super) struct Caller {
    /// The permissions of the caller's token; `None` (everything) if the server has no tokens.
    pub(super) access: Option<Arc<Access>>,
    note: Arc<OnceLock<(&'static str, &'static str)>>,
}

impl Caller {
    pub(super) fn new(access: Option<Arc<Access>>) -> Self {
        Self {
            access,
            note: Arc::default(),
        }
    }

    pub(super) fn of(extensions: &Extensions) -> Self {
        let parts = extensions.get::<http::request::Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get::<Self>());
        caller.cloned().unwrap_or_default()
    }

    /// The name of the token.
    pub(super) fn name(&self) -> Option<&str> {
        self.access.as_deref().map(Access::name)
    }

    /// The engine, with this caller as the actor in its log.
    pub(super) fn engine(&self, engine: &Engine) -> Engine {
        match self.name() {
            Some(name) => engine.acting_as(name),
            None => engine.clone(),
        }
    }

    /// Records which tool the request called and with which outcome, for the access log.
    pub(super) fn note(&self, tool: &'static str, outcome: &'static str) {
        // A request contains exactly one call.
        let _ = self.note.set((tool, outcome));
    }

    /// The recorded tool and outcome.
    pub(super) fn noted(&self) -> Option<(&'static str, &'static str)> {
        self.note.get().copied()
    }
}
