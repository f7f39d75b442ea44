//! Runs third-party parsers in this process: on a separate thread, with a time limit.
//!
//! A thread cannot be stopped, and keeps its memory until it ends. Where documents are untrusted, a
//! [`ParserProcess`](crate::documents::ParserProcess) parses them, and this module is not used.

use super::limits::STACK;
use crate::error::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// While this many documents of a format are still being parsed past their time limit, no new
/// document of that format is started.
const MOST_ABANDONED: usize = 4;

/// A format with a third-party parser. Each format has a separate count, so that documents that
/// break the parser of one format do not block the others.
#[derive(Debug)]
pub(super) struct Foreign {
    /// The format's name in messages.
    name: &'static str,
    /// Threads that were abandoned and still run.
    abandoned: AtomicUsize,
}

impl Foreign {
    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            abandoned: AtomicUsize::new(0),
        }
    }
}

/// Counts a thread as abandoned from its time limit until it ends.
struct AbandonedThread(&'static Foreign);

impl Drop for AbandonedThread {
    fn drop(&mut self) {
        self.0.abandoned.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs `work`, which may panic or never end, for at most `limit`.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    format: &'static Foreign,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let what = format.name;
    if format.abandoned.load(Ordering::SeqCst) >= MOST_ABANDONED {
        return Err(Error::new(
            ErrorKind::Timeout,
            format!(
                "{MOST_ABANDONED} earlier {what} documents are still being parsed after their \
                 time limit"
            ),
        )
        .with_hint("try again later"));
    }
    let (sender, receiver) = channel();
    let (late, until_late) = channel::<AbandonedThread>();
    let thread = std::thread::Builder::new()
        .name(format!("lyra-{what}"))
        .stack_size(STACK);
    thread
        .spawn(move || {
            // Whatever was sent here is dropped when the thread ends, however it ends.
            let _late = until_late;
            let _ = sender.send(work());
        })
        .map_err(|e| Error::internal(format!("no thread for the {what} parser: {e}")))?;
    match receiver.recv_timeout(limit) {
        Ok(result) => result,
        Err(RecvTimeoutError::Disconnected) => Err(Error::invalid(format!(
            "the {what} document broke the parser"
        ))
        .with_hint("save its text in another format")),
        Err(RecvTimeoutError::Timeout) => {
            format.abandoned.fetch_add(1, Ordering::SeqCst);
            // If the thread has just ended, sending fails and the value is dropped here.
            let _ = late.send(AbandonedThread(format));
            Err(Error::new(
                ErrorKind::HostileDocument,
                format!(
                    "the {what} document took longer than {} s to read",
                    limit.as_secs_f32()
                ),
            )
            .with_hint("save its text in another format"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TEST: Foreign = Foreign::new("test");

    #[test]
    fn documents_of_one_format_close_no_other() {
        static SLOW: Foreign = Foreign::new("slow");
        let (end, ended) = channel::<()>();
        let ended = std::sync::Arc::new(std::sync::Mutex::new(ended));
        let moment = Duration::from_millis(5);
        for _ in 0..MOST_ABANDONED {
            let ended = std::sync::Arc::clone(&ended);
            let given_up = within(moment, &SLOW, move || {
                let _ = ended.lock().map(|ended| ended.recv());
                Ok(())
            });
            assert_eq!(given_up.unwrap_err().kind(), ErrorKind::HostileDocument);
        }
        let closed = within(moment, &SLOW, || Ok(())).unwrap_err();
        assert!(
            closed.message().contains("earlier slow documents"),
            "{closed}"
        );
        assert!(within(Duration::from_secs(5), &TEST, || Ok(())).is_ok());
        drop(end);
        while SLOW.abandoned.load(Ordering::SeqCst) > 0 {
            std::thread::sleep(moment);
        }
        assert!(within(Duration::from_secs(5), &SLOW, || Ok(())).is_ok());
    }

    #[test]
    fn work_ends_in_time_or_is_given_up() {
        let second = Duration::from_secs(1);
        assert_eq!(within(second, &TEST, || Ok(7)).unwrap(), 7);
        let panicked = within::<()>(second, &TEST, || std::panic::resume_unwind(Box::new("no")));
        assert_eq!(panicked.unwrap_err().kind(), ErrorKind::InvalidInput);
        let slow = within(Duration::from_millis(5), &TEST, || {
            std::thread::sleep(Duration::from_millis(200));
            Ok(())
        });
        assert_eq!(slow.unwrap_err().kind(), ErrorKind::HostileDocument);
    }
}
