//! The web, with a real client and a real server on this machine's loopback address.

mod trouble;

use lyra_core::ports::testing::check_fetcher;
use lyra_core::ports::{FetchRequest, Fetcher};
use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::web::{HttpFetcher, HttpOptions};
use lyra_core::{Engine, EngineConfig, ErrorKind, StatusDetail, StatusReport, TaskConfig};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does with a request.
enum Reply {
    /// Sends these header lines and this body.
    Full(&'static str, Vec<String>, Vec<u8>),
    /// Sends bytes until the client hangs up.
    Endless,
    /// Sends the header and then nothing, with the connection open.
    Silent,
}

fn page(content_type: &str, body: impl Into<Vec<u8>>) -> Reply {
    let header = format!("Content-Type: {content_type}");
    Reply::Full("200 OK", vec![header], body.into())
}

fn redirect(location: &str) -> Reply {
    Reply::Full(
        "302 Found",
        vec![format!("Location: {location}")],
        Vec::new(),
    )
}

/// A web server that lives as long as its handle and remembers what it was asked for.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&log)));
            }
        });
        Self {
            address,
            requests,
            serving,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The paths that were asked for, in order.
    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, log: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    // Every first visit asks for the rules of the site; there are none here.
    if path != "/robots.txt" {
        log.lock().unwrap().push(path.clone());
    }
    let not_modified = head.contains("if-none-match: \"v1\"");
    let close = "Connection: close\r\n";
    // The client may hang up at any time; that is its right.
    match reply(&path, not_modified) {
        Reply::Full(status, headers, body) => {
            let mut answer = format!(
                "HTTP/1.1 {status}\r\n{close}Content-Length: {}\r\n",
                body.len()
            );
            for header in headers {
                answer += &format!("{header}\r\n");
            }
            let _ = stream.write_all(format!("{answer}\r\n").as_bytes()).await;
            let _ = stream.write_all(&body).await;
        }
        Reply::Endless => {
            let start = format!("HTTP/1.1 200 OK\r\n{close}Content-Type: text/plain\r\n\r\n");
            let mut sent = stream.write_all(start.as_bytes()).await;
            let chunk = b"The same words without an end. ".repeat(512);
            while sent.is_ok() {
                sent = stream.write_all(&chunk).await;
            }
        }
        Reply::Silent => {
            let start = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n";
            let _ = stream.write_all(start.as_bytes()).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
    }
}

fn reply(path: &str, not_modified: bool) -> Reply {
    let path = path.split('?').next().unwrap_or(path);
    match path {
        "/article" => page("text/html; charset=utf-8", article("x")),
        "/notes.md" | "/notes" => {
            let mut text = b"# Caf\xe9 notes\n\nThe trial at the caf\xe9 said \x93drug X increased the risk of falls\x94 \x96 by 41%.\n".to_vec();
            if path == "/notes" {
                text.drain(..2);
            }
            let kind = if path == "/notes" {
                "plain"
            } else {
                "markdown"
            };
            page(&format!("text/{kind}; charset=windows-1252"), text)
        }
        "/zipped" => {
            let headers = ["Content-Type: text/html", "Content-Encoding: gzip"];
            Reply::Full(
                "200 OK",
                headers.map(str::to_owned).to_vec(),
                gzip(article("zipped").as_bytes()),
            )
        }
        "/old" => redirect("/papers/middle?x=1"),
        "/papers/middle" => redirect("new.html"),
        "/papers/new.html" => page("text/html", article("moved")),
        "/cached" if not_modified => Reply::Full("304 Not Modified", vec![], vec![]),
        "/cached" => {
            let headers = ["Content-Type: text/plain", "ETag: \"v1\""];
            Reply::Full(
                "200 OK",
                headers.map(str::to_owned).to_vec(),
                b"Cached words.".to_vec(),
            )
        }
        "/broken" => Reply::Full("500 Internal Server Error", vec![], b"stack trace".to_vec()),
        "/members" => Reply::Full(
            "401 Unauthorized",
            vec!["WWW-Authenticate: Basic".to_owned()],
            vec![],
        ),
        "/endless" => Reply::Endless,
        "/silent" => Reply::Silent,
        "/circle" => redirect("/circle"),
        "/to-file" => redirect("file:///etc/passwd"),
        "/to-password" => redirect("http://user:secret@127.0.0.1/"),
        "/picture" => page("image/png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec()),
        "/blank" => page("text/html", "<!doctype html><title></title><body></body>"),
        _ => Reply::Full(
            "404 Not Found",
            vec![],
            b"<html><body>No such page here.</body></html>".to_vec(),
        ),
    }
}

/// An article as sites serve them: two findings between a menu, a form and a footer.
fn article(name: &str) -> String {
    let methods = format!(
        "We followed 1,200 adults aged 65 or older in 14 clinics of the cohort {name} for two years and \
         counted every fall that a clinician confirmed. "
    );
    format!(
        "<!doctype html><html lang=\"en\"><head><title>Falls and drug X: {name}</title>\
         <meta name=\"citation_title\" content=\"Falls and drug X: {name}\"></head><body>\
         <nav><ul><li><a href=\"/\">Home</a></li><li><a href=\"/shop\">Shop our mugs</a></li></ul></nav>\
         <main><article><h1>Falls and drug X: {name}</h1><p>{}</p>\
         <p>Drug X <em>increased</em> the risk of falls in older adults compared with placebo \
         (4.1% vs 2.9%, P = 0.01) — as <a href=\"https://doi.org/10.1000/earlier\">an earlier trial</a> and \
         <a href=\"registry.html\">its registry entry</a> had suggested.</p>\
         <h2>Mortality</h2><p>Mortality did not differ between the two groups during the follow-up of \
         two years, and no death was attributed to drug X by the committee.</p></article></main>\
         <form>Subscribe to our newsletter</form><footer>© All rights reserved</footer></body></html>",
        methods.repeat(3)
    )
}

/// A gzip file whose content is stored, not squeezed (RFC 1952, RFC 1951 section 3.2.4).
fn gzip(content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).unwrap();
    let mut crc = u32::MAX;
    for byte in content {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    let mut file = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01".to_vec();
    file.extend(length.to_le_bytes());
    file.extend((!length).to_le_bytes());
    file.extend(content);
    file.extend((!crc).to_le_bytes());
    file.extend(u32::from(length).to_le_bytes());
    file
}

/// An engine over an empty graph, and its folder.
fn engine(change: impl FnOnce(&mut EngineConfig)) -> (Engine, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = EngineConfig::new(folder.path().join("web.db"));
    config.allow_private_hosts = true;
    change(&mut config);
    (Engine::open(config).unwrap(), folder)
}

const HYPOTHESIS: &str = "Drug X increases the risk of falls in older adults";

/// Researches addresses in a task of their own; answers the task's full status.
async fn research(engine: &Engine, urls: &[String]) -> StatusReport {
    let task = engine
        .create_task(HYPOTHESIS, TaskConfig::default())
        .unwrap();
    let targets: Vec<Value> = urls
        .iter()
        .map(|url| json!({ "kind": "url", "url": url }))
        .collect();
    engine
        .queue_targets(&task.id, &targets, &Default::default())
        .unwrap();
    engine.run(&task.id, None).await.unwrap();
    engine.status(&task.id, StatusDetail::Full).unwrap()
}

fn rows(engine: &Engine, sql: &str) -> Vec<serde_json::Map<String, Value>> {
    let request = SqlRequest {
        sql: sql.to_owned(),
        params: SqlParams::None,
        options: SqlOptions {
            limit: 200,
            timeout_ms: 2000,
            ..SqlOptions::default()
        },
    };
    engine.query_sql(&request).unwrap().rows
}

/// All values of one column in one text.
fn column(engine: &Engine, sql: &str) -> String {
    let values = rows(engine, sql);
    let texts = values
        .iter()
        .flat_map(|row| row.values())
        .map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
    texts.collect::<Vec<_>>().join("\n")
}

fn assert_sound(engine: &Engine) {
    let verified = engine.verify().unwrap();
    assert!(verified.violations.is_empty(), "{:#?}", verified.violations);
}

/// The words of each claim, and the characters of the page that it rests on.
const QUOTES: &str = "SELECT c.claim_text AS claim, p.url AS url,
    substr(t.text, e.quote_start + 1, e.quote_end - e.quote_start) AS quote
  FROM claims c JOIN edges e ON e.target_id = c.id AND e.relation = 'origin'
    JOIN fragments f ON f.id = e.source_id JOIN pages p ON p.id = f.page_id
    JOIN page_texts t ON t.page_id = f.page_id AND t.version = f.page_version";

/// The built-in extractor claims what stands there, so a quote is its claim but for line breaks.
fn assert_quotes(engine: &Engine, at_least: usize) {
    let quotes = rows(engine, QUOTES);
    assert!(quotes.len() >= at_least, "{quotes:#?}");
    for row in quotes {
        let quote = row["quote"].as_str().unwrap();
        let words: Vec<&str> = quote.split_whitespace().collect();
        assert_eq!(row["claim"], words.join(" "), "{row:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_article_becomes_claims_that_lead_back_to_it() {
    let server = Server::start().await;
    let (engine, _folder) = engine(|_| ());
    let report = research(&engine, &[server.url("/article")]).await;
    assert_eq!(report.recent_errors, Some(vec![]));
    assert_eq!(report.metrics.total_pages, 1);
    assert!(report.milestones.nli_verification_done);
    let page = &rows(&engine, "SELECT * FROM pages WHERE fetched_at IS NOT NULL")[0];
    for (name, value) in [
        ("url", json!(server.url("/article"))),
        ("domain", json!("127.0.0.1")),
        ("title", json!("Falls and drug X: x")),
        ("page_type", json!("html")),
        ("fetch_method", json!("http")),
        ("http_status", json!(200)),
        ("content_type", json!("text/html; charset=utf-8")),
        ("language", json!("en")),
        ("final_url", Value::Null),
    ] {
        assert_eq!(page[name], value, "{name}");
    }
    let text = column(&engine, "SELECT text FROM page_texts");
    assert!(
        text.contains("Drug X increased the risk of falls in older adults"),
        "{text}"
    );
    for boilerplate in ["Shop our mugs", "newsletter", "All rights reserved"] {
        assert!(!text.contains(boilerplate), "{text}");
    }
    assert_quotes(&engine, 1);
    let claims = column(&engine, "SELECT claim_text FROM claims");
    assert!(claims.contains("increased the risk of falls"), "{claims}");
    assert_sound(&engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn declared_encodings_are_read() {
    let server = Server::start().await;
    let (engine, _folder) = engine(|_| ());
    let urls = [server.url("/notes"), server.url("/notes.md")];
    let report = research(&engine, &urls).await;
    assert_eq!(report.recent_errors, Some(vec![]));
    let pages = rows(
        &engine,
        "SELECT page_type, text FROM pages p JOIN page_texts t ON t.page_id = p.id ORDER BY 1",
    );
    assert_eq!(pages.len(), 2);
    for (page, kind) in pages.iter().zip(["markdown", "text"]) {
        assert_eq!(page["page_type"], kind);
        let text = page["text"].as_str().unwrap();
        assert!(
            text.contains("at the café said “drug X increased the risk of falls” – by 41%."),
            "{text}"
        );
    }
    // One text in two places is one source.
    assert_quotes(&engine, 1);
    assert_sound(&engine);
}

#[tokio::test(flavor = "multi_thread")]
async fn compressed_and_moved_pages_are_read() {
    let server = Server::start().await;
    let (engine, _folder) = engine(|_| ());
    let urls = [server.url("/zipped"), server.url("/old")];
    let report = research(&engine, &urls).await;
    assert_eq!(report.recent_errors, Some(vec![]));
    let pages = rows(
        &engine,
        "SELECT url, final_url, title FROM pages WHERE fetched_at IS NOT NULL ORDER BY url DESC",
    );
    assert_eq!(pages[0]["title"], "Falls and drug X: zipped");
    assert_eq!(pages[1]["title"], "Falls and drug X: moved");
    assert_eq!(pages[1]["url"], server.url("/old"));
    assert_eq!(pages[1]["final_url"], server.url("/papers/new.html"));
    // A relative link leads on from where the page was found, not from where it was looked for.
    let cited = column(
        &engine,
        "SELECT cited.url FROM edges e JOIN pages p ON p.id = e.source_id JOIN pages cited ON cited.id = e.target_id
         WHERE e.relation = 'cites' AND p.url LIKE '%/old'",
    );
    assert!(
        cited.contains(&server.url("/papers/registry.html")),
        "{cited}"
    );
    assert_quotes(&engine, 2);
    assert_sound(&engine);
    assert_eq!(
        server.requests(),
        ["/zipped", "/old", "/papers/middle?x=1", "/papers/new.html"]
    );
}
