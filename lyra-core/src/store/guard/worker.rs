//! Worker threads, each with a guarded connection. Callers never wait much longer than the deadline.
//!
//! The caller is the watchdog: at the deadline it interrupts the connection from outside. If SQLite is
//! inside one long operation and does not stop, the worker is abandoned: it ends when the operation
//! does, and another worker takes its place.
//!
//! Two thread switches cost more than most queries (80 µs on an idle machine). A query without steps
//! that can take long therefore starts on its caller's thread, with a budget of a fraction of a
//! millisecond, and is passed to the worker only if that is not enough.

use super::budget::Spent;
use super::collect::Collected;
use super::connection::GuardedConnection;
use super::policy::GuardPolicy;
use super::request::{SchemaSnapshot, SqlReply, SqlRequest, TempView};
use super::turns::{LOOK, NoTurn, Turns};
use super::{hint, run};
use crate::error::{Error, Result};
use crate::store::database;
use rusqlite::InterruptHandle;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long after the deadline a worker may take to react to it.
const GRACE: Duration = Duration::from_millis(15);

/// Time between two interrupts: an interrupt that arrives between two statements of SQLite is lost.
const BETWEEN_INTERRUPTS: Duration = Duration::from_millis(2);

/// SQLite's parser, and the binding's search for a second statement, recurse; only address space is
/// reserved, and memory is allocated as it is used.
const STACK_BYTES: usize = 16 << 20;

/// How long a query waits for an idle worker before it opens a connection, which takes longer than most
/// queries run.
const PATIENCE: Duration = Duration::from_millis(5);

/// The parameters for opening a connection.
#[derive(Debug)]
struct ConnectionSource {
    file: database::DatabaseFile,
    views: Vec<TempView>,
    policy: Arc<GuardPolicy>,
}

/// The workers of one guard.
pub(super) struct WorkerPool {
    turns: Arc<Turns>,
    idle: Mutex<Vec<QueryWorker>>,
    /// Notified when a worker becomes idle.
    returned: Condvar,
    source: Arc<ConnectionSource>,
}

impl fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerPool")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

struct QueryWorker {
    /// Moved to its thread while a query runs.
    guarded: Box<GuardedConnection>,
    line: WorkerChannel,
}

/// The channel to a worker's thread.
struct WorkerChannel {
    jobs: Sender<QueryJob>,
    interrupt: InterruptHandle,
    left_behind: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

struct QueryJob {
    guarded: Box<GuardedConnection>,
    request: SqlRequest,
    end: Instant,
    reply: SyncSender<QueryAnswer>,
}

type QueryAnswer = (Box<GuardedConnection>, Result<Collected>);

impl WorkerPool {
    /// Starts the first worker, so that a file or a view that cannot be opened is reported at once.
    pub(super) fn open(
        file: database::DatabaseFile,
        views: Vec<TempView>,
        policy: Arc<GuardPolicy>,
    ) -> Result<(Self, SchemaSnapshot)> {
        let pool = Self {
            turns: Arc::new(Turns::new()),
            idle: Mutex::default(),
            returned: Condvar::new(),
            source: Arc::new(ConnectionSource {
                file,
                views,
                policy,
            }),
        };
        let worker = pool.spawn()?;
        let schema = (*worker.guarded.schema).clone();
        pool.give_back(worker);
        Ok((pool, schema))
    }

