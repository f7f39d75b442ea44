//! Embedding servers, with a real client and a server on this machine's loopback address that
//! answers as OpenAI, Ollama and their imitators do, on good days and on bad ones.

use lyra_core::models::{EmbeddingApi, HttpEmbedder, HttpEmbedderOptions};
use lyra_core::ports::testing::check_embedder;
use lyra_core::ports::{Embedder, TextRole};
use lyra_core::web::ApiKey;
use lyra_core::{Error, ErrorKind};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server was asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) head: String,
    pub(crate) body: Value,
}

impl Request {
    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    fn texts(&self) -> Vec<String> {
        serde_json::from_value(self.body["input"].clone()).unwrap()
    }
}

/// Status line, further header lines, body.
pub(crate) type Reply = (&'static str, &'static str, String);

/// The reply to the nth request, counted from 0.
pub(crate) type Script = fn(usize, &Request) -> Reply;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Server {
    pub(crate) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, script, Arc::clone(&log)));
            }
        });
        Self {
            address,
            requests,
            serving,
        }
    }

    fn options(&self, api: EmbeddingApi) -> HttpEmbedderOptions {
        HttpEmbedderOptions {
            url: format!("http://{}", self.address),
            longest_pause: Duration::from_secs(3),
            ..HttpEmbedderOptions::new(api, "some-model")
        }
    }

    async fn connect(&self, api: EmbeddingApi) -> Result<HttpEmbedder, Error> {
        HttpEmbedder::connect(self.options(api)).await
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, script: Script, log: Arc<Mutex<Vec<Request>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head
        .lines()
        .find_map(|line| {
            line.to_lowercase()
                .strip_prefix("content-length: ")?
                .parse()
                .ok()
        })
        .unwrap_or(0);
    let mut body = vec![0; length];
    if stream.read_exact(&mut body).await.is_err() {
        return;
    }
    let request = Request {
        head,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let number = {
        let mut log = log.lock().unwrap();
        log.push(request.clone());
        log.len() - 1
    };
    let (status, headers, body) = script(number, &request);
    if status == "silence" {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(body.as_bytes()).await;
}

/// What a model would make of a text: letters counted into eight boxes. Not of length 1.
fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.5_f32; 8];
    for c in text.chars() {
        vector[(u32::from(c) % 8) as usize] += 1.0;
    }
    vector
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| {
            bits << 8 | u32::from(*chunk.get(at).unwrap_or(&0))
        });
        for at in 0..4 {
            let sign = char::from(SIGNS[(bits >> (18 - 6 * at) & 63) as usize]);
            text.push(if at <= chunk.len() { sign } else { '=' });
        }
    }
    text
}

fn vector_of(text: &str, form: &Value) -> Value {
    let vector = embed(text);
    if form == "base64" {
        return json!(base64(
            &vector
                .iter()
                .flat_map(|v| v.to_le_bytes())
                .collect::<Vec<u8>>()
        ));
    }
    json!(vector)
}

/// A good reply of an OpenAI-compatible server, the last text first.
fn openai(request: &Request) -> String {
    let items: Vec<Value> = request
        .texts()
        .iter()
        .enumerate()
        .rev()
        .map(|(index, text)| {
            let embedding = vector_of(text, &request.body["encoding_format"]);
            json!({ "object": "embedding", "index": index, "embedding": embedding })
        })
        .collect();
    let usage = json!({ "prompt_tokens": 5, "total_tokens": 5 });
    json!({ "object": "list", "data": items, "model": request.body["model"], "usage": usage })
        .to_string()
}

fn ollama(request: &Request) -> String {
    let vectors: Vec<Vec<f32>> = request.texts().iter().map(|text| embed(text)).collect();
    json!({ "model": "some-model", "embeddings": vectors, "total_duration": 1, "load_duration": 1, "prompt_eval_count": 3 })
        .to_string()
}

fn good(_: usize, request: &Request) -> Reply {
    match request.path() {
        "/v1/embeddings" => ("200 OK", "", openai(request)),
        "/api/embed" => ("200 OK", "", ollama(request)),
        _ => ("404 Not Found", "", String::new()),
    }
}

