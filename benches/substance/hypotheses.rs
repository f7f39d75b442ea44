//! Uses SciFact's training claims as hypotheses over all abstracts: is the cited abstract read, and
//! are its side and the verdict on the hypothesis right?
//!
//! Uses only the claims that the judge was not trained on: `scripts/judge/data.py` excludes those
//! whose number has a checksum below 8 of 100.

use super::research::{engine, research};
use super::{half_of, read, share};
use lyra_core::{Error, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;

/// Percentage of the claims that were excluded from training.
const KEPT_APART: u32 = 8;

pub(super) struct Claim {
    id: String,
    pub(super) text: String,
    /// The label of each abstract with evidence.
    pub(super) gold: BTreeMap<String, &'static str>,
}

impl Claim {
    fn of(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line).ok()?;
        let gold = value["evidence"]
            .as_object()?
            .iter()
            .filter_map(|(doc, sets)| {
                let label = match sets[0]["label"].as_str()? {
                    "SUPPORT" => "supports",
                    _ => "refutes",
                };
                Some((doc.clone(), label))
            });
        Some(Self {
            id: value["id"].to_string(),
            text: value["claim"].as_str()?.to_owned(),
            gold: gold.collect(),
        })
    }

    pub(super) fn verdict(&self) -> &'static str {
        self.gold.values().next().copied().unwrap_or("neutral")
    }
}

/// The claims that were never used in training, of one half or of both.
pub(super) fn kept_apart(data: &str, half: Option<&str>) -> Result<Vec<Claim>> {
    let text = read(&format!("{data}/claims_train.jsonl"))?;
    let is_kept_apart =
        |c: &Claim| crc32fast::hash(format!("sf{}", c.id).as_bytes()) % 100 < KEPT_APART;
    let claims = text.lines().filter_map(Claim::of).filter(is_kept_apart);
    Ok(claims
        .filter(|c| half.is_none_or(|half| half_of(&c.id) == half))
        .collect())
}

pub(super) async fn run(data: &str, half: Option<&str>) -> Result<()> {
    let folder = tempfile::tempdir().map_err(|e| Error::internal(e.to_string()))?;
    let engine = engine(data, folder.path()).await?;
    let started = Instant::now();
    let mut matrix: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let [mut cited, mut found, mut claimed, mut sided, mut right] = [0; 5];
    for claim in kept_apart(data, half)? {
        let outcome = research(&engine, &claim.text).await?;
        *matrix
            .entry((claim.verdict(), outcome.verdict()))
            .or_default() += 1;
        let sides = outcome.sides();
        for (doc, label) in &claim.gold {
            cited += 1;
            found += usize::from(outcome.read.contains(doc));
            claimed += usize::from(outcome.told.iter().any(|told| &told.doc_id == doc));
            if let Some(side) = sides.get(doc.as_str()) {
                sided += 1;
                right += usize::from(side.relation == *label);
            }
        }
    }
    let asked: usize = matrix.values().sum();
    println!(
        "{asked} hypotheses in {:.0} s",
        started.elapsed().as_secs_f64()
    );
    println!(
        "cited abstract read {}, a claim taken {}, a side {}, the right one {}",
        share(found, cited),
        share(claimed, cited),
        share(sided, cited),
        share(right, sided)
    );
    verdicts(&matrix);
    Ok(())
}

const CLASSES: [&str; 3] = ["supports", "refutes", "neutral"];

/// Prints the confusion matrix of verdicts; returns their macro-F1.
pub(super) fn verdicts(matrix: &BTreeMap<(&str, &str), usize>) -> f64 {
    let cell = |gold: &str, told: &str| {
        matrix
            .iter()
            .filter(|((g, t), _)| *g == gold && *t == told)
            .map(|(_, n)| n)
            .sum::<usize>()
    };
    let mut f1 = 0.0;
    for class in CLASSES {
        let gold: usize = CLASSES.iter().map(|other| cell(class, other)).sum();
        let told: usize = CLASSES.iter().map(|other| cell(other, class)).sum();
        f1 += 2.0 * cell(class, class) as f64 / (gold + told).max(1) as f64 / 3.0;
        let row: Vec<usize> = CLASSES.iter().map(|other| cell(class, other)).collect();
        println!("    labelled {class:8} told {row:?}");
    }
    let right = cell("supports", "supports") + cell("refutes", "refutes");
    let wrong = cell("supports", "refutes") + cell("refutes", "supports");
    println!(
        "verdict on the hypothesis: macro-F1 {f1:.3}; side right in {} of those decided where there is evidence",
        share(right, right + wrong)
    );
    f1
}
