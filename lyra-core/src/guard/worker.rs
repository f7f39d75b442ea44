//! Worker threads, each with a guarded connection of its own, and callers that never wait for
//! longer than the deadline and a little.
//!
//! The caller is the watchdog: at the deadline it interrupts the connection from outside. What
//! even that does not stop, because SQLite is inside one long operation, is left to itself: the
//! worker ends when the operation does, and another one takes its place.
//!
//! Two changes of threads cost more than most queries (80 µs on an idle machine). A query none of
//! whose steps can take long therefore begins on its caller's thread, with a budget of a fraction
//! of a millisecond, and goes to the worker only if that is not enough.

use super::budget::Spent;
use super::collect::Collected;
use super::connection::GuardedConnection;
use super::request::{SchemaSnapshot, SqlReply, SqlRequest, TempView};
use super::{hint, run};
use crate::error::{Error, ErrorKind, Result};
use crate::storage;
use rusqlite::InterruptHandle;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Queries that run at the same time.
const MAX_WORKERS: usize = 4;

/// Workers left behind in an operation that nothing stops. Beyond this the guard refuses queries
/// until one of them ends.
const MAX_ABANDONED: usize = 2;

/// How long after the deadline a worker may take to notice it.
const GRACE: Duration = Duration::from_millis(15);

/// How often a waiting caller is asked whether it still wants the answer.
const LOOK: Duration = Duration::from_millis(20);

/// Between two interrupts: one that comes while SQLite is between two statements is lost.
const BETWEEN_INTERRUPTS: Duration = Duration::from_millis(2);

/// SQLite's parser, and the binding's look for a second statement, recurse; address space is
/// taken, memory only as far as it is used.
const STACK_BYTES: usize = 16 << 20;

/// What a connection is opened from.
#[derive(Debug)]
struct Source {
    file: storage::Source,
    views: Vec<TempView>,
}

/// The workers of one guard.
pub(super) struct WorkerPool {
    shared: Arc<Shared>,
    source: Arc<Source>,
}

impl fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerPool")
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Worker>,
    /// Workers that are idle or at work for a caller.
    live: usize,
    abandoned: usize,
}

struct Worker {
    /// With its thread while a query runs there.
    guarded: Box<GuardedConnection>,
    line: Line,
}

/// The way to a worker's thread.
struct Line {
    jobs: Sender<Job>,
    interrupt: InterruptHandle,
    left_behind: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

struct Job {
    guarded: Box<GuardedConnection>,
    request: SqlRequest,
    reply: SyncSender<Answer>,
}

type Answer = (Box<GuardedConnection>, Result<Collected>);

impl WorkerPool {
    /// Starts the first worker, so that a file or a view that cannot be opened is known at once.
    pub(super) fn open(
        file: storage::Source,
        views: Vec<TempView>,
    ) -> Result<(Self, SchemaSnapshot)> {
        let pool = Self {
            shared: Arc::new(Shared::default()),
            source: Arc::new(Source { file, views }),
        };
        let worker = pool.spawn()?;
        let schema = (*worker.guarded.schema).clone();
        let mut state = pool.shared.lock();
        state.live = 1;
        state.idle.push(worker);
        drop(state);
        Ok((pool, schema))
    }

