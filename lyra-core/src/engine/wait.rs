//! Waiting for a task to change.
//!
//! While somebody waits, one thread looks for all of them: at SQLite's `data_version`, which moves
//! with every commit of any other connection, in this process or in another. It is read from
//! memory that the processes share, in microseconds. Only when it has moved are the tasks looked
//! at that somebody waits for, once each however many wait. The thread has a connection of its
//! own and takes none from those who ask questions; it ends when nobody waits any more.

use super::Engine;
use crate::error::{Error, Result};
use crate::research::jobs::Signal;
use crate::research::task::{self, StatusDetail, StatusReport};
use crate::store::graph::{EvidenceGraph, Reader};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How often to look for what has been committed.
const LOOK: Duration = Duration::from_millis(20);

/// While a task works, its changes are told at most so often.
const TELL_EVERY: Duration = Duration::from_secs(1);

impl Engine {
    /// The status as soon as anything about the task changes, in whatever process, or after
    /// `wait`; `changed` says which. A wait of zero answers at once. Of a task at work, whose status
    /// this engine reported less than a second ago, the changes of that second are reported together;
    /// the end of the work is reported at once.
    ///
    /// Where the work of a task ended before the wait began, the end is no news only to who was
    /// told of it: such a task is waited for (a correction, a stop, new targets) if this engine has
    /// reported its status as it is now, and is answered at once if not.
    ///
    /// # Errors
    /// Where there is no such task, at once, or where it is forgotten meanwhile.
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
        // Read here and not by the watcher: what happens from now on is a change.
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

/// What the tasks were like when this engine last reported their status.
#[derive(Debug, Default)]
pub(super) struct ReportedStatuses(Mutex<HashMap<String, LastReport>>);

#[derive(Debug, Default, Clone, Copy)]
struct LastReport {
    fingerprint: Option<Fingerprint>,
    /// When somebody who waited was told of a change.
    woken_at: Option<Instant>,
}

impl ReportedStatuses {
    pub(super) fn note(&self, task_id: &str, now: Fingerprint) {
        let mut reports = self.lock();
        reports.entry(task_id.to_owned()).or_default().fingerprint = Some(now);
    }

    fn woke(&self, task_id: &str) {
        let mut reports = self.lock();
        reports.entry(task_id.to_owned()).or_default().woken_at = Some(Instant::now());
    }

    fn woken_at(&self, task_id: &str) -> Option<Instant> {
        self.lock().get(task_id)?.woken_at
    }

    pub(super) fn forget(&self, task_id: &str) {
        self.lock().remove(task_id);
    }

    fn of(&self, task_id: &str) -> Option<Fingerprint> {
        self.lock().get(task_id)?.fingerprint
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, LastReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever waits for a change, and whether somebody looks for them.
#[derive(Debug, Default)]
pub(super) struct Waiters(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Those whom the watcher does not know yet.
    arrivals: Vec<Waiter>,
    is_watched: bool,
}

#[derive(Debug)]
struct Waiter {
    task_id: String,
    detail: StatusDetail,
    /// What the task was like when the wait began.
    before: Fingerprint,
    /// What it was like when whoever waits was last told of it.
    told_before: Option<Fingerprint>,
    /// Whether the watcher has not looked yet if there is anything to wait for.
    is_new: bool,
    until: Instant,
    tell: oneshot::Sender<(StatusReport, Fingerprint)>,
}

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds somebody who waits, and has a watcher begin where there is none.
    fn join(
        this: &Arc<Self>,
        arrival: Waiter,
        graph: &EvidenceGraph,
        signal: &Signal,
    ) -> Result<()> {
        let mut state = this.lock();
        if !state.is_watched {
            let (waiters, graph, bell) = (Arc::clone(this), graph.clone(), signal.clone());
            std::thread::Builder::new()
                .name("lyra-watch".to_owned())
                .spawn(move || {
                    let nobody_left = LeaveNobody(&waiters);
                    if watch(&waiters, &graph, &bell).is_ok() {
                        std::mem::forget(nobody_left);
                    }
                })
                .map_err(|e| Error::internal("no thread to wait in").with_source(e))?;
            state.is_watched = true;
        }
        state.arrivals.push(arrival);
        drop(state);
        signal.ring();
        Ok(())
    }

    /// Moves arrivals to those that the watcher knows, and forgets who has stopped waiting. None
    /// when nobody is left: from then on nobody watches. Otherwise whether somebody arrived.
    fn admit(&self, known: &mut Vec<Waiter>) -> Option<bool> {
        known.retain(|waiter| !waiter.tell.is_closed());
        let mut state = self.lock();
        let arrived = !state.arrivals.is_empty();
        known.append(&mut state.arrivals);
        state.is_watched = !known.is_empty();
        state.is_watched.then_some(arrived)
    }
}

/// Where the watcher fails, nobody is left waiting for it.
struct LeaveNobody<'w>(&'w Waiters);

impl Drop for LeaveNobody<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_watched = false;
        state.arrivals.clear();
    }
}

