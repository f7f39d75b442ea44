//! What a source says on a claim, as the stance judge reads it.

use super::source_text::SourceText;
use crate::error::Result;
use crate::ports::StancePair;
use crate::research::pipeline::{Pipeline, Side};
use crate::store::graph::{Reader, RememberedVerdict};
use crate::store::text::points_back;
use crate::store::vectors::{Ranking, SearchMode};
use std::collections::{BTreeSet, HashSet};

/// What an assertion says.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    /// Place of the sentence among the items.
    pub(super) item: usize,
    /// The sentence without who says it.
    pub(super) text: String,
    pub(super) vector: Vec<f32>,
    /// The sections that its links lead to: `methods` of `paper.md#methods`.
    pub(super) sections: Vec<String>,
}

/// Sentences of a source that are judged because of their words.
const BY_WORDS: usize = 4;
/// Fragments of a source that are looked at because of their meaning.
const BY_MEANING: usize = 3;
/// A judge that is not ours is asked less, since each question costs more.
const OF_OTHERS: usize = 3;

/// A sentence of a source that may speak to a claim.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Place among the source's sentences.
    pub(super) sentence: usize,
    /// The share of the claim's words that it holds.
    pub(super) closeness: f64,
    pub(super) pair: StancePair,
}

/// A candidate that was judged.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) sentence: usize,
    pub(super) closeness: f64,
    /// Of supports, refutes, neutral.
    pub(super) probabilities: [f64; 3],
    /// The side that the judge leans to.
    pub(super) side: Side,
}

/// The sentences of a source that come nearest to a claim, by words and by meaning.
pub(super) fn candidates(
    pipeline: &Pipeline,
    reader: &Reader<'_>,
    source: &SourceText,
    claim: &Claim,
) -> Result<Vec<Candidate>> {
    let closeness = source.closeness(&claim.text);
    let mut order: Vec<usize> = (0..closeness.len()).collect();
    order.sort_by(|a, b| closeness[*b].total_cmp(&closeness[*a]).then(a.cmp(b)));
    let mut chosen: BTreeSet<usize> = order.iter().take(BY_WORDS).copied().collect();
    let members: HashSet<String> = source.fragments.iter().map(|f| f.id.clone()).collect();
    let ranking = Ranking {
        query: &claim.text,
        vector: &claim.vector,
        members: Some(&members),
        mode: SearchMode::Semantic,
        limit: BY_MEANING,
    };
    let model = pipeline.reading.embedder.info();
    // A source whose fragments have no vectors yet is looked at by its words alone.
    let near = pipeline.vectors.rank_fragments(reader, model, &ranking);
    for scored in near.unwrap_or_default() {
        let fragment = source.fragments.iter().position(|f| f.id == scored.id);
        let best = order
            .iter()
            .find(|at| Some(source.sentences[**at].fragment) == fragment);
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
    let asked = chosen.into_iter().map(|sentence| Candidate {
        sentence,
        closeness: closeness[sentence],
        pair: pair(source, sentence, &claim.text, pipeline.judge.is_builtin()),
    });
    Ok(asked.collect())
}

/// What the judge is asked of a sentence. One that points back comes with the one before it.
fn pair(source: &SourceText, at: usize, claim: &str, is_builtin: bool) -> StancePair {
    let sentence = &source.sentences[at];
    // The built-in judge reads a sentence best alone, under its headings.
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

/// The two nearest sentences as one premise, the nearest last. What a claim says is often spread over two
/// sentences, of which each leaves it open. A judge that is not ours reads more than one sentence anyway.
pub(super) fn together(pipeline: &Pipeline, candidates: &[Candidate]) -> Option<StancePair> {
    let [nearest, second, ..] = candidates else {
        return None;
    };
    pipeline.judge.is_builtin().then(|| StancePair {
        premise: format!("{} {}", second.pair.premise, nearest.pair.premise),
        context: None,
        ..nearest.pair.clone()
    })
}

/// What the judge says of a candidate.
pub(super) fn judged(candidate: &Candidate, said: RememberedVerdict) -> Judged {
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
