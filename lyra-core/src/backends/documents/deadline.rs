//! Parsers that are not ours run here: on a thread of their own, for a limited time.

use crate::error::{Error, ErrorKind, Result};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Once, mpsc};
use std::time::Duration;

/// Stack of a parser thread, in bytes: they recurse over trees that are hundreds of levels deep.
const STACK: usize = 32 * 1024 * 1024;

/// A thread cannot be stopped from outside. One that was given up goes on until it ends, so no
/// new one of the same format starts while this many of them still run.
const MOST_ABANDONED: usize = 4;

/// A format with a parser that is not ours. Each has a count of its own, so that documents that
/// break the parser of one format do not close the others.
#[derive(Debug)]
pub(super) struct Foreign {
    /// The format's name in messages.
    name: &'static str,
    /// Threads that were given up and still run.
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

/// How the race between a parser and its deadline ended; the first to write it has won.
const DONE: u8 = 1;
const GIVEN_UP: u8 = 2;

thread_local! {
    /// Whether a panic on this thread is a document's fault and reported as its error.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Panics on a parser's thread are caught and become errors; the message that the default hook
/// writes to stderr would only alarm whoever reads it. All other threads keep the hook they have.
fn quieten() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let other = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                other(panic);
            }
        }));
    });
}

/// Runs `work`, which may panic or take for ever, for at most `limit`.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    format: &'static Foreign,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let Foreign {
        name: what,
        abandoned,
    } = format;
    if abandoned.load(Ordering::SeqCst) >= MOST_ABANDONED {
        return Err(Error::new(
            ErrorKind::Timeout,
            format!(
                "{MOST_ABANDONED} earlier {what} documents are still being parsed past their time"
            ),
        )
        .with_hint("try again later"));
    }
    quieten();
    let outcome = Arc::new(AtomicU8::new(0));
    let (sender, receiver) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new()
        .name(format!("lyra-{what}"))
        .stack_size(STACK);
    let seen = Arc::clone(&outcome);
    thread
        .spawn(move || {
            QUIET.set(true);
            let result = catch_unwind(AssertUnwindSafe(work));
            // The result is in the channel before the outcome says so.
            let _ = sender.send(result);
            if seen.swap(DONE, Ordering::SeqCst) == GIVEN_UP {
                abandoned.fetch_sub(1, Ordering::SeqCst);
            }
        })
        .map_err(|e| Error::internal(format!("no thread for the {what} parser: {e}")))?;
    let mut received = receiver.recv_timeout(limit).ok();
    if received.is_none() {
        abandoned.fetch_add(1, Ordering::SeqCst);
        if outcome.swap(GIVEN_UP, Ordering::SeqCst) == DONE {
            abandoned.fetch_sub(1, Ordering::SeqCst);
            received = receiver.try_recv().ok();
        }
    }
    match received {
        Some(Ok(result)) => result,
        Some(Err(_)) => Err(
            Error::invalid(format!("the {what} document broke the parser"))
                .with_hint("save its text in another format"),
        ),
        None => Err(Error::new(
            ErrorKind::Timeout,
            format!(
                "the {what} document took longer than {} s to read",
                limit.as_secs_f32()
            ),
        )
        .with_hint("save its text in another format")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static TEST: Foreign = Foreign::new("test");

    #[test]
    fn documents_of_one_format_close_no_other() {
        static SLOW: Foreign = Foreign::new("slow");
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(std::sync::Mutex::new(ended));
        let moment = Duration::from_millis(5);
        for _ in 0..MOST_ABANDONED {
            let ended = Arc::clone(&ended);
            let given_up = within(moment, &SLOW, move || {
                let _ = ended.lock().map(|ended| ended.recv());
                Ok(())
            });
            assert_eq!(given_up.unwrap_err().kind(), ErrorKind::Timeout);
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

    /// The test runs itself again, so that it can read what such a process writes to stderr.
    #[test]
    fn a_parser_s_panic_is_silent_and_others_are_not() {
        const MARK: &str = "LYRA_TEST_PANICS";
        let name =
            "backends::documents::deadline::tests::a_parser_s_panic_is_silent_and_others_are_not";
        #[allow(
            clippy::disallowed_methods,
            reason = "tells the second run from the first"
        )]
        if std::env::var(MARK).is_ok() {
            let broken = within::<()>(Duration::from_secs(5), &TEST, || panic!("inside"));
            assert!(broken.is_err());
            let outside = std::thread::spawn(|| panic!("outside")).join();
            assert!(outside.is_err());
            return;
        }
        let run = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture", "--test-threads=1"])
            .env(MARK, "1")
            .output()
            .unwrap();
        assert!(run.status.success(), "{run:?}");
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!stderr.contains("inside"), "{stderr}");
        assert!(stderr.contains("outside"), "{stderr}");
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
        assert_eq!(slow.unwrap_err().kind(), ErrorKind::Timeout);
    }
}
