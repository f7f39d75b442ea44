//! Several calls at once: a long poll keeps nobody waiting, wakes on a change, can be cancelled.

use crate::client::Client;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// A web server that takes connections and never answers, so that a job runs for as long as a test
/// wants it to.
fn silent_server() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/page.html", listener.local_addr().unwrap());
    (listener, url)
}

/// A client, and a task with a job that does not end.
fn busy() -> (Client, String, TcpListener, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &["--allow-private-hosts"]);
    let task = client.ok("create_task", json!({"hypothesis": "Tea is good for you."}));
    let task = task["task_id"].as_str().unwrap().to_owned();
    let (listener, url) = silent_server();
    let queued = client.ok("queue_targets", json!({"task_id": task, "targets": [url]}));
    assert_eq!(queued["queued_count"], 1, "{queued}");
    let end = Instant::now() + Duration::from_secs(20);
    while running(&mut client, &task) == 0 {
        assert!(Instant::now() < end, "the job never began");
        std::thread::sleep(Duration::from_millis(20));
    }
    (client, task, listener, folder)
}

fn running(client: &mut Client, task: &str) -> i64 {
    let status = client.ok("get_status", json!({"task_id": task, "wait": 0}));
    status["progress"]["queue"]["running"].as_i64().unwrap()
}

#[test]
fn a_long_poll_blocks_nobody_and_wakes_on_a_change() {
    let (mut client, task, _listener, _folder) = busy();
    let poll = client.send_call("get_status", json!({"task_id": task, "wait": 300}));
    let began = Instant::now();
    for _ in 0..5 {
        client.ok(
            "query_sql",
            json!({"sql": "SELECT count(*) AS n FROM tasks"}),
        );
    }
    assert!(
        began.elapsed() < Duration::from_secs(10),
        "{:?}",
        began.elapsed()
    );
    assert!(
        client
            .answer_within(poll, Duration::from_millis(200))
            .is_none(),
        "answered too early"
    );
    client.ok(
        "queue_targets",
        json!({"task_id": task, "targets": ["green tea"]}),
    );
    let woken = client.answer(poll);
    assert_eq!(
        woken["result"]["structuredContent"]["changed"], true,
        "{woken}"
    );
}

/// Who asks how a task at rest is gets an answer; who asks to wait waits for what a human does.
#[test]
fn a_task_at_rest_is_waited_for_only_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    let task = client.ok("create_task", json!({"hypothesis": "Tea helps"}))["task_id"].clone();
    let poll = client.send_call("get_status", json!({"task_id": task}));
    let reply = client.answer_within(poll, Duration::from_secs(30));
    assert!(reply.is_some(), "nobody asked it to wait");
    let began = Instant::now();
    let quiet = client.ok("get_status", json!({"task_id": task, "wait": 1}));
    assert_eq!(quiet["changed"], false);
    assert!(began.elapsed() >= Duration::from_secs(1));
    let poll = client.send_call("get_status", json!({"task_id": task, "wait": 40}));
    let block = json!({"action": "domain_block", "domain_pattern": "b.org", "reason": "x"});
    client.ok("feedback", block);
    let woken = client.answer(poll);
    assert_eq!(woken["result"]["structuredContent"]["changed"], true);
}

#[test]
fn progress_is_told_to_who_asks_and_cancelling_ends_the_wait() {
    let (mut client, task, _listener, _folder) = busy();
    let poll = client.send(
        "tools/call",
        json!({"name": "get_status", "arguments": {"task_id": task, "wait": 300},
               "_meta": {"progressToken": "p1"}}),
    );
    let mut last = -1.0;
    for _ in 0..2 {
        let note = client.message(Duration::from_secs(30)).expect("progress");
        assert_eq!(note["method"], "notifications/progress", "{note}");
        assert_eq!(note["params"]["progressToken"], "p1");
        assert!(note["params"]["progress"].as_f64().unwrap() > last);
        last = note["params"]["progress"].as_f64().unwrap();
    }
    client.say(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": poll, "reason": "enough"}})
        .to_string(),
    );
    client.ok("list_views", json!({}));
    client.ok(
        "queue_targets",
        json!({"task_id": task, "targets": ["green tea"]}),
    );
    assert!(
        client.answer_within(poll, Duration::from_secs(1)).is_none(),
        "cancelled, yet answered"
    );
}

#[test]
fn a_long_poll_does_not_keep_the_server_from_ending() {
    let (mut client, task, _listener, _folder) = busy();
    let poll = client.send_call("get_status", json!({"task_id": task, "wait": 300}));
    client.ok("list_views", json!({}));
    client.hang_up();
    let reply = client.answer(poll);
    assert_eq!(
        reply["result"]["structuredContent"]["changed"], false,
        "{reply}"
    );
    assert_eq!(client.exit(Duration::from_secs(20)), Some(0));
}

#[test]
fn many_calls_at_once_are_all_answered_with_their_own_ids() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    let calls: Vec<(i64, i64)> = (0..100)
        .map(|n| {
            (
                client.send_call("query_sql", json!({"sql": "SELECT ? AS n", "params": [n]})),
                n,
            )
        })
        .collect();
    for (id, n) in calls {
        let reply: Value = client.answer(id);
        assert_eq!(
            reply["result"]["structuredContent"]["rows"][0]["n"], n,
            "{reply}"
        );
    }
}

