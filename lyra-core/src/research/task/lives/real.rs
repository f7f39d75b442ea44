//! The same history in a database file, through the functions that engine and workers call.

use super::model::{Model, domain_of, gate};
use super::{DOMAINS, Op, TASKS, WORKERS};
use crate::clock::ManualClock;
use crate::error::{Error, ErrorKind};
use crate::research::jobs::{self, LEASE_MS, MAX_ATTEMPTS};
use crate::research::pipeline::{AuthNeed, FollowUp, StageOutcome};
use crate::research::task::stop::begin_stop;
use crate::research::task::{
    AuthAction, AuthTarget, QueueOptions, StatusDetail, StopMode, StopReason, StopRequest,
    StopScope, create_task, expire_auth, queue_targets, resolve_auth, status,
};
use crate::store::graph::{EvidenceGraph, Feedback, Job, verify};
use crate::store::model::{JobKind, Priority, TaskConfig};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

pub(super) struct Real {
    graph: EvidenceGraph,
    clock: Arc<ManualClock>,
    tasks: Vec<String>,
    places: Vec<(String, Option<Job>)>,
    workers: usize,
    /// Ids of completed jobs, to check that none is completed twice.
    done: Vec<String>,
    blocked: [bool; DOMAINS],
    /// How often each state was reached, to check that histories cover all of them.
    seen: BTreeMap<String, usize>,
    _folder: tempfile::TempDir,
}

fn url(page: usize) -> String {
    format!("https://{}/{page}", domain(domain_of(page)))
}

fn domain(number: usize) -> String {
    format!("site{number}.org")
}

