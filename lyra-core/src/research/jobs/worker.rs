//! Workers: tasks that claim jobs, renew their leases, and finish them.

use super::dispatch;
use super::queue::{self, LEASE_MS};
use super::signal::Signal;
use crate::error::{Error, ErrorKind, Result};
use crate::research::pipeline::{Pipeline, StageOutcome};
use crate::store::graph::{EvidenceGraph, Job, MAX_ATTEMPTS};
use crate::store::model::random_id;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

/// How often a running job is checked for cancellation by another process.
const LOOK: Duration = Duration::from_millis(500);

/// Interval of periodic maintenance.
const UPKEEP_EVERY: Duration = Duration::from_secs(60);

/// Options of workers.
#[derive(Debug, Clone)]
pub(crate) struct WorkerOptions {
    /// Jobs that run at once.
    pub(crate) count: usize,
    /// How long an idle worker sleeps before it checks for jobs queued by another process.
    pub(crate) poll: Duration,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            count: 2,
            poll: Duration::from_millis(500),
        }
    }
}

/// Running workers. If this is dropped, running jobs continue until the runtime ends.
#[derive(Debug)]
pub struct Workers {
    stop: watch::Sender<bool>,
    handles: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts workers on the current tokio runtime. `report` receives errors that belong to no job,
    /// such as a full disk. `upkeep` is called at once and then every minute, on a thread where it
    /// may block.
    pub(crate) fn start(
        pipeline: Pipeline,
        signal: Signal,
        options: &WorkerOptions,
        report: Arc<dyn Fn(&Error) + Send + Sync>,
        upkeep: Arc<dyn Fn() -> Result<()> + Send + Sync>,
    ) -> Self {
        let (stop, stopped) = watch::channel(false);
        let upkeep = keep_up(upkeep, stopped.clone(), Arc::clone(&report));
        tokio::spawn(upkeep);
        let handles = (0..options.count.max(1)).map(|_| {
            let worker = Worker {
                id: random_id("worker_", 12),
                pipeline: pipeline.clone(),
                signal: signal.clone(),
                task_id: None,
                in_order: false,
            };
            tokio::spawn(worker.serve(stopped.clone(), options.poll, Arc::clone(&report)))
        });
        Self {
            handles: handles.collect(),
            stop,
        }
    }

    /// No workers.
    pub(crate) fn none() -> Self {
        Self {
            stop: watch::channel(false).0,
            handles: Vec::new(),
        }
    }

    /// Stops claiming jobs and waits for the running ones, for at most `patience`. Interrupted jobs
    /// are requeued when their lease expires.
    pub async fn shutdown(self, patience: Duration) {
        let _ = self.stop.send(true);
        let all = async {
            for handle in self.handles {
                let _ = handle.await;
            }
        };
        let _ = tokio::time::timeout(patience, all).await;
    }
}

async fn keep_up(
    upkeep: Arc<dyn Fn() -> Result<()> + Send + Sync>,
    mut stopped: watch::Receiver<bool>,
    report: Arc<dyn Fn(&Error) + Send + Sync>,
) {
    while !*stopped.borrow() {
        let now = Arc::clone(&upkeep);
        // In a large graph it takes a second; nothing needs to wait for it.
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || now()).await {
            report(&error);
        }
        tokio::select! {
            () = tokio::time::sleep(UPKEEP_EVERY) => {}
            () = told_to_stop(&mut stopped) => {}
        }
    }
}

