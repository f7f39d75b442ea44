//! Sentence encoders in ONNX files, beside what Python's onnxruntime and tokenizers make of the
//! same files. The models are tiny, with random weights, and are written by
//! scripts/tiny_onnx_model.py; without Python and its packages these tests are skipped.

use lyra_core::models::{OnnxEmbedder, OnnxOptions};
use lyra_core::ports::testing::check_embedder;
use lyra_core::ports::{Embedder, TextRole};
use lyra_core::{Error, ErrorKind};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// A Python that has the packages, and the ONNX Runtime library that comes with them.
pub(crate) struct Python {
    pub(crate) program: PathBuf,
    pub(crate) runtime: PathBuf,
}

/// `LYRA_TEST_PYTHON` names a Python that must have the packages; else `python3` may have them.
#[allow(clippy::print_stderr, reason = "who skips a test says so")]
pub(crate) static PYTHON: LazyLock<Option<Python>> = LazyLock::new(|| {
    let named = std::env::var_os("LYRA_TEST_PYTHON").map(PathBuf::from);
    let program = named.clone().unwrap_or_else(|| "python3".into());
    let code = "import onnx, numpy, tokenizers, onnxruntime; print(onnxruntime.__path__[0])";
    let found = Command::new(&program).args(["-c", code]).output();
    match found {
        Ok(output) if output.status.success() => Some(Python {
            program,
            runtime: String::from_utf8(output.stdout).unwrap().trim().into(),
        }),
        _ => {
            assert!(
                named.is_none(),
                "{program:?} lacks onnx, numpy, tokenizers or onnxruntime"
            );
            eprintln!("SKIPPED: no Python with onnx, numpy, tokenizers and onnxruntime");
            None
        }
    }
});

/// Texts of many lengths, some of them cut off by the model, none of them empty.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "Drug X increased the risk of falls in older adults.",
        "x",
        "  The HAZARD ratio was 1.27 (95% CI 1.07 to 1.51).  ",
        "薬剤 転倒 患者 心不全 血糖値",
        "naïve café \u{1f469}\u{200d}\u{2695} [CLS] [SEP] ##ing",
        "of the of the of the",
    ]
    .map(str::to_owned)
    .to_vec();
    texts.push("The risk of falls rose with drug X in every clinic we followed. ".repeat(40));
    texts.extend((1..12).map(|n| "falls and drugs ".repeat(n)));
    texts
}

