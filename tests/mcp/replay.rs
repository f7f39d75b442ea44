//! `research --record` against a server that then goes away, and `replay` without it.

use crate::client::binary;
use crate::kill_resume::{PATIENCE, verify};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SECRET: &str = "a-key-that-nobody-may-keep";
const PAGES: usize = 8;

/// A search service, a site, and a model that embeds: all that a run asks of the network.
struct World {
    address: String,
    stop: Arc<AtomicBool>,
}

impl World {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, own) = (Arc::clone(&stop), address.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let own = own.clone();
                std::thread::spawn(move || answer(stream, &own));
            }
        });
        Self { address, stop }
    }

    /// Nobody listens there any more.
    fn end(&self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(&self.address);
        let end = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(&self.address).is_ok() {
            assert!(Instant::now() < end, "the server is still there");
        }
    }
}

fn answer(mut stream: TcpStream, own: &str) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = first.split(' ').nth(1)?;
    let (status, kind, reply) = reply(path, &body, own);
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
        reply.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(reply.as_bytes()).ok()
}

fn reply(path: &str, body: &[u8], own: &str) -> (String, &'static str, String) {
    let ok = "200 OK".to_owned();
    if path.starts_with("/search") {
        let hits = match path.contains("pageno=1") {
            true => PAGES,
            false => 0,
        };
        let hit = |n| json!({"url": format!("http://{own}/page/{n}"), "title": format!("Page {n}"), "content": "Coffee"});
        let hits: Vec<Value> = (0..hits).map(hit).collect();
        return (
            ok,
            "application/json",
            json!({ "results": hits }).to_string(),
        );
    }
    if path.starts_with("/v1/embeddings") {
        let request: Value = serde_json::from_slice(body).unwrap_or_default();
        let texts = request["input"].as_array().cloned().unwrap_or_default();
        let data = texts.iter().enumerate().map(|(index, text)| {
            let mut boxes = [0.1_f32; 16];
            for byte in text.as_str().unwrap_or_default().bytes() {
                boxes[usize::from(byte) % 16] += 1.0;
            }
            json!({ "index": index, "embedding": boxes })
        });
        let data: Vec<Value> = data.collect();
        return (ok, "application/json", json!({ "data": data }).to_string());
    }
    match path
        .strip_prefix("/page/")
        .and_then(|n| n.parse::<usize>().ok())
    {
        Some(3) => ("404 Not Found".to_owned(), "text/plain", "gone".to_owned()),
        Some(4) => {
            let to = format!("302 Found\r\nLocation: http://{own}/page/40");
            (to, "text/plain", String::new())
        }
        Some(n) => {
            let verb = if n % 2 == 0 {
                "increases"
            } else {
                "does not increase"
            };
            let page = format!(
                "<html><head><title>Page {n}</title></head><body><main><h1>Trial {n}</h1>
                 <p>In trial {n} of {} adults, coffee {verb} blood pressure by {n}.4 mmHg after a week of use.</p>
                 <p>The effect of coffee on blood pressure was the same in the {n} centres that took part in it.</p>
                 </main></body></html>",
                100 + n
            );
            (ok, "text/html; charset=utf-8", page)
        }
        None => ("404 Not Found".to_owned(), "text/plain", String::new()),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn run(db: &Path, arguments: &[&str]) -> Output {
    binary(db)
        .env("LYRA_EMBEDDER_KEY", SECRET)
        .args(arguments)
        .output()
        .unwrap()
}

fn done(db: &Path, arguments: &[&str]) -> String {
    let out = run(db, arguments);
    let said = text(&out.stderr);
    assert!(
        out.status.success(),
        "{arguments:?}: {}{said}",
        text(&out.stdout)
    );
    text(&out.stdout).trim().to_owned()
}

/// A folder of records, and a file of its own with what is known of it beside it.
fn papers(folder: &Path) -> PathBuf {
    let papers = folder.join("papers");
    std::fs::create_dir_all(papers.join("below")).unwrap();
    let record = |n: usize| {
        let verb = if n.is_multiple_of(3) {
            "did not raise"
        } else {
            "raised"
        };
        let text = format!(
            "Cohort {n} followed {} adults. In this cohort coffee {verb} blood pressure (hazard ratio 1.{n:02}).",
            300 + n
        );
        json!({"id": n.to_string(), "title": format!("Cohort {n}"), "abstract": text, "year": 2000 + n % 25}).to_string()
    };
    let records: Vec<String> = (0..24).map(record).collect();
    std::fs::write(papers.join("cohorts.jsonl"), records.join("\n")).unwrap();
    let own = papers.join("below").join("a café.md");
    std::fs::write(
        &own,
        "# A café\n\nIn 40 guests of a café, coffee increased blood pressure for an hour.",
    )
    .unwrap();
    std::fs::write(
        papers.join("below").join("a café.md.meta.json"),
        r#"{"title": "Guests", "year": 2019}"#,
    )
    .unwrap();
    papers
}

/// A run over files, a search service, pages and a model, on record; then none of it is there.
fn recorded(folder: &Path) -> (PathBuf, PathBuf) {
    let world = World::start();
    let (db, dir) = (folder.join("first.db"), folder.join("run"));
    let papers = papers(folder);
    let config = folder.join("lyra.toml");
    let own = &world.address;
    std::fs::write(
        &config,
        format!("providers = [\"searxng\"]\n[provider.searxng]\nbase_url = \"http://{own}\"\nrequests_per_second = 100\n"),
    )
    .unwrap();
    let (server, target) = (format!("http://{own}/v1"), format!("http://{own}/page/77"));
    let said = run(
        &db,
        &[
            "research",
            "Coffee increases blood pressure",
            "--config",
            config.to_str().unwrap(),
            "--corpus",
            papers.to_str().unwrap(),
            "--allow-private-hosts",
            "--embedder",
            "openai:letters",
            "--embedder-url",
            &server,
            "--query",
            "coffee blood pressure",
            "--query",
            "coffee hypertension adults",
            "--target",
            &target,
            "--record",
            dir.to_str().unwrap(),
            "--no-page",
        ],
    );
    assert!(said.status.success(), "{}", text(&said.stderr));
    world.end();
    std::fs::remove_dir_all(papers).unwrap();
    (db, dir)
}

#[test]
fn a_recorded_run_is_repeated_without_the_world() {
    let folder = tempfile::tempdir().unwrap();
    let (first, dir) = recorded(folder.path());
    let record = dir.to_str().unwrap();
    let hash = done(&first, &["hash"]);
    let manifest = std::fs::read_to_string(dir.join("manifest.jsonl")).unwrap();
    assert!(!manifest.contains(SECRET));
    for port in ["\"fetch\"", "\"search\"", "\"embed\"", "\"failure\""] {
        assert!(manifest.contains(port), "{port} is not on record");
    }
    for workers in ["1", "2", "8"] {
        let db = folder.path().join(format!("again{workers}.db"));
        let out = done(&db, &["replay", record, "--workers", workers]);
        assert!(out.contains("equal    yes"), "{out}");
        assert_eq!(done(&db, &["hash"]), hash, "{workers} workers");
        verify(&db);
    }

    // Another model on the same record, and what that changes.
    let other = folder.path().join("other.db");
    let out = done(&other, &["replay", record, "--embedder", "builtin"]);
    assert!(out.contains("equal    no"), "{out}");
    done(
        &first,
        &["diff", other.to_str().unwrap(), first.to_str().unwrap()],
    );

    // A database of something else is left alone.
    let strange = folder.path().join("again8.db");
    done(
        &strange,
        &["forget", "--task", out.split_whitespace().nth(1).unwrap()],
    );
    let refused = run(&strange, &["replay", record]);
    assert!(text(&refused.stderr).contains("is no replay of this record"));

    // A record that was changed is not replayed.
    let path = dir.join("manifest.jsonl");
    std::fs::write(
        &path,
        manifest
            .replacen("mmHg", "mmhg", 1)
            .replacen("Page 1", "Page 9", 1),
    )
    .unwrap();
    let refused = run(&folder.path().join("no.db"), &["replay", record]);
    assert!(
        text(&refused.stderr).contains("is not as it was recorded"),
        "{}",
        text(&refused.stderr)
    );
}

#[cfg(unix)]
#[test]
fn a_replay_that_is_killed_goes_on_to_the_same_end() {
    let folder = tempfile::tempdir().unwrap();
    let (first, dir) = recorded(folder.path());
    let record = dir.to_str().unwrap();
    let hash = done(&first, &["hash"]);
    let db = folder.path().join("killed.db");
    // In the middle of the folders, of the pages, and of the verdicts.
    for (what, least) in [("fragments", 8), ("task_pages", 5), ("nli_verdicts", 3)] {
        let mut child = binary(&db)
            .args(["replay", record, "--workers", "2"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + PATIENCE;
        while rows(&db, what) < least {
            assert!(Instant::now() < end, "{what}");
            assert!(
                child.try_wait().unwrap().is_none(),
                "over before {least} {what}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let out = done(&db, &["replay", record, "--workers", "2"]);
    assert!(out.contains("equal    yes"), "{out}");
    assert_eq!(done(&db, &["hash"]), hash);
    verify(&db);
}

/// Rows of a kind, as an export has them.
fn rows(db: &Path, what: &str) -> usize {
    let tag = match what {
        "fragments" => "page_text",
        "task_pages" => "task_page",
        _ => "verdict",
    };
    if !db.exists() {
        return 0;
    }
    let out = run(db, &["export"]);
    let start = format!("{{\"type\":\"{tag}\"");
    text(&out.stdout)
        .lines()
        .filter(|line| line.starts_with(&start))
        .count()
}
