//! Compares the milestones with the cases of an earlier implementation, and states the reason for
//! each difference.

use super::status_query::status;
use super::{StatusDetail, StatusReport, WaitingFor};
use crate::clock::ManualClock;
use crate::store::graph::{EvidenceGraph, Writer};
use crate::store::model::TaskConfig;
use crate::store::text::testing::reference_cases;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

const WAITS_FOR_A_HUMAN: &str = "a job that waits for a human is pending: its target is not done, and what follows it will come";
const WILL_FOLLOW: &str =
    "verification and citations follow every target: while one is left, they are not done";
const NOTHING_TO_DO: &str =
    "a kind without work is done once no target is left: a task without papers is ready, too";

/// The name of the milestone, the kind of job that it depends on, and its value in a report.
type Milestone = (&'static str, &'static str, fn(&StatusReport) -> bool);

const MILESTONES: [Milestone; 3] = [
    ("target_queue_drained", "target_queue", |r| {
        r.milestones.target_queue_drained
    }),
    ("nli_verification_done", "verify_nli", |r| {
        r.milestones.nli_verification_done
    }),
    ("citation_chase_ready", "citation_graph", |r| {
        r.milestones.citation_chase_ready
    }),
];

/// Intended differences from the case, with the reason; `None` if the two should agree.
fn our_own_view(case: &Value, kind: &str) -> Option<(bool, &'static str)> {
    let number = |pointer: &str| case.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    if number("/pending_auth") > 0 {
        return Some((false, WAITS_FOR_A_HUMAN));
    }
    if kind == "target_queue" {
        return None;
    }
    if number("/queue/depth") + number("/queue/running") > 0 {
        return Some((false, WILL_FOLLOW));
    }
    let by_kind = case["by_kind"].as_object().expect("kinds");
    // The task has no targets.
    if by_kind.is_empty() {
        return None;
    }
    by_kind.get(kind).is_none().then_some((true, NOTHING_TO_DO))
}

/// Creates a task as described in the case.
fn stage(w: &Writer<'_>, task_id: &str, case: &Value) {
    let add = |kind: &str, state: &str, count: &Value| {
        for _ in 0..count.as_u64().unwrap_or(0) {
            let id = crate::store::model::random_id("job_", 12);
            w.sql()
                .execute(
                    "INSERT INTO jobs (id, task_id, kind, priority, state, created_at, queued_at)
                 VALUES (?1, ?2, ?3, 50, ?4, '', '')",
                    [&id, task_id, kind, state],
                )
                .unwrap();
            if state == "awaiting_auth" {
                w.sql().execute(
                    "INSERT INTO auth_queue (id, task_id, url, domain, auth_type, job_id, queued_at)
                     VALUES ('iq_' || ?1, ?2, 'https://a.org/', 'a.org', 'login', ?1, '')",
                    [&id, task_id],
                )
                .unwrap();
            }
        }
    };
    add("target_queue", "queued", &case["queue"]["depth"]);
    add("target_queue", "running", &case["queue"]["running"]);
    add("target_queue", "awaiting_auth", &case["pending_auth"]);
    for (kind, states) in case["by_kind"].as_object().unwrap() {
        for (state, count) in states.as_object().unwrap() {
            add(kind, state, count);
        }
    }
}

fn entry(waiting: &WaitingFor) -> Value {
    json!({ "kind": waiting.kind, "status": waiting.status, "queued": waiting.queued,
        "running": waiting.running, "completed": waiting.completed })
}

#[test]
fn milestones_agree_with_the_reference_or_say_why_not() {
    let cases = reference_cases("milestones");
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(1_700_000_000_000));
    let graph = EvidenceGraph::open(&folder.path().join("g.db"), clock).unwrap();
    let mut differences: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &cases {
        let task = super::create_task(&graph, "Tea helps", &TaskConfig::default()).unwrap();
        graph
            .write(|w| {
                stage(w, &task.id, case);
                Ok(())
            })
            .unwrap();
        let report = graph
            .read(|r| status(r, &task.id, StatusDetail::Summary, 0))
            .unwrap();
        assert_eq!(
            Some(report.pending_auth_count as u64),
            case["pending_auth"].as_u64(),
            "{case}"
        );
        for (name, kind, read) in MILESTONES {
            let theirs = case["milestones"][name].as_bool().unwrap();
            let view = our_own_view(case, kind);
            assert_eq!(
                read(&report),
                view.map_or(theirs, |(ours, _)| ours),
                "{name}: {case}"
            );
            if let Some((_, reason)) = view.filter(|(ours, _)| *ours != theirs) {
                *differences.entry(reason).or_default() += 1;
            }
            // What is not reached is waited for, with the same wording where both report it.
            let mine = report
                .waiting_for
                .iter()
                .find(|w| w.kind == kind)
                .map(entry);
            let named = case["waiting_for"]
                .as_array()
                .unwrap()
                .iter()
                .find(|w| w["kind"] == kind);
            assert_eq!(mine.is_some(), !read(&report), "{kind}: {case}");
            match (mine, named) {
                // The earlier implementation does not count finished targets.
                (Some(mine), Some(named)) => {
                    for (field, value) in named.as_object().unwrap() {
                        assert_eq!(&mine[field], value, "{kind}.{field}: {case}");
                    }
                }
                (None, None) => {}
                _ => assert!(view.is_some(), "{kind}: {case}"),
            }
        }
        // Its entry for pages that need a human corresponds to targets here that wait for one.
        let is_pending = |w: &WaitingFor| w.kind == "target_queue" && w.status == "pending";
        let idle = case["queue"] == json!({ "depth": 0, "running": 0 });
        let wants_human = case["pending_auth"].as_u64() > Some(0);
        assert_eq!(
            report.waiting_for.iter().any(is_pending),
            wants_human && idle,
            "{case}"
        );
    }
    if !cases.is_empty() {
        for reason in [WAITS_FOR_A_HUMAN, WILL_FOLLOW, NOTHING_TO_DO] {
            assert!(
                differences.contains_key(reason),
                "no case differs because {reason}"
            );
        }
        eprintln!("{} cases; differences: {differences:#?}", cases.len());
    }
}
