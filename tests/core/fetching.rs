//! How the web is fetched: rules of sites, pace, retries, gates, revalidation, limits; with the
//! real client against servers on this machine's loopback address.

mod budgets;
mod stored;

use lyra_core::ports::{FetchRequest, FetchedDocument, Fetcher, ManualClock};
use lyra_core::security::url_policy::Refusal;
use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::web::{HttpFetcher, HttpOptions};
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
    let fetcher = HttpFetcher::new(options());
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
    let found = fetch(&HttpFetcher::new(deaf), site.url("/private")).await;
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
        let fetcher = HttpFetcher::new(options());
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
    let fetcher = Arc::new(HttpFetcher::new(options()));
    let mut fetches = tokio::task::JoinSet::new();
    for n in 0..4 {
        let (fetcher, url) = (Arc::clone(&fetcher), site.url(&format!("/{n}")));
        fetches.spawn(async move { fetch(&fetcher, url).await.unwrap() });
    }
    fetches.join_all().await;
    let mut at: Vec<Instant> = (0..4).map(|n| site.seen(&format!("/{n}"))[0].at).collect();
    at.sort();
    let whole = at[3] - at[0];
    // Three waits of 150 ms; the first visit may have come in late.
    assert!(whole >= Duration::from_millis(250), "{whole:?}");
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
    let fetcher = HttpFetcher::new(options());
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
            "answered 429 Too Many Requests and asks clients to wait 86400 s",
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
    let hasty = HttpFetcher::new(hasty);
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
    let fetcher = HttpFetcher::new(options());
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
    let fetcher = HttpFetcher::new(tight);
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
