//! The built-in network on all cores.

use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Applies `work` to each item; results are in order.
///
/// Each item takes some milliseconds of CPU time, so this does not run on the threads that serve other
/// requests. Items differ in length, so each thread takes the next one. If the caller cancels, the threads
/// stop after their current items.
pub(super) async fn in_parallel<T, R>(
    items: Vec<T>,
    work: impl Fn(&T) -> Result<R> + Send + Sync + 'static,
) -> Result<Vec<R>>
where
    T: Send + Sync + 'static,
    R: Send + 'static,
{
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = workers.min(items.len());
    let abandoned = Abandoned::default();
    let queue = Arc::new((items, AtomicUsize::new(0), work));
    let threads: Vec<_> = (0..workers)
        .map(|_| {
            let (queue, stop) = (Arc::clone(&queue), Arc::clone(&abandoned.0));
            tokio::task::spawn_blocking(move || {
                let (items, next, work) = &*queue;
                let mut done = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    done.push((at, work(item)?));
                }
                Ok::<_, Error>(done)
            })
        })
        .collect();
    let mut results = Vec::with_capacity(queue.0.len());
    for thread in threads {
        let done = thread.await;
        results
            .extend(done.map_err(|e| Error::internal(format!("a thread of the network: {e}")))??);
    }
    results.sort_unstable_by_key(|(at, _)| *at);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Stops the threads when the caller has cancelled.
#[derive(Debug, Default)]
struct Abandoned(Arc<AtomicBool>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn results_are_in_the_order_of_the_items() {
        let items: Vec<usize> = (0..500).collect();
        let squares = in_parallel(items, |n| Ok(n * n)).await.unwrap();
        assert!(
            squares
                .iter()
                .enumerate()
                .all(|(n, square)| n * n == *square)
        );
        let failed = in_parallel(vec![1, 2], |n| match n {
            1 => Ok(1),
            n => Err(Error::invalid(format!("{n} is even"))),
        });
        assert_eq!(failed.await.unwrap_err().message(), "2 is even");
        let none = in_parallel(Vec::<u8>::new(), |n| Ok(*n)).await.unwrap();
        assert!(none.is_empty());
    }

    #[tokio::test]
    async fn threads_stop_when_the_caller_has_cancelled() {
        let begun = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&begun);
        let work = in_parallel(vec![(); 10_000], move |()| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(1));
            Ok(())
        });
        let is_late = tokio::time::timeout(Duration::from_millis(50), work);
        assert!(is_late.await.is_err());
        // The threads own the queue, and with it the counter, until they stop.
        while Arc::strong_count(&begun) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(begun.load(Ordering::Relaxed) < 10_000);
    }
}