/// Writes a model with these options; answers its folder.
fn write_model(python: &Python, scratch: &Path, options: &[&str]) -> PathBuf {
    let folder = scratch.join("tiny");
    let texts_file = scratch.join("texts.json");
    std::fs::write(&texts_file, json!(texts()).to_string()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/tiny_onnx_model.py");
    let done = Command::new(&python.program)
        .arg("-B")
        .arg(script)
        .arg(&folder)
        .arg("--reference")
        .arg(&texts_file)
        .args(options)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    folder
}

pub(crate) fn options(python: &Python, model: &Path) -> OnnxOptions {
    OnnxOptions {
        runtime: Some(python.runtime.clone()),
        threads: 1,
        ..OnnxOptions::new(model)
    }
}

fn reference(folder: &Path, role: &str) -> Vec<Vec<f64>> {
    let text = std::fs::read(folder.join(format!("reference_{role}.json"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn cosine(ours: &[f32], theirs: &[f64]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    ours.iter()
        .zip(theirs)
        .map(|(a, b)| f64::from(*a) * b)
        .sum()
}

/// Compares every text in both roles with Python's vector; answers the least cosine.
async fn compare(embedder: &OnnxEmbedder, folder: &Path, texts: &[String]) -> f64 {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut least = 1.0_f64;
    for (role, name) in [(TextRole::Document, "document"), (TextRole::Query, "query")] {
        let expected = reference(folder, name);
        let ours = embedder.embed(&texts, role).await.unwrap();
        assert_eq!(ours.len(), expected.len());
        for (ours, theirs) in ours.iter().zip(&expected) {
            least = least.min(cosine(ours, theirs));
        }
    }
    least
}

#[tokio::test]
async fn vectors_are_those_that_python_makes() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    let prompts = [
        "--query-prompt",
        "query: ",
        "--passage-prompt",
        "the passage ",
    ];
    let cases: [&[&str]; 7] = [
        &["--pooling", "mean"],
        &["--pooling", "cls"],
        &["--pooling", "mean", "--no-token-types"],
        &[
            "--pooling",
            "cls",
            "--no-token-types",
            prompts[0],
            prompts[1],
            prompts[2],
            prompts[3],
        ],
        &["--pooling", "max", "--max-tokens", "9"],
        &["--pooling", "lasttoken"],
        &["--sentence-output"],
    ];
    for case in cases {
        let scratch = tempfile::tempdir().unwrap();
        let folder = write_model(python, scratch.path(), case);
        for max_batch in [8, 1] {
            let options = OnnxOptions {
                max_batch,
                ..options(python, &folder)
            };
            let embedder = OnnxEmbedder::open(&options).unwrap();
            assert_eq!(embedder.info().dimension, 32);
            let least = compare(&embedder, &folder, &texts()).await;
            assert!(
                least >= 0.99999,
                "{case:?}, batches of {max_batch}: {least}"
            );
        }
        let embedder = OnnxEmbedder::open(&options(python, &folder)).unwrap();
        check_embedder(&embedder).await;
    }
}

#[tokio::test]
async fn a_quantised_model_keeps_the_promises_too() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let folder = write_model(python, scratch.path(), &["--int8"]);
    let exact = OnnxEmbedder::open(&options(python, &folder)).unwrap();
    // By its name in the folder, and by its place.
    let by_name = OnnxOptions {
        file: Some("model_int8.onnx".into()),
        ..options(python, &folder)
    };
    let small = OnnxEmbedder::open(&by_name).unwrap();
    let by_place = options(python, &folder.join("model_int8.onnx"));
    let same = OnnxEmbedder::open(&by_place).unwrap();
    assert_eq!(small.info(), same.info());
    assert_ne!(small.info().model_id, exact.info().model_id);
    check_embedder(&small).await;
    let least = compare(&small, &folder, &texts()).await;
    assert!((0.8..0.99999).contains(&least), "{least}");
}

#[tokio::test]
async fn queries_and_documents_have_prompts_of_their_own() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let prompts = ["--query-prompt", "query: ", "--passage-prompt", "passage: "];
    let folder = write_model(python, scratch.path(), &prompts);
    let embedder = OnnxEmbedder::open(&options(python, &folder)).unwrap();
    let text = ["the risk of falls"];
    let query = embedder.embed(&text, TextRole::Query).await.unwrap();
    let document = embedder.embed(&text, TextRole::Document).await.unwrap();
    assert_ne!(query, document);
    // The prompt is no reason to make a vector of nothing.
    let nothing = embedder.embed(&["", " \n"], TextRole::Query).await.unwrap();
    assert!(nothing.iter().flatten().all(|v| *v == 0.0));
    assert_eq!(nothing[1].len(), embedder.info().dimension);
}

#[test]
fn the_id_follows_the_content() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let folder = write_model(python, scratch.path(), &[]);
    let id = || {
        let embedder = OnnxEmbedder::open(&options(python, &folder)).unwrap();
        embedder.info().model_id.clone()
    };
    let first = id();
    assert!(first.starts_with("onnx:tiny:") && first == id(), "{first}");
    let prompts = folder.join("config_sentence_transformers.json");
    std::fs::write(&prompts, r#"{"prompts": {"query": "find: "}}"#).unwrap();
    let second = id();
    assert_ne!(first, second);
    let mut tokenizer = std::fs::read(folder.join("tokenizer.json")).unwrap();
    tokenizer.push(b'\n');
    std::fs::write(folder.join("tokenizer.json"), tokenizer).unwrap();
    assert_ne!(second, id());
}

#[test]
fn a_model_has_a_say_about_scripts_that_its_vocabulary_knows() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let folder = write_model(python, scratch.path(), &[]);
    let weights = |options: &OnnxOptions| {
        let embedder = OnnxEmbedder::open(options).unwrap();
        let info = embedder.info();
        [info.fusion_weight, info.fusion_weight_cjk]
    };
    let plain = options(python, &folder);
    assert_eq!(weights(&plain), [0.7, 0.05]);
    let mut chosen = plain.clone();
    chosen.fusion_weight_cjk = Some(0.25);
    assert_eq!(weights(&chosen), [0.7, 0.25]);
    edit(&folder, "tokenizer.json", |tokenizer| {
        let pieces = tokenizer["model"]["vocab"].as_object_mut().unwrap();
        for character in '\u{4E00}'..'\u{5C00}' {
            pieces.insert(format!("##{character}{character}"), 5.into());
        }
    });
    assert_eq!(weights(&plain), [0.7, 0.7]);
}

/// Changes one JSON file of a model.
pub(crate) fn edit(folder: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.join(file);
    let mut value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(&path, value.to_string()).unwrap();
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let Some(python) = PYTHON.as_ref() else {
        return;
    };
    type Break = fn(&Path);
    static ADD: fn(&mut Value) = |tokenizer| {
        let vocabulary = tokenizer["model"]["vocab"].as_object_mut().unwrap();
        vocabulary.insert("newword".to_owned(), json!(5000));
    };
    let cases: [(Break, &str, ErrorKind); 8] = [
        (
            |f| {
                edit(f, "1_Pooling/config.json", |v| {
                    v["word_embedding_dimension"] = json!(64)
                })
            },
            "vectors of 32 values; the pooling layer expects 64",
            ErrorKind::Backend,
        ),
        (
            |f| edit(f, "tokenizer.json", ADD),
            "a token with the id 5000",
            ErrorKind::Backend,
        ),
        (
            |f| {
                edit(f, "tokenizer.json", ADD);
                std::fs::remove_file(f.join("config.json")).unwrap();
            },
            "the model cannot be run",
            ErrorKind::Backend,
        ),
        (
            |f| std::fs::write(f.join("model.onnx"), "no graph").unwrap(),
            "model.onnx cannot be loaded",
            ErrorKind::Backend,
        ),
        (
            |f| std::fs::write(f.join("tokenizer.json"), "{}").unwrap(),
            "tokenizer.json is no tokenizer",
            ErrorKind::Backend,
        ),
        (
            |f| std::fs::remove_file(f.join("tokenizer.json")).unwrap(),
            "has no tokenizer.json",
            ErrorKind::Backend,
        ),
        (
            |f| {
                edit(f, "sentence_bert_config.json", |v| {
                    v["max_seq_length"] = json!(2)
                })
            },
            "a limit of 2 tokens per text leaves no room beside 2 special tokens",
            ErrorKind::Backend,
        ),
        (
            |f| {
                edit(f, "modules.json", |v| {
                    v[2]["type"] = json!("sentence_transformers.models.Dense");
                });
            },
            "a layer Dense behind the graph",
            ErrorKind::Unsupported,
        ),
    ];
    let scratch = tempfile::tempdir().unwrap();
    for (break_it, why, kind) in cases {
        let folder = write_model(python, scratch.path(), &[]);
        break_it(&folder);
        let error: Error = OnnxEmbedder::open(&options(python, &folder)).unwrap_err();
        assert!(error.message().contains(why), "{why}: {error}");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.hint().is_some(), "{error}");
    }
}

