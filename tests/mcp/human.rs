//! A site that wants a human, and a human who comes or does not; and citations that are followed.

use crate::client::Client;
use crate::kill_resume::{PATIENCE, count, drain, verify};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SECRET: &str = "cf_clearance=s3cr3t-of-a-human";

/// What the site was asked: path, host, cookie.
type Log = Arc<Mutex<Vec<(String, String, Option<String>)>>>;

struct Site {
    port: u16,
    log: Log,
}

fn page(title: &str, more: &str) -> String {
    let text =
        "Coffee drinkers were followed for ten years. In this cohort coffee increased blood \
                pressure by three millimetres of mercury. The result was the same in men and in \
                women, and it did not depend on smoking."
            .repeat(2);
    format!(
        "<html><head><title>{title}</title></head><body><article><h1>{title}</h1><p>{text}</p><p>Its authors call it {title}.</p>{more}</article></body></html>"
    )
}

/// Pages under /closed/ are shown to whoever presents the cookie; /jump leads there from another
/// host; /away leads from here to another host.
fn answer(port: u16, path: &str, cookie: Option<&str>) -> String {
    let html = |status: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    match path {
        "/robots.txt" => html("404 Not Found", ""),
        _ if path.starts_with("/closed/away") && cookie == Some(SECRET) => format!(
            "HTTP/1.1 302 Found\r\nLocation: http://localhost:{port}/elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
        _ if path.starts_with("/closed/") && cookie != Some(SECRET) => {
            html("401 Unauthorized", "<html><body>Log in.</body></html>")
        }
        "/citing" => html(
            "200 OK",
            &page(
                "Citing",
                &format!(
                    "<p>Cohort A confirmed that <a href=\"http://127.0.0.1:{port}/cited\">coffee \
                     increased blood pressure in a cohort</a>, as did \
                     <a href=\"https://doi.org/10.1234/coffee.1\">coffee and blood pressure, a \
                     trial</a>, and <a href=\"http://127.0.0.1:{port}/third\">a third cohort of \
                     coffee drinkers and their blood pressure</a>.</p>"
                ),
            ),
        ),
        _ => html("200 OK", &page(&format!("Cohort {path}"), "")),
    }
}

impl Site {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let log: Log = Arc::default();
        let seen = Arc::clone(&log);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { continue };
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let header = |name: &str| {
                    head.lines()
                        .filter_map(|line| line.split_once(": "))
                        .find(|(key, _)| key.eq_ignore_ascii_case(name))
                        .map(|(_, value)| value.to_owned())
                };
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let cookie = header("cookie");
                let reply = answer(port, &path, cookie.as_deref());
                seen.lock()
                    .unwrap()
                    .push((path, header("host").unwrap_or_default(), cookie));
                let _ = stream.write_all(reply.as_bytes());
            }
        });
        Self { port, log }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

fn connect(db: &Path) -> Client {
    Client::connect(db, &["--allow-private-hosts"])
}

fn task_with(client: &mut Client, targets: &[String]) -> String {
    let task = client.ok(
        "create_task",
        json!({"hypothesis": "Coffee increases blood pressure"}),
    );
    let task = task["task_id"].as_str().unwrap().to_owned();
    client.ok(
        "queue_targets",
        json!({"task_id": task, "targets": targets}),
    );
    task
}