    /// Runs a query. Waits for a free worker for as long as the query itself may take. While it
    /// waits, `is_unwanted` is asked from time to time: from true on nobody waits any more.
    pub(super) fn query(
        &self,
        request: &SqlRequest,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<SqlReply> {
        let timeout = Duration::from_millis(request.options.timeout_ms);
        let Worker { mut guarded, line } = self.take(timeout, is_unwanted)?;
        if run::may_be_brief(&request.sql) {
            let leaving = Discarded(self);
            let reply = run::run_briefly(&mut guarded, request);
            std::mem::forget(leaving);
            if let Some(result) = reply {
                let unchanged = guarded.still.check();
                self.give_back(Worker { guarded, line });
                return told(unchanged, result, request);
            }
        }
        let (reply, answer) = sync_channel(1);
        let job = Job {
            guarded,
            request: request.clone(),
            reply,
        };
        if line.jobs.send(job).is_err() {
            self.discard();
            return Err(worker_died());
        }
        match wait(&answer, &line.interrupt, timeout, is_unwanted) {
            Ok((guarded, result)) => {
                let unchanged = guarded.still.check();
                self.give_back(Worker { guarded, line });
                told(unchanged, result, request)
            }
            Err(RecvTimeoutError::Timeout) => {
                self.abandon(&line);
                Err(hint::interrupted(Spent::Time, &request.options))
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.discard();
                Err(worker_died())
            }
        }
    }

    fn take(&self, patience: Duration, is_unwanted: &dyn Fn() -> bool) -> Result<Worker> {
        let until = Instant::now() + patience;
        let mut state = self.shared.lock();
        loop {
            if state.abandoned < MAX_ABANDONED {
                if let Some(worker) = state.idle.pop() {
                    drop(state);
                    return self.current(worker);
                }
                if state.live < MAX_WORKERS {
                    state.live += 1;
                    drop(state);
                    return self.spawn().inspect_err(|_| self.discard());
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(busy());
            }
            let waited = self.shared.changed.wait_timeout(state, left.min(LOOK));
            let (again, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            state = again;
            if waited.timed_out() {
                // Whoever answers may have a query of its own.
                drop(state);
                if is_unwanted() {
                    return Err(busy());
                }
                state = self.shared.lock();
            }
        }
    }

    /// The worker, or a new one in its place if the file has changed under a connection that does
    /// not notice.
    fn current(&self, worker: Worker) -> Result<Worker> {
        if worker.guarded.still.holds() {
            return Ok(worker);
        }
        drop(worker);
        self.spawn().inspect_err(|_| self.discard())
    }

    fn give_back(&self, worker: Worker) {
        self.shared.lock().idle.push(worker);
        self.shared.changed.notify_one();
    }

    /// Takes a worker that is gone out of the count.
    fn discard(&self) {
        self.shared.lock().live -= 1;
        self.shared.changed.notify_one();
    }

    fn abandon(&self, line: &Line) {
        let mut state = self.shared.lock();
        state.live -= 1;
        state.abandoned += 1;
        // Under the lock: the worker looks at it under the lock when it ends.
        line.left_behind.store(true, Ordering::Relaxed);
    }

    fn spawn(&self) -> Result<Worker> {
        let (jobs, inbox) = channel();
        let (opened, ready) = sync_channel(1);
        let source = Arc::clone(&self.source);
        let left_behind = Arc::new(AtomicBool::new(false));
        let leaving = Leaving {
            shared: Arc::clone(&self.shared),
            left_behind: Arc::clone(&left_behind),
        };
        let thread = std::thread::Builder::new()
            .name("lyra-guard".into())
            .stack_size(STACK_BYTES)
            .spawn(move || work(&source, &opened, &inbox, leaving))
            .map_err(|e| Error::internal("a query thread could not be started").with_source(e))?;
        let guarded = ready.recv().map_err(|_| worker_died())??;
        let interrupt = guarded.connection.get_interrupt_handle();
        let line = Line {
            jobs,
            interrupt,
            left_behind,
            thread,
        };
        Ok(Worker { guarded, line })
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        let idle = std::mem::take(&mut self.shared.lock().idle);
        for Worker { line, .. } in idle {
            let Line { jobs, thread, .. } = line;
            drop(jobs);
            // A worker that panicked has nothing to tell any more.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// The counts are changed in single steps, so that a panic elsewhere leaves them whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes an abandoned worker out of the count when its thread ends, by whatever way.
struct Leaving {
    shared: Arc<Shared>,
    left_behind: Arc<AtomicBool>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if self.left_behind.load(Ordering::Relaxed) {
            state.abandoned -= 1;
            self.shared.changed.notify_all();
        }
    }
}

/// Takes a worker out of the count if a query panics on its caller's thread.
struct Discarded<'a>(&'a WorkerPool);

impl Drop for Discarded<'_> {
    fn drop(&mut self) {
        self.0.discard();
    }
}

type Opened = Result<Box<GuardedConnection>>;

/// The life of a worker thread.
fn work(source: &Source, opened: &SyncSender<Opened>, inbox: &Receiver<Job>, leaving: Leaving) {
    // Declared first, dropped last: the connection is closed before the worker is counted out.
    let _leaving = leaving;
    let guarded = GuardedConnection::open(&source.file, &source.views);
    // The one who waits for it is there until it has come.
    let _ = opened.send(guarded.map(Box::new));
    while let Ok(job) = inbox.recv() {
        let Job {
            mut guarded,
            request,
            reply,
        } = job;
        let result = run::run(&mut guarded, &request);
        if reply.send((guarded, result)).is_err() {
            return;
        }
    }
}

/// Waits for an answer until the deadline, or until nobody wants it any more; then interrupts until
/// it comes or the grace is over.
fn wait(
    answer: &Receiver<Answer>,
    interrupt: &InterruptHandle,
    timeout: Duration,
    is_unwanted: &dyn Fn() -> bool,
) -> std::result::Result<Answer, RecvTimeoutError> {
    let mut deadline = Instant::now() + timeout;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let patience = if left.is_zero() {
            BETWEEN_INTERRUPTS
        } else {
            left.min(LOOK)
        };
        match answer.recv_timeout(patience) {
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline + GRACE => {
                if !left.is_zero() && is_unwanted() {
                    deadline = Instant::now();
                }
                if Instant::now() >= deadline {
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

fn busy() -> Error {
    Error::new(ErrorKind::QueryInterrupted, "all query workers are busy")
        .with_hint("try again in a moment; at most four queries run at a time")
}
