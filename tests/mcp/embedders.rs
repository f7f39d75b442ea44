//! The embedder that a configuration names: what is said where it cannot be opened, and how a graph
//! moves to another one, a kill in the middle included.

use crate::client::{Client, binary};
use crate::kill_resume::{PATIENCE, begin, corpus, count, drain, verify};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Runs a command with settings; answers exit code, standard output and standard error.
pub(crate) fn run(
    db: &Path,
    env: &[(&str, &Path)],
    arguments: &[&str],
) -> (Option<i32>, String, String) {
    let mut command = binary(db);
    command.args(arguments).envs(env.iter().copied());
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn the_builtin_embedder_is_named_and_what_would_be_better() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let (_, out, _) = run(&db, &[], &["doctor"]);
    assert!(out.contains("embedder       builtin\n"), "{out}");
    assert!(
        out.contains("ok    embedder: lyra-static-minilm-256-v1 (built-in, 256 dimensions)"),
        "{out}"
    );
    assert!(out.contains("docs/embedders.md"), "{out}");
}

#[test]
fn the_language_model_is_named_with_what_it_does_and_never_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let key = ("LYRA_LLM_KEY", Path::new("sk-verysecret"));
    let judging = [
        "--llm",
        "openai:some-model",
        "--stance-judge",
        "llm",
        "doctor",
    ];
    let (_, out, err) = run(&db, &[key], &judging);
    if cfg!(feature = "http") {
        assert!(
            out.contains("language model openai:some-model (finds claims and judges)\n"),
            "{out}"
        );
        let place = "some-model at https://api.openai.com/v1, key from LYRA_LLM_KEY";
        for part in ["claim extractor", "stance judge"] {
            let start = format!("ok    {part}: openai:some-model@api.openai.com:");
            let line = out.lines().find(|line| line.starts_with(&start)).unwrap();
            assert!(line.contains(place), "{line}");
        }
    }
    assert!(!format!("{out}{err}").contains("verysecret"));
    let bad = ["--llm", "ollama:m", "--llm-url", "ftp://h", "doctor"];
    let (code, out, _) = run(&db, &[], &bad);
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.contains("FAIL  language model: the language model ollama:m: "),
        "{out}"
    );
    assert!(
        out.contains("ok    database: "),
        "the rest is looked at: {out}"
    );
    let (code, _, err) = run(&db, &[], &["--stance-judge", "llm", "doctor"]);
    assert!(
        code != Some(0) && err.contains("no language model is named"),
        "{err}"
    );
}

#[test]
fn an_embedder_that_cannot_be_opened_is_an_error_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    // A graph that is there before, to see that it is there afterwards.
    assert_eq!(run(&db, &[], &["views"]).0, Some(0));
    let model = folder.path().join("model");
    std::fs::create_dir(&model).unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        std::fs::write(model.join(file), "{}").unwrap();
    }
    let onnx = format!("onnx:{}", model.display());
    let no_library = model.join("tokenizer.json");
    let nowhere = Path::new("/nowhere/libonnxruntime.so");
    let built = cfg!(feature = "onnx");
    let unless_built = "this build does not include ONNX models";
    let library = ("ORT_DYLIB_PATH", no_library.as_path());
    for (embedder, env, why, hint) in [
        (
            "onnx:/nowhere/model",
            None,
            if built {
                "there is no model at /nowhere/model"
            } else {
                unless_built
            },
            if built {
                "docs/embedders.md"
            } else {
                "--features onnx"
            },
        ),
        (
            &onnx,
            Some(("ORT_DYLIB_PATH", nowhere)),
            if built {
                "there is no ONNX Runtime library /nowhere/libonnxruntime.so"
            } else {
                unless_built
            },
            if built {
                "pip install onnxruntime"
            } else {
                "--features onnx"
            },
        ),
        (
            &onnx,
            Some(library),
            if built {
                "ONNX Runtime cannot be loaded from"
            } else {
                unless_built
            },
            if built {
                "ORT_DYLIB_PATH"
            } else {
                "--features onnx"
            },
        ),
        (
            "ollama:nomic-embed-text",
            Some(("LYRA_EMBEDDER_URL", Path::new("http://127.0.0.1:9"))),
            "efused",
            "ollama serve",
        ),
    ] {
        let env: Vec<_> = env.into_iter().collect();
        let (code, out, _) = run(&db, &env, &["--embedder", embedder, "doctor"]);
        assert_eq!(code, Some(1), "{out}");
        let line = out
            .lines()
            .find(|line| line.starts_with("FAIL  embedder: "))
            .unwrap();
        assert!(line.contains(why), "{embedder}: {line}");
        assert!(out.contains(hint), "{embedder}: {out}");
        assert!(
            out.contains("ok    database: "),
            "the rest is looked at: {out}"
        );

        let (code, out, errors) = run(&db, &env, &["--embedder", embedder, "models", "list"]);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{errors}");
        assert!(errors.contains(why) && errors.contains(hint), "{errors}");
    }
    // What needs no embedder opens none.
    let arguments = ["--embedder", "onnx:/nowhere/model", "verify"];
    let (code, _, errors) = run(&db, &[], &arguments);
    assert_eq!(code, Some(0), "{errors}");
    let (code, _, errors) = run(&db, &[], &["--embedder", "candle:x", "verify"]);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("onnx:FOLDER"), "{errors}");
}

