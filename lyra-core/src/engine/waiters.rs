//! Callers that wait for a task to change, and the thread that watches for all of them.
//!
//! While anyone waits, one thread polls SQLite's `data_version`, which changes with every commit of
//! any other connection, in this process or another. It is read from shared memory in microseconds.
//! Only when it has changed are the tasks examined that are waited for, each once regardless of the
//! number of waiters. The thread has a separate connection, so that it takes none from queries; it
//! ends when there are no waiters left.

use crate::error::{Error, Result};
use crate::research::jobs::Signal;
use crate::research::task::{self, StatusDetail, StatusReport};
use crate::store::graph::{EvidenceGraph, Reader};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How often to check for commits.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// The states of the tasks when this engine last reported their status.
#[derive(Debug, Default)]
pub(super) struct ReportedStatuses(Mutex<HashMap<String, LastReport>>);

#[derive(Debug, Default, Clone, Copy)]
struct LastReport {
    fingerprint: Option<StatusFingerprint>,
    /// When a waiter was last told of a change.
    woken_at: Option<Instant>,
}

impl ReportedStatuses {
    pub(super) fn note(&self, task_id: &str, now: StatusFingerprint) {
        let mut reports = self.lock();
        reports.entry(task_id.to_owned()).or_default().fingerprint = Some(now);
    }

    pub(super) fn woke(&self, task_id: &str) {
        let mut reports = self.lock();
        reports.entry(task_id.to_owned()).or_default().woken_at = Some(Instant::now());
    }

    pub(super) fn woken_at(&self, task_id: &str) -> Option<Instant> {
        self.lock().get(task_id)?.woken_at
    }

    pub(super) fn forget(&self, task_id: &str) {
        self.lock().remove(task_id);
    }

    pub(super) fn of(&self, task_id: &str) -> Option<StatusFingerprint> {
        self.lock().get(task_id)?.fingerprint
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, LastReport>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The waiters, and whether a watcher runs for them.
#[derive(Debug, Default)]
pub(super) struct Waiters(Mutex<WaiterQueue>);

#[derive(Debug, Default)]
pub(super) struct WaiterQueue {
    /// Waiters that the watcher has not yet taken over.
    arrivals: Vec<Waiter>,
    pub(super) is_watched: bool,
}

#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) task_id: String,
    pub(super) detail: StatusDetail,
    /// The state of the task when the wait began.
    pub(super) before: StatusFingerprint,
    /// The state of the task when it was last reported to the waiter.
    pub(super) told_before: Option<StatusFingerprint>,
    /// Whether the watcher has not yet checked if there is anything to wait for.
    pub(super) is_new: bool,
    pub(super) until: Instant,
    pub(super) tell: oneshot::Sender<(StatusReport, StatusFingerprint)>,
}

impl Waiters {
    pub(super) fn lock(&self) -> MutexGuard<'_, WaiterQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a waiter, and starts a watcher if none is running.
    pub(super) fn join(
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

    /// Moves new waiters to those that the watcher knows, and drops those that have stopped
    /// waiting. `None` if none is left: the watcher then ends. Otherwise whether there were new
    /// waiters.
    fn admit(&self, known: &mut Vec<Waiter>) -> Option<bool> {
        known.retain(|waiter| !waiter.tell.is_closed());
        let mut state = self.lock();
        let arrived = !state.arrivals.is_empty();
        known.append(&mut state.arrivals);
        state.is_watched = !known.is_empty();
        state.is_watched.then_some(arrived)
    }
}

/// If the watcher fails, releases all waiters.
struct LeaveNobody<'w>(&'w Waiters);

impl Drop for LeaveNobody<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_watched = false;
        state.arrivals.clear();
    }
}

/// Watches until there are no waiters left.
fn watch(waiters: &Waiters, graph: &EvidenceGraph, bell: &Signal) -> Result<()> {
    let mut watched = graph.watch()?;
    let (mut known, mut heard, mut seen) = (Vec::new(), 0, None);
    while let Some(arrived) = waiters.admit(&mut known) {
        let began = Instant::now();
        if watched.reopen_if_replaced()? {
            seen = None;
        }
        // Read first: what is committed during the check is seen in the next round.
        let version = Some(watched.version()?);
        let is_late = known.iter().any(|waiter| waiter.until <= began);
        if arrived || is_late || version != seen {
            seen = version;
            known = watched.read(|reader| StatusSnapshot::new(reader, graph).serve(known))?;
            // Checking a huge task takes time: at most half of the time is spent on checks.
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

/// A snapshot, and what has been read from it.
struct StatusSnapshot<'c> {
    snapshot: &'c Reader<'c>,
    now_ms: i64,
    fingerprints: HashMap<String, Option<StatusFingerprint>>,
    reports: HashMap<(String, bool), StatusReport>,
}

impl<'c> StatusSnapshot<'c> {
    fn new(snapshot: &'c Reader<'c>, graph: &EvidenceGraph) -> Self {
        Self {
            snapshot,
            now_ms: graph.clock().now_ms(),
            fingerprints: HashMap::new(),
            reports: HashMap::new(),
        }
    }

    /// Answers the waiters that have waited long enough; returns the others.
    fn serve(mut self, known: Vec<Waiter>) -> Result<Vec<Waiter>> {
        let mut rest = Vec::new();
        for mut waiter in known {
            // If its task is gone, the waiter is released and queries the status itself.
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
            // A waiter that has stopped listening needs no answer.
            let _ = waiter.tell.send((report, now));
        }
        Ok(rest)
    }

    fn fingerprint(&mut self, task_id: &str) -> Result<Option<StatusFingerprint>> {
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

/// A value that changes whenever anything changes that a status shows.
pub(super) type StatusFingerprint = u64;

/// `None` if the task does not exist.
pub(super) fn fingerprint(reader: &Reader<'_>, task_id: &str) -> Result<Option<StatusFingerprint>> {
    let state = reader.task_state(task_id)?;
    Ok(state.map(|state| {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        hasher.finish()
    }))
}
