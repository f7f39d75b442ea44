//! Waiting for a task to change.

use super::handle::Engine;
use super::waiters::{Waiter, Waiters, fingerprint};
use crate::error::{Error, Result};
use crate::research::task::{StatusDetail, StatusReport};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Minimum interval between two reports while a task is at work.
const TELL_EVERY: Duration = Duration::from_secs(1);

impl Engine {
    /// Returns the status as soon as anything about the task changes, in any process, or after
    /// `wait`; `changed` says which. A wait of zero returns at once. While a task is at work and
    /// this engine reported its status less than a second ago, the changes of that second are
    /// reported together; the end of the work is reported at once.
    ///
    /// If the work of a task ended before the wait began, the call waits (for a correction, a stop,
    /// new targets) only if this engine has already reported the current status; otherwise it
    /// returns at once.
    ///
    /// # Errors
    /// If the task does not exist, at once; or if it is forgotten during the wait.
    pub async fn wait_status(
        &self,
        task_id: &str,
        wait: Duration,
        detail: StatusDetail,
    ) -> Result<StatusReport> {
        if wait.is_zero() {
            return self.status(task_id, detail);
        }
        let until = Instant::now() + wait;
        let quiet_until = self
            .inner
            .reported
            .woken_at(task_id)
            .map(|at| at + TELL_EVERY);
        let mut report = self.wait_once(task_id, wait, detail).await?;
        let quiet_until = quiet_until.unwrap_or_else(Instant::now).min(until);
        while report.changed && !report.is_settled() {
            let rest = quiet_until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                break;
            }
            report = self.wait_once(task_id, rest, detail).await?;
            report.changed = true;
        }
        if report.changed {
            self.inner.reported.woke(task_id);
        }
        Ok(report)
    }

    async fn wait_once(
        &self,
        task_id: &str,
        wait: Duration,
        detail: StatusDetail,
    ) -> Result<StatusReport> {
        let inner = &self.inner;
        let told_before = inner.reported.of(task_id);
        // Read here and not by the watcher: anything committed from now on is a change.
        let before = inner.graph.read(|r| fingerprint(r, task_id))?;
        let (tell, told) = oneshot::channel();
        let arrival = Waiter {
            task_id: task_id.to_owned(),
            detail,
            before: before.ok_or_else(|| Error::task_not_found(task_id))?,
            told_before,
            is_new: true,
            until: Instant::now() + wait,
            tell,
        };
        Waiters::join(&inner.waiters, arrival, &inner.graph, &inner.signal)?;
        match told.await {
            Ok((mut report, now)) => {
                inner.reported.note(task_id, now);
                self.warn_of_surroundings(&mut report);
                Ok(report)
            }
            // If the watcher fails, query the status directly; the query tells what is wrong.
            Err(_) => self.status(task_id, detail),
        }
    }
}

#[cfg(test)]
mod tests;