/// `LYRA_TEST_MINILM` is a folder that scripts/minilm_onnx.py wrote.
#[tokio::test]
async fn a_real_model_agrees_with_python() {
    let folder = std::env::var_os("LYRA_TEST_MINILM").map(PathBuf::from);
    let (Some(python), Some(folder)) = (PYTHON.as_ref(), folder) else {
        eprintln!("SKIPPED: LYRA_TEST_MINILM names no model");
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let texts_file = scratch.path().join("texts.json");
    std::fs::write(&texts_file, json!(texts()).to_string()).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/tiny_onnx_model.py");
    for (graph, floor) in [("model.onnx", 0.99999), ("model_int8.onnx", 0.9999)] {
        let command = [script, "--only-reference", graph, "--reference"];
        let done = Command::new(&python.program)
            .args(command)
            .args([&texts_file, &folder])
            .status()
            .unwrap();
        assert!(done.success());
        let options = OnnxOptions {
            file: Some(graph.into()),
            ..options(python, &folder)
        };
        let embedder = OnnxEmbedder::open(&options).unwrap();
        assert_eq!(embedder.info().dimension, 384);
        check_embedder(&embedder).await;
        let least = compare(&embedder, &folder, &texts()).await;
        assert!(least >= floor, "{graph}: {least}");
    }
    // The similarities that the model's authors publish for it.
    let embedder = OnnxEmbedder::open(&options(python, &folder)).unwrap();
    for (a, b, expected) in [
        (
            "The cat sits outside",
            "The dog plays in the garden",
            0.2838,
        ),
        ("A man is playing guitar", "A woman watches TV", -0.0327),
        (
            "The new movie is awesome",
            "The new movie is so great",
            0.8939,
        ),
    ] {
        let pair = embedder.embed(&[a, b], TextRole::Document).await.unwrap();
        let got: f32 = pair[0].iter().zip(&pair[1]).map(|(x, y)| x * y).sum();
        assert!(
            (got - expected).abs() < 1e-3,
            "{a} / {b}: {got} for {expected}"
        );
    }
}