/// Returns when the workers should stop. If their handle was dropped, it never returns, because no
/// stop signal can arrive.
async fn told_to_stop(stopped: &mut watch::Receiver<bool>) {
    if stopped.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

struct Worker {
    id: String,
    pipeline: Pipeline,
    signal: Signal,
    task_id: Option<String>,
    /// Whether no other job of the task may run at the same time.
    in_order: bool,
}

impl Worker {
    async fn serve(
        self,
        mut stopped: watch::Receiver<bool>,
        poll: Duration,
        report: Arc<dyn Fn(&Error) + Send + Sync>,
    ) {
        let mut changes = self.signal.listen();
        while !*stopped.borrow() {
            match self.step().await {
                Ok(true) => continue,
                Ok(false) => {}
                Err(e) => report(&e),
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(poll) => {}
                () = told_to_stop(&mut stopped) => {}
            }
        }
    }

    /// Runs one job, if one is available.
    async fn step(&self) -> Result<bool> {
        let graph = &self.pipeline.graph;
        if queue::requeue_abandoned(graph)? > 0 {
            self.signal.raise();
        }
        let Some(job) = queue::claim(graph, &self.id, self.task_id.as_deref(), self.in_order)?
        else {
            return Ok(false);
        };
        tracing::debug!(job = %job.id, kind = job.kind.as_str(), task = %job.task_id, "job started");
        self.signal.raise();
        let held = self.task_id.is_some().then(|| HeldJob {
            worker: self,
            job: &job,
        });
        let outcome = self.run_leased(&job).await;
        if let Some(held) = held {
            std::mem::forget(held);
        }
        let Some(outcome) = outcome else {
            // For the queue this is like a kill: the job is requeued when its lease expires.
            return Err(Error::internal(
                "the async runtime was shut down while a job ran",
            ));
        };
        match outcome {
            Ok(outcome) => {
                tracing::debug!(job = %job.id, "job done");
                if !queue::complete(graph, &job, &self.id, &outcome)? {
                    queue::release_cancelled(graph, &job, &self.id)?;
                }
            }
            Err(e) if !e.kind().is_of_database() && !self.holds(&job.id)? => {
                queue::release_cancelled(graph, &job, &self.id)?;
            }
            // A long import by another process is not the fault of the job.
            Err(e) if e.kind() == ErrorKind::Busy && job.attempts < MAX_ATTEMPTS => {
                graph.write(|w| w.give_job_back(&job.id, &self.id, true))?;
            }
            Err(e) => {
                // Debug formatting escapes untrusted text in the message that could affect a
                // terminal.
                tracing::warn!(job = %job.id, kind = job.kind.as_str(), error = ?e.message(), "job failed");
                queue::fail(graph, &job, &self.id, &e)?;
            }
        }
        self.signal.raise();
        Ok(true)
    }

    fn holds(&self, job_id: &str) -> Result<bool> {
        let graph = &self.pipeline.graph;
        graph.read(|r| r.is_job_held(job_id, &self.id))
    }

    /// Runs the job together with a heartbeat; if the lease is lost, the job is dropped. `None` if
    /// the runtime was shut down meanwhile.
    async fn run_leased(&self, job: &Job) -> Option<Result<StageOutcome>> {
        let pipeline = self.pipeline.clone();
        let running = job.clone();
        // Stages compute and write between their await points, which would block the threads of the
        // runtime: so a job gets a thread where it may block. A panic in a stage makes the job
        // fail, but does not end the worker.
        let (stop, stopped) = oneshot::channel::<()>();
        let runtime = tokio::runtime::Handle::current();
        let mut work = tokio::task::spawn_blocking(move || {
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    // The sender is also dropped when nothing waits for the job any more.
                    _ = stopped => None,
                    outcome = dispatch::run(&pipeline, &running) => Some(outcome),
                }
            })
        });
        let beat = Duration::from_millis(u64::try_from(LEASE_MS / 3).unwrap_or(3_000));
        let graph = &self.pipeline.graph;
        let mut changes = self.signal.listen();
        let mut renewed = Instant::now();
        loop {
            tokio::select! {
                done = &mut work => return match done {
                    Ok(outcome) => outcome,
                    Err(e) if e.is_cancelled() => None,
                    Err(e) => Some(Err(panicked(&e))),
                },
                _ = changes.changed() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
            // A failed check or renewal (a long import holds the lock) is repeated: the lease is
            // several heartbeats long, and a worker that has really lost it is told so.
            let kept = if renewed.elapsed() < beat {
                self.holds(&job.id)
            } else {
                renewed = Instant::now();
                queue::renew(graph, job, &self.id)
            };
            if matches!(kept, Ok(false)) {
                drop(stop);
                // The job may be released only when none of its work is running any more.
                let _ = work.await;
                return Some(Err(Error::new(
                    ErrorKind::Pipeline,
                    "the job was taken back while it ran",
                )));
            }
        }
    }
}

/// A job of a run whose caller may drop it at any moment (Ctrl-C): the job is then requeued at
/// once, and the interruption does not count as an attempt.
struct HeldJob<'a> {
    worker: &'a Worker,
    job: &'a Job,
}

impl Drop for HeldJob<'_> {
    fn drop(&mut self) {
        let pipeline = &self.worker.pipeline;
        // If this fails, the job is requeued when its lease expires.
        let graph = &pipeline.graph;
        let _ = graph.write(|w| w.give_job_back(&self.job.id, &self.worker.id, false));
        self.worker.signal.raise();
    }
}

fn panicked(error: &tokio::task::JoinError) -> Error {
    Error::internal(format!("the job stopped unexpectedly: {error}"))
}

/// Works in the caller's own task until the given task has nothing queued and nothing running.
/// `on_step` is called after every job. If the future is dropped, the running job is ended and
/// requeued.
pub(crate) async fn run_until_idle(
    pipeline: &Pipeline,
    signal: &Signal,
    task_id: &str,
    on_step: &(dyn Fn() -> Result<bool> + Send + Sync),
) -> Result<()> {
    let worker = Worker {
        id: random_id("worker_", 12),
        pipeline: pipeline.clone(),
        signal: signal.clone(),
        task_id: Some(task_id.to_owned()),
        in_order: false,
    };
    worker.until_idle(task_id, on_step).await
}

/// The same with several workers, only one of which has a job at a time: the jobs of the task run
/// one after another in the order of the queue, regardless of which worker claims them.
pub(crate) async fn run_in_order(
    pipeline: &Pipeline,
    signal: &Signal,
    task_id: &str,
    count: usize,
) -> Result<()> {
    let mut workers = JoinSet::new();
    for _ in 0..count.max(1) {
        let worker = Worker {
            id: random_id("worker_", 12),
            pipeline: pipeline.clone(),
            signal: signal.clone(),
            task_id: Some(task_id.to_owned()),
            in_order: true,
        };
        let task_id = task_id.to_owned();
        workers.spawn(async move { worker.until_idle(&task_id, &|| Ok(true)).await });
    }
    while let Some(ended) = workers.join_next().await {
        ended.map_err(|e| panicked(&e))??;
    }
    Ok(())
}

impl Worker {
    async fn until_idle(
        &self,
        task_id: &str,
        on_step: &(dyn Fn() -> Result<bool> + Send + Sync),
    ) -> Result<()> {
        let (worker, pipeline) = (self, &self.pipeline);
        loop {
            if worker.step().await? {
                if !on_step()? {
                    return Ok(());
                }
                continue;
            }
            if !has_running(&pipeline.graph, task_id)? {
                return Ok(());
            }
            // Another worker, here or in another process, holds the last jobs.
            let wait = queue::next_lease_end(&pipeline.graph)?
                .unwrap_or(50)
                .clamp(20, 500);
            tokio::time::sleep(Duration::from_millis(u64::try_from(wait).unwrap_or(50))).await;
        }
    }
}

fn has_running(graph: &EvidenceGraph, task_id: &str) -> Result<bool> {
    let now = graph.clock().now();
    graph.read(|r| r.has_jobs_under_way(task_id, &now))
}
