//! What is known of a caller beside the request itself. A client on standard input has none of it.

use crate::access::Access;
use lyra_core::Engine;
use rmcp::model::Extensions;
use std::sync::{Arc, OnceLock};

/// Who sent a request of HTTP. It travels with the request to the tool.
#[derive(Clone, Default)]
pub(super) struct Caller {
    /// What the caller's token allows; everything where the server has no tokens.
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

    /// The engine, whose log names this caller.
    pub(super) fn engine(&self, engine: &Engine) -> Engine {
        match self.name() {
            Some(name) => engine.acting_as(name),
            None => engine.clone(),
        }
    }

    /// Notes which tool the request called and how that ended, for the access log.
    pub(super) fn note(&self, tool: &'static str, outcome: &'static str) {
        // A request is one call.
        let _ = self.note.set((tool, outcome));
    }

    /// The tool and the outcome.
    pub(super) fn noted(&self) -> Option<(&'static str, &'static str)> {
        self.note.get().copied()
    }
}