impl Real {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(1_700_000_000_000));
        let graph =
            EvidenceGraph::open(&folder.path().join("g.db"), Arc::clone(&clock) as _).unwrap();
        Self {
            graph,
            clock,
            tasks: Vec::new(),
            places: Vec::new(),
            workers: 0,
            done: Vec::new(),
            blocked: [false; DOMAINS],
            seen: BTreeMap::new(),
            _folder: folder,
        }
    }

    /// Creates new tasks and workers; nothing of an earlier history is left.
    pub(super) fn begin(&mut self) {
        self.end();
        let new = |_| {
            create_task(&self.graph, "Tea helps", &TaskConfig::default())
                .unwrap()
                .id
        };
        self.tasks = (0..TASKS).map(new).collect();
        self.places = (0..WORKERS).map(|_| (String::new(), None)).collect();
        (0..WORKERS).for_each(|place| self.crash(place));
        self.done.clear();
        for number in 0..DOMAINS {
            self.block(number, false);
        }
    }

    pub(super) fn end(&mut self) {
        let forget = "DELETE FROM tasks";
        let graph = &self.graph;
        graph
            .write(|w| {
                w.sql().execute_batch(forget).unwrap();
                Ok(())
            })
            .unwrap();
    }

    fn crash(&mut self, place: usize) {
        self.workers += 1;
        self.places[place] = (format!("worker_{}", self.workers), None);
    }

    fn block(&mut self, number: usize, is_blocked: bool) {
        if std::mem::replace(&mut self.blocked[number], is_blocked) == is_blocked {
            return;
        }
        let (domain_pattern, reason) = (domain(number), "a life".to_owned());
        let feedback = match is_blocked {
            true => Feedback::DomainBlock {
                domain_pattern,
                reason,
            },
            false => Feedback::DomainUnblock {
                domain_pattern,
                reason,
            },
        };
        self.graph
            .write(|w| w.apply_feedback(&feedback, "test"))
            .unwrap();
    }

    pub(super) fn apply(&mut self, op: Op, before: &Model) {
        match op {
            Op::Queue(task, page, priority) => {
                let options = QueueOptions {
                    priority: [Priority::High, Priority::Medium, Priority::Low][priority],
                    ..QueueOptions::default()
                };
                queue_targets(
                    &self.graph,
                    &self.tasks[task],
                    &[url(page).into()],
                    &options,
                )
                .unwrap();
            }
            Op::Claim(place, task) => {
                let (worker, job) = &mut self.places[place];
                if job.is_none() {
                    *job =
                        jobs::claim(&self.graph, worker, Some(&self.tasks[task]), false).unwrap();
                }
            }
            Op::Finish(place, pages, is_blocked) => self.finish(place, pages, is_blocked),
            Op::Fail(place) => self.fail(place),
            Op::Renew(place) => {
                let (worker, job) = &self.places[place];
                if let Some(job) = job {
                    jobs::renew(&self.graph, job, worker).unwrap();
                }
            }
            Op::Crash(place) => self.crash(place),
            Op::Pass(long) => self.clock.advance(if long { LEASE_MS + 1 } else { 1_000 }),
            Op::Sweep => _ = jobs::requeue_abandoned(&self.graph).unwrap(),
            Op::Stop(task, mode, scope) => {
                let request = StopRequest {
                    reason: StopReason::UserCancelled,
                    mode: [StopMode::Graceful, StopMode::Immediate, StopMode::Full][mode],
                    scope: [StopScope::AllJobs, StopScope::TargetQueueOnly][scope],
                };
                begin_stop(&self.graph, &self.tasks[task], &request).unwrap();
            }
            Op::Resolve(which, about, action) => self.resolve(which, about, action, before),
            Op::Expire => {
                self.clock.advance(24 * 60 * 60 * 1_000 + 1);
                expire_auth(&self.graph).unwrap();
            }
            Op::Block(number, is_blocked) => self.block(number, is_blocked),
        }
    }

    /// Ends a job as a worker does.
    fn finish(&mut self, place: usize, pages: usize, is_blocked: bool) {
        let (worker, job) = &mut self.places[place];
        let Some(job) = job.take() else {
            return;
        };
        let mut outcome = StageOutcome {
            output: serde_json::json!({}),
            ..StageOutcome::default()
        };
        if job.kind == JobKind::TargetQueue {
            let address = job.input["target"]["url"].as_str().unwrap();
            let page: usize = address.rsplit('/').next().unwrap().parse().unwrap();
            let need = |n| AuthNeed {
                url: url(gate(page, n)),
                domain: domain(domain_of(gate(page, n))),
                auth_type: "login".to_owned(),
            };
            outcome.needs_auth = (0..pages).map(need).collect();
            outcome.is_blocked = is_blocked && pages > 0;
            let kinds = [JobKind::VerifyNli, JobKind::CitationGraph];
            outcome.follow_ups = kinds.map(|kind| FollowUp { kind }).to_vec();
        }
        if jobs::complete(&self.graph, &job, worker, &outcome).unwrap() {
            if !outcome.is_blocked {
                self.done.push(job.id);
            }
        } else {
            *self.seen.entry("late worker".to_owned()).or_default() += 1;
            jobs::release_cancelled(&self.graph, &job, worker).unwrap();
        }
    }

    fn fail(&mut self, place: usize) {
        let (worker, job) = &mut self.places[place];
        let Some(job) = job.take() else {
            return;
        };
        if self.graph.read(|r| r.is_job_held(&job.id, worker)).unwrap() {
            let error = Error::new(ErrorKind::Pipeline, "as it happens");
            jobs::fail(&self.graph, &job, worker, &error).unwrap();
        } else {
            jobs::release_cancelled(&self.graph, &job, worker).unwrap();
        }
    }

    fn resolve(&mut self, which: usize, about: usize, action: usize, before: &Model) {
        let target = match about {
            0 if before.item_count() == 0 => return,
            0 => AuthTarget::Item(self.item(which % before.item_count())),
            1 => AuthTarget::Domain(domain(which % DOMAINS)),
            _ => AuthTarget::Task(self.tasks[which % TASKS].clone()),
        };
        let action = match action {
            0 | 1 => AuthAction::Complete(None),
            2 => AuthAction::NotPassed,
            _ => AuthAction::Skip,
        };
        match resolve_auth(&self.graph, &target, &action) {
            Ok(report) => {
                assert_eq!(report.resolved_count, before.meant(which, about).len());
                *self.seen.entry("page opened".to_owned()).or_default() += report.requeued_count;
            }
            // No page of this domain has ever needed a human.
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotFound, "{error}"),
        }
    }

    fn item(&self, number: usize) -> String {
        let sql = "SELECT id FROM auth_queue ORDER BY rowid LIMIT 1 OFFSET ?1";
        let read = |row: &rusqlite::Row<'_>| row.get(0);
        let graph = &self.graph;
        graph
            .read(|r| Ok(r.sql().query_row(sql, [number], read).unwrap()))
            .unwrap()
    }

    /// Everything observable about a task, in the form of the model.
    pub(super) fn state(&self, task: usize) -> String {
        let id = &self.tasks[task];
        let now = self.graph.clock().now_ms();
        let report = self
            .graph
            .read(|r| status(r, id, StatusDetail::Summary, now))
            .unwrap();
        let mut text = format!("{}:", report.status.as_str());
        for [kind, state, attempts, priority] in self.rows(
            "SELECT kind, state, attempts || '', priority || '' FROM jobs WHERE task_id = ?1 ORDER BY rowid",
            id,
        ) {
            let _ = write!(text, " {kind} {state} {attempts} p{priority};");
        }
        for [url, status] in self.rows(
            "SELECT url, status FROM auth_queue WHERE task_id = ?1 ORDER BY rowid",
            id,
        ) {
            let page = url.rsplit('/').next().unwrap();
            let _ = write!(text, " page {page} {status};");
        }
        let done = report.milestones;
        let _ = write!(
            text,
            " drained {} verified {} cited {}",
            done.target_queue_drained, done.nli_verification_done, done.citation_chase_ready
        );
        text
    }

    fn rows<const N: usize>(&self, sql: &str, id: &str) -> Vec<[String; N]> {
        let read = |r: &crate::store::graph::Reader<'_>| {
            let mut statement = r.sql().prepare_cached(sql).unwrap();
            let row = |row: &rusqlite::Row<'_>| Ok(std::array::from_fn(|n| row.get(n).unwrap()));
            let rows = statement.query_map([id], row).unwrap();
            Ok(rows.map(Result::unwrap).collect())
        };
        self.graph.read(read).unwrap()
    }

    /// Every requested page has reached an end, and every end has a reason.
    pub(super) fn nothing_is_left(&mut self, model: &Model) -> Result<(), String> {
        let mut done = self.done.clone();
        done.sort_unstable();
        done.dedup();
        if done.len() != self.done.len() {
            return Err("a job was done twice".to_owned());
        }
        for (number, id) in self.tasks.clone().iter().enumerate() {
            let ends: Vec<[String; 4]> = self.rows(
                "SELECT id, state, coalesce(error_message, ''), coalesce(dedup_key, '') FROM jobs WHERE task_id = ?1",
                id,
            );
            for [job, state, reason, _] in &ends {
                *self.seen.entry(state.clone()).or_default() += 1;
                if reason.contains(&format!("stopped {MAX_ATTEMPTS} times")) {
                    *self.seen.entry("given up".to_owned()).or_default() += 1;
                }
                if reason.starts_with("nobody passed") {
                    *self.seen.entry("nobody came".to_owned()).or_default() += 1;
                }
                let is_done = self.done.contains(job);
                match state.as_str() {
                    "completed" if is_done => {}
                    "failed" | "cancelled" if !is_done && !reason.is_empty() => {}
                    _ => return Err(format!("{job} is {state} ({reason}); done: {is_done}")),
                }
            }
            for page in model.wanted(number) {
                let key = format!("url:{}", url(page));
                let completed = |end: &&[String; 4]| end[3] == key && end[1] == "completed";
                let known = ends.iter().any(|end| end[3] == key);
                if !known || ends.iter().filter(completed).count() > 1 {
                    return Err(format!("page {page} of task {number}: {ends:?}"));
                }
            }
        }
        Ok(())
    }

    pub(super) fn verify(&self) {
        let report = verify(self.graph.database()).unwrap();
        assert!(report.ok, "{report:?}");
    }

    pub(super) fn seen(&self) -> &BTreeMap<String, usize> {
        &self.seen
    }
}
