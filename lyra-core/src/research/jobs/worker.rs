//! Workers: tasks that take jobs, keep their leases, and end them.

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

/// How often a running job is looked at, to see whether another process has taken it back.
const LOOK: Duration = Duration::from_millis(500);

/// How often what has to be done now and then is done.
const UPKEEP_EVERY: Duration = Duration::from_secs(60);

/// How workers behave.
#[derive(Debug, Clone)]
pub(crate) struct WorkerOptions {
    /// Jobs that run at once.
    pub(crate) count: usize,
    /// How long an idle worker sleeps before it looks for what another process has queued.
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

/// Running workers; dropping them lets the running jobs go on until the runtime ends.
#[derive(Debug)]
pub struct Workers {
    stop: watch::Sender<bool>,
    handles: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts workers on the current tokio runtime. `report` hears of trouble that belongs to no
    /// job, such as a full disk. `upkeep` is called at once and then every minute, on a thread where
    /// it may block.
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

    /// Takes no more jobs and waits for the running ones, at most `patience` long. Jobs that are
    /// cut off go back to the queue when their lease runs out.
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
        // In a large graph it takes a second, for which nobody has to wait.
        if let Ok(Err(error)) = tokio::task::spawn_blocking(move || now()).await {
            report(&error);
        }
        tokio::select! {
            () = tokio::time::sleep(UPKEEP_EVERY) => {}
            () = told_to_stop(&mut stopped) => {}
        }
    }
}

/// Comes back when the workers are to stop; never where their handle was dropped, for then nobody
/// will tell them to.
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
    /// Nothing else of the task runs beside its job.
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

    /// Runs one job, if there is one.
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
        let held = self.task_id.is_some().then(|| Held {
            worker: self,
            job: &job,
        });
        let outcome = self.run_leased(&job).await;
        if let Some(held) = held {
            std::mem::forget(held);
        }
        let Some(outcome) = outcome else {
            // To the queue that is a kill: the job goes on elsewhere when its lease has run out.
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
            // Somebody's long import is no fault of the job.
            Err(e) if e.kind() == ErrorKind::Busy && job.attempts < MAX_ATTEMPTS => {
                graph.write(|w| w.give_job_back(&job.id, &self.id, true))?;
            }
            Err(e) => {
                // Debug escapes what a foreign text in the message would do to a terminal.
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

    /// Runs the job beside a heartbeat; a job that is taken from us is dropped. None if the runtime
    /// went down around it.
    async fn run_leased(&self, job: &Job) -> Option<Result<StageOutcome>> {
        let pipeline = self.pipeline.clone();
        let running = job.clone();
        // Stages compute and write between their waits, which would keep the runtime's threads from
        // answering anybody: a job has a thread where it may block. A panic in a stage is a failed
        // job, not a dead worker.
        let (stop, stopped) = oneshot::channel::<()>();
        let runtime = tokio::runtime::Handle::current();
        let mut work = tokio::task::spawn_blocking(move || {
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    // It is dropped, too, when nobody waits for the job any more.
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
            // A look or a renewal that fails (a long import holds the lock) is tried again: the
            // lease outlasts several beats, and who has really lost it is told so.
            let kept = if renewed.elapsed() < beat {
                self.holds(&job.id)
            } else {
                renewed = Instant::now();
                queue::renew(graph, job, &self.id)
            };
            if matches!(kept, Ok(false)) {
                drop(stop);
                // Letting go means that nothing of the job is under way any more.
                let _ = work.await;
                return Some(Err(Error::new(
                    ErrorKind::Pipeline,
                    "the job was taken back while it ran",
                )));
            }
        }
    }
}

/// A job of a run that its caller may drop at any moment (Ctrl-C): the job then goes back to the
/// queue at once, and the interruption is not counted as an attempt.
struct Held<'a> {
    worker: &'a Worker,
    job: &'a Job,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let pipeline = &self.worker.pipeline;
        // Where this fails, the job goes back when its lease has run out.
        let graph = &pipeline.graph;
        let _ = graph.write(|w| w.give_job_back(&self.job.id, &self.worker.id, false));
        self.worker.signal.raise();
    }
}

fn panicked(error: &tokio::task::JoinError) -> Error {
    Error::internal(format!("the job stopped unexpectedly: {error}"))
}

/// Works in the caller's own task until the given task has nothing queued and nothing running.
/// `on_step` is called after every job. Dropping the future ends the job that runs and gives it back.
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

/// The same with several workers, of which one has a job at a time: the jobs of the task run one after
/// the other in the order of the queue, whoever takes them.
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
