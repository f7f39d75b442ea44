//! The requirements of SPEC on jobs, tasks and humans in their plainest form: lists in memory.

use super::{DOMAINS, Op, PAGES, TASKS, WORKERS};
use std::fmt::Write as _;

const LEASE_MS: i64 = 15_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const MOST_ATTEMPTS: i64 = 3;

/// The names used to compare kinds, states and the rest.
const TARGET: &str = "target_queue";
const VERIFY: &str = "verify_nli";
const CITE: &str = "citation_graph";

#[derive(Debug, Clone)]
struct ExpectedJob {
    task: usize,
    kind: &'static str,
    /// The page of a target.
    page: usize,
    state: &'static str,
    attempts: i64,
    priority: i64,
    queued_at: i64,
    /// The worker that claimed it last, and the end of the lease.
    worker: u64,
    lease: i64,
    /// Cancelled while it ran, and its worker has not noticed yet.
    is_held: bool,
    times_done: usize,
    started_at: i64,
    finished_at: Option<i64>,
}

#[derive(Debug, Clone)]
struct ExpectedItem {
    task: usize,
    page: usize,
    job: usize,
    status: &'static str,
    expires_at: i64,
}

#[derive(Debug, Clone, Copy)]
struct ExpectedTask {
    status: &'static str,
    /// The scope of the last stop.
    only_targets: bool,
}

/// The expected state of jobs, items and tasks.
pub(super) struct Model {
    now: i64,
    tasks: [ExpectedTask; TASKS],
    jobs: Vec<ExpectedJob>,
    items: Vec<ExpectedItem>,
    /// For each place, its worker and the job that the worker holds.
    pub(super) places: [(u64, Option<usize>); WORKERS],
    blocked: [bool; DOMAINS],
    next_worker: u64,
}

/// Pages are assigned to domains in turn.
pub(super) fn domain_of(page: usize) -> usize {
    page % DOMAINS
}