/// Looks until nobody waits any more.
fn watch(waiters: &Waiters, graph: &EvidenceGraph, bell: &Signal) -> Result<()> {
    let mut watched = graph.watch()?;
    let (mut known, mut heard, mut seen) = (Vec::new(), 0, None);
    while let Some(arrived) = waiters.admit(&mut known) {
        let began = Instant::now();
        if watched.reopen_if_replaced()? {
            seen = None;
        }
        // Read before the look: what is committed during it is looked at in the next round.
        let version = Some(watched.version()?);
        let is_late = known.iter().any(|waiter| waiter.until <= began);
        if arrived || is_late || version != seen {
            seen = version;
            known = watched.read(|reader| Look::new(reader, graph).serve(known))?;
            // A look at a huge task takes time: at most half of it goes into looking.
            std::thread::sleep(began.elapsed().min(LOOK));
        }
        let next = known.iter().map(|waiter| waiter.until).min();
        let pause = next.map_or(LOOK, |until| {
            until.saturating_duration_since(Instant::now()).min(LOOK)
        });
        bell.sleep_until_rung(&mut heard, pause);
    }
    Ok(())
}

/// One snapshot, and what was read from it already.
struct Look<'c> {
    snapshot: &'c Reader<'c>,
    now_ms: i64,
    fingerprints: HashMap<String, Option<Fingerprint>>,
    reports: HashMap<(String, bool), StatusReport>,
}

impl<'c> Look<'c> {
    fn new(snapshot: &'c Reader<'c>, graph: &EvidenceGraph) -> Self {
        Self {
            snapshot,
            now_ms: graph.clock().now_ms(),
            fingerprints: HashMap::new(),
            reports: HashMap::new(),
        }
    }

    /// Answers whoever waited long enough; gives back those who wait on.
    fn serve(mut self, known: Vec<Waiter>) -> Result<Vec<Waiter>> {
        let mut rest = Vec::new();
        for mut waiter in known {
            // Without its task the waiter is let go, and asks for itself.
            let Some(now) = self.fingerprint(&waiter.task_id)? else {
                continue;
            };
            let mut changed = waiter.before != now;
            let may_wait = !changed && waiter.until > Instant::now();
            if may_wait && !waiter.is_new {
                rest.push(waiter);
                continue;
            }
            let mut report = self.report(&waiter)?;
            if may_wait {
                if !report.is_settled() || waiter.told_before == Some(now) {
                    waiter.is_new = false;
                    rest.push(waiter);
                    continue;
                }
                changed = waiter.told_before.is_some();
            }
            report.changed = changed;
            // Whoever has stopped listening needs no answer.
            let _ = waiter.tell.send((report, now));
        }
        Ok(rest)
    }

    fn fingerprint(&mut self, task_id: &str) -> Result<Option<Fingerprint>> {
        if let Some(known) = self.fingerprints.get(task_id) {
            return Ok(*known);
        }
        let found = fingerprint(self.snapshot, task_id)?;
        self.fingerprints.insert(task_id.to_owned(), found);
        Ok(found)
    }

    fn report(&mut self, waiter: &Waiter) -> Result<StatusReport> {
        let key = (waiter.task_id.clone(), waiter.detail == StatusDetail::Full);
        if let Some(known) = self.reports.get(&key) {
            return Ok(known.clone());
        }
        let report = task::status(self.snapshot, &waiter.task_id, waiter.detail, self.now_ms)?;
        self.reports.insert(key, report.clone());
        Ok(report)
    }
}

/// Differs whenever something that a status shows has changed.
pub(super) type Fingerprint = u64;

/// None if there is no such task.
pub(super) fn fingerprint(reader: &Reader<'_>, task_id: &str) -> Result<Option<Fingerprint>> {
    let state = reader.task_state(task_id)?;
    Ok(state.map(|state| {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        hasher.finish()
    }))
}

#[cfg(test)]
mod tests;
