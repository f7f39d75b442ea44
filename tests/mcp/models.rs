//! `models add`: from folders, and from a hub on the loopback interface that answers as the real one
//! does: a listing with sizes and digests, small files at once, large ones by way of a redirect.

use crate::client::binary;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Output;

/// Not a graph that runs: without the ONNX Runtime library nothing is run.
const GRAPH: &[u8] = b"a graph of some kilobytes";
const GRAPH_SHA256: &str = "2d11ca0226e41d78f6a171983da2e806c2e87d31f123afdf8875fcb66c622cf8";

fn run(home: &Path, hub: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = binary(&home.join("a.db"));
    command
        .env("XDG_DATA_HOME", home)
        .env("LYRA_ONNX_RUNTIME", "/nowhere/libonnxruntime.so")
        .env("HF_TOKEN", "hf_secret")
        .args(arguments);
    if let Some(hub) = hub {
        command.env("HF_ENDPOINT", hub);
    }
    command.output().unwrap()
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// A folder as an export makes it.
fn model(folder: &Path, architecture: &str) -> PathBuf {
    let model = folder.join("exports").join("some-model");
    std::fs::create_dir_all(model.join("1_Pooling")).unwrap();
    std::fs::create_dir_all(model.join(".git")).unwrap();
    let config = json!({"architectures": [architecture]}).to_string();
    for (name, text) in [
        ("model.onnx", "graph"),
        ("model_int8.onnx", "smaller graph"),
        ("model.onnx_data", "weights"),
        ("pytorch_model.bin", "not needed"),
        (".git/config", "not needed"),
        ("tokenizer.json", "{}"),
        ("config.json", config.as_str()),
        ("1_Pooling/config.json", "{}"),
    ] {
        std::fs::write(model.join(name), text).unwrap();
    }
    model
}

fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(
                files(&entry.path())
                    .iter()
                    .map(|below| format!("{name}/{below}")),
            );
        } else {
            found.push(name);
        }
    }
    found.sort();
    found
}

#[test]
fn a_folder_becomes_a_model_that_can_be_named() {
    let home = tempfile::tempdir().unwrap();
    let model = model(home.path(), "BertModel");
    let (out, err) = said(&run(
        home.path(),
        None,
        &["models", "add", model.to_str().unwrap()],
    ));
    let place = home.path().join("lyra/models/some-model");
    assert_eq!(
        out,
        format!("added\tonnx:some-model\tembedder\t{}\n", place.display()),
        "{err}"
    );
    assert!(
        err.contains("not tried out") && err.contains("embedder = \"onnx:some-model\""),
        "{err}"
    );
    assert_eq!(
        files(&place),
        [
            "1_Pooling/config.json",
            "config.json",
            "model.onnx",
            "model.onnx_data",
            "model_int8.onnx",
            "tokenizer.json"
        ]
    );
    let (out, _) = said(&run(home.path(), None, &["models", "list"]));
    assert!(out.contains("added\tonnx:some-model\tembedder\t"), "{out}");
    // The name leads to the place, from the command line and from a file.
    let (_, err) = said(&run(
        home.path(),
        None,
        &["--embedder", "onnx:some-model", "doctor"],
    ));
    assert!(!err.contains("there is no model"), "{err}");
    let file = home.path().join("lyra.toml");
    std::fs::write(&file, "embedder = \"onnx:some-model\"\n").unwrap();
    let (out, _) = said(&run(
        home.path(),
        None,
        &["--config", file.to_str().unwrap(), "doctor"],
    ));
    assert!(out.contains(&format!("onnx:{}", place.display())), "{out}");

    // A second one of the same name needs a word.
    let again = ["models", "add", model.to_str().unwrap()];
    let (_, err) = said(&run(home.path(), None, &again));
    assert!(err.contains("--replace") && err.contains("--name"), "{err}");
    let small = [&again[..], &["--replace", "--graph", "model_int8.onnx"]].concat();
    let output = run(home.path(), None, &small);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        files(&place),
        [
            "1_Pooling/config.json",
            "config.json",
            "model_int8.onnx",
            "tokenizer.json"
        ]
    );
}

#[test]
fn a_classifier_is_a_judge() {
    let home = tempfile::tempdir().unwrap();
    let model = model(home.path(), "DebertaV2ForSequenceClassification");
    let arguments = ["models", "add", model.to_str().unwrap(), "--name", "nli"];
    let (out, err) = said(&run(home.path(), None, &arguments));
    assert!(out.starts_with("added\tonnx:nli\tjudge\t"), "{out}");
    assert!(err.contains("--judge onnx:nli"), "{err}");
}

#[test]
fn what_is_no_model_is_refused_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let model = model(home.path(), "BertModel");
    std::fs::remove_file(model.join("tokenizer.json")).unwrap();
    let path = model.to_str().unwrap();
    let graph = model.join("model.onnx");
    for (arguments, message) in [
        (vec![path], "no tokenizer.json"),
        (vec![path, "--graph", "none.onnx"], "no graph"),
        (vec![graph.to_str().unwrap()], "is a file"),
        (vec![path, "--name", "../up"], "is no name for a model"),
        (
            vec!["/nowhere/at/all"],
            "there is no folder /nowhere/at/all",
        ),
    ] {
        let arguments = [vec!["models", "add"], arguments].concat();
        let output = run(home.path(), None, &arguments);
        let (_, err) = said(&output);
        assert!(!output.status.success() && err.contains(message), "{err}");
        assert!(err.contains("hint: "), "{err}");
    }
    assert_eq!(
        files(&home.path().join("lyra/models")),
        Vec::<String>::new()
    );
}

