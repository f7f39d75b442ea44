//! Notifies waiters that something about a task may have changed.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// A counter that increases with every change made in this process.
#[derive(Debug, Clone)]
pub(crate) struct Signal(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// For waiters in the async runtime.
    count: watch::Sender<u64>,
    /// For waiters on separate threads.
    rung: Mutex<u64>,
    bell: Condvar,
}

impl Default for Signal {
    fn default() -> Self {
        Self(Arc::new(Shared {
            count: watch::channel(0).0,
            rung: Mutex::default(),
            bell: Condvar::new(),
        }))
    }
}

impl Signal {
    /// Signals a change.
    pub(crate) fn raise(&self) {
        self.0.count.send_modify(|count| *count += 1);
        self.ring();
    }

    /// Wakes only waiters on separate threads.
    pub(crate) fn ring(&self) {
        let mut rung = self.0.rung.lock().unwrap_or_else(PoisonError::into_inner);
        *rung += 1;
        drop(rung);
        self.0.bell.notify_all();
    }

    /// Subscribes to changes from now on.
    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.0.count.subscribe()
    }

    /// Blocks this thread until the bell has rung since `heard`, which is then updated, but at most
    /// for `pause`.
    pub(crate) fn sleep_until_rung(&self, heard: &mut u64, pause: Duration) {
        let rung = self.0.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .0
            .bell
            .wait_timeout_while(rung, pause, |rung| *rung == *heard);
        *heard = *waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_thread_hears_what_was_raised_before_it_slept_and_while_it_does() {
        let signal = Signal::default();
        let mut heard = 0;
        signal.raise();
        signal.raise();
        let long = Duration::from_secs(60);
        let began = Instant::now();
        signal.sleep_until_rung(&mut heard, long);
        assert_eq!(heard, 2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(20));
                signal.raise();
            });
            signal.sleep_until_rung(&mut heard, long);
        });
        assert_eq!(heard, 3);
        assert!(began.elapsed() < long);
        signal.sleep_until_rung(&mut heard, Duration::from_millis(1));
        assert_eq!(heard, 3, "nobody raised anything");
    }
}
