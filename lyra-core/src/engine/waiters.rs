//! Who waits for a task to change, and the thread that looks for all of them.
//!
//! While somebody waits, one thread looks for all of them: at SQLite's `data_version`, which moves
//! with every commit of any other connection, in this process or in another. It is read from
//! memory that the processes share, in microseconds. Only when it has moved are the tasks looked
//! at that somebody waits for, once each however many wait. The thread has a connection of its
//! own and takes none from those who ask questions; it ends when nobody waits any more.

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
pub(super) const LOOK: Duration = Duration::from_millis(20);

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

    pub(super) fn of(&self, task_id: &str) -> Option<Fingerprint> {
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
pub(super) struct State {
    /// Those whom the watcher does not know yet.
    arrivals: Vec<Waiter>,
    pub(super) is_watched: bool,
}

#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) task_id: String,
    pub(super) detail: StatusDetail,
    /// What the task was like when the wait began.
    pub(super) before: Fingerprint,
    /// What it was like when whoever waits was last told of it.
    pub(super) told_before: Option<Fingerprint>,
    /// Whether the watcher has not looked yet if there is anything to wait for.
    pub(super) is_new: bool,
    pub(super) until: Instant,
    pub(super) tell: oneshot::Sender<(StatusReport, Fingerprint)>,
}

impl Waiters {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds somebody who waits, and has a watcher begin where there is none.
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
