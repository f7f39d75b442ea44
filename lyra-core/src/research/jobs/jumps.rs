//! Tests of budgets and leases when the system time is set.

use super::queue::requeue_abandoned;
use super::queue::{LEASE_MS, claim, complete, renew};
use crate::clock::{Clock, ManualClock};
use crate::research::pipeline::{Budget, StageOutcome};
use crate::store::graph::EvidenceGraph;
use crate::store::graph::{Job, MAX_ATTEMPTS, NewJob};
use crate::store::model::JobKind;
use std::sync::Arc;

const DAY: i64 = 24 * 60 * 60 * 1_000;
const TASK: &str = "t";
const WORKER: &str = "w";

struct JumpLab {
    graph: EvidenceGraph,
    clock: Arc<ManualClock>,
    _folder: tempfile::TempDir,
}

impl JumpLab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(1_800_000_000_000));
        let graph =
            EvidenceGraph::open(&folder.path().join("g.db"), Arc::clone(&clock) as _).unwrap();
        let add = "INSERT INTO tasks (id, hypothesis, config_json, created_at)
            VALUES ('t', 'Tea helps', '{\"budget\": {\"max_seconds\": 60}}', '')";
        graph
            .write(|w| Ok(w.sql().execute(add, []).unwrap()))
            .unwrap();
        let lab = Self {
            graph,
            clock,
            _folder: folder,
        };
        // Observes the clock as often as a worker does.
        lab.pass(LEASE_MS);
        lab
    }

    /// A target that a worker has claimed.
    fn begin(&self, worker: &str) -> Job {
        let job = NewJob {
            task_id: TASK.to_owned(),
            kind: JobKind::TargetQueue,
            priority: 1,
            input: serde_json::json!({}),
            dedup_key: Some(worker.to_owned()),
            cause_id: None,
        };
        self.graph.write(|w| w.queue_job(&job)).unwrap();
        claim(&self.graph, worker, None, false).unwrap().unwrap()
    }

    fn pass(&self, ms: i64) {
        for _ in 0..ms / 500 {
            self.clock.advance(500);
            assert_eq!(requeue_abandoned(&self.graph).unwrap(), 0, "a live one");
        }
    }

    /// Lets time pass while jobs are being processed.
    fn work(&self, jobs: &[&Job], seconds: i64) {
        for _ in 0..seconds {
            self.pass(1_000);
            for job in jobs {
                assert!(renew(&self.graph, job, WORKER).unwrap(), "taken back");
            }
        }
    }

    fn seconds_used(&self) -> u64 {
        let now = self.clock.now_ms();
        let budget = self.graph.read(|r| Budget::of(r, TASK, now));
        budget.unwrap().seconds_used
    }

    fn end(&self, job: &Job) {
        assert!(complete(&self.graph, job, WORKER, &StageOutcome::default()).unwrap());
    }

    fn state(&self, job: &Job) -> String {
        let state = self.graph.read(|r| r.job_state(Some(&job.id))).unwrap();
        state.unwrap().as_str().to_owned()
    }
}

#[test]
fn a_budget_of_seconds_counts_time_that_passed() {
    for jumps in [[DAY, -DAY], [-DAY, DAY], [DAY, DAY], [-DAY, -DAY]] {
        let lab = JumpLab::new();
        let job = lab.begin(WORKER);
        lab.work(&[&job], 5);
        for (number, jump) in (1..).zip(jumps) {
            lab.clock.jump(jump);
            let at_once = lab.seconds_used();
            assert!(at_once <= 5 * number, "{jumps:?}: {at_once}");
            lab.work(&[&job], 5);
            assert_eq!(lab.seconds_used(), 5 + 5 * number, "{jumps:?}");
        }
        lab.clock.jump(jumps[0]);
        lab.end(&job);
        assert_eq!(lab.seconds_used(), 15, "{jumps:?}");
        lab.clock.jump(DAY);
        assert_eq!(lab.seconds_used(), 15, "{jumps:?}");
        // Later work is charged as well.
        let next = lab.begin("v");
        lab.clock.advance(3_000);
        assert!(complete(&lab.graph, &next, "v", &StageOutcome::default()).unwrap());
        assert_eq!(lab.seconds_used(), 18, "{jumps:?}");
    }
}

#[test]
fn jobs_of_workers_that_are_alive_stay_theirs_when_the_clock_is_set() {
    let lab = JumpLab::new();
    let job = lab.begin(WORKER);
    for _ in 0..=MAX_ATTEMPTS {
        lab.clock.jump(DAY);
        lab.work(&[&job], 20);
        lab.clock.jump(-DAY);
        lab.work(&[&job], 20);
    }
    assert_eq!(lab.state(&job), "running");
}

#[test]
fn jobs_of_workers_that_are_gone_go_back_when_the_clock_is_set() {
    for jump in [DAY, -DAY] {
        let lab = JumpLab::new();
        let job = lab.begin("gone");
        lab.pass(1_000);
        lab.clock.jump(jump);
        let mut waited = 0;
        while requeue_abandoned(&lab.graph).unwrap() == 0 {
            lab.clock.advance(500);
            waited += 500;
            assert!(waited <= 2 * LEASE_MS, "kept for ever after {jump}");
        }
        assert_eq!(lab.state(&job), "queued");
    }
}
