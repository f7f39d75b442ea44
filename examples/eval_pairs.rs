//! Measures the stance judge on labelled pairs: macro-F1, confusion, precision, calibration.
//!
//! `cargo run --release -p lyra-core --example eval_pairs -- [--judge builtin|onnx:FOLDER|…] FILE.jsonl…`
//!
//! Each line of a file is `{"premise", "claim", "label": "supports"|"refutes"|"neutral"}`. A premise of
//! more than two sentences is judged as a passage: the judge chooses the part that decides.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

use lyra_core::models::{BuiltinStanceJudge, JudgeSettings};
use lyra_core::ports::{StanceJudge, StancePair, Verdict};
use lyra_core::store::model::Relation;
use lyra_core::{Error, Result};
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

const CLASSES: [Relation; 3] = [Relation::Supports, Relation::Refutes, Relation::Neutral];

#[tokio::main]
async fn main() -> Result<()> {
    let mut judge: Arc<dyn StanceJudge> = Arc::new(BuiltinStanceJudge);
    let mut words = std::env::args().skip(1);
    let mut files = Vec::new();
    while let Some(word) = words.next() {
        if word == "--judge" {
            let name = words.next().unwrap_or_default();
            let settings = JudgeSettings {
                choice: name.parse()?,
                onnx_runtime: std::env::var_os("ORT_DYLIB_PATH").map(Into::into),
                ..JudgeSettings::default()
            };
            judge = settings.open()?.unwrap_or(judge);
        } else {
            files.push(word);
        }
    }
    if files.is_empty() {
        return Err(Error::invalid("expected a file of labelled pairs"));
    }
    for file in &files {
        evaluate(&*judge, file).await?;
    }
    Ok(())
}

async fn evaluate(judge: &dyn StanceJudge, file: &str) -> Result<()> {
    let wrong = |why: String| Error::invalid(format!("{file}: {why}"));
    let text = std::fs::read_to_string(file).map_err(|e| wrong(e.to_string()))?;
    let (mut pairs, mut labels) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).map_err(|e| wrong(e.to_string()))?;
        let field = |name: &str| value[name].as_str().unwrap_or_default();
        pairs.push(StancePair::new(field("premise"), field("claim")));
        labels.push(field("label").parse::<Relation>()?);
    }
    let started = Instant::now();
    let verdicts = judge.judge(&pairs).await?;
    let rate = pairs.len() as f64 / started.elapsed().as_secs_f64();
    print(file, &labels, &verdicts);
    println!("    {} at {rate:.0} pairs/s", judge.judge_id());
    Ok(())
}

fn print(name: &str, labels: &[Relation], verdicts: &[Verdict]) {
    let place = |r: Relation| CLASSES.iter().position(|c| *c == r).unwrap_or(2);
    let mut cells = [[0_u32; 3]; 3];
    for (label, verdict) in labels.iter().zip(verdicts) {
        cells[place(*label)][place(verdict.relation)] += 1;
    }
    let cell = |a: usize, b: usize| f64::from(cells[a][b]);
    let given = |b: usize| (0..3).map(|a| cell(a, b)).sum::<f64>();
    let gold = |a: usize| (0..3).map(|b| cell(a, b)).sum::<f64>();
    let present: Vec<usize> = (0..3).filter(|k| gold(*k) > 0.0).collect();
    let f1 = |k: usize| 2.0 * cell(k, k) / (given(k) + gold(k)).max(1.0);
    let macro_f1 = present.iter().map(|k| f1(*k)).sum::<f64>() / present.len().max(1) as f64;
    let others = gold(0) + gold(2);
    println!(
        "{name}: {} pairs, macro-F1 {macro_f1:.3}, precision of refutes {:.3}, false contradictions {:.1} %, ECE {:.3}",
        labels.len(),
        cell(1, 1) / given(1).max(1.0),
        100.0 * (cell(0, 1) + cell(2, 1)) / others.max(1.0),
        calibration_error(labels, verdicts)
    );
    println!("    supports, refutes, neutral (rows: label) {cells:?}");
}

/// The expected calibration error over ten bins of confidence.
fn calibration_error(labels: &[Relation], verdicts: &[Verdict]) -> f64 {
    let mut bins = [(0.0, 0.0, 0.0); 10];
    for (label, verdict) in labels.iter().zip(verdicts) {
        let bin = ((verdict.confidence * 10.0) as usize).min(9);
        bins[bin].0 += 1.0;
        bins[bin].1 += verdict.confidence;
        bins[bin].2 += f64::from(u8::from(*label == verdict.relation));
    }
    let gaps = bins.iter().map(|(_, told, right)| (told - right).abs());
    gaps.sum::<f64>() / labels.len().max(1) as f64
}
