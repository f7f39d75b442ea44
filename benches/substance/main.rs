//! Measures the quality of the evidence on labelled documents: are the claims relevant to the
//! question, is their side right, is the verdict on a hypothesis right?
//!
//! ```sh
//! cargo run --release -p lyra-core --example substance -- sentences benches/substance/sentences.jsonl
//! cargo run --release -p lyra-core --example substance -- hypotheses PATH/TO/scifact
//! cargo run --release -p lyra-core --example substance -- oracle PATH/TO/scifact
//! cargo run --release -p lyra-core --example substance -- topics PATH/TO/scifact benches/substance/topics.jsonl
//! ```
//!
//! PATH contains `corpus.jsonl` and `claims_train.jsonl` as published by the authors of SciFact.
//! README.md beside this file describes the labels. `--half a` and `--half b` select a half of the
//! data; settings were chosen on the first.

#![allow(clippy::print_stdout, reason = "a benchmark shows what it found")]

mod hypotheses;
mod oracle;
mod research;
mod sentences;
mod topics;

use lyra_core::{Error, Result};

#[tokio::main]
async fn main() -> Result<()> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let half = match words.iter().position(|word| word == "--half") {
        Some(at) if at + 1 < words.len() => {
            let half = words.remove(at + 1);
            words.remove(at);
            Some(half)
        }
        _ => None,
    };
    let half = half.as_deref();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["sentences", file] => sentences::run(file, half).await,
        ["hypotheses", data] => hypotheses::run(data, half).await,
        ["oracle", data] => oracle::run(data, half).await,
        ["topics", data, file] => topics::run(data, file, half).await,
        _ => Err(Error::invalid(
            "give sentences FILE, hypotheses FOLDER, oracle FOLDER, or topics FOLDER FILE",
        )),
    }
}

fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(path).map_err(|e| Error::invalid(format!("{path}: {e}")))
}

/// A part of a whole, formatted for readers.
fn share(part: usize, whole: usize) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    format!("{part}/{whole} ({percent:.0} %)")
}

/// The half to which a name is assigned, the same in each run.
fn half_of(name: &str) -> &'static str {
    match name
        .bytes()
        .fold(0_u32, |sum, byte| sum.wrapping_mul(31) ^ u32::from(byte))
        % 2
    {
        0 => "a",
        _ => "b",
    }
}