/// A hub whose listing says that the graph has this digest.
fn hub(sha256: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream, sha256));
        }
    });
    address
}

fn answer(mut stream: TcpStream, sha256: &str) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    let mut has_key = false;
    while let Some(Ok(line)) = lines.next()
        && !line.is_empty()
    {
        has_key |= line.eq_ignore_ascii_case("authorization: Bearer hf_secret");
    }
    let path = first.split(' ').nth(1)?.to_owned();
    let (status, body): (&str, Vec<u8>) = match path.as_str() {
        "/api/models/owner/tiny/revision/main?blobs=true" => ("200 OK", listing(sha256)),
        "/api/models/owner/endless/revision/main?blobs=true" => ("200 OK", listing(sha256)),
        _ if !has_key => ("401 Unauthorized", b"{\"error\": \"no key\"}".to_vec()),
        "/owner/tiny/resolve/c0ffee/onnx/model.onnx" => {
            ("302 Found\r\nLocation: /cdn/model", vec![])
        }
        "/cdn/model" => ("200 OK", GRAPH.to_vec()),
        "/owner/endless/resolve/c0ffee/onnx/model.onnx" => {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", GRAPH.len());
            stream.write_all(head.as_bytes()).ok()?;
            stream.write_all(&GRAPH[..10]).ok()?;
            // The rest never comes: the next byte read is the client's going away.
            return lines.next().map(|_| ());
        }
        "/owner/tiny/resolve/c0ffee/config.json" | "/owner/endless/resolve/c0ffee/config.json" => {
            ("200 OK", b"{}".to_vec())
        }
        "/owner/tiny/resolve/c0ffee/tokenizer.json" => ("200 OK", b"{\"a\":1}".to_vec()),
        _ => (
            "404 Not Found",
            b"{\"error\": \"Repository not found\"}".to_vec(),
        ),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()
}

fn listing(sha256: &str) -> Vec<u8> {
    json!({"id": "owner/tiny", "sha": "c0ffee", "siblings": [
        {"rfilename": ".gitattributes", "size": 5},
        {"rfilename": "../../escape.json", "size": 5},
        {"rfilename": "config.json", "size": 2, "blobId": "x"},
        {"rfilename": "onnx/model.onnx", "size": GRAPH.len(),
         "lfs": {"sha256": sha256, "size": GRAPH.len(), "pointerSize": 130}},
        {"rfilename": "pytorch_model.bin", "size": 1_000_000_000},
        {"rfilename": "tokenizer.json", "size": 7}]})
    .to_string()
    .into_bytes()
}

#[cfg(feature = "http")]
#[test]
fn a_hub_is_asked_where_there_is_no_such_folder() {
    let home = tempfile::tempdir().unwrap();
    let hub = hub(GRAPH_SHA256);
    let output = run(home.path(), Some(&hub), &["models", "add", "owner/tiny"]);
    let (out, err) = said(&output);
    assert!(output.status.success(), "{err}");
    assert!(out.starts_with("added\tonnx:tiny\tembedder\t"), "{out}");
    assert!(err.contains("onnx/model.onnx 0.0 of 0.0 MB"), "{err}");
    let place = home.path().join("lyra/models/tiny");
    assert_eq!(
        files(&place),
        ["config.json", "onnx/model.onnx", "tokenizer.json"]
    );
    assert_eq!(std::fs::read(place.join("onnx/model.onnx")).unwrap(), GRAPH);
}

#[cfg(feature = "http")]
#[test]
fn a_download_that_is_not_what_was_listed_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let honest = hub(GRAPH_SHA256);
    let other = hub("0000000000000000000000000000000000000000000000000000000000000000");
    let closed = "http://127.0.0.1:9".to_owned();
    for (hub, arguments, message) in [
        (
            &other,
            vec!["owner/tiny"],
            "is not the file that the hub lists",
        ),
        (&honest, vec!["owner/none"], "has no owner/none"),
        (
            &honest,
            vec!["owner/tiny", "--revision", "../x"],
            "is no revision",
        ),
        (
            &honest,
            vec!["owner/tiny", "--graph", "none.onnx"],
            "has no none.onnx",
        ),
        (&closed, vec!["owner/tiny"], "cannot be reached"),
    ] {
        let arguments = [vec!["models", "add"], arguments].concat();
        let output = run(home.path(), Some(hub), &arguments);
        let (_, err) = said(&output);
        assert!(
            !output.status.success() && err.contains(message),
            "{message}: {err}"
        );
        assert!(!err.contains("hf_secret"), "{err}");
    }
    assert_eq!(
        files(&home.path().join("lyra/models")),
        Vec::<String>::new()
    );
}

/// What came of a download that is broken off goes with it.
#[cfg(all(feature = "http", unix))]
#[test]
fn a_download_that_is_interrupted_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let models = home.path().join("lyra/models");
    let mut child = binary(&home.path().join("a.db"))
        .env("XDG_DATA_HOME", home.path())
        .env("HF_TOKEN", "hf_secret")
        .env("HF_ENDPOINT", hub(GRAPH_SHA256))
        .args(["models", "add", "owner/endless"])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let begun = || files(&models).iter().any(|name| name.contains("onnx/"));
    while !begun() {
        assert_eq!(child.try_wait().unwrap(), None);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let signal = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(signal.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (_, err) = said(&output);
    assert_eq!(output.status.code(), Some(130), "{err}");
    assert!(err.contains("interrupted: nothing was added"), "{err}");
    assert_eq!(std::fs::read_dir(&models).unwrap().count(), 0);
}
