//! Whole topics: what share of the evidence shown for and against a hypothesis do careful readers agree with?

use super::research::{Told, engine, research};
use super::{read, share};
use lyra_core::{Error, Result};
use serde::Deserialize;
use std::collections::HashMap;

/// Sources considered per side.
const SHOWN: usize = 10;

#[derive(Deserialize)]
struct Topic {
    topic: String,
    hypothesis: String,
    verdict: String,
    half: String,
    sources: Vec<Source>,
}

#[derive(Deserialize)]
struct Source {
    doc_id: u64,
    stance: String,
}

#[derive(Default)]
struct Counts {
    shown: [usize; 2],
    right: [usize; 2],
    opposite: [usize; 2],
    unlabelled: [usize; 2],
    labelled: usize,
    read: usize,
    placed: usize,
    empty: usize,
    wrong: usize,
    topics: usize,
}

const SIDES: [&str; 2] = ["supports", "refutes"];

pub(super) async fn run(data: &str, file: &str, half: Option<&str>) -> Result<()> {
    let topics = read(file)?
        .lines()
        .map(serde_json::from_str::<Topic>)
        .collect::<serde_json::Result<Vec<_>>>()
        .map_err(|e| Error::invalid(format!("{file}: {e}")))?;
    let folder = tempfile::tempdir().map_err(|e| Error::internal(e.to_string()))?;
    let engine = engine(data, folder.path()).await?;
    let mut counts = Counts::default();
    for topic in topics
        .iter()
        .filter(|t| half.is_none_or(|half| t.half == half))
    {
        let outcome = research(&engine, &topic.hypothesis).await?;
        let labels: HashMap<String, &str> = topic
            .sources
            .iter()
            .map(|s| (s.doc_id.to_string(), s.stance.as_str()))
            .collect();
        let mut sides: Vec<&Told> = outcome.sides().into_values().collect();
        sides.sort_by(|a, b| {
            b.confidence
                .total_cmp(&a.confidence)
                .then(a.doc_id.cmp(&b.doc_id))
        });
        println!(
            "\n{}: {} ({}); told {}",
            topic.topic,
            topic.hypothesis,
            topic.verdict,
            outcome.verdict()
        );
        counts.add(topic, &outcome.read, &sides, &labels, outcome.verdict());
    }
    counts.print();
    Ok(())
}

impl Counts {
    fn add(
        &mut self,
        topic: &Topic,
        read: &[String],
        sides: &[&Told],
        labels: &HashMap<String, &str>,
        verdict: &str,
    ) {
        self.topics += 1;
        self.empty += usize::from(sides.is_empty());
        let is_wrong = matches!(
            (topic.verdict.as_str(), verdict),
            ("supported", "refutes") | ("refuted", "supports")
        );
        self.wrong += usize::from(is_wrong);
        for (doc, label) in labels.iter().filter(|(_, label)| SIDES.contains(label)) {
            self.labelled += 1;
            self.read += usize::from(read.contains(doc));
            self.placed += usize::from(
                sides
                    .iter()
                    .any(|s| &s.doc_id == doc && s.relation == **label),
            );
        }
        for (k, side) in SIDES.iter().enumerate() {
            for told in sides
                .iter()
                .filter(|told| told.relation == *side)
                .take(SHOWN)
            {
                self.shown[k] += 1;
                let label = labels.get(&told.doc_id).copied();
                self.right[k] += usize::from(label == Some(side));
                self.opposite[k] += usize::from(label == Some(SIDES[1 - k]));
                self.unlabelled[k] += usize::from(label.is_none());
                println!(
                    "  {side} {:.2} [{}] {}",
                    told.confidence,
                    label.unwrap_or("no label"),
                    told.claim
                );
            }
        }
    }

    fn print(&self) {
        println!();
        for (k, side) in SIDES.iter().enumerate() {
            println!(
                "shown as {side}: right {}, the opposite {}, without a label {}",
                share(self.right[k], self.shown[k]),
                share(self.opposite[k], self.shown[k]),
                share(self.unlabelled[k], self.shown[k])
            );
        }
        println!(
            "labelled sources read {}, placed rightly {}; topics without a side {}, with the wrong majority {}",
            share(self.read, self.labelled),
            share(self.placed, self.labelled),
            share(self.empty, self.topics),
            share(self.wrong, self.topics)
        );
    }
}
