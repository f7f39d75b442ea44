//! Ends running statements from another thread.

use rusqlite::InterruptHandle;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Ends what a graph's connections are doing at this moment.
///
/// A statement that runs ends with [`crate::ErrorKind::QueryInterrupted`], and the transaction
/// that it belongs to is rolled back; what begins afterwards is not touched.
#[derive(Clone, Default)]
pub struct Interrupter(Arc<Mutex<Vec<InterruptHandle>>>);

impl Interrupter {
    /// Interrupts every statement that is running now.
    pub fn interrupt(&self) {
        for handle in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            handle.interrupt();
        }
    }

    /// Adds a connection. A handle of a connection that is closed since does nothing.
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
