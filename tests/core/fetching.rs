//! How the web is fetched: rules of sites, pace, retries, gates, revalidation, limits; with the
//! real client against servers on this machine's loopback address.

use lyra_core::backends::{HttpFetcher, HttpOptions};
use lyra_core::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::ports::{FetchRequest, FetchedDocument, Fetcher, ManualClock};
use lyra_core::security::url_policy::Refusal;
use lyra_core::{Engine, EngineConfig, Error, ErrorKind, StatusDetail, StatusReport, TaskConfig};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a server answers.
#[derive(Clone)]
struct Answer {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    /// Sends the body again and again, with this pause between.
    endless: Option<Duration>,
}

fn answer(
    status: &'static str,
    headers: &[(&'static str, &str)],
    body: impl Into<Vec<u8>>,
) -> Answer {
    Answer {
        status,
        headers: headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect(),
        body: body.into(),
        endless: None,
    }
}

fn html(body: impl Into<Vec<u8>>) -> Answer {
    answer(
        "200 OK",
        &[("Content-Type", "text/html; charset=utf-8")],
        body,
    )
}

fn text(body: &str) -> Answer {
    answer("200 OK", &[("Content-Type", "text/plain")], body)
}

/// One request as the server saw it.
#[derive(Debug, Clone)]
struct Seen {
    path: String,
    head: String,
    at: Instant,
}

/// A server that answers by path and by how often that path was asked for.
struct Site {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Site {
    async fn new(reply: impl Fn(&str, usize, &str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (log, reply) = (Arc::clone(&seen), Arc::new(reply));
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, reply) = (Arc::clone(&log), Arc::clone(&reply));
                tokio::spawn(async move { serve(stream, &log, reply.as_ref()).await });
            }
        });
        Self {
            address,
            seen,
            serving,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn seen(&self, path: &str) -> Vec<Seen> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter(|seen| seen.path == path)
            .cloned()
            .collect()
    }

    fn count(&self, path: &str) -> usize {
        self.seen(path).len()
    }
}

async fn serve(
    mut stream: TcpStream,
    log: &Mutex<Vec<Seen>>,
    reply: &(dyn Fn(&str, usize, &str) -> Answer + Send + Sync),
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let before = {
        let mut log = log.lock().unwrap();
        let before = log.iter().filter(|seen| seen.path == path).count();
        let at = Instant::now();
        log.push(Seen {
            path: path.clone(),
            head: head.clone(),
            at,
        });
        before
    };
    let answer = reply(&path, before, &head);
    let mut start = format!("HTTP/1.1 {}\r\nConnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        start += &format!("{name}: {value}\r\n");
    }
    let sized = answer
        .headers
        .iter()
        .any(|(name, _)| *name == "Content-Length");
    if answer.endless.is_none() && !sized {
        start += &format!("Content-Length: {}\r\n", answer.body.len());
    }
    // The client may hang up at any time; that is its right.
    let mut sent = stream.write_all(format!("{start}\r\n").as_bytes()).await;
    while sent.is_ok() {
        sent = stream.write_all(&answer.body).await;
        let Some(pause) = answer.endless else { return };
        tokio::time::sleep(pause).await;
    }
}

fn options() -> HttpOptions {
    HttpOptions {
        allow_private_hosts: true,
        retry_base: Duration::from_millis(10),
        ..HttpOptions::default()
    }
}

fn request(url: String) -> FetchRequest {
    FetchRequest {
        url,
        ..FetchRequest::default()
    }
}

async fn fetch(fetcher: &HttpFetcher, url: String) -> Result<FetchedDocument, Error> {
    fetcher.fetch(&request(url)).await
}

async fn refusal(fetcher: &HttpFetcher, url: String) -> (Option<Refusal>, String) {
    let error = fetch(fetcher, url).await.unwrap_err();
    (Refusal::of(&error), error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_of_a_site_are_asked_for_once_and_obeyed_on_every_hop() {
    let other = Site::new(|path, _, _| match path {
        "/robots.txt" => text("User-agent: *\nDisallow: /closed"),
        _ => text("words"),
    })
    .await;
    let closed = other.url("/closed/x");
    let site = Site::new(move |path, _, _| match path {
        "/robots.txt" => text("User-agent: *\nDisallow: /\n\nUser-agent: Lyra\nDisallow: /private\nAllow: /private/ok"),
        "/away" => answer("302 Found", &[("Location", &closed)], ""),
        "/inside" => answer("302 Found", &[("Location", "/private/x")], ""),
        _ => text("words"),
    })
    .await;
    let fetcher = HttpFetcher::new(options()).unwrap();
    for path in ["/open", "/private/ok", "/open?again"] {
        let found = fetch(&fetcher, site.url(path)).await;
        assert!(
            matches!(found, Ok(FetchedDocument::Found { .. })),
            "{path}: {found:?}"
        );
    }
    for path in ["/private", "/private/x?y", "/inside", "/away"] {
        let (refusal, message) = refusal(&fetcher, site.url(path)).await;
        assert_eq!(refusal, Some(Refusal::Robots), "{path}: {message}");
        assert!(message.starts_with(&site.url(path)), "{message}");
        assert!(
            message.contains("robots.txt of the site disallows it"),
            "{message}"
        );
    }
    assert_eq!(
        (site.count("/robots.txt"), other.count("/robots.txt")),
        (1, 1)
    );
    assert_eq!((site.count("/private"), site.count("/private/x")), (0, 0));
    assert_eq!(other.count("/closed/x"), 0);
    let deaf = HttpOptions {
        obey_robots: false,
        ..options()
    };
    let found = fetch(&HttpFetcher::new(deaf).unwrap(), site.url("/private")).await;
    assert!(found.is_ok(), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_rules_that_cannot_be_had_opens_or_closes_its_site() {
    let long = format!("{}User-agent: *\nDisallow: /\n", "# words\n".repeat(70_000));
    let cases: Vec<(&str, Answer, bool)> = vec![
        (
            "not there",
            answer("404 Not Found", &[], "User-agent: *\nDisallow: /"),
            true,
        ),
        ("forbidden", answer("403 Forbidden", &[], ""), true),
        ("broken", answer("503 Service Unavailable", &[], ""), false),
        ("too often", answer("429 Too Many Requests", &[], ""), false),
        (
            "circle",
            answer("301 Moved", &[("Location", "/robots.txt")], ""),
            true,
        ),
        (
            "moved",
            answer("301 Moved", &[("Location", "/rules")], ""),
            false,
        ),
        (
            "to a file",
            answer("301 Moved", &[("Location", "file:///etc/passwd")], ""),
            false,
        ),
        (
            "a web page",
            html("<html><body>Welcome!</body></html>"),
            true,
        ),
        ("closed past the limit", text(&long), true),
    ];
    for (name, robots, open) in cases {
        let site = Site::new(move |path, _, _| match path {
            "/robots.txt" => robots.clone(),
            "/rules" => text("User-agent: *\nDisallow: /x"),
            _ => text("words"),
        })
        .await;
        let fetcher = HttpFetcher::new(options()).unwrap();
        let found = fetch(&fetcher, site.url("/x")).await;
        assert_eq!(found.is_ok(), open, "{name}: {found:?}");
        if let Err(error) = found {
            let expected = if name == "moved" {
                Refusal::Robots
            } else {
                Refusal::RobotsUnreachable
            };
            assert_eq!(Refusal::of(&error), Some(expected), "{name}: {error}");
        }
        let asked = site.count("/robots.txt");
        assert_eq!(asked, if name == "circle" { 6 } else { 1 }, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_visited_no_faster_than_it_asks() {
    let site = Site::new(|path, _, _| match path {
        "/robots.txt" => text("User-agent: *\nCrawl-delay: 0.15"),
        _ => text("words"),
    })
    .await;
    let fetcher = Arc::new(HttpFetcher::new(options()).unwrap());
    let mut fetches = tokio::task::JoinSet::new();
    for n in 0..4 {
        let (fetcher, url) = (Arc::clone(&fetcher), site.url(&format!("/{n}")));
        fetches.spawn(async move { fetch(&fetcher, url).await.unwrap() });
    }
    fetches.join_all().await;
    let mut at: Vec<Instant> = (0..4).map(|n| site.seen(&format!("/{n}"))[0].at).collect();
    at.sort();
    let whole = at[3] - at[0];
    assert!(whole >= Duration::from_millis(400), "{whole:?}");
    assert_eq!(site.count("/robots.txt"), 1, "four at once ask once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_is_asked_again_but_not_for_ever() {
    let site = Site::new(|path, before, _| match (path, before) {
        ("/once", 0) => answer("503 Service Unavailable", &[("Retry-After", "1")], ""),
        ("/twice", 0 | 1) => answer("502 Bad Gateway", &[], ""),
        ("/never", _) => answer("500 Internal Server Error", &[], "stack trace"),
        ("/tomorrow", _) => answer("429 Too Many Requests", &[("Retry-After", "86400")], ""),
        ("/unknown", _) => answer("501 Not Implemented", &[], ""),
        ("/robots.txt", _) => answer("404 Not Found", &[], ""),
        _ => text("words"),
    })
    .await;
    let fetcher = HttpFetcher::new(options()).unwrap();
    for (path, tries) in [("/once", 2), ("/twice", 3)] {
        let found = fetch(&fetcher, site.url(path)).await;
        assert!(
            matches!(found, Ok(FetchedDocument::Found { .. })),
            "{path}: {found:?}"
        );
        assert_eq!(site.count(path), tries, "{path}");
    }
    let once = site.seen("/once");
    assert!(once[1].at - once[0].at >= Duration::from_millis(990));
    for (path, tries, why) in [
        ("/never", 3, "answered 500 Internal Server Error, 3 times"),
        ("/unknown", 1, "answered 501 Not Implemented"),
        (
            "/tomorrow",
            1,
            "answered 429 Too Many Requests and asks to be left alone for 86400 s",
        ),
    ] {
        let error = fetch(&fetcher, site.url(path)).await.unwrap_err();
        assert!(error.message().ends_with(why), "{path}: {error}");
        assert_eq!(site.count(path), tries, "{path}");
    }
    // The site asked for a day of peace: the next page of it does not even get its turn.
    let hasty = HttpOptions {
        max_queueing: Duration::from_millis(50),
        ..options()
    };
    let hasty = HttpFetcher::new(hasty).unwrap();
    fetch(&hasty, site.url("/tomorrow")).await.unwrap_err();
    let error = fetch(&hasty, site.url("/once")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(site.count("/once"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn gates_are_named_and_not_read() {
    let site = Site::new(|path, _, _| {
        let (status, headers, body): (_, &[(&'static str, &str)], &str) = match path {
            "/cloudflare" => ("403 Forbidden", &[("cf-mitigated", "challenge")], "<title>Just a moment...</title>"),
            "/turnstile" => ("403 Forbidden", &[], "<title>Just a moment...</title><div class=\"cf-turnstile\" data-sitekey=\"k\"></div>"),
            "/hcaptcha" => ("200 OK", &[], "<div class=\"h-captcha\" data-sitekey=\"k\"></div>"),
            "/recaptcha" => ("429 Too Many Requests", &[], "<p>Unusual traffic</p><div class=\"g-recaptcha\"></div>"),
            "/login" => ("200 OK", &[], "<title>Sign in</title><input type=\"password\">"),
            "/members" => ("401 Unauthorized", &[("WWW-Authenticate", "Basic")], ""),
            "/cookies" => ("200 OK", &[], "<p>We use cookies.</p><button>Accept all</button>"),
            _ => ("404 Not Found", &[], ""),
        };
        let mut answer = answer(status, headers, body);
        answer.headers.push(("Content-Type", "text/html".to_owned()));
        answer
    })
    .await;
    let fetcher = HttpFetcher::new(options()).unwrap();
    for (path, kind) in [
        ("/cloudflare", "cloudflare"),
        ("/turnstile", "turnstile"),
        ("/hcaptcha", "hcaptcha"),
        ("/recaptcha", "recaptcha"),
        ("/login", "login"),
        ("/members", "login"),
        ("/cookies", "cookie_consent"),
    ] {
        let expected = FetchedDocument::NeedsAuth {
            auth_type: kind.to_owned(),
            domain: "127.0.0.1".to_owned(),
        };
        assert_eq!(
            fetch(&fetcher, site.url(path)).await.unwrap(),
            expected,
            "{path}"
        );
        assert_eq!(
            site.count(path),
            1,
            "{path}: a gate is not knocked at twice"
        );
    }
}

/// An RFC 1950 stream of zeros: each of its blocks repeats the last byte 258 times in two bits.
fn bomb(megabytes: usize) -> Vec<u8> {
    // One fixed-Huffman block: a literal zero, then (length 258, distance 1) pairs, bit by bit.
    let (mut bytes, mut bits, mut used) = (Vec::new(), 0_u64, 0_u32);
    let mut put = |value: u64, count: u32| {
        bits |= value << used;
        used += count;
        while used >= 8 {
            bytes.push((bits & 0xff) as u8);
            bits >>= 8;
            used -= 8;
        }
    };
    put(0b011, 3);
    // The literal 0 is 00110000, first bit first.
    put(0b0000_1100, 8);
    for _ in 0..megabytes * 1024 * 1024 / 258 {
        // Length 258 is the code 11000101, distance 1 the code 00000.
        put(0b1010_0011, 8);
        put(0, 5);
    }
    put(0, 7);
    put(0, 7);
    let mut file = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    file.extend(bytes);
    file.extend([0; 8]);
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn no_server_takes_more_than_its_share_of_time_and_memory() {
    let packed = bomb(300);
    assert!(packed.len() < 4_000_000);
    let site = Site::new(move |path, _, _| match path {
        "/bomb" => answer(
            "200 OK",
            &[("Content-Type", "text/html"), ("Content-Encoding", "gzip")],
            packed.clone(),
        ),
        "/large" => answer(
            "200 OK",
            &[
                ("Content-Type", "text/html"),
                ("Content-Length", "200000000"),
            ],
            "<p>x",
        ),
        "/flood" => Answer {
            endless: Some(Duration::ZERO),
            ..html("word ".repeat(20_000))
        },
        "/drip" => Answer {
            endless: Some(Duration::from_millis(50)),
            ..html("x")
        },
        "/stall" => Answer {
            endless: Some(Duration::from_secs(60)),
            ..html("x")
        },
        "/headers" => {
            let long = "x".repeat(2_000_000);
            answer("200 OK", &[("X-Long", &long)], "x")
        }
        "/many-headers" => answer("200 OK", &vec![("X-A", "b"); 5_000], "x"),
        "/picture" => answer("200 OK", &[("Content-Type", "image/png")], vec![0; 64]),
        _ => answer("404 Not Found", &[], ""),
    })
    .await;
    let tight = HttpOptions {
        timeout: Duration::from_millis(2_500),
        idle_timeout: Duration::from_millis(300),
        ..options()
    };
    let fetcher = HttpFetcher::new(tight).unwrap();
    for (path, kind, why) in [
        ("/bomb", ErrorKind::Backend, "larger than 16777216 bytes"),
        ("/large", ErrorKind::Backend, "larger than 16777216 bytes"),
        ("/flood", ErrorKind::Backend, "larger than 16777216 bytes"),
        ("/drip", ErrorKind::Timeout, "no answer within 2.5s"),
        ("/stall", ErrorKind::Timeout, "sent nothing for 300ms"),
        ("/headers", ErrorKind::Backend, "message head is too large"),
        (
            "/many-headers",
            ErrorKind::Backend,
            "message head is too large",
        ),
        (
            "/picture",
            ErrorKind::Backend,
            "the document is binary, not text: image/png",
        ),
    ] {
        let begun = Instant::now();
        let error = fetch(&fetcher, site.url(path)).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{path}: {error}");
        assert!(error.message().contains(why), "{path}: {error}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{path}");
    }
}

const HYPOTHESIS: &str = "Drug X increases the risk of falls in older adults";

/// An engine over an empty graph, with a clock that can be set.
fn engine() -> (Engine, Arc<ManualClock>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(1_767_225_600_000));
    let engine = engine_in(&folder, &clock);
    (engine, clock, folder)
}

fn engine_in(folder: &tempfile::TempDir, clock: &Arc<ManualClock>) -> Engine {
    let mut config = EngineConfig::new(folder.path().join("web.db"));
    config.allow_private_hosts = true;
    config.clock = clock.clone();
    Engine::open(config).unwrap()
}

#[allow(clippy::disallowed_methods, reason = "does what no user can")]
fn connection(folder: &tempfile::TempDir) -> rusqlite::Connection {
    rusqlite::Connection::open(folder.path().join("web.db")).unwrap()
}

async fn research(engine: &Engine, url: &str) -> StatusReport {
    let task = engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    let targets = [json!({ "kind": "url", "url": url })];
    engine
        .queue_targets(&task.id, &targets, &Default::default())
        .unwrap();
    engine.run(&task.id, None).await.unwrap();
    engine.status(&task.id, StatusDetail::Full).unwrap()
}

/// The first row of an answer.
fn row(engine: &Engine, sql: &str) -> Vec<Value> {
    let request = SqlRequest {
        sql: sql.to_owned(),
        params: SqlParams::None,
        options: SqlOptions {
            limit: 10,
            timeout_ms: 2_000,
            ..SqlOptions::default()
        },
    };
    let rows = engine.query_sql(&request).unwrap().rows;
    rows[0].values().cloned().collect()
}

fn finding(percent: u32) -> String {
    let methods = "We followed 1,200 adults aged 65 or older in 14 clinics for two years and counted every fall. ";
    format!(
        "<!doctype html><html lang=en><title>Falls and drug X</title><main><article><h1>Falls and drug X</h1><p>{}</p>\
         <p>Drug X increased the risk of falls in older adults by {percent} percent compared with placebo.</p></article></main>",
        methods.repeat(3)
    )
}

const HOUR: i64 = 3_600_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_page_is_checked_when_it_has_grown_old() {
    let site = Site::new(|path, before, head| {
        if path == "/robots.txt" {
            return answer("404 Not Found", &[], "");
        }
        let tag = if before < 3 { "\"one\"" } else { "\"two\"" };
        if head.contains(&format!("if-none-match: {tag}")) {
            return answer("304 Not Modified", &[("ETag", tag)], "");
        }
        let mut page = html(finding(if before < 3 { 41 } else { 12 }));
        page.headers.push(("ETag", tag.to_owned()));
        page
    })
    .await;
    let (engine, clock, _folder) = engine();
    let url = site.url("/article");
    let state = "SELECT (SELECT max(version) FROM page_texts), fetched_at, etag FROM pages WHERE fetched_at IS NOT NULL";
    // Hours that pass before each task, requests so far, text version, day of the last check.
    for (hours, requests, version, day) in [
        (0, 1, 1, "2026-01-01"),
        (20, 1, 1, "2026-01-01"),
        (5, 2, 1, "2026-01-02"),
        (20, 2, 1, "2026-01-02"),
        (5, 3, 1, "2026-01-03"),
        (25, 4, 2, "2026-01-04"),
        (25, 5, 2, "2026-01-05"),
    ] {
        clock.advance(hours * HOUR);
        let report = research(&engine, &url).await;
        assert_eq!(report.recent_errors, Some(vec![]));
        assert!(report.metrics.total_claims > 0);
        assert_eq!(site.count("/article"), requests, "{hours} hours later");
        let found = row(&engine, state);
        assert_eq!(found[0], json!(version));
        assert!(found[1].as_str().unwrap().starts_with(day), "{found:?}");
    }
    let heads: Vec<bool> = site
        .seen("/article")
        .iter()
        .map(|seen| seen.head.contains("if-none-match: "))
        .collect();
    assert_eq!(heads, [false, true, true, true, true]);
    assert!(engine.verify().unwrap().violations.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_say_how_long_a_copy_serves() {
    for (control, later, requests) in [
        ("max-age=600", HOUR / 12, 1),
        ("max-age=600", HOUR / 3, 2),
        ("max-age=172800", 30 * HOUR, 1),
        ("no-store", 1_000, 2),
        ("no-cache", 1_000, 2),
        ("public", 23 * HOUR, 1),
    ] {
        let site = Site::new(move |path, _, _| {
            if path == "/robots.txt" {
                return answer("404 Not Found", &[], "");
            }
            let mut page = html(finding(41));
            page.headers.push(("Cache-Control", control.to_owned()));
            page
        })
        .await;
        let (engine, clock, folder) = engine();
        research(&engine, &site.url("/article")).await;
        clock.advance(later);
        // What the server said outlives the process that heard it.
        drop(engine);
        let engine = engine_in(&folder, &clock);
        research(&engine, &site.url("/article")).await;
        assert_eq!(
            site.count("/article"),
            requests,
            "{control}, {later} ms later"
        );
        assert_eq!(row(&engine, "SELECT count(*) FROM page_texts"), [json!(1)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_stays_evidence_when_its_server_is_gone() {
    let site = Site::new(|path, before, _| match (path, before) {
        ("/article", 0) => html(finding(41)),
        ("/article", 1) => answer("410 Gone", &[], ""),
        ("/article", 2) => answer("401 Unauthorized", &[], ""),
        _ => answer("404 Not Found", &[], ""),
    })
    .await;
    let (engine, clock, _folder) = engine();
    let url = site.url("/article");
    for requests in 1..=3 {
        let report = research(&engine, &url).await;
        assert_eq!(report.recent_errors, Some(vec![]));
        assert_eq!(report.pending_auth_count, 0);
        assert!(report.metrics.total_claims > 0);
        assert_eq!(site.count("/article"), requests);
        clock.advance(30 * HOUR);
    }
    assert_eq!(row(&engine, "SELECT count(*) FROM page_texts"), [json!(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resumed_task_fetches_nothing_twice() {
    let site = Site::new(|path, _, _| match path {
        "/robots.txt" => answer("404 Not Found", &[], ""),
        _ => {
            let mut page = html(finding(41));
            page.headers.push(("Cache-Control", "no-store".to_owned()));
            page
        }
    })
    .await;
    let (engine, clock, folder) = engine();
    let task = engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    let queue = |url: String| {
        let targets = [json!({ "kind": "url", "url": url })];
        engine
            .queue_targets(&task.id, &targets, &Default::default())
            .unwrap()
    };
    queue(site.url("/a"));
    engine.run(&task.id, None).await.unwrap();
    clock.advance(48 * HOUR);
    // What a worker that was killed after it had stored the page leaves behind.
    let sql = "UPDATE jobs SET state = 'queued' WHERE kind = 'target_queue'";
    assert_eq!(connection(&folder).execute(sql, []).unwrap(), 1);
    queue(site.url("/b"));
    engine.run(&task.id, None).await.unwrap();
    assert_eq!((site.count("/a"), site.count("/b")), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn encodings_of_the_world_are_read() {
    let japanese = "薬剤Xは高齢者の転倒のリスクを高めることが、この試験で示された。";
    let chinese = "药物X增加了老年人跌倒的风险，这是本试验的主要发现。";
    let french =
        "Le médicament X a élevé le risque de chute chez les personnes âgées, déjà à faible dose.";
    let cases: &[(&str, &str, &str, bool)] = &[
        ("shift_jis", japanese, "; charset=Shift_JIS", false),
        ("shift_jis", japanese, "", true),
        ("shift_jis", japanese, "", false),
        ("euc-jp", japanese, "; charset=EUC-JP", false),
        ("euc-jp", japanese, "", true),
        ("euc-jp", japanese, "", false),
        ("gbk", chinese, "; charset=gb2312", false),
        ("gbk", chinese, "", true),
        ("gbk", chinese, "", false),
        (
            "big5",
            "藥物增加了老年人跌倒的風險，這是本試驗的主要發現。",
            "",
            false,
        ),
        (
            "euc-kr",
            "약물은 노인의 낙상 위험을 증가시켰으며 이는 이 시험의 주요 결과이다.",
            "",
            false,
        ),
        (
            "windows-1251",
            "Препарат повысил риск падений у пожилых людей по сравнению с плацебо.",
            "",
            false,
        ),
        ("windows-1252", french, "; charset=iso-8859-1", false),
        ("windows-1252", french, "", true),
        ("windows-1252", french, "", false),
        ("utf-8", japanese, "; charset=iso-8859-1", false),
    ];
    for (label, words, in_header, in_meta) in cases {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let meta = if *in_meta {
            format!("<meta charset=\"{label}\">")
        } else {
            String::new()
        };
        let page = format!(
            "<!doctype html><html><head>{meta}<title>{words}</title></head><body><main><article><p>{}</p></article></main>",
            words.repeat(6)
        );
        let body = encoding.encode(&page).0.into_owned();
        let kind = format!("text/html{in_header}");
        let site = Site::new(move |path, _, _| match path {
            "/robots.txt" => answer("404 Not Found", &[], ""),
            _ => answer("200 OK", &[("Content-Type", &kind)], body.clone()),
        })
        .await;
        let (engine, _clock, _folder) = engine();
        let report = research(&engine, &site.url("/x")).await;
        assert_eq!(
            report.recent_errors,
            Some(vec![]),
            "{label} {in_header} {in_meta}"
        );
        let found = row(
            &engine,
            "SELECT title, text FROM pages p JOIN page_texts t ON t.page_id = p.id",
        );
        assert_eq!(found[0], json!(words), "{label} {in_header:?} {in_meta}");
        assert!(
            found[1].as_str().unwrap().contains(words),
            "{label}: {found:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_documents_fail_alone_with_a_reason_each() {
    let site = Site::new(|path, _, _| match path {
        "/nested.html" => html("<div>".repeat(100_000)),
        "/deep.xml" => answer("200 OK", &[("Content-Type", "application/xml")], format!("<article>{}", "<sec>".repeat(100_000))),
        "/broken.xml" => answer("200 OK", &[("Content-Type", "application/xml")], "<article><front></body>"),
        "/laughs.xml" => {
            let entities: String = (1..20).map(|n| format!("<!ENTITY e{n} \"&e{0};&e{0};&e{0};&e{0};\">", n - 1)).collect();
            answer("200 OK", &[("Content-Type", "application/xml")], format!("<!DOCTYPE article [<!ENTITY e0 \"ha\">{entities}]><article><body><p>&e19;</p></body></article>"))
        }
        "/broken.pdf" => answer("200 OK", &[("Content-Type", "application/pdf")], "%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 1 0 R>>\nendobj\ntrailer\n<</Root 1 0 R>>"),
        "/login.pdf" => answer("200 OK", &[("Content-Type", "application/pdf")], "Please come back later."),
        "/binary" => answer("200 OK", &[("Content-Type", "text/html")], (0..=255).collect::<Vec<u8>>().repeat(20)),
        "/endless" => Answer {
            endless: Some(Duration::ZERO),
            ..html("<p>word ".repeat(10_000))
        },
        "/good" => html(finding(41)),
        _ => answer("404 Not Found", &[], ""),
    })
    .await;
    let (engine, _clock, _folder) = engine();
    let task = engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    let hostile = [
        "/nested.html",
        "/deep.xml",
        "/broken.xml",
        "/broken.pdf",
        "/login.pdf",
        "/binary",
        "/endless",
    ];
    let targets: Vec<Value> = hostile
        .iter()
        .chain(&["/laughs.xml", "/good"])
        .map(|path| json!({ "kind": "url", "url": site.url(path) }))
        .collect();
    engine
        .queue_targets(&task.id, &targets, &Default::default())
        .unwrap();
    let begun = Instant::now();
    engine.run(&task.id, None).await.unwrap();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(60), "{took:?}");
    let report = engine.status(&task.id, StatusDetail::Full).unwrap();
    assert_eq!(report.metrics.total_pages, 2, "{report:#?}");
    // A billion laughs are not laughed: what is nested so deep is left as it was written.
    let longest = row(&engine, "SELECT max(length(text)) FROM page_texts");
    assert!(longest[0].as_i64().unwrap() < 10_000, "{longest:?}");
    assert!(report.metrics.total_claims > 0);
    let errors = report.recent_errors.unwrap();
    for path in hostile {
        let named = errors.iter().filter(|e| e.error.contains(&site.url(path)));
        let reasons: Vec<&str> = named.map(|e| e.error.as_str()).collect();
        assert_eq!(reasons.len(), 1, "{path}: {errors:#?}");
        assert!(
            !reasons[0].contains("broke the parser"),
            "{path}: {reasons:?}"
        );
    }
}
