//! A search beside another process that writes: each answer is of one state of the graph, and no
//! older than what was committed before it was asked for.

use crate::client::{Client, binary};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Child, Stdio};

const BATCH: usize = 20;
const BATCHES: usize = 8;

/// A file of claims that come in one transaction.
fn write_batch(path: &Path, task: &str, batch: usize) {
    let lines = (0..BATCH).map(|number| {
        let text = format!("Trial {number} of batch {batch} found that insulin lowers glucose");
        json!({"type": "claim", "id": format!("claim_{batch}_{number}"), "task_id": task,
               "claim_text": text})
        .to_string()
    });
    let text: Vec<String> = lines.collect();
    std::fs::write(path, text.join("\n")).unwrap();
}

fn import(db: &Path, file: &Path) -> Child {
    let mut command = binary(db);
    command.arg("import").arg(file);
    command.stdout(Stdio::null()).stdin(Stdio::null());
    command.spawn().unwrap()
}

fn search(client: &mut Client, task: Option<&str>, mode: &str) -> Value {
    let mut arguments = json!({"query": "insulin lowers glucose", "target": "claims", "top_k": 50,
                               "min_similarity": 0.0, "mode": mode});
    if let Some(task) = task {
        arguments["task_id"] = json!(task);
    }
    client.call("vector_search", arguments)["structuredContent"].take()
}

#[test]
fn answers_beside_a_writing_process_are_neither_torn_nor_stale() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("graph.db");
    let mut client = Client::connect(&db, &[]);
    let task = client.ok(
        "create_task",
        json!({"hypothesis": "Insulin lowers glucose"}),
    );
    let task = task["task_id"].as_str().unwrap().to_owned();
    let mut seen = 0;
    let mut looks: usize = 0;
    for batch in 0..BATCHES {
        let file = folder.path().join(format!("{batch}.jsonl"));
        write_batch(&file, &task, batch);
        let mut writer = import(&db, &file);
        let (status, reply) = loop {
            // Asked before the search, so that the search has to see what an ended writer wrote.
            let ended = writer.try_wait().unwrap();
            let scope = looks.is_multiple_of(2).then_some(task.as_str());
            let mode = ["semantic", "hybrid", "lexical"][looks % 3];
            let reply = search(&mut client, scope, mode);
            looks += 1;
            let searched = reply["total_searched"].as_u64().unwrap_or(0) as usize;
            assert_eq!(searched % BATCH, 0, "half of a commit: {reply}");
            assert!(searched >= seen, "{searched} after {seen}");
            let found = reply["results"].as_array().map_or(0, Vec::len);
            // Words are found as soon as they are stored, vectors when they have been made.
            let whole = found == 50 || found.is_multiple_of(BATCH);
            let with_vectors = searched.min(50);
            let complete = match mode {
                "semantic" => found == with_vectors,
                "hybrid" => found >= with_vectors,
                _ => true,
            };
            assert!(whole && complete, "{mode}: {reply}");
            seen = searched;
            if let Some(status) = ended {
                break (status, reply);
            }
        };
        assert!(status.success());
        assert_eq!(seen, (batch + 1) * BATCH, "an old answer: {reply}");
    }
    assert!(looks > BATCHES, "no search ran beside a writer");
    // What another process takes away is gone from the next answer.
    let other = client.ok("create_task", json!({"hypothesis": "Something else"}));
    assert_eq!(
        search(&mut client, None, "semantic")["total_searched"],
        json!(seen)
    );
    let mut forget = binary(&db);
    forget
        .args(["forget", "--task", &task])
        .stdout(Stdio::null());
    assert!(forget.status().unwrap().success());
    let reply = search(&mut client, Some(&task), "semantic");
    assert_eq!(reply["error_code"], json!("TASK_NOT_FOUND"), "{reply}");
    let reply = search(&mut client, None, "semantic");
    assert_eq!(reply["ok"], json!(false), "{other} has no claims: {reply}");
}