fn waiting(client: &mut Client, task: &str, wanted: usize) -> Vec<Value> {
    let end = Instant::now() + PATIENCE;
    loop {
        let queue = client.ok("get_auth_queue", json!({"task_id": task}));
        let items = queue["items"].as_array().unwrap().clone();
        let status = client.ok("get_status", json!({"task_id": task, "wait": 0}));
        let depth = &status["progress"]["queue"];
        if items.len() == wanted && depth["running"] == 0 && depth["depth"] == 0 {
            return items;
        }
        assert!(Instant::now() < end, "{status} {queue}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_page_that_wants_a_human_is_read_once_a_human_was_there() {
    let (site, folder) = (Site::new(), tempfile::tempdir().unwrap());
    let db = folder.path().join("a.db");
    let mut client = connect(&db);
    let task = task_with(
        &mut client,
        &[site.url("/closed/a"), site.url("/closed/away")],
    );
    let items = waiting(&mut client, &task, 2);
    assert_eq!(items[0]["auth_type"], "login");
    assert_eq!(items[0]["domain"], "127.0.0.1");
    assert!(items[0]["expires_at"].is_string());
    let status = client.ok(
        "get_status",
        json!({"task_id": task, "wait": 0, "detail": "full"}),
    );
    assert_eq!(status["pending_auth_count"], 2);
    assert_eq!(status["milestones"]["target_queue_drained"], false);

    let id = items[0]["queue_id"].as_str().unwrap();
    for (arguments, code) in [
        (
            json!({"queue_id": "iq_none", "action": "complete"}),
            "RESOURCE_NOT_FOUND",
        ),
        (
            json!({"target": "domain", "domain": "x.org", "action": "skip"}),
            "RESOURCE_NOT_FOUND",
        ),
        (
            json!({"queue_id": id, "action": "skip", "session_data": {"cookies": SECRET}}),
            "INVALID_PARAMS",
        ),
        (
            json!({"queue_id": id, "action": "complete", "session_data": "s3cr3t"}),
            "INVALID_PARAMS",
        ),
        (
            json!({"queue_id": id, "action": "complete", "session_data": {"cookies": "s3cr3t\n"}}),
            "INVALID_PARAMS",
        ),
        (
            json!({"queue_id": id, "action": "complete", "session_data": {"cookies": ["s3cr3t"]}}),
            "INVALID_PARAMS",
        ),
    ] {
        let body = client.fails("resolve_auth", arguments);
        assert_eq!(body["error_code"], code, "{body}");
        assert!(!body.to_string().contains("s3cr3t"), "{body}");
    }

    let done = client.ok(
        "resolve_auth",
        json!({"target": "domain", "domain": "127.0.0.1", "action": "complete",
               "session_data": {"cookies": SECRET}}),
    );
    assert_eq!(
        (&done["resolved_count"], &done["requeued_count"]),
        (&json!(2), &json!(2)),
        "{done}"
    );
    let status = drain(&mut client, &task);
    assert_eq!(status["recent_errors"], json!([]), "{status}");
    assert!(
        status["metrics"]["total_claims"].as_u64().unwrap() > 0,
        "{status}"
    );
    assert_eq!(status["pending_auth_count"], 0);
    for item in status["queue_items"].as_array().unwrap() {
        assert_eq!(
            (&item["state"], &item["attempts"]),
            (&json!("completed"), &json!(1)),
            "{item}"
        );
    }

    // Resolved is resolved.
    let again = client.ok("resolve_auth", json!({"queue_id": id, "action": "skip"}));
    assert_eq!(again["resolved_count"], 0);
    assert!(
        again["hint"]
            .as_str()
            .unwrap()
            .contains("completed already"),
        "{again}"
    );

    // The session went to its site, and nowhere else.
    for (path, host, cookie) in site.log.lock().unwrap().iter() {
        if host.starts_with("localhost") || path == "/robots.txt" {
            assert_eq!(cookie, &None, "{host}{path}");
        }
    }
    assert!(
        site.log
            .lock()
            .unwrap()
            .iter()
            .any(|(path, ..)| path == "/elsewhere")
    );

    // Every action is in the audit log, and the secret is nowhere.
    let logged = count(
        &mut client,
        "SELECT count(*) FROM event_log WHERE action = 'auth_completed'",
    );
    assert_eq!(logged, 2);
    for sql in [
        "SELECT * FROM auth_queue",
        "SELECT * FROM event_log",
        "SELECT * FROM jobs",
        "SELECT * FROM pages",
    ] {
        let rows = client.ok("query_sql", json!({"sql": sql}));
        assert!(!rows.to_string().contains("s3cr3t"), "{sql}: {rows}");
    }
    drop(client);
    verify(&db);
    let export = crate::client::binary(&db).arg("export").output().unwrap();
    assert!(export.status.success());
    assert!(!String::from_utf8_lossy(&export.stdout).contains("s3cr3t"));
}

#[test]
fn a_page_that_is_skipped_fails_with_the_reason() {
    let (site, folder) = (Site::new(), tempfile::tempdir().unwrap());
    let mut client = connect(&folder.path().join("a.db"));
    let task = task_with(&mut client, &[site.url("/closed/a"), site.url("/closed/b")]);
    let items = waiting(&mut client, &task, 2);
    let id = items[0]["queue_id"].as_str().unwrap();
    let skipped = client.ok("resolve_auth", json!({"queue_id": id, "action": "skip"}));
    assert_eq!(
        (&skipped["resolved_count"], &skipped["failed_count"]),
        (&json!(1), &json!(1))
    );
    let tried = client.ok(
        "resolve_auth",
        json!({"target": "task", "task_id": task, "action": "complete", "success": false}),
    );
    assert_eq!(
        (&tried["resolved_count"], &tried["failed_count"]),
        (&json!(1), &json!(1))
    );
    let status = drain(&mut client, &task);
    let errors = status["recent_errors"].to_string();
    assert!(
        errors.contains("skipped by a human") && errors.contains("was not passed"),
        "{errors}"
    );

    // A stop takes back what still waits.
    let other = task_with(&mut client, &[site.url("/closed/c")]);
    waiting(&mut client, &other, 1);
    client.ok("stop_task", json!({"task_id": other}));
    assert_eq!(
        client.ok("get_auth_queue", json!({"task_id": other}))["total_count"],
        0
    );
}

#[test]
fn a_page_whose_domain_was_blocked_meanwhile_is_not_read_for_a_human() {
    let (site, folder) = (Site::new(), tempfile::tempdir().unwrap());
    let mut client = connect(&folder.path().join("a.db"));
    let task = task_with(&mut client, &[site.url("/closed/a")]);
    waiting(&mut client, &task, 1);
    client.ok(
        "feedback",
        json!({"action": "domain_block", "domain_pattern": "127.0.0.1", "reason": "adverts"}),
    );
    let done = client.ok(
        "resolve_auth",
        json!({"target": "task", "task_id": task, "action": "complete",
               "session_data": {"cookies": SECRET}}),
    );
    assert_eq!(
        (
            &done["resolved_count"],
            &done["requeued_count"],
            &done["failed_count"]
        ),
        (&json!(1), &json!(0), &json!(1)),
        "{done}"
    );
    assert!(
        done["hint"].as_str().unwrap().contains("blocked_domain"),
        "{done}"
    );
    let status = drain(&mut client, &task);
    let error = status["recent_errors"][0]["error"].as_str().unwrap();
    assert!(error.contains("the rule 127.0.0.1 blocks it"), "{status}");
    let asked = site.log.lock().unwrap();
    assert!(
        asked.iter().all(|(_, _, cookie)| cookie.is_none()),
        "{asked:?}"
    );
}

#[test]
fn cited_documents_are_queued_by_choice() {
    let (site, folder) = (Site::new(), tempfile::tempdir().unwrap());
    let mut client = connect(&folder.path().join("a.db"));
    let task = task_with(&mut client, &[site.url("/citing")]);
    drain(&mut client, &task);
    let view = client.ok(
        "query_view",
        json!({"view_name": "v_reference_candidates", "task_id": task}),
    );
    let rows = view["rows"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 3, "{view}");
    let id_of = |part: &str| {
        let row = rows
            .iter()
            .find(|row| row["candidate_url"].as_str().unwrap().contains(part));
        row.unwrap()["citation_edge_id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (cited, doi, third) = (id_of("/cited"), id_of("10.1234"), id_of("/third"));

    let before = count(&mut client, "SELECT count(*) FROM jobs");
    let events = count(&mut client, "SELECT count(*) FROM event_log");
    let dry = client.ok(
        "queue_reference_candidates",
        json!({"task_id": task, "dry_run": true, "limit": 2}),
    );
    assert_eq!(dry["candidates"].as_array().unwrap().len(), 2, "{dry}");
    assert_eq!(
        (&dry["queued_count"], &dry["dry_run"]),
        (&json!(0), &json!(true))
    );
    assert_eq!(count(&mut client, "SELECT count(*) FROM jobs"), before);
    assert_eq!(count(&mut client, "SELECT count(*) FROM event_log"), events);

    let all = client.ok(
        "queue_reference_candidates",
        json!({"task_id": task, "dry_run": true}),
    );
    let ids = |reply: &Value| -> Vec<String> {
        let candidates = reply["candidates"].as_array().unwrap();
        candidates
            .iter()
            .map(|c| c["citation_edge_id"].as_str().unwrap().to_owned())
            .collect()
    };
    let in_view: Vec<_> = rows
        .iter()
        .map(|r| r["citation_edge_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids(&all), in_view);
    let by_doi = &all["candidates"][in_view.iter().position(|id| *id == doi).unwrap()];
    assert_eq!(
        (&by_doi["kind"], &by_doi["doi"]),
        (&json!("doi"), &json!("10.1234/coffee.1"))
    );
    let without = client.ok(
        "queue_reference_candidates",
        json!({"task_id": task, "dry_run": true, "exclude_ids": [doi, "e_none"]}),
    );
    assert!(
        !ids(&without).contains(&doi) && ids(&without).len() == 2,
        "{without}"
    );
    assert_eq!(without["skipped"][0]["target"], "e_none");

    // Named ids are all taken, whatever the limit; what cannot be is named.
    let queued = client.ok(
        "queue_reference_candidates",
        json!({"task_id": task, "include_ids": [cited, "e_none", third, cited], "limit": 1}),
    );
    assert_eq!(
        (&queued["queued_count"], &queued["skipped_count"]),
        (&json!(2), &json!(1)),
        "{queued}"
    );
    assert_eq!(queued["target_ids"].as_array().unwrap().len(), 2);
    assert_eq!(queued["skipped"][0]["target"], "e_none");
    drain(&mut client, &task);
    let chased = "SELECT count(*) FROM task_pages WHERE reason = 'citation_chase' AND depth = 1";
    assert_eq!(count(&mut client, chased), 2);
    let cited_by = "SELECT count(*) FROM task_pages t JOIN task_pages s ON s.page_id = t.source_page_id AND s.depth = 0
                    WHERE t.reason = 'citation_chase'";
    assert_eq!(count(&mut client, cited_by), 2);
    let left = client.ok(
        "queue_reference_candidates",
        json!({"task_id": task, "dry_run": true}),
    );
    assert_eq!(ids(&left), std::slice::from_ref(&doi));
    let gone = client.ok(
        "queue_reference_candidates",
        json!({"task_id": task, "include_ids": [cited]}),
    );
    assert_eq!(gone["queued_count"], 0);
    assert_eq!(gone["skipped_count"], 1);
}
