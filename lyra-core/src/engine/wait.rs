//! Waiting for a task to change.
//!
//! While somebody waits, one thread looks for all of them: at SQLite's `data_version`, which moves
//! with every commit of any other connection, in this process or in another. It is read from
//! memory that the processes share, in microseconds. Only when it has moved are the tasks looked
//! at that somebody waits for, once each however many wait. The thread has a connection of its
//! own and takes none from those who ask questions; it ends when nobody waits any more.

use super::Engine;
use crate::error::{Error, Result, SqliteResultExt};
use crate::graph::{EvidenceGraph, Reader};
use crate::jobs::Signal;
use crate::task::{self, StatusDetail, StatusReport};
use rusqlite::{Connection, OptionalExtension, params};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How often to look for what has been committed.
const LOOK: Duration = Duration::from_millis(20);

impl Engine {
    /// The status as soon as anything about the task changes, in whatever process, or after
    /// `wait`; `changed` says which. A wait of zero answers at once.
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
        let inner = &self.inner;
        let told_before = inner.told.of(task_id);
        // Read here and not by the watcher: what happens from now on is a change.
        let before = inner.graph.read(|r| fingerprint(r.db, task_id))?;
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
                inner.told.note(task_id, now);
                self.warn_of_corpus(&mut report);
                Ok(report)
            }
            // Who cannot be served by the watcher asks for itself, and is told what is wrong.
            Err(_) => self.status(task_id, detail),
        }
    }
}

/// What the tasks were like when this engine last reported their status.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<HashMap<String, Fingerprint>>);

impl Told {
    pub(super) fn note(&self, task_id: &str, now: Fingerprint) {
        self.lock().insert(task_id.to_owned(), now);
    }

    pub(super) fn forget(&self, task_id: &str) {
        self.lock().remove(task_id);
    }

