//! The relation of a source to a claim, according to the stance judge.

use super::source_text::SourceText;
use crate::error::Result;
use crate::ports::StancePair;
use crate::research::pipeline::{Pipeline, Side};
use crate::store::graph::{Reader, RememberedVerdict};
use crate::store::text::points_back;
use crate::store::vectors::{Ranking, SearchMode};
use std::collections::{BTreeSet, HashSet};

/// The statement of an assertion.
#[derive(Debug, Clone)]
pub(super) struct StatedClaim {
    /// The index of the sentence among the items.
    pub(super) item: usize,
    /// The sentence without its speaker.
    pub(super) text: String,
    pub(super) vector: Vec<f32>,
    /// The sections that its links point to: `methods` of `paper.md#methods`.
    pub(super) sections: Vec<String>,
}

/// Sentences of a source that are judged because of their words.
const BY_WORDS: usize = 4;
/// Fragments of a source that are considered because of their meaning.
const BY_MEANING: usize = 3;
/// The limit for judges other than the built-in one, since each of their questions costs more.
const OF_OTHERS: usize = 3;

/// A sentence of a source that may be relevant to a claim.
#[derive(Debug, Clone)]
pub(super) struct CandidateSentence {
    /// The index among the source's sentences.
    pub(super) sentence: usize,
    /// The share of the claim's words that it contains.
    pub(super) closeness: f64,
    pub(super) pair: StancePair,
}

/// A candidate that was judged.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) sentence: usize,
    pub(super) closeness: f64,
    /// The probabilities of supports, refutes, neutral.
    pub(super) probabilities: [f64; 3],
    /// The side that the judge favours.
    pub(super) side: Side,
}

/// The sentences of a source closest to a claim, by words and by meaning.
pub(super) fn candidates(
    pipeline: &Pipeline,
    reader: &Reader<'_>,
    source: &SourceText,
    claim: &StatedClaim,
) -> Result<Vec<CandidateSentence>> {
    let closeness = source.closeness(&claim.text);
    let mut order: Vec<usize> = (0..closeness.len()).collect();
    order.sort_by(|a, b| closeness[*b].total_cmp(&closeness[*a]).then(a.cmp(b)));
    let mut chosen: BTreeSet<usize> = order.iter().take(BY_WORDS).copied().collect();
    for fragment in nearest(pipeline, reader, source, claim) {
        let best = order
            .iter()
            .find(|at| source.sentences[**at].fragment == fragment);
        chosen.extend(best);
    }
    if !claim.sections.is_empty() {
        let inside = |at: &&usize| source.is_in_section(**at, &claim.sections);
        chosen.extend(order.iter().filter(inside).take(BY_WORDS));
    }
    let mut chosen: Vec<usize> = chosen.into_iter().collect();
    chosen.sort_by(|a, b| closeness[*b].total_cmp(&closeness[*a]).then(a.cmp(b)));
    if !pipeline.judge.is_builtin() {
        chosen.truncate(OF_OTHERS);
    }
    let asked = chosen.into_iter().map(|sentence| CandidateSentence {
        sentence,
        closeness: closeness[sentence],
        pair: pair(source, sentence, &claim.text, pipeline.judge.is_builtin()),
    });
    Ok(asked.collect())
}

/// The fragments of a source closest in meaning to a claim. A source whose fragments have no
/// vectors yet is compared by its words only.
fn nearest(
    pipeline: &Pipeline,
    reader: &Reader<'_>,
    source: &SourceText,
    claim: &StatedClaim,
) -> Vec<usize> {
    if source.fragments.len() <= BY_MEANING {
        return (0..source.fragments.len()).collect();
    }
    let members: HashSet<String> = source.fragments.iter().map(|f| f.id.clone()).collect();
    let ranking = Ranking {
        query: &claim.text,
        vector: &claim.vector,
        members: Some(&members),
        mode: SearchMode::Semantic,
        limit: BY_MEANING,
    };
    let model = pipeline.reading.embedder.info();
    let near = pipeline.vectors.rank_fragments(reader, model, &ranking);
    let place = |id: &String| source.fragments.iter().position(|f| f.id == *id);
    let near = near.unwrap_or_default();
    near.iter().filter_map(|scored| place(&scored.id)).collect()
}

/// The judge's question about a sentence. A sentence that refers back is sent with the one before it.
fn pair(source: &SourceText, at: usize, claim: &str, is_builtin: bool) -> StancePair {
    let sentence = &source.sentences[at];
    // The built-in judge works best on a single sentence with its headings.
    let before = source
        .before(at)
        .filter(|_| !is_builtin && points_back(&sentence.text));
    let premise = match before {
        Some(before) => format!("{} {}", before.text, sentence.text),
        None => sentence.text.clone(),
    };
    let fragment = &source.fragments[sentence.fragment];
    let headings = [source.source.title.as_deref(), fragment.heading.as_deref()];
    let headings: Vec<&str> = headings.into_iter().flatten().collect();
    let context = headings.join(" ");
    StancePair {
        context: (!context.is_empty()).then_some(context),
        ..StancePair::new(premise, claim)
    }
}

/// The two nearest sentences as one premise, the nearest last. A claim's statement is often spread
/// over two sentences, neither of which decides it alone. Other judges read more than one sentence
/// anyway.
pub(super) fn together(
    pipeline: &Pipeline,
    candidates: &[CandidateSentence],
) -> Option<StancePair> {
    let [nearest, second, ..] = candidates else {
        return None;
    };
    pipeline.judge.is_builtin().then(|| StancePair {
        premise: format!("{} {}", second.pair.premise, nearest.pair.premise),
        context: None,
        ..nearest.pair.clone()
    })
}

/// The judge's answer for a candidate.
pub(super) fn judged(candidate: &CandidateSentence, said: RememberedVerdict) -> Judged {
    let pair = &candidate.pair;
    let told = format!(
        "{} {}",
        pair.context.as_deref().unwrap_or_default(),
        pair.premise
    );
    Judged {
        sentence: candidate.sentence,
        closeness: candidate.closeness,
        probabilities: said.probabilities,
        side: Side::of(said.probabilities, said.relevance, &pair.hypothesis, &told),
    }
}
