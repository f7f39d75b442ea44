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
/// new one starts while this many of them still run.
const MOST_ABANDONED: usize = 4;

static ABANDONED: AtomicUsize = AtomicUsize::new(0);

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
///
/// `what` names the document's format in messages.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    what: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if ABANDONED.load(Ordering::SeqCst) >= MOST_ABANDONED {
        return Err(Error::new(
            ErrorKind::Timeout,
            format!("{MOST_ABANDONED} earlier documents are still being parsed past their time"),
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
                ABANDONED.fetch_sub(1, Ordering::SeqCst);
            }
        })
        .map_err(|e| Error::internal(format!("no thread for the {what} parser: {e}")))?;
    let mut received = receiver.recv_timeout(limit).ok();
    if received.is_none() {
        ABANDONED.fetch_add(1, Ordering::SeqCst);
        if outcome.swap(GIVEN_UP, Ordering::SeqCst) == DONE {
            ABANDONED.fetch_sub(1, Ordering::SeqCst);
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
            let broken = within::<()>(Duration::from_secs(5), "test", || panic!("inside"));
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
        assert_eq!(within(second, "test", || Ok(7)).unwrap(), 7);
        let panicked = within::<()>(second, "test", || std::panic::resume_unwind(Box::new("no")));
        assert_eq!(panicked.unwrap_err().kind(), ErrorKind::InvalidInput);
        let slow = within(Duration::from_millis(5), "test", || {
            std::thread::sleep(Duration::from_millis(200));
            Ok(())
        });
        assert_eq!(slow.unwrap_err().kind(), ErrorKind::Timeout);
    }
}