#[tokio::test]
async fn servers_of_both_kinds_keep_the_promises() {
    let server = Server::start(good).await;
    let mut vectors = Vec::new();
    for (api, base64) in [
        (EmbeddingApi::OpenAi, false),
        (EmbeddingApi::OpenAi, true),
        (EmbeddingApi::Ollama, false),
    ] {
        let options = HttpEmbedderOptions {
            base64,
            max_batch: 3,
            ..server.options(api)
        };
        let embedder = HttpEmbedder::connect(options).await.unwrap();
        let name = if api == EmbeddingApi::Ollama {
            "ollama"
        } else {
            "openai"
        };
        let id = format!("{name}:some-model@{}:8", server.address);
        assert_eq!(
            (&embedder.info().model_id, embedder.info().dimension),
            (&id, 8)
        );
        check_embedder(&embedder).await;
        let texts = ["falls", "", "drug X", "heart", "risk", " ", "older adults"];
        let made = embedder.embed(&texts, TextRole::Document).await.unwrap();
        assert!(made[1].iter().all(|v| *v == 0.0) && made[2] != made[3]);
        vectors.push(made);
    }
    assert!(vectors.windows(2).all(|pair| pair[0] == pair[1]));
    let requests = server.requests();
    assert!(requests.iter().all(|r| (1..=3).contains(&r.texts().len())));
    assert!(
        requests
            .iter()
            .all(|r| r.texts().iter().all(|text| !text.trim().is_empty()))
    );
    assert!(
        requests
            .iter()
            .all(|r| !r.head.to_lowercase().contains("authorization"))
    );
}

#[tokio::test]
async fn prompts_lengths_and_the_key_reach_the_server() {
    let server = Server::start(good).await;
    let options = HttpEmbedderOptions {
        key: Some(ApiKey::new("KEY", "sk-verysecret").unwrap()),
        dimension: Some(8),
        max_chars: 4,
        query_prompt: "query: ".into(),
        document_prompt: "passage: ".into(),
        ..server.options(EmbeddingApi::OpenAi)
    };
    let shown = format!("{options:?}");
    assert!(!shown.contains("verysecret"), "{shown}");
    let embedder = HttpEmbedder::connect(options).await.unwrap();
    assert!(
        server.requests().is_empty(),
        "a known dimension is not asked for"
    );
    assert!(!format!("{embedder:?}").contains("verysecret"));
    embedder
        .embed(&["äöüß-long"], TextRole::Query)
        .await
        .unwrap();
    embedder
        .embed(&["short"], TextRole::Document)
        .await
        .unwrap();
    let requests = server.requests();
    assert_eq!(requests[0].texts(), ["query: äöüß"]);
    assert_eq!(requests[1].texts(), ["passage: shor"]);
    assert_eq!(requests[0].body["model"], "some-model");
    assert!(
        requests[0]
            .head
            .contains("authorization: Bearer sk-verysecret\r\n")
    );
    let id = &embedder.info().model_id;
    assert!(
        id.len() > format!("openai:some-model@{}:8", server.address).len(),
        "{id}"
    );
}

#[tokio::test]
async fn what_passes_is_waited_for() {
    fn busy(number: usize, request: &Request) -> Reply {
        match number {
            0 => (
                "429 Too Many Requests",
                "Retry-After: 1\r\n",
                r#"{"error": {"message": "Rate limit reached"}}"#.into(),
            ),
            1 => ("503 Service Unavailable", "", "<html>loading</html>".into()),
            _ => good(number, request),
        }
    }
    let server = Server::start(busy).await;
    let start = Instant::now();
    server.connect(EmbeddingApi::OpenAi).await.unwrap();
    let waited = start.elapsed();
    assert!((1.0..6.0).contains(&waited.as_secs_f64()), "{waited:?}");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn patience_has_an_end() {
    fn overloaded(_: usize, _: &Request) -> Reply {
        (
            "500 Internal Server Error",
            "",
            r#"{"error": "out of memory"}"#.into(),
        )
    }
    let server = Server::start(overloaded).await;
    let options = HttpEmbedderOptions {
        attempts: 3,
        ..server.options(EmbeddingApi::Ollama)
    };
    let error = HttpEmbedder::connect(options).await.unwrap_err();
    assert!(
        error
            .message()
            .ends_with("answered 500 Internal Server Error: “out of memory”"),
        "{error}"
    );
    assert_eq!(
        (error.kind(), server.requests().len()),
        (ErrorKind::Backend, 3)
    );

    fn tomorrow(_: usize, _: &Request) -> Reply {
        (
            "429 Too Many Requests",
            "Retry-After: 86400\r\n",
            r#"{"error": {"message": "Quota"}}"#.into(),
        )
    }
    let server = Server::start(tomorrow).await;
    let start = Instant::now();
    let error = server.connect(EmbeddingApi::OpenAi).await.unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(60) && server.requests().len() == 1);
    assert!(
        error.hint().is_some_and(|hint| hint.contains("quota")),
        "{error:?}"
    );
}

