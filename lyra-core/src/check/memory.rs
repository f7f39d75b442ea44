//! Remembers the judge's answers on sentences and passages, so that each is asked only once.

use super::parts::in_parts;
use crate::error::Result;
use crate::models::{self, EXTRACTOR_ID};
use crate::ports::{StancePair, Verdict};
use crate::research::pipeline::{Asked, Pipeline};
use crate::store::graph::{EvidenceGraph, RememberedVerdict};
use crate::store::model::Relation;
use sha2::{Digest, Sha256};

/// Part of each key. Change it when the weighing of verdicts changes.
const WEIGHED: &str = "1";

/// The judge's answer for each pair. Earlier answers are reused, and new ones stored in the graph
/// unless it is read-only.
pub(super) async fn said(
    pipeline: &Pipeline,
    pairs: &[StancePair],
) -> Result<Vec<RememberedVerdict>> {
    let judge = pipeline.judge.judge_id();
    let mut memory = Memory::of(
        &pipeline.graph,
        pairs.iter().map(|pair| {
            let context = pair.context.as_deref().unwrap_or_default();
            key([judge, &pair.premise, context, &pair.hypothesis])
        }),
    )?;
    let asked: Vec<StancePair> = memory.open().map(|at| pairs[at].clone()).collect();
    if !asked.is_empty() {
        let verdicts = pipeline.judged(&asked, |_| Asked::Sentence).await?;
        memory.keep(verdicts.iter().map(of).collect())?;
    }
    Ok(memory.said())
}

/// Whether each sentence asserts nothing; the answers are remembered in the same way.
pub(super) async fn asserts_nothing(
    pipeline: &Pipeline,
    sentences: &[String],
) -> Result<Vec<bool>> {
    let mut memory = Memory::of(
        &pipeline.graph,
        sentences
            .iter()
            .map(|sentence| key([EXTRACTOR_ID, sentence, "", ""])),
    )?;
    let asked: Vec<String> = memory.open().map(|at| sentences[at].clone()).collect();
    if !asked.is_empty() {
        let found = in_parts(asked, |part| {
            let read = |sentence: &String| models::asserts_nothing(sentence);
            part.iter().map(read).collect()
        });
        let found = found
            .await?
            .into_iter()
            .map(|is_nothing| RememberedVerdict {
                probabilities: [0.0, 0.0, f64::from(u8::from(is_nothing))],
                relevance: None,
            });
        memory.keep(found.collect())?;
    }
    let said = memory.said().into_iter();
    Ok(said.map(|said| said.probabilities[2] > 0.5).collect())
}

/// The remembered answers to some questions.
struct Memory<'a> {
    graph: &'a EvidenceGraph,
    keys: Vec<[u8; 32]>,
    said: Vec<Option<RememberedVerdict>>,
}

impl<'a> Memory<'a> {
    fn of(graph: &'a EvidenceGraph, keys: impl Iterator<Item = [u8; 32]>) -> Result<Self> {
        let keys: Vec<_> = keys.collect();
        let said = graph.read(|reader| {
            let known = keys.iter().map(|key| reader.remembered_verdict(key));
            known.collect::<Result<_>>()
        })?;
        Ok(Self { graph, keys, said })
    }

    /// The questions without an answer.
    fn open(&self) -> impl Iterator<Item = usize> {
        (0..self.said.len()).filter(|at| self.said[*at].is_none())
    }

    /// Accepts the answers to the open questions, and stores them unless the graph is read-only.
    fn keep(&mut self, answers: Vec<RememberedVerdict>) -> Result<()> {
        let open: Vec<usize> = self.open().collect();
        if !self.graph.is_read_only() {
            let new = open.iter().map(|at| &self.keys[*at][..]);
            let new = new.zip(answers.iter().copied());
            self.graph.write(|writer| writer.remember_verdicts(new))?;
        }
        for (at, answer) in open.into_iter().zip(answers) {
            self.said[at] = Some(answer);
        }
        Ok(())
    }

    fn said(self) -> Vec<RememberedVerdict> {
        let said = self.said.into_iter();
        said.map(Option::unwrap_or_default).collect()
    }
}

fn key(parts: [&str; 4]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [WEIGHED].into_iter().chain(parts) {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}

/// If a judge gives no probabilities, the rest is split equally between the two other relations.
fn of(verdict: &Verdict) -> RememberedVerdict {
    let sure = verdict.confidence;
    let rest = (1.0 - sure) / 2.0;
    let probabilities = verdict.probabilities.unwrap_or(match verdict.relation {
        Relation::Supports => [sure, rest, rest],
        Relation::Refutes => [rest, sure, rest],
        _ => [rest, rest, sure],
    });
    RememberedVerdict {
        probabilities,
        relevance: verdict.relevance,
    }
}