    fn of(&self, task_id: &str) -> Option<Fingerprint> {
        self.lock().get(task_id).copied()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Fingerprint>> {
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
    let source = graph.database().source();
    let mut reading = source.open()?;
    let (mut known, mut heard, mut seen) = (Vec::new(), 0, None);
    while let Some(arrived) = waiters.admit(&mut known) {
        let began = Instant::now();
        if !reading.still.holds() {
            (reading, seen) = (source.open()?, None);
        }
        let connection = &reading.connection;
        // Read before the look: what is committed during it is looked at in the next round.
        let version = Some(data_version(connection)?);
        let is_late = known.iter().any(|waiter| waiter.until <= began);
        if arrived || is_late || version != seen {
            seen = version;
            known = Look::new(connection, graph)?.serve(known)?;
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

fn data_version(connection: &Connection) -> Result<i64> {
    connection
        .prepare_cached("PRAGMA data_version")
        .db()?
        .query_row([], |row| row.get(0))
        .db()
}

/// One snapshot, and what was read from it already.
struct Look<'c> {
    snapshot: rusqlite::Transaction<'c>,
    now_ms: i64,
    fingerprints: HashMap<String, Option<Fingerprint>>,
    reports: HashMap<(String, bool), StatusReport>,
}

impl<'c> Look<'c> {
    fn new(connection: &'c Connection, graph: &EvidenceGraph) -> Result<Self> {
        Ok(Self {
            snapshot: connection.unchecked_transaction().db()?,
            now_ms: graph.clock().now_ms(),
            fingerprints: HashMap::new(),
            reports: HashMap::new(),
        })
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
        let found = fingerprint(&self.snapshot, task_id)?;
        self.fingerprints.insert(task_id.to_owned(), found);
        Ok(found)
    }

    fn report(&mut self, waiter: &Waiter) -> Result<StatusReport> {
        let key = (waiter.task_id.clone(), waiter.detail == StatusDetail::Full);
        if let Some(known) = self.reports.get(&key) {
            return Ok(known.clone());
        }
        let reader = Reader { db: &self.snapshot };
        let report = task::status(&reader, &waiter.task_id, waiter.detail, self.now_ms)?;
        self.reports.insert(key, report.clone());
        Ok(report)
    }
}

/// Differs whenever something that a status shows has changed.
pub(super) type Fingerprint = u64;

/// None if there is no such task.
pub(super) fn fingerprint(connection: &Connection, task_id: &str) -> Result<Option<Fingerprint>> {
    let state: Option<String> = connection
        .prepare_cached(
            "SELECT status || coalesce(started_at, '') || '|' ||
               -- Attempts and ends tell apart what counts alone do not: a job that was put back and
               -- taken up again between two looks.
               coalesce((SELECT group_concat(kind || state || n || ',' || tries || coalesce(ended, '')) FROM
                 (SELECT kind, state, count(*) AS n, sum(attempts) AS tries, max(finished_at) AS ended
                  FROM jobs WHERE task_id = ?1 GROUP BY kind, state)), '') || '|' ||
               coalesce((SELECT group_concat(output_json) FROM jobs
                 WHERE task_id = ?1 AND kind = 'embed' AND state = 'running'), '') || '|' ||
               coalesce((SELECT group_concat(status || n) FROM
                 (SELECT status, count(*) AS n FROM queries WHERE task_id = ?1 GROUP BY status)), '') || '|' ||
               (SELECT count(*) FROM task_pages WHERE task_id = ?1) || '|' ||
               coalesce((SELECT group_concat(claim_adoption_status || n) FROM
                 (SELECT claim_adoption_status, count(*) AS n FROM claims WHERE task_id = ?1 GROUP BY 1)), '')
               || '|' || coalesce((SELECT max(id) FROM event_log WHERE task_id = ?1), 0) || '|' ||
               coalesce((SELECT group_concat(status || n) FROM
                 (SELECT status, count(*) AS n FROM auth_queue WHERE task_id = ?1 GROUP BY status)), '') || '|' ||
               -- Rules for domains hold in every task.
               (SELECT count(*) || ',' || coalesce(sum(is_active), 0) FROM domain_rules)
             FROM tasks WHERE id = ?1",
        )
        .db()?
        .query_row(params![task_id], |row| row.get(0))
        .optional()
        .db()?;
    Ok(state.map(|state| {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        hasher.finish()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineConfig;
    use crate::error::ErrorKind;
    use crate::graph::Feedback;
    use crate::jobs::{NewJob, enqueue};
    use crate::model::{JobKind, TaskConfig};
    use crate::task::{AuthAction, AuthTarget, StopRequest};

    const LONG: Duration = Duration::from_secs(60);

    fn open(folder: &tempfile::TempDir) -> Engine {
        Engine::open(EngineConfig::new(folder.path().join("g.db"))).unwrap()
    }

    /// A task that something is left to do for.
    fn begun(engine: &Engine) -> String {
        let task = engine.create_task("Tea helps", TaskConfig::default());
        let id = task.unwrap().id;
        let job = |kind: JobKind| NewJob {
            task_id: id.clone(),
            kind,
            priority: kind.default_priority(),
            input: serde_json::json!({}),
            dedup_key: None,
            cause_id: None,
        };
        let queue = |w: &crate::graph::Writer<'_>| {
            for kind in JobKind::ALL {
                enqueue(w, &job(*kind))?;
            }
            w.db.execute(
                "INSERT INTO claims (id, task_id, claim_text, created_at) VALUES (?1 || 'c', ?1, 'x', '')",
                [&id],
            )
            .db()?;
            w.db.execute(
                "INSERT INTO auth_queue (id, task_id, url, domain, auth_type, queued_at)
                 VALUES (?1 || 'a', ?1, 'https://a.org/', 'a.org', 'login', '')",
                [&id],
            )
            .db()
        };
        engine.graph().write(queue).unwrap();
        id
    }

    fn sql(engine: &Engine, sql: &str) {
        let run = |w: &crate::graph::Writer<'_>| w.db.execute_batch(sql).db();
        engine.graph().write(run).unwrap();
    }

    async fn is_watched(engine: &Engine) -> bool {
        for _ in 0..100 {
            if !engine.inner.waiters.lock().is_watched {
                return false;
            }
            tokio::time::sleep(LOOK).await;
        }
        true
    }

    type Change = Box<dyn Fn(&Engine, &str)>;

    /// Whatever a status shows, however it is changed.
    fn changes() -> Vec<(String, Change)> {
        let mut changes: Vec<(String, Change)> = vec![
            (
                "queue_targets".into(),
                Box::new(|e, task| {
                    e.queue_targets(task, &["more".into()], &Default::default())
                        .unwrap();
                }),
            ),
            (
                "claim_reject".into(),
                Box::new(|e, task| {
                    let reject = Feedback::ClaimReject {
                        claim_id: format!("{task}c"),
                        reason: "x".into(),
                    };
                    e.feedback(&reject, "a").unwrap();
                }),
            ),
            (
                "domain_block".into(),
                Box::new(|e, _| {
                    let block = Feedback::DomainBlock {
                        domain_pattern: "b.org".into(),
                        reason: "x".into(),
                    };
                    e.feedback(&block, "a").unwrap();
                }),
            ),
            (
                "domain_unblock".into(),
                Box::new(|e, _| {
                    let lift = Feedback::DomainUnblock {
                        domain_pattern: "b.org".into(),
                        reason: "x".into(),
                    };
                    e.feedback(&lift, "a").unwrap();
                }),
            ),
            (
                "resolve_auth".into(),
                Box::new(|e, task| {
                    let item = AuthTarget::Item(format!("{task}a"));
                    e.resolve_auth(&item, &AuthAction::Skip).unwrap();
                }),
            ),
            (
                "stop".into(),
                Box::new(|e, task| {
                    let (e, task) = (e.clone(), task.to_owned());
                    tokio::spawn(async move { e.stop_task(&task, &StopRequest::default()).await });
                }),
            ),
            (
                "put back and taken up again".into(),
                Box::new(|e, task| {
                    sql(
                        e,
                        &format!(
                            "UPDATE jobs SET state = 'running', attempts = 1 WHERE task_id = '{task}'"
                        ),
                    );
                    std::thread::sleep(3 * LOOK);
                    sql(
                        e,
                        &format!(
                            "UPDATE jobs SET attempts = 2 WHERE task_id = '{task}' AND kind = 'embed'"
                        ),
                    );
                }),
            ),
        ];
        for kind in JobKind::ALL {
            for state in ["running", "completed", "failed", "cancelled"] {
                let set = move |e: &Engine, task: &str| {
                    sql(
                        e,
                        &format!(
                            "UPDATE jobs SET state = '{state}' WHERE task_id = '{task}' AND kind = '{kind}'"
                        ),
                    );
                };
                changes.push((format!("{kind} is {state}"), Box::new(set)));
            }
        }
        changes
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_change_wakes_wherever_it_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let (here, elsewhere) = (open(&folder), open(&folder));
        for (name, change) in changes() {
            for changed_by in [&here, &elsewhere] {
                let task = begun(&here);
                let wait = here.wait_status(&task, LONG, StatusDetail::Summary);
                let (waited, ()) = tokio::join!(wait, async { change(changed_by, &task) });
                assert!(waited.unwrap().changed, "{name}");
            }
        }
        assert!(!is_watched(&here).await && !is_watched(&elsewhere).await);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn nothing_else_wakes() {
        let folder = tempfile::tempdir().unwrap();
        let (here, elsewhere) = (open(&folder), open(&folder));
        let (task, other) = (begun(&here), begun(&here));
        let meanwhile = async {
            sql(
                &elsewhere,
                &format!("UPDATE jobs SET state = 'failed' WHERE task_id = '{other}'"),
            );
            sql(
                &here,
                &format!("UPDATE jobs SET state = 'queued' WHERE task_id = '{other}'"),
            );
        };
        let wait = Duration::from_millis(300);
        let began = Instant::now();
        let (waited, ()) =
            tokio::join!(here.wait_status(&task, wait, StatusDetail::Full), meanwhile);
        assert!(!waited.unwrap().changed);
        assert!(began.elapsed() >= wait, "{:?}", began.elapsed());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_gone_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(&folder);
        let unknown = engine
            .wait_status("task_none", LONG, StatusDetail::Summary)
            .await;
        assert_eq!(unknown.unwrap_err().kind(), ErrorKind::TaskNotFound);
        let task = begun(&engine);
        // It never was in the full-text index.
        sql(&engine, "DELETE FROM claims");
        let wait = engine.wait_status(&task, LONG, StatusDetail::Summary);
        let (forgotten, ()) = tokio::join!(wait, async {
            _ = engine.forget(&task, false).unwrap();
        });
        assert_eq!(forgotten.unwrap_err().kind(), ErrorKind::TaskNotFound);
        // Whoever stops listening is not watched for.
        let task = begun(&engine);
        let wait = engine.wait_status(&task, LONG, StatusDetail::Summary);
        assert!(tokio::time::timeout(2 * LOOK, wait).await.is_err());
        assert!(!is_watched(&engine).await);
    }

    /// A task without work: its end is told once, and from then on whatever a human does to it.
    #[tokio::test(flavor = "multi_thread")]
    async fn the_end_is_told_once_and_then_corrections_are_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (here, elsewhere) = (open(&folder), open(&folder));
        let short = Duration::from_millis(200);
        let is_told_at_once = async |engine: &Engine, task: &str| {
            let wait = engine.wait_status(task, LONG, StatusDetail::Summary);
            let report = tokio::time::timeout(LONG / 2, wait).await;
            report.expect("it waits").unwrap().changed
        };
        let is_waited_for = async |engine: &Engine, task: &str| {
            let began = Instant::now();
            let report = engine.wait_status(task, short, StatusDetail::Summary).await;
            !report.unwrap().changed && began.elapsed() >= short
        };
        let task = begun(&here);
        assert!(is_waited_for(&here, &task).await, "work is queued");
        sql(
            &here,
            "UPDATE jobs SET state = 'completed', finished_at = 'x'",
        );
        // Who made the task has not heard of its end; who has never asked is told what there is.
        assert!(is_told_at_once(&here, &task).await);
        assert!(!is_told_at_once(&elsewhere, &task).await);
        for engine in [&here, &elsewhere] {
            assert!(is_waited_for(engine, &task).await);
            assert!(
                is_waited_for(engine, &task).await,
                "nor does waiting make news"
            );
        }
        let reject = Feedback::ClaimReject {
            claim_id: format!("{task}c"),
            reason: "x".into(),
        };
        let waits = async {
            tokio::join!(
                here.wait_status(&task, LONG, StatusDetail::Summary),
                elsewhere.wait_status(&task, LONG, StatusDetail::Summary),
                async { here.feedback(&reject, "a").unwrap() },
            )
        };
        let (one, other, _) = tokio::time::timeout(LONG / 2, waits).await.unwrap();
        assert!(one.unwrap().changed && other.unwrap().changed);
        // A status without a wait tells, too, and a new task has nothing to tell but itself.
        here.queue_targets(&task, &["more".into()], &Default::default())
            .unwrap();
        sql(
            &here,
            "UPDATE jobs SET state = 'completed', finished_at = 'y'",
        );
        here.status(&task, StatusDetail::Summary).unwrap();
        assert!(is_waited_for(&here, &task).await);
        let empty = here.create_task("Tea helps", TaskConfig::default());
        assert!(is_waited_for(&here, &empty.unwrap().id).await);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_watcher_that_fails_leaves_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(&folder);
        let task = begun(&engine);
        std::fs::rename(folder.path().join("g.db"), folder.path().join("moved.db")).unwrap();
        let report = engine.wait_status(&task, LONG, StatusDetail::Summary).await;
        assert!(!report.unwrap().changed);
        std::fs::rename(folder.path().join("moved.db"), folder.path().join("g.db")).unwrap();
        let wait = engine.wait_status(&task, LONG, StatusDetail::Summary);
        let (report, ()) = tokio::join!(wait, async {
            sql(
                &engine,
                &format!("UPDATE jobs SET state = 'failed' WHERE task_id = '{task}'"),
            );
        });
        assert!(report.unwrap().changed);
    }
}
