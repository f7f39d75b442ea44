//! CPU-bound work on several threads.

use crate::error::{Error, Result};

/// Maximum number of threads.
const MOST_WORKERS: usize = 4;

/// Runs CPU-bound work on several threads, away from the threads that serve other requests; results
/// are in order.
pub(super) async fn in_parts<T, R>(
    work: Vec<T>,
    each: impl Fn(&[T]) -> Result<Vec<R>> + Clone + Send + 'static,
) -> Result<Vec<R>>
where
    T: Clone + Send + 'static,
    R: Send + 'static,
{
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let share = work.len().div_ceil(workers.min(MOST_WORKERS)).max(1);
    let parts: Vec<_> = work
        .chunks(share)
        .map(|part| {
            let (part, each) = (part.to_vec(), each.clone());
            tokio::task::spawn_blocking(move || each(&part))
        })
        .collect();
    let mut done = Vec::new();
    for part in parts {
        let part = part.await;
        done.extend(part.map_err(|e| Error::internal(format!("a check's thread: {e}")))??);
    }
    Ok(done)
}
