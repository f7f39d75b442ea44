//! The memory that a connection uses for its client: requests without an answer, and answers that
//! the client has not read yet.
//!
//! A client may send a thousand requests before it reads one answer. Far beyond that, reading stops
//! until the client has taken some of its answers, as with a full pipe.

use rmcp::model::RequestId;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use tokio::sync::watch;

/// Maximum number of bytes of requests and answers; above it, nothing more is read.
const MAX_HELD: usize = 128 * 1024 * 1024;

/// Number of bytes that a waiting request counts for in addition to its own size: its task, its
/// parsed arguments, and most of an answer of usual size, so that a flood is noticed before it is
/// answered.
const REQUEST_OVERHEAD: usize = 32 * 1024;

#[derive(Default)]
struct Held {
    /// Requests without an answer, and their sizes.
    open: HashMap<RequestId, usize>,
    /// Number of answers that are about to be written.
    answering: usize,
    bytes: usize,
    /// Whether the client has closed its end, so that no answer can be written any more.
    deaf: bool,
}

impl Held {
    fn close(&mut self, id: &RequestId) -> bool {
        let bytes = self.open.remove(id);
        self.bytes -= bytes.unwrap_or(0);
        bytes.is_some()
    }
}

/// The accounting of one connection.
pub(super) struct Flow(watch::Sender<Held>);

impl Flow {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Held::default()))
    }

    /// Registers an incoming request of this size. Returns whether its id is free: no other request
    /// without an answer has it.
    pub(super) fn asked(&self, id: RequestId, bytes: usize) -> bool {
        let bytes = bytes + REQUEST_OVERHEAD;
        self.0.send_if_modified(|held| match held.open.entry(id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(free) => {
                free.insert(bytes);
                held.bytes += bytes;
                true
            }
        })
    }

    /// The request was cancelled, so it gets no answer.
    pub(super) fn cancelled(&self, id: &RequestId) {
        self.0.send_if_modified(|held| held.close(id));
    }

    /// The answer to the request is about to be written. A client that reads it may reuse the id.
    pub(super) fn answering(&self, id: &RequestId) {
        self.0.send_modify(|held| {
            held.close(id);
            held.answering += 1;
        });
    }

    /// The answer was written, or cannot be.
    pub(super) fn answered(&self) {
        self.0.send_modify(|held| held.answering -= 1);
    }

    /// A line of this size waits to be written.
    pub(super) fn queued(&self, bytes: usize) {
        self.0.send_modify(|held| held.bytes += bytes);
    }

    /// The line has been written.
    pub(super) fn written(&self, bytes: usize) {
        self.0.send_modify(|held| held.bytes -= bytes);
    }

    /// Writing failed. Returns whether this is the first time.
    pub(super) fn deafened(&self) -> bool {
        self.0
            .send_if_modified(|held| !std::mem::replace(&mut held.deaf, true))
    }

    /// Returns when there is room for one more request.
    pub(super) async fn room(&self) {
        self.until(|held| held.bytes < MAX_HELD || held.deaf).await;
    }

    /// Returns when every request has its answer, or none can be written any more.
    pub(super) async fn quiet(&self) {
        self.until(|held| held.open.is_empty() && held.answering == 0 || held.deaf)
            .await;
    }

    /// Returns when the client has closed its end.
    pub(super) async fn deaf(&self) {
        self.until(|held| held.deaf).await;
    }

    async fn until(&self, enough: impl FnMut(&Held) -> bool) {
        // The sender is `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(enough).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn id(number: i64) -> RequestId {
        RequestId::Number(number)
    }

    async fn comes_back(waiting: impl Future<Output = ()>) -> bool {
        tokio::time::timeout(Duration::from_millis(20), waiting)
            .await
            .is_ok()
    }

    #[tokio::test]
    async fn reading_stops_while_too_much_is_held() {
        let flow = Flow::new();
        assert!(comes_back(flow.room()).await);
        flow.asked(id(1), MAX_HELD / 2 - REQUEST_OVERHEAD);
        assert!(comes_back(flow.room()).await);
        flow.queued(MAX_HELD / 2);
        assert!(!comes_back(flow.room()).await);
        flow.answering(&id(1));
        assert!(comes_back(flow.room()).await);
        flow.queued(MAX_HELD);
        assert!(!comes_back(flow.room()).await);
        flow.written(MAX_HELD);
        assert!(comes_back(flow.room()).await);
    }

    #[tokio::test]
    async fn it_is_quiet_when_every_request_is_settled_even_one_that_came_twice() {
        let flow = Flow::new();
        for (number, is_free) in [(1, true), (2, true), (2, false), (3, true)] {
            assert_eq!(flow.asked(id(number), 10), is_free, "{number}");
        }
        assert!(!comes_back(flow.quiet()).await);
        for number in [2, 7] {
            flow.cancelled(&id(number));
        }
        for number in [1, 3] {
            assert!(!comes_back(flow.quiet()).await);
            flow.answering(&id(number));
        }
        assert!(!comes_back(flow.quiet()).await, "not written yet");
        flow.answered();
        flow.answered();
        assert!(comes_back(flow.quiet()).await);
        assert_eq!(flow.0.borrow().bytes, 0);
        assert!(flow.asked(id(2), 10), "free again");
    }

    #[tokio::test]
    async fn nobody_waits_for_a_client_that_went_away() {
        let flow = Flow::new();
        flow.asked(id(1), MAX_HELD);
        assert!(!comes_back(flow.deaf()).await);
        assert!(flow.deafened() && !flow.deafened());
        assert!(comes_back(flow.quiet()).await && comes_back(flow.room()).await);
        assert!(comes_back(flow.deaf()).await);
    }
}
