//! Runs work that computes or waits for a disk on threads where it does not delay other requests.

use crate::error::{Error, ErrorKind, Result};
use std::time::Duration;

/// Runs `work` where it may block. Dropping the future does not stop the work.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|e| {
        Error::new(
            ErrorKind::Pipeline,
            format!("the work stopped unexpectedly: {e}"),
        )
    })?
}

/// The same with the time limit `limit`: a document that takes longer fails alone. A thread cannot
/// be stopped from outside, so `work` must not change anything except its result.
pub(crate) async fn within<T: Send + 'static>(
    limit: Duration,
    what: &str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::time::timeout(limit, blocking(work)).await;
    done.unwrap_or_else(|_| {
        let seconds = limit.as_secs_f32();
        Err(Error::new(
            ErrorKind::Timeout,
            format!("{what} took longer than {seconds} s; the document was given up"),
        )
        .with_hint("split the document, or save its text in another format"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[tokio::test]
    async fn work_is_given_up_and_the_thread_stays_free() {
        let (end, ended) = mpsc::channel::<()>();
        let slow = within(Duration::from_millis(5), "cutting the text", move || {
            let _ = ended.recv();
            Ok(())
        });
        let error = slow.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout);
        assert!(
            error.message().starts_with("cutting the text took"),
            "{error}"
        );
        drop(end);
        let minute = Duration::from_secs(60);
        assert_eq!(within(minute, "counting", || Ok(7)).await.unwrap(), 7);
        let broken = within::<()>(minute, "counting", || {
            std::panic::resume_unwind(Box::new("no"))
        });
        assert_eq!(broken.await.unwrap_err().kind(), ErrorKind::Pipeline);
    }
}
