//! Tells waiters that something about a task may have changed.

use std::sync::Arc;
use tokio::sync::watch;

/// A counter that rises with every change made in this process.
#[derive(Debug, Clone)]
pub(crate) struct Signal(Arc<watch::Sender<u64>>);

impl Default for Signal {
    fn default() -> Self {
        Self(Arc::new(watch::channel(0).0))
    }
}

impl Signal {
    /// Says that something changed.
    pub(crate) fn raise(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    /// Hears of changes from now on.
    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