#[tokio::test]
async fn what_does_not_pass_is_said_at_once_and_without_the_key() {
    let cases: [(Script, &str, &str); 5] = [
        (
            |_, _| {
                let said = r#"{"error": {"message": "Incorrect API key provided: sk-verysecret"}}"#;
                ("401 Unauthorized", "", said.into())
            },
            "answered 401 Unauthorized: “Incorrect API key provided: ***”",
            "check the key",
        ),
        (
            |_, _| {
                (
                    "404 Not Found",
                    "",
                    r#"{"error":"model \"some-model\" not found, try pulling it first"}"#.into(),
                )
            },
            "not found, try pulling it first",
            "check the address and the model's name",
        ),
        (
            |_, _| {
                (
                    "400 Bad Request",
                    "",
                    r#"{"error": {"message": "maximum context length"}}"#.into(),
                )
            },
            "maximum context length",
            "",
        ),
        (
            |_, _| {
                (
                    "302 Found",
                    "Location: http://127.0.0.1:9/steal\r\n",
                    String::new(),
                )
            },
            "answered 302 Found",
            "redirects",
        ),
        (
            |_, _| ("200 OK", "", "<html>Log in</html>".into()),
            "no list of embeddings",
            "embeddings endpoint",
        ),
    ];
    for (script, why, hint) in cases {
        let server = Server::start(script).await;
        let options = HttpEmbedderOptions {
            key: Some(ApiKey::new("KEY", "sk-verysecret").unwrap()),
            ..server.options(EmbeddingApi::OpenAi)
        };
        let error = HttpEmbedder::connect(options).await.unwrap_err();
        assert!(error.message().contains(why), "{error}");
        assert!(error.hint().is_some_and(|h| h.contains(hint)), "{error:?}");
        assert!(!format!("{error:?}").contains("verysecret"), "{error:?}");
        assert_eq!(server.requests().len(), 1, "{why}");
    }
}

#[tokio::test]
async fn replies_are_not_believed_unchecked() {
    fn changed(number: usize, request: &Request) -> Reply {
        let texts = request.texts();
        let vectors: Vec<Vec<f32>> = match (number, texts[0].as_str()) {
            (0, _) => return good(number, request),
            (_, "longer") => vec![vec![1.0; 16]; texts.len()],
            (_, "fewer") => vec![vec![1.0; 8]; texts.len() - 1],
            (_, "zero") => vec![vec![0.0; 8]; texts.len()],
            _ => {
                let nan = base64(&f32::NAN.to_le_bytes().repeat(8));
                let item = json!({ "index": 0, "embedding": nan });
                return ("200 OK", "", json!({ "data": [item] }).to_string());
            }
        };
        let data: Vec<Value> = vectors
            .iter()
            .enumerate()
            .map(|(index, vector)| json!({ "index": index, "embedding": vector }))
            .collect();
        ("200 OK", "", json!({ "data": data }).to_string())
    }
    let server = Server::start(changed).await;
    let embedder = server.connect(EmbeddingApi::OpenAi).await.unwrap();
    for (text, why) in [
        ("longer", "a vector has 16 values; expected 8"),
        ("fewer", "holds 0 vectors for 1 texts"),
        ("zero", "all zeros or has a value that is not finite"),
        ("nan", "all zeros or has a value that is not finite"),
    ] {
        let error = embedder
            .embed(&[text], TextRole::Document)
            .await
            .unwrap_err();
        assert!(error.message().contains(why), "{text}: {error}");
        assert_eq!(error.kind(), ErrorKind::Backend);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_or_says_nothing_is_an_error_in_time() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let options = HttpEmbedderOptions {
        url: format!("http://{closed}"),
        attempts: 2,
        ..HttpEmbedderOptions::new(EmbeddingApi::Ollama, "nomic-embed-text")
    };
    let error = HttpEmbedder::connect(options).await.unwrap_err();
    assert!(
        error.message().to_lowercase().contains("refused"),
        "{error}"
    );
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("ollama serve"))
    );

    let server = Server::start(|_, _| ("silence", "", String::new())).await;
    let options = HttpEmbedderOptions {
        timeout: Duration::from_millis(300),
        attempts: 1,
        ..server.options(EmbeddingApi::OpenAi)
    };
    let start = Instant::now();
    let error = HttpEmbedder::connect(options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(start.elapsed() < Duration::from_secs(60));
}
