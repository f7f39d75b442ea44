//! Interrupts running statements from another thread.

use rusqlite::InterruptHandle;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Interrupts the current work of a graph's connections.
///
/// A running statement fails with [`crate::ErrorKind::QueryInterrupted`], and its transaction is rolled
/// back; statements that start later are not affected.
#[derive(Clone, Default)]
pub struct Interrupter(Arc<Mutex<Vec<InterruptHandle>>>);

impl Interrupter {
    /// Interrupts every statement that is running now.
    pub fn interrupt(&self) {
        for handle in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            handle.interrupt();
        }
    }

    /// Adds a connection. The handle of a closed connection does nothing.
    pub(super) fn watch(&self, handle: InterruptHandle) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(handle);
    }
}

impl fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupter")
    }
}