/// The page that a job for this page reaches, if the job has several that need a human.
pub(super) fn gate(page: usize, number: usize) -> usize {
    (page + number) % PAGES
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            now: 0,
            tasks: [ExpectedTask {
                status: "created",
                only_targets: false,
            }; TASKS],
            jobs: Vec::new(),
            items: Vec::new(),
            places: std::array::from_fn(|n| (n as u64, None)),
            blocked: [false; DOMAINS],
            next_worker: WORKERS as u64,
        }
    }

    pub(super) fn apply(&mut self, op: Op) {
        match op {
            Op::Queue(task, page, priority) => self.queue(task, page, [10, 50, 90][priority]),
            Op::Claim(place, task) => self.claim(place, task),
            Op::Finish(place, pages, blocked) => self.finish(place, pages, blocked && pages > 0),
            Op::Fail(place) => self.fail(place),
            Op::Renew(place) => self.renew(place),
            Op::Crash(place) => {
                self.places[place] = (self.next_worker, None);
                self.next_worker += 1;
            }
            Op::Pass(long) => self.now += if long { LEASE_MS + 1 } else { 1_000 },
            Op::Sweep => self.sweep(),
            Op::Stop(task, mode, scope) => self.stop(task, mode > 0, scope == 1),
            Op::Resolve(which, about, action) => self.resolve(which, about, action),
            Op::Expire => {
                self.now += DAY_MS + 1;
                let late = |item: &ExpectedItem, now| item.expires_at <= now;
                let late: Vec<usize> = self.open_items(|item| late(item, self.now));
                self.close(&late, "expired");
                for item in late {
                    self.give_up(self.items[item].job);
                }
            }
            Op::Block(domain, is_blocked) => self.blocked[domain] = is_blocked,
        }
    }

    fn is_stopped(&self, task: usize, kind: &str) -> bool {
        let task = self.tasks[task];
        task.status == "paused" && (kind == TARGET || !task.only_targets)
    }

    fn add(&mut self, task: usize, kind: &'static str, page: usize, priority: i64) -> bool {
        let is_twin = |job: &ExpectedJob| {
            job.task == task
                && job.kind == kind
                && match kind {
                    // A page that is queued, in progress or done is not queued again.
                    TARGET => job.page == page && !matches!(job.state, "failed" | "cancelled"),
                    // A running job has seen only what existed when it began.
                    _ => job.state == "queued",
                }
        };
        if self.jobs.iter().any(is_twin) {
            return false;
        }
        self.jobs.push(ExpectedJob {
            task,
            kind,
            page,
            state: "queued",
            attempts: 0,
            priority,
            queued_at: self.now,
            worker: u64::MAX,
            lease: 0,
            is_held: false,
            times_done: 0,
            started_at: 0,
            finished_at: None,
        });
        true
    }

    fn queue(&mut self, task: usize, page: usize, priority: i64) {
        let is_new = !self.blocked[domain_of(page)] && self.add(task, TARGET, page, priority);
        let mut jobs = self.jobs.iter();
        let is_unfinished =
            |job: &ExpectedJob| job.task == task && matches!(job.state, "queued" | "running");
        if is_new || jobs.any(is_unfinished) {
            self.tasks[task].status = "exploring";
        }
    }

    fn claim(&mut self, place: usize, task: usize) {
        if self.places[place].1.is_some() {
            return;
        }
        // Of the jobs that follow targets, only one of each kind runs at a time.
        let is_taken = |kind: &str| {
            let runs =
                |job: &ExpectedJob| job.task == task && job.kind == kind && job.state == "running";
            kind != TARGET && self.jobs.iter().any(runs)
        };
        let may_run = |n: &usize| {
            let job = &self.jobs[*n];
            job.task == task && job.state == "queued" && !is_taken(job.kind)
        };
        let mut waiting: Vec<usize> = (0..self.jobs.len()).filter(may_run).collect();
        waiting.sort_by_key(|n| (self.jobs[*n].priority, self.jobs[*n].queued_at, *n));
        let Some(next) = waiting.first().copied() else {
            return;
        };
        let worker = self.places[place].0;
        let job = &mut self.jobs[next];
        job.state = "running";
        job.attempts += 1;
        (job.worker, job.lease) = (worker, self.now + LEASE_MS);
        job.started_at = self.now;
        self.places[place].1 = Some(next);
    }

    /// Releases the job that a worker holds; also returns whether it still belonged to the worker.
    fn lay_down(&mut self, place: usize) -> Option<(usize, bool)> {
        let number = self.places[place].1.take()?;
        let job = &self.jobs[number];
        Some((
            number,
            job.state == "running" && job.worker == self.places[place].0,
        ))
    }

    fn finish(&mut self, place: usize, pages: usize, is_blocked: bool) {
        let Some((number, is_ours)) = self.lay_down(place) else {
            return;
        };
        if !is_ours {
            return self.release(place, number);
        }
        let ExpectedJob {
            task, kind, page, ..
        } = self.jobs[number].clone();
        let (pages, is_blocked) = if kind == TARGET {
            (pages, is_blocked)
        } else {
            (0, false)
        };
        let stopped = self.is_stopped(task, kind);
        self.jobs[number].state = match (is_blocked, stopped) {
            (false, _) => "completed",
            (true, false) => "awaiting_auth",
            (true, true) => "cancelled",
        };
        self.jobs[number].times_done += usize::from(!is_blocked);
        self.jobs[number].finished_at = Some(self.now);
        if !stopped {
            for n in 0..pages {
                self.ask(task, gate(page, n), number);
            }
        }
        self.follow(number);
    }

    fn ask(&mut self, task: usize, page: usize, job: usize) {
        let is_asked = |item: &ExpectedItem| (item.task, item.page, item.job) == (task, page, job);
        if self.open_items(is_asked).is_empty() {
            let expires_at = self.now + DAY_MS;
            self.items.push(ExpectedItem {
                task,
                page,
                job,
                status: "pending",
                expires_at,
            });
        }
    }

    fn follow(&mut self, number: usize) {
        let ExpectedJob { task, kind, .. } = self.jobs[number].clone();
        if kind == TARGET {
            for (next, priority) in [(VERIFY, 45), (CITE, 50)] {
                if !self.is_stopped(task, next) {
                    self.add(task, next, 0, priority);
                }
            }
        }
    }

    fn fail(&mut self, place: usize) {
        let Some((number, is_ours)) = self.lay_down(place) else {
            return;
        };
        if !is_ours {
            return self.release(place, number);
        }
        self.jobs[number].state = "failed";
        self.jobs[number].finished_at = Some(self.now);
        self.follow(number);
        self.note_failure(number);
    }

    /// A task fails if all its targets failed.
    fn note_failure(&mut self, number: usize) {
        let ExpectedJob { task, kind, .. } = self.jobs[number].clone();
        let may_come_to_something = |job: &ExpectedJob| {
            job.task == task && job.kind == TARGET && !matches!(job.state, "failed" | "cancelled")
        };
        let is_hopeless = !self.jobs.iter().any(may_come_to_something);
        if kind == TARGET && is_hopeless && self.tasks[task].status == "exploring" {
            self.tasks[task].status = "failed";
        }
    }

    fn release(&mut self, place: usize, number: usize) {
        let worker = self.places[place].0;
        let job = &mut self.jobs[number];
        if job.state == "cancelled" && job.worker == worker && job.is_held {
            job.is_held = false;
            self.follow(number);
        }
    }

    fn renew(&mut self, place: usize) {
        let (worker, Some(number)) = self.places[place] else {
            return;
        };
        let job = &mut self.jobs[number];
        if job.state == "running" && job.worker == worker {
            job.lease = self.now + LEASE_MS;
        }
    }

    fn sweep(&mut self) {
        let is_abandoned = |number: &usize| {
            let job = &self.jobs[*number];
            let is_silent = job.state == "running" && job.lease < self.now;
            is_silent && !self.is_stopped(job.task, job.kind)
        };
        let abandoned: Vec<usize> = (0..self.jobs.len()).filter(is_abandoned).collect();
        for number in &abandoned {
            let job = &mut self.jobs[*number];
            let is_last = job.attempts >= MOST_ATTEMPTS;
            job.state = if is_last { "failed" } else { "queued" };
            job.worker = u64::MAX;
        }
        // What an abandoned target stored is verified; a requeued job may do that.
        for number in abandoned {
            if self.jobs[number].state == "failed" {
                self.jobs[number].finished_at = Some(self.now);
                self.follow(number);
                self.note_failure(number);
            }
        }
        // There is only one queued follow-up of each kind, regardless of its origin: the oldest.
        for number in 0..self.jobs.len() {
            let ExpectedJob { task, kind, .. } = self.jobs[number];
            let is_like_it =
                |job: &ExpectedJob| job.task == task && job.kind == kind && job.state == "queued";
            let has_elder = self.jobs[..number].iter().any(is_like_it);
            if kind != TARGET && self.jobs[number].state == "queued" && has_elder {
                self.jobs[number].state = "cancelled";
            }
        }
    }

    fn stop(&mut self, task: usize, takes_running: bool, only_targets: bool) {
        self.tasks[task] = ExpectedTask {
            status: "paused",
            only_targets,
        };
        let items = self.open_items(|item| item.task == task);
        self.close(&items, "cancelled");
        for job in self.jobs.iter_mut().filter(|job| job.task == task) {
            let is_meant = job.kind == TARGET || !only_targets;
            match job.state {
                "queued" | "awaiting_auth" if is_meant => job.state = "cancelled",
                "running" if is_meant && takes_running => {
                    (job.state, job.is_held) = ("cancelled", true);
                }
                _ => {}
            }
        }
    }

    fn open_items(&self, is_meant: impl Fn(&ExpectedItem) -> bool) -> Vec<usize> {
        let is_open = |n: &usize| self.items[*n].status == "pending" && is_meant(&self.items[*n]);
        (0..self.items.len()).filter(is_open).collect()
    }

    fn close(&mut self, items: &[usize], status: &'static str) {
        for item in items {
            self.items[*item].status = status;
        }
    }

    /// The items that an answer refers to; the real implementation gets the same answer.
    pub(super) fn meant(&self, which: usize, about: usize) -> Vec<usize> {
        match about {
            0 if self.items.is_empty() => Vec::new(),
            0 => {
                let named = &self.items[which % self.items.len()];
                if named.status != "pending" {
                    return Vec::new();
                }
                let (task, page) = (named.task, named.page);
                self.open_items(|item| item.task == task && item.page == page)
            }
            1 => self.open_items(|item| domain_of(item.page) == which % DOMAINS),
            _ => self.open_items(|item| item.task == which % TASKS),
        }
    }

    fn resolve(&mut self, which: usize, about: usize, action: usize) {
        let meant = self.meant(which, about);
        let is_opened = action < 2;
        self.close(&meant, if is_opened { "completed" } else { "skipped" });
        for item in meant {
            let ExpectedItem {
                task, page, job, ..
            } = self.items[item].clone();
            if !is_opened || self.blocked[domain_of(page)] {
                self.give_up(job);
                continue;
            }
            match self.jobs[job].state {
                "awaiting_auth" => {
                    let job = &mut self.jobs[job];
                    (job.state, job.queued_at) = ("queued", self.now);
                    // Waiting for a human does not count as a failed attempt.
                    job.attempts = (job.attempts - 1).max(0);
                }
                "queued" => {}
                _ => _ = self.add(task, TARGET, page, 50),
            }
        }
    }

    fn give_up(&mut self, job: usize) {
        let is_wanted = !self.open_items(|item| item.job == job).is_empty();
        if self.jobs[job].state == "awaiting_auth" && !is_wanted {
            self.jobs[job].state = "failed";
        }
    }

    /// Number of items.
    pub(super) fn item_count(&self) -> usize {
        self.items.len()
    }

    /// Whether targets of a stopped task ended after the last comparison of its claims.
    fn has_uncompared(&self, task: usize) -> bool {
        let of_task = |kind: &'static str| {
            let jobs = self.jobs.iter();
            jobs.filter(move |job| job.task == task && job.kind == kind)
        };
        let compared = of_task(VERIFY).filter(|job| job.state == "completed");
        let last = compared.map(|job| job.started_at).max();
        let mut ended = of_task(TARGET).filter(|job| matches!(job.state, "completed" | "failed"));
        self.tasks[task].status == "paused" && ended.any(|job| job.finished_at > last)
    }

    /// Everything observable about a task, as text.
    pub(super) fn state(&self, task: usize) -> String {
        let mut text = format!("{}:", self.tasks[task].status);
        for job in self.jobs.iter().filter(|job| job.task == task) {
            let _ = write!(
                text,
                " {} {} {} p{};",
                job.kind, job.state, job.attempts, job.priority
            );
        }
        for item in self.items.iter().filter(|item| item.task == task) {
            let _ = write!(text, " page {} {};", item.page, item.status);
        }
        let pending = |kind: &str, states: &[&str]| {
            let is_pending = |job: &ExpectedJob| {
                job.task == task && job.kind == kind && states.contains(&job.state)
            };
            self.jobs.iter().any(is_pending)
        };
        let drained = !pending(TARGET, &["queued", "running", "awaiting_auth"]);
        let has_begun = self.jobs.iter().any(|job| job.task == task);
        let idle = |kind: &str| has_begun && drained && !pending(kind, &["queued", "running"]);
        let verified = idle(VERIFY) && !self.has_uncompared(task);
        let cited = idle(CITE);
        let _ = write!(text, " drained {drained} verified {verified} cited {cited}");
        text
    }

    /// Checks the invariants of every history.
    pub(super) fn check(&self) -> Result<(), String> {
        for job in &self.jobs {
            if job.attempts > MOST_ATTEMPTS {
                return Err(format!("{} attempts: {job:?}", job.attempts));
            }
            if job.times_done > 1 {
                return Err(format!("done {} times: {job:?}", job.times_done));
            }
        }
        for task in 0..TASKS {
            for kind in [VERIFY, CITE] {
                let waits = |job: &&ExpectedJob| {
                    job.task == task && job.kind == kind && job.state == "queued"
                };
                let waiting = self.jobs.iter().filter(waits).count();
                if waiting > 1 {
                    return Err(format!("{waiting} jobs {kind} wait in task {task}"));
                }
            }
        }
        let waits_in_vain = |(number, job): (usize, &ExpectedJob)| {
            job.state == "awaiting_auth" && self.open_items(|item| item.job == number).is_empty()
        };
        match self.jobs.iter().enumerate().any(waits_in_vain) {
            true => Err("a job waits for a human whom nobody asks".to_owned()),
            false => Ok(()),
        }
    }

    /// Whether nothing is queued, running, or waiting for a human.
    pub(super) fn is_at_rest(&self) -> bool {
        let is_over = |job: &ExpectedJob| matches!(job.state, "completed" | "failed" | "cancelled");
        self.jobs.iter().all(is_over) && self.open_items(|_| true).is_empty()
    }

    /// Pages of a task that were requested at any time.
    pub(super) fn wanted(&self, task: usize) -> Vec<usize> {
        let of_task = |job: &&ExpectedJob| job.task == task && job.kind == TARGET;
        self.jobs
            .iter()
            .filter(of_task)
            .map(|job| job.page)
            .collect()
    }
}