/// Lists that hold less than there is say so, and none of them costs another its rows.
#[test]
fn a_full_status_says_where_its_lists_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    let task = client.ok("create_task", json!({"hypothesis": "Tea helps"}))["task_id"].clone();
    let full = json!({"task_id": task, "wait": 0, "detail": "full"});
    assert!(
        client
            .ok("get_status", full.clone())
            .get("truncated")
            .is_none()
    );
    for round in 0..3 {
        // Addresses that nobody may ask, and so long that they do not fit into one reply.
        let target = |n: usize| format!("http://10.0.0.1/{round}/{n}/{}", "x".repeat(300));
        let targets: Vec<String> = (0..100).map(target).collect();
        client.ok(
            "queue_targets",
            json!({"task_id": task, "targets": targets}),
        );
    }
    let status = client.ok("get_status", full);
    assert_eq!(status["truncated"], true);
    let items = status["queue_items"].as_array().unwrap().len();
    assert!((50..=200).contains(&items), "{items}");
}

/// A client with a defect uses an id again while its first call is under way, and writes more than a
/// message may hold: each call is answered.
#[test]
fn a_second_call_under_the_same_id_is_answered_as_well_as_the_first() {
    let (mut client, task, _listener, _folder) = busy();
    let poll = client.send_call("get_status", json!({"task_id": task, "wait": 300}));
    let again = json!({"jsonrpc": "2.0", "id": poll, "method": "tools/call",
        "params": {"name": "list_views", "arguments": {}}});
    for _ in 0..2 {
        client.say(&again.to_string());
        let refused = client.answer(poll);
        assert_eq!(refused["error"]["code"], -32600, "{refused}");
        let said = refused["error"]["message"].as_str().unwrap();
        assert!(said.contains("id of its own"), "{said}");
    }
    client.ok(
        "queue_targets",
        json!({"task_id": task, "targets": ["green tea"]}),
    );
    let woken = client.answer(poll);
    assert_eq!(woken["result"]["structuredContent"]["changed"], true);
    // Answered, it may be used again.
    client.say(&again.to_string());
    assert_eq!(client.answer(poll)["result"]["isError"], false);
    let long = "x".repeat(5 << 20);
    let call = client.send_call("create_task", json!({"hypothesis": long}));
    let refused = client.answer(call);
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    client.ok("list_views", json!({}));
}

#[cfg(unix)]
#[test]
fn a_database_that_is_taken_away_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let mut client = Client::connect(&db, &[]);
    let task = client.ok("create_task", json!({"hypothesis": "Tea helps"}))["task_id"].clone();
    std::fs::remove_file(&db).unwrap();
    let refused = client.fails("create_task", json!({"hypothesis": "Coffee helps"}));
    assert_eq!(refused["error_code"], "INTERNAL_ERROR", "{refused}");
    let hint = refused["hint"].as_str().unwrap();
    assert!(
        hint.contains("removed") && hint.contains("put it back"),
        "{hint}"
    );
    let status = client.ok("get_status", json!({"task_id": task, "wait": 0}));
    assert!(
        status["warnings"].to_string().contains("removed"),
        "{status}"
    );
}

/// Forty queries that take all of their time, and one that takes none: it is answered before most of
/// them are, and each of them is told by its own deadline what became of it.
#[test]
fn a_short_query_passes_many_long_ones() {
    let folder = tempfile::tempdir().unwrap();
    let mut client = Client::connect(&folder.path().join("a.db"), &[]);
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
               SELECT count(*) FROM n WHERE hex(zeroblob(20000 + i % 7)) LIKE '%1%'";
    let options = json!({"timeout_ms": 2000, "max_vm_steps": 50_000_000});
    let bombs: Vec<i64> = (0..40)
        .map(|_| client.send_call("query_sql", json!({"sql": sql, "options": options})))
        .collect();
    let options = json!({"timeout_ms": 1500});
    let short = client.send_call(
        "query_sql",
        json!({"sql": "SELECT 1 AS n", "options": options}),
    );
    let reply = client.answer(short);
    let rows = &reply["result"]["structuredContent"]["rows"];
    assert_eq!(rows[0]["n"], 1, "{reply}");
    let (first, rest): (Vec<_>, Vec<_>) = bombs
        .into_iter()
        .map(|id| (id, client.answer_within(id, Duration::ZERO)))
        .partition(|(_, reply)| reply.is_some());
    assert!(first.len() < 20, "{} were answered first", first.len());
    let rest = rest.into_iter().map(|(id, _)| Some(client.answer(id)));
    let rest: Vec<_> = rest.collect();
    for reply in first.into_iter().map(|(_, reply)| reply).chain(rest) {
        let reply = reply.unwrap();
        assert_eq!(reply["result"]["isError"], true, "{reply}");
        assert!(reply.to_string().contains("QUERY_INTERRUPTED"), "{reply}");
    }
}
