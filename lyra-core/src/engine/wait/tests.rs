use super::*;
use crate::engine::EngineConfig;
use crate::engine::waiters::LOOK;
use crate::error::ErrorKind;
use crate::research::task::{AuthAction, AuthTarget, StopRequest};
use crate::store::graph::{Feedback, NewJob};
use crate::store::model::{JobKind, TaskConfig};

const LONG: Duration = Duration::from_secs(60);

fn open(folder: &tempfile::TempDir) -> Engine {
    Engine::open(EngineConfig::new(folder.path().join("g.db"))).unwrap()
}

/// A task with work left to do.
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
    let queue = |w: &crate::store::graph::Writer<'_>| {
        for kind in JobKind::ALL {
            w.queue_job(&job(*kind))?;
        }
        w.sql().execute(
            "INSERT INTO claims (id, task_id, claim_text, created_at) VALUES (?1 || 'c', ?1, 'x', '')",
            [&id],
        )
        .unwrap();
        w.sql()
            .execute(
                "INSERT INTO auth_queue (id, task_id, url, domain, auth_type, queued_at)
             VALUES (?1 || 'a', ?1, 'https://a.org/', 'a.org', 'login', '')",
                [&id],
            )
            .unwrap();
        Ok(())
    };
    engine.graph().write(queue).unwrap();
    id
}

fn sql(engine: &Engine, sql: &str) {
    let run = |w: &crate::store::graph::Writer<'_>| {
        w.sql().execute_batch(sql).unwrap();
        Ok(())
    };
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

/// Changes to everything that a status shows, by any means.
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
    let (waited, ()) = tokio::join!(here.wait_status(&task, wait, StatusDetail::Full), meanwhile);
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
    // It was never in the full-text index.
    sql(&engine, "DELETE FROM claims");
    let wait = engine.wait_status(&task, LONG, StatusDetail::Summary);
    let (forgotten, ()) = tokio::join!(wait, async {
        _ = engine.forget(&task, false).unwrap();
    });
    assert_eq!(forgotten.unwrap_err().kind(), ErrorKind::TaskNotFound);
    // A waiter that stops listening is no longer watched for.
    let task = begun(&engine);
    let wait = engine.wait_status(&task, LONG, StatusDetail::Summary);
    assert!(tokio::time::timeout(2 * LOOK, wait).await.is_err());
    assert!(!is_watched(&engine).await);
}

/// For a task without work, the end is reported once; from then on, corrections by humans are
/// waited for.
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
    // The creator of the task has not seen its end; an engine that never asked gets the current
    // status.
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
    // A status without a wait counts as a report, too, and a new task has nothing else to report.
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
