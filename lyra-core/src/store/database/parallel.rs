//! Runs work on a second thread while this one writes.

use std::panic::resume_unwind;
use std::thread::{Builder, ScopedJoinHandle, scope};

/// Runs `there` on a separate thread while `here` runs on this one, which holds the connection; if the
/// system cannot start a thread, both run on this one.
pub(crate) fn run_in_parallel<A: Send, B>(
    there: impl Fn() -> A + Sync,
    here: impl FnOnce() -> B,
) -> (A, B) {
    scope(|scope| {
        let thread = Builder::new().name("lyra-parallel".to_owned());
        let running = thread.spawn_scoped(scope, &there);
        let done = here();
        let other = match running.map(ScopedJoinHandle::join) {
            Ok(Ok(other)) => other,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => there(),
        };
        (other, done)
    })
}
