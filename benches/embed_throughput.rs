//! Measures the number of texts per second of each embedder on two threads: the static table, and
//! all-MiniLM-L6-v2 in ONNX (f32 and int8), compared with Python's onnxruntime on the same files,
//! alternating in the same run. The texts have about 20 and about 200 tokens, made from a fixed
//! list of words.
//!
//! ```text
//! python3 scripts/minilm_onnx.py /tmp/minilm
//! LYRA_BENCH_MODEL=/tmp/minilm LYRA_TEST_PYTHON=python3 \
//!   cargo bench -p lyra-core --features onnx --bench embed_throughput
//! ```
//!
//! Prints texts per second of wall time and of processor time; medians of the rounds. On a shared
//! machine, the latter and the ratios are meaningful. Rows named `python` sort by length and run
//! batches of 8 as we do; `python 32` runs batches of 32 in the given order, padded, which is the
//! default of sentence-transformers.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark prints and may stop where it stands"
)]

use lyra_core::models::{OnnxEmbedder, OnnxOptions, StaticEmbedder};
use lyra_core::ports::{Embedder, TextRole};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const ROUNDS: usize = 3;
const THREADS: usize = 2;

const WORDS: &str = "patients with type 2 diabetes were randomised to saxagliptin or placebo and followed for \
    hospitalisation due to heart failure the hazard ratio was significantly higher in adults older than 65 years \
    exercise reduced systolic blood pressure compared usual care while mortality did not differ between groups \
    cohort studies reported an association coffee consumption sleep duration memory cognitive decline";

/// Texts with a varying number of words around `words`, the same in every run.
fn texts(count: usize, words: usize) -> Vec<String> {
    let list: Vec<&str> = WORDS.split_whitespace().collect();
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % 1_000_003).unwrap()
    };
    (0..count)
        .map(|_| {
            let length = words * 3 / 4 + next() % (words / 2);
            let chosen: Vec<&str> = (0..length).map(|_| list[next() % list.len()]).collect();
            chosen.join(" ")
        })
        .collect()
}

/// Processor time of this process in seconds, if the system reports it.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

/// Texts per second of wall time and of processor time.
type Speed = (f64, f64);

fn ours(runtime: &tokio::runtime::Runtime, embedder: &dyn Embedder, texts: &[String]) -> Speed {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (start, used) = (Instant::now(), processor_seconds());
    let vectors = runtime
        .block_on(embedder.embed(&texts, TextRole::Document))
        .unwrap();
    let wall = start.elapsed().as_secs_f64();
    assert_eq!(vectors.len(), texts.len());
    let count = texts.len() as f64;
    let used = used
        .zip(processor_seconds())
        .map_or(f64::NAN, |(before, after)| after - before);
    (count / wall, count / used.max(0.005))
}

fn python(program: &Path, model: &Path, graph: &str, batch: &str, texts: &Path) -> Speed {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../benches/embed_throughput.py"
    );
    let done = Command::new(program)
        .arg("-B")
        .arg(script)
        .args([model, texts])
        .args([graph, batch, &THREADS.to_string()])
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let answer = String::from_utf8(done.stdout).unwrap();
    let mut numbers = answer.split_whitespace().map(|n| n.parse::<f64>().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The folder of the ONNX Runtime that Python uses, so that both measure the same library.
fn runtime_library(program: &Path) -> String {
    let code = "import onnxruntime; print(onnxruntime.__path__[0])";
    let found = Command::new(program).args(["-c", code]).output().unwrap();
    String::from_utf8(found.stdout).unwrap().trim().to_owned()
}

fn main() {
    let Some(model) = std::env::var_os("LYRA_BENCH_MODEL").map(PathBuf::from) else {
        println!("LYRA_BENCH_MODEL names no folder of scripts/minilm_onnx.py; nothing to measure");
        return;
    };
    let program = std::env::var_os("LYRA_TEST_PYTHON").map_or("python3".into(), PathBuf::from);
    let library = runtime_library(&program);
    let open = |graph: &str| {
        let options = OnnxOptions {
            file: Some(graph.to_owned()),
            runtime: Some(library.clone().into()),
            threads: THREADS,
            ..OnnxOptions::new(&model)
        };
        OnnxEmbedder::open(&options).unwrap()
    };
    let table = StaticEmbedder::new().unwrap();
    let (exact, small) = (open("model.onnx"), open("model_int8.onnx"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut speeds: BTreeMap<(&str, &str), Vec<Speed>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for (size, words, count) in [("short", 16, 240), ("long", 165, 40)] {
            let texts_of = texts(count, words);
            let file = folder.path().join("texts.json");
            std::fs::write(&file, serde_json::to_string(&texts_of).unwrap()).unwrap();
            let mut note = |who, speed| speeds.entry((size, who)).or_default().push(speed);
            note(
                "static table",
                ours(&runtime, &table, &texts(count * 40, words)),
            );
            note("onnx f32", ours(&runtime, &exact, &texts_of));
            note("onnx int8", ours(&runtime, &small, &texts_of));
            for (who, graph, batch) in [
                ("python f32", "model.onnx", "8"),
                ("python 32 f32", "model.onnx", "32"),
                ("python int8", "model_int8.onnx", "8"),
                ("python 1 int8", "model_int8.onnx", "1"),
            ] {
                note(who, python(&program, &model, graph, batch, &file));
            }
        }
    }
    println!(
        "{:<6} {:<14} {:>12} {:>16}",
        "texts", "embedder", "texts/s", "texts/cpu-s"
    );
    for ((size, who), measured) in speeds {
        let wall = median(measured.iter().map(|speed| speed.0).collect());
        let processor = median(measured.iter().map(|speed| speed.1).collect());
        println!("{size:<6} {who:<14} {wall:>12.0} {processor:>16.0}");
    }
}