/// An embedding server that takes its time and counts what it embeds.
struct EmbeddingServer {
    url: String,
    texts: Arc<AtomicUsize>,
}

impl EmbeddingServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let texts = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&texts);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counter = Arc::clone(&counter);
                std::thread::spawn(move || serve(stream, &counter));
            }
        });
        Self { url, texts }
    }
}

fn serve(mut stream: TcpStream, counter: &AtomicUsize) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
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
    let request: Value = serde_json::from_slice(&body).ok()?;
    let texts = request["input"].as_array()?;
    let data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let mut boxes = [0.1_f32; 16];
            for byte in text.as_str().unwrap_or_default().bytes() {
                boxes[usize::from(byte) % 16] += 1.0;
            }
            json!({ "index": index, "embedding": boxes })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(60));
    counter.fetch_add(texts.len(), Ordering::SeqCst);
    let reply = json!({ "data": data }).to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        reply.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(reply.as_bytes()).ok()
}

const OLD: &str = "SELECT count(*) FROM embeddings WHERE model_id LIKE 'lyra-static-%'";
const NEW: &str = "SELECT count(*) FROM embeddings WHERE model_id LIKE 'openai:letters@%'";

#[cfg(unix)]
#[test]
fn a_graph_moves_to_another_embedder_through_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = corpus(folder.path());
    let corpus = corpus.to_str().unwrap();
    let db = folder.path().join("a.db");
    let mut client = Client::connect(&db, &["--corpus", corpus]);
    let task = begin(&mut client);
    drain(&mut client, &task);
    let expected = count(&mut client, OLD);
    assert!(expected > 400, "{expected}");
    drop(client);

    let server = EmbeddingServer::start();
    let arguments = [
        "--embedder",
        "openai:letters",
        "--embedder-url",
        &server.url,
    ];
    let mut client = Client::connect(&db, &arguments);
    let end = Instant::now() + PATIENCE;
    while count(&mut client, NEW) == 0 {
        assert!(Instant::now() < end, "nothing is embedded");
        std::thread::sleep(Duration::from_millis(5));
    }
    let status = client.ok("get_status", json!({"task_id": task, "wait": 0}));
    assert_eq!(status["waiting_for"][0]["kind"], "embed", "{status}");
    let warning = status["warnings"][0].as_str().unwrap();
    assert!(
        warning.contains(&format!(
            " of {expected} texts have a vector of openai:letters@"
        )),
        "{warning}"
    );
    let pid = client.pid().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid])
        .status()
        .unwrap();
    assert!(killed.success());
    drop(client);
    verify(&db);

    let mut client = Client::connect(&db, &arguments);
    let reached = count(&mut client, NEW);
    assert!((1..expected).contains(&reached), "{reached} of {expected}");
    let end = Instant::now() + PATIENCE;
    loop {
        let status = client.ok(
            "get_status",
            json!({"task_id": task, "wait": 5, "detail": "full"}),
        );
        if status["waiting_for"] == json!([]) {
            assert_eq!(
                status["jobs_by_kind"]["embed"],
                json!({"completed": 1}),
                "{status}"
            );
            break;
        }
        assert!(Instant::now() < end, "not done in time: {status}");
    }
    assert_eq!(
        (count(&mut client, NEW), count(&mut client, OLD)),
        (expected, expected)
    );
    assert_eq!(
        count(
            &mut client,
            "SELECT attempts FROM jobs WHERE kind = 'embed'"
        ),
        2
    );
    // One batch at most was lost; a probe at each start asks for one vector.
    let sent = server.texts.load(Ordering::SeqCst);
    let most = usize::try_from(expected).unwrap() + 128 + 2;
    assert!(sent <= most, "{sent} texts sent for {expected}");
    let found = client.ok(
        "vector_search",
        json!({"query": "coffee increased blood pressure", "task_id": task, "min_similarity": 0.1}),
    );
    assert!(
        found["model_id"]
            .as_str()
            .unwrap()
            .starts_with("openai:letters@127.0.0.1:"),
        "{found}"
    );
    assert!(!found["results"].as_array().unwrap().is_empty());
    drop(client);
    verify(&db);
}
