//! Labelled sentences of documents: which of them become claims, and is the side of these claims right?

use super::{read, share};
use lyra_core::models::{BuiltinClaimExtractor, BuiltinStanceJudge};
use lyra_core::ports::{ClaimExtractor, ExtractionRequest, Passage, StanceJudge, StancePair};
use lyra_core::store::text::{missing_headings, points_back};
use lyra_core::{Error, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Instant;

#[derive(Deserialize)]
struct Sentence {
    doc: String,
    field: String,
    half: String,
    hypothesis: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    heading: String,
    sentence: String,
    label: String,
    side: String,
}

#[derive(Default)]
pub(super) struct Counts {
    /// Sentences by label, and below, those that became claims.
    labelled: BTreeMap<String, usize>,
    taken: BTreeMap<String, usize>,
    /// Verdicts on claims, by side, and below, the right ones.
    decided: BTreeMap<String, usize>,
    right: BTreeMap<String, usize>,
    /// Labelled sentences on the question that take a side.
    sided: usize,
}

pub(super) async fn run(file: &str, half: Option<&str>) -> Result<()> {
    let started = Instant::now();
    let (all, fields) = measure(&read(file)?, half).await?;
    for (field, counts) in &fields {
        counts.print(field);
    }
    all.print("all");
    println!("{:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// The counts for all documents, and for each field.
pub(super) async fn measure(
    lines: &str,
    half: Option<&str>,
) -> Result<(Counts, BTreeMap<String, Counts>)> {
    let sentences = lines
        .lines()
        .map(serde_json::from_str::<Sentence>)
        .collect::<serde_json::Result<Vec<_>>>()
        .map_err(|e| Error::invalid(format!("labelled sentences: {e}")))?;
    let (mut all, mut fields) = (Counts::default(), BTreeMap::<String, Counts>::new());
    let stretches = sentences.chunk_by(|a, b| (&a.doc, &a.hypothesis) == (&b.doc, &b.hypothesis));
    for stretch in stretches.filter(|s| half.is_none_or(|half| s[0].half == half)) {
        let field = fields.entry(stretch[0].field.clone()).or_default();
        read_stretch(stretch, &mut [&mut all, field]).await?;
    }
    Ok((all, fields))
}

/// Processes one document: its sentences are joined in the form that its parser would return.
async fn read_stretch(stretch: &[Sentence], counts: &mut [&mut Counts; 2]) -> Result<()> {
    let (mut passages, mut places) = (Vec::<Passage>::new(), Vec::new());
    for sentence in stretch {
        let heading = Some(sentence.heading.clone()).filter(|h| !h.is_empty());
        if passages.last().is_none_or(|last| last.heading != heading) {
            passages.push(Passage {
                text: String::new(),
                heading,
            });
        }
        let index = passages.len() - 1;
        let text = &mut passages[index].text;
        if !text.is_empty() {
            text.push('\n');
        }
        let start = text.chars().count();
        text.push_str(&sentence.sentence);
        places.push((index, start..text.chars().count()));
    }
    let request = ExtractionRequest {
        hypothesis: stretch[0].hypothesis.clone(),
        query: stretch[0].hypothesis.clone(),
        title: Some(stretch[0].title.clone()).filter(|t| !t.is_empty()),
        passages,
        max_claims: usize::MAX,
    };
    let claims = BuiltinClaimExtractor.extract(&request).await?;
    let mut taken: Vec<Option<String>> = vec![None; stretch.len()];
    for claim in &claims {
        let meets = |(index, span): &(usize, Range<usize>)| {
            *index == claim.passage && span.start < claim.quote.end && claim.quote.start < span.end
        };
        for (place, _) in places.iter().enumerate().filter(|(_, place)| meets(place)) {
            taken[place] = Some(claim.text.clone());
        }
    }
    for (place, (sentence, claim)) in stretch.iter().zip(taken).enumerate() {
        let side = match claim {
            Some(text) => {
                let before = place.checked_sub(1).filter(|_| points_back(&text));
                let before = before.map_or("", |at| &stretch[at].sentence);
                let headings = [before, &sentence.title, &sentence.heading];
                let context = missing_headings(&text, &headings, &sentence.hypothesis);
                let pair = StancePair {
                    context: (!context.is_empty()).then_some(context),
                    ..StancePair::new(text, &sentence.hypothesis)
                };
                let verdict = BuiltinStanceJudge.judge(&[pair]).await?;
                Some(verdict[0].relation.as_str())
            }
            None => None,
        };
        counts
            .iter_mut()
            .for_each(|counts| counts.add(sentence, side));
    }
    Ok(())
}

impl Counts {
    fn add(&mut self, sentence: &Sentence, found: Option<&str>) {
        let has_side = sentence.side != "neutral";
        *self.labelled.entry(sentence.label.clone()).or_default() += 1;
        self.sided += usize::from(has_side);
        let Some(side) = found else { return };
        *self.taken.entry(sentence.label.clone()).or_default() += 1;
        *self.decided.entry(side.to_owned()).or_default() += 1;
        if side == sentence.side {
            *self.right.entry(side.to_owned()).or_default() += 1;
        }
    }

    /// The number of sentences on the question that became claims, of all that became claims, and
    /// of all on the question.
    pub(super) fn on_question(&self) -> [usize; 3] {
        let taken = self.taken.values().sum();
        [of(&self.taken, "on"), taken, of(&self.labelled, "on")]
    }

    /// The number of claims on the right side, and of those on any side.
    pub(super) fn sides(&self) -> [usize; 2] {
        [&self.right, &self.decided].map(|map| of(map, "supports") + of(map, "refutes"))
    }

    fn print(&self, name: &str) {
        let [on, taken, labelled] = self.on_question();
        let [right, decided] = self.sides();
        println!(
            "{name}: claims on the question {}, of those labelled so {}; without an assertion {}",
            share(on, taken),
            share(on, labelled),
            share(of(&self.taken, "none"), taken),
        );
        println!(
            "    sides right {}: supports {}, refutes {}; sides found {}",
            share(right, decided),
            share(of(&self.right, "supports"), of(&self.decided, "supports")),
            share(of(&self.right, "refutes"), of(&self.decided, "refutes")),
            share(right, self.sided),
        );
    }
}

fn of(map: &BTreeMap<String, usize>, key: &str) -> usize {
    map.get(key).copied().unwrap_or(0)
}
