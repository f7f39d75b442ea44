//! A server that is killed in the middle of its work, and another that goes on.

use crate::client::{Client, binary};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Documents of the made-up corpus. `LYRA_TEST_CORPUS` names a folder to use instead.
const DOCUMENTS: usize = 400;
/// Machines that build at the same time are slow.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) fn corpus(folder: &Path) -> PathBuf {
    if let Some(given) = std::env::var_os("LYRA_TEST_CORPUS") {
        return given.into();
    }
    let subjects = ["coffee", "tea", "night work", "noise", "exercise", "salt"];
    let outcomes = ["sleep", "blood pressure", "falls", "memory", "weight"];
    let mut lines = String::new();
    for n in 0..DOCUMENTS {
        let (subject, outcome) = (subjects[n % subjects.len()], outcomes[n % outcomes.len()]);
        let verb = if n % 3 == 0 {
            "did not change"
        } else {
            "increased"
        };
        let text = format!(
            "Cohort {n} followed {} adults for {} years. In this cohort {subject} {verb} {outcome} \
             (hazard ratio 1.{:02}). The result was the same in men and in women.",
            300 + n,
            1 + n % 9,
            n % 100
        );
        let record = json!({"id": n.to_string(), "title": format!("Cohort {n}"), "abstract": text, "year": 2000 + n % 25});
        writeln!(lines, "{record}").unwrap();
    }
    let path = folder.join("corpus");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("cohorts.jsonl"), lines).unwrap();
    path
}

pub(crate) fn count(client: &mut Client, sql: &str) -> i64 {
    let reply = client.ok(
        "query_sql",
        json!({ "sql": sql, "options": {"timeout_ms": 2000, "max_vm_steps": 50_000_000} }),
    );
    reply["rows"][0]
        .as_object()
        .unwrap()
        .values()
        .next()
        .unwrap()
        .as_i64()
        .unwrap()
}

fn counts(client: &mut Client) -> Vec<i64> {
    [
        "pages",
        "page_texts",
        "fragments",
        "embeddings",
        "claims",
        "edges",
    ]
    .iter()
    .map(|table| count(client, &format!("SELECT count(*) FROM {table}")))
    .collect()
}

pub(crate) fn drain(client: &mut Client, task: &str) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let id = client.send_call(
            "get_status",
            json!({"task_id": task, "wait": 5, "detail": "full"}),
        );
        let reply = client.answer_within(id, PATIENCE).expect("a status");
        let status = reply["result"]["structuredContent"].clone();
        if status["milestones"]["citation_chase_ready"] == true
            && status["milestones"]["nli_verification_done"] == true
            // A kill may have come before the first target.
            || status["status"] == "created"
        {
            return status;
        }
        assert!(Instant::now() < end, "not drained in time: {status}");
    }
}

pub(crate) fn verify(db: &Path) {
    let output = binary(db).arg("verify").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

pub(crate) fn begin(client: &mut Client) -> String {
    let task = client.ok(
        "create_task",
        json!({"hypothesis": "Coffee increases blood pressure"}),
    );
    let task = task["task_id"].as_str().unwrap().to_owned();
    client.ok(
        "queue_targets",
        json!({"task_id": task, "targets": ["coffee blood pressure"]}),
    );
    task
}

#[test]
fn a_killed_ingest_resumes_and_does_nothing_twice() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path());
    let arguments = ["--corpus", corpus.to_str().unwrap()];

    // What an undisturbed run gives.
    let calm = folder.path().join("calm.db");
    let mut client = Client::connect(&calm, &arguments);
    let task = begin(&mut client);
    let status = drain(&mut client, &task);
    assert_eq!(status["recent_errors"], json!([]), "{status}");
    let expected = counts(&mut client);
    drop(client);

    // The same, killed with SIGKILL while documents are being read.
    let db = folder.path().join("killed.db");
    let mut client = Client::connect(&db, &arguments);
    let task = begin(&mut client);
    let end = Instant::now() + PATIENCE;
    while count(&mut client, "SELECT count(*) FROM pages") < expected[0] / 4 {
        assert!(Instant::now() < end, "nothing is being read");
        std::thread::sleep(Duration::from_millis(5));
    }
    let reached = count(&mut client, "SELECT count(*) FROM pages");
    drop(client);
    assert!(
        reached < expected[0],
        "it was over before it could be killed"
    );
    verify(&db);

    let mut client = Client::connect(&db, &arguments);
    let status = drain(&mut client, &task);
    assert_eq!(status["recent_errors"], json!([]), "{status}");
    assert_eq!(status["queue_items"][0]["attempts"], 2, "{status}");
    assert_eq!(counts(&mut client), expected);
    drop(client);
    verify(&db);
}