    /// Runs a query when its turn comes, in the first slice of its time if that is enough. While it
    /// waits, `is_unwanted` is called from time to time; after true, waiting ends.
    pub(super) fn query(
        &self,
        request: &SqlRequest,
        asked_at: Instant,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<SqlReply> {
        let deadline = asked_at + request.options.timeout();
        let mut had_slice = false;
        loop {
            let turn = self
                .turns
                .wait(deadline, had_slice, is_unwanted)
                .map_err(|why| no_turn(why, request))?;
            let opening = Instant::now();
            let worker = self.worker()?;
            // Opening a connection takes longer than a slice, so the slice begins afterwards.
            let slice_end = turn.slice_end.map(|end| end + opening.elapsed());
            let end = slice_end.map_or(deadline, |end| end.min(deadline));
            let reply = self.run(worker, request, had_slice, (end, deadline), is_unwanted);
            drop(turn);
            match reply {
                Err(error) if end < deadline && hint::spent(&error) == Some(Spent::Time) => {
                    had_slice = true;
                }
                reply => return reply,
            }
        }
    }

    /// Runs a query until `end`, and abandons it at the deadline.
    fn run(
        &self,
        QueryWorker { mut guarded, line }: QueryWorker,
        request: &SqlRequest,
        had_slice: bool,
        (end, deadline): (Instant, Instant),
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<SqlReply> {
        if !had_slice
            && run::may_be_brief(&request.sql)
            && let Some(result) = run::run_briefly(&mut guarded, request, end)
        {
            let unchanged = guarded.stamp.check();
            self.give_back(QueryWorker { guarded, line });
            return told(unchanged, result, request);
        }
        let (reply, answer) = sync_channel(1);
        let job = QueryJob {
            guarded,
            request: request.clone(),
            end,
            reply,
        };
        line.jobs.send(job).map_err(|_| worker_died())?;
        match wait(&answer, &line.interrupt, (end, deadline), is_unwanted) {
            Ok((guarded, result)) => {
                let unchanged = guarded.stamp.check();
                self.give_back(QueryWorker { guarded, line });
                told(unchanged, result, request)
            }
            Err(RecvTimeoutError::Timeout) => {
                self.turns.abandon();
                if line.left_behind.swap(true, Ordering::AcqRel) {
                    // The worker ended in the meantime.
                    self.turns.recover();
                }
                Err(hint::interrupted(Spent::Time, &request.options))
            }
            Err(RecvTimeoutError::Disconnected) => Err(worker_died()),
        }
    }

    /// An idle worker, or a new one if there is none or the file has changed under a connection that
    /// does not detect it.
    fn worker(&self) -> Result<QueryWorker> {
        let idle = self.idle();
        let waited = self
            .returned
            .wait_timeout_while(idle, PATIENCE, |idle| idle.is_empty());
        let idle = waited.unwrap_or_else(PoisonError::into_inner).0.pop();
        match idle {
            Some(worker) if worker.guarded.stamp.holds() => Ok(worker),
            _ => self.spawn(),
        }
    }

    fn give_back(&self, worker: QueryWorker) {
        self.idle().push(worker);
        self.returned.notify_one();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<QueryWorker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spawn(&self) -> Result<QueryWorker> {
        let (jobs, inbox) = channel();
        let (opened, ready) = sync_channel(1);
        let source = Arc::clone(&self.source);
        let left_behind = Arc::new(AtomicBool::new(false));
        let leaving = Leaving {
            turns: Arc::clone(&self.turns),
            left_behind: Arc::clone(&left_behind),
        };
        let thread = std::thread::Builder::new()
            .name("lyra-guard".into())
            .stack_size(STACK_BYTES)
            .spawn(move || work(&source, &opened, &inbox, leaving))
            .map_err(|e| Error::internal("a query thread could not be started").with_source(e))?;
        let guarded = ready.recv().map_err(|_| worker_died())??;
        let interrupt = guarded.connection.get_interrupt_handle();
        let line = WorkerChannel {
            jobs,
            interrupt,
            left_behind,
            thread,
        };
        Ok(QueryWorker { guarded, line })
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        let idle = std::mem::take(&mut *self.idle());
        for QueryWorker { line, .. } in idle {
            let WorkerChannel { jobs, thread, .. } = line;
            drop(jobs);
            // The result of a worker that panicked is not needed.
            let _ = thread.join();
        }
    }
}

/// Removes an abandoned worker from the count when its thread ends, in whatever way.
struct Leaving {
    turns: Arc<Turns>,
    /// Set by whichever comes first: the caller abandons the worker, or the worker ends.
    left_behind: Arc<AtomicBool>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if self.left_behind.swap(true, Ordering::AcqRel) {
            self.turns.recover();
        }
    }
}

type Opened = Result<Box<GuardedConnection>>;

/// The main function of a worker thread.
fn work(
    source: &ConnectionSource,
    opened: &SyncSender<Opened>,
    inbox: &Receiver<QueryJob>,
    leaving: Leaving,
) {
    // Declared first and dropped last, so that the connection is closed before the worker is no longer
    // counted.
    let _leaving = leaving;
    let guarded = GuardedConnection::open(&source.file, &source.views, &source.policy);
    // The receiver waits until it has arrived, so sending cannot fail.
    let _ = opened.send(guarded.map(Box::new));
    while let Ok(job) = inbox.recv() {
        let QueryJob {
            mut guarded,
            request,
            end,
            reply,
        } = job;
        let result = run::run(&mut guarded, &request, end);
        if reply.send((guarded, result)).is_err() {
            return;
        }
    }
}

/// Waits for an answer until `end`, or until it is no longer wanted; then interrupts until it arrives or
/// the grace period after the deadline is over.
fn wait(
    answer: &Receiver<QueryAnswer>,
    interrupt: &InterruptHandle,
    (mut end, mut deadline): (Instant, Instant),
    is_unwanted: &dyn Fn() -> bool,
) -> std::result::Result<QueryAnswer, RecvTimeoutError> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let patience = if left.is_zero() {
            BETWEEN_INTERRUPTS
        } else {
            left.min(LOOK)
        };
        match answer.recv_timeout(patience) {
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline + GRACE => {
                if !left.is_zero() && is_unwanted() {
                    (end, deadline) = (Instant::now(), Instant::now());
                }
                if Instant::now() >= end {
                    interrupt.interrupt();
                }
            }
            outcome => return outcome,
        }
    }
}

/// The reply, unless the file changed while it was collected.
fn told(
    unchanged: Result<()>,
    result: Result<Collected>,
    request: &SqlRequest,
) -> Result<SqlReply> {
    unchanged?;
    result.map(|collected| collected.into_reply(request.options.offset))
}

fn worker_died() -> Error {
    Error::internal("the query thread ended unexpectedly")
}

fn no_turn(why: NoTurn, request: &SqlRequest) -> Error {
    match why {
        NoTurn::Late => hint::waited(&request.options),
        NoTurn::Stuck | NoTurn::Unwanted => hint::busy(),
    }
}
