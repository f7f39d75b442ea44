//! Compares the sentences of a draft with other sources of the graph.

use super::compare::shorten;
use super::decide::{Heard, JudgedSentence, sentences};
use super::items::Item;
use super::parts::in_parts;
use super::questions::Question;
use super::report::{CheckCode, Finding};
use super::request::Check;
use super::resolve::Sources;
use super::source_text::SourceText;
use super::stance::{StatedClaim, candidates};
use crate::error::Result;
use crate::research::pipeline::Pipeline;
use crate::store::graph::{Reader, StoredFragment};
use crate::store::model::Relation;
use crate::store::text::url::source_name;
use crate::store::text::{is_cjk, ranking_terms};
use crate::store::vectors::{Ranking, SearchMode};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Fragments considered for a sentence.
const FRAGMENTS: usize = 24;
/// Other sources compared with a sentence.
const SOURCES: usize = 3;
/// Minimum confidence with which another source contests a sentence. It must also name most of what
/// the sentence names: a false alarm costs a reader more than a missed one.
const CONTESTS_FROM: f64 = 0.6;
/// Number of a claim's words that are searched for in all texts. A fragment that names most of a claim holds
/// some of its rarest words, and a search for its common words reads nearly every fragment.
const RAREST_WORDS: usize = 8;
/// The minimum share of the sentence's words.
const SPEAKS_OF_THE_SAME: f64 = 0.6;
/// Minimum confidence to suggest a source for a sentence without a citation.
const SAYS_IT_FROM: f64 = 0.5;

/// A claim for which uncited sources are searched.
#[derive(Clone)]
struct Search {
    claim: StatedClaim,
    /// Its rarest words.
    words: String,
    /// The works that it cites.
    cited: HashSet<String>,
}

impl Check<'_> {
    /// Finds uncited sources that say the opposite of a sentence.
    pub(super) async fn ask_others(
        &mut self,
        items: &mut [Item],
        claims: &[StatedClaim],
    ) -> Result<()> {
        let is_refuted = |item: &Item| {
            let mut codes = item.findings.iter().map(|finding| finding.code);
            codes.any(|code| code == CheckCode::ContradictedBySource)
        };
        let asking = claims
            .iter()
            .filter(|claim| !is_refuted(&items[claim.item]));
        let searches = asking.map(|claim| {
            let cited = items[claim.item].sources().into_iter();
            Search {
                claim: claim.clone(),
                words: rarest_words(&claim.text, &self.texts),
                cited: cited.map(|at| self.sources.work(at).to_owned()).collect(),
            }
        });
        let (pipeline, sources) = (self.pipeline.clone(), Arc::clone(&self.sources));
        let questions = in_parts(searches.collect(), move |part| {
            pipeline.graph.read(|reader| {
                let each = part
                    .iter()
                    .map(|one| one.questions(&pipeline, reader, &sources));
                Ok(each
                    .collect::<Result<Vec<_>>>()?
                    .into_iter()
                    .flatten()
                    .collect())
            })
        });
        let questions = questions.await?;
        let heard = self.hear(questions, items.len()).await?;
        let judge = self.pipeline.judge.judge_id().to_owned();
        for (item, heard) in items.iter_mut().zip(&heard) {
            let found = contested(item, heard, &judge);
            item.findings.extend(found);
            suggest(item, heard);
        }
        Ok(())
    }
}

impl Search {
    fn questions(
        &self,
        pipeline: &Pipeline,
        reader: &Reader<'_>,
        sources: &Sources,
    ) -> Result<Vec<Question>> {
        let mut questions = Vec::new();
        for source in related(pipeline, reader, sources, (&self.words, &self.claim.vector))? {
            let at = sources.place(&source.source.page_id);
            if at.is_some_and(|at| self.cited.contains(sources.work(at))) {
                continue;
            }
            let mut candidates = candidates(pipeline, reader, &source, &self.claim)?;
            candidates.retain(|one| one.closeness >= SPEAKS_OF_THE_SAME);
            if candidates.is_empty() {
                continue;
            }
            questions.push(Question {
                item: self.claim.item,
                source: Arc::new(source),
                asked_first: candidates.len(),
                candidates,
                together: None,
            });
            if questions.len() == SOURCES {
                break;
            }
        }
        Ok(questions)
    }
}

/// The words of a claim that are rarest in the cited texts, in their order; longer ones first among equals.
fn rarest_words(claim: &str, texts: &HashMap<usize, Arc<SourceText>>) -> String {
    if claim.chars().any(is_cjk) {
        return claim.to_owned();
    }
    let mut words = Vec::new();
    for (place, word) in claim.split(|c: char| !c.is_alphanumeric()).enumerate() {
        let terms = ranking_terms(word);
        let held = |term: &String| -> usize { texts.values().map(|text| text.holding(term)).sum() };
        if let Some(held) = terms.iter().map(held).max() {
            words.push((held, Reverse(word.len()), place, word));
        }
    }
    words.sort_unstable();
    words.truncate(RAREST_WORDS);
    words.sort_unstable_by_key(|(_, _, place, _)| *place);
    let words: Vec<&str> = words.into_iter().map(|(_, _, _, word)| word).collect();
    words.join(" ")
}

/// The sources with the fragments closest to a statement, one per work, best first. A text is split
/// into sentences on demand.
pub(super) fn related<'s>(
    pipeline: &Pipeline,
    reader: &Reader<'_>,
    sources: &'s Sources,
    (words, vector): (&str, &[f32]),
) -> Result<impl Iterator<Item = SourceText> + use<'s>> {
    let ranking = Ranking {
        query: words,
        vector,
        members: sources.members.as_ref(),
        mode: SearchMode::Hybrid,
        limit: FRAGMENTS,
    };
    let model = pipeline.reading.embedder.info();
    let near = pipeline
        .vectors
        .related_fragments(reader, model, &ranking)?;
    let mut works: Vec<(String, usize, Vec<StoredFragment>)> = Vec::new();
    for scored in near {
        let fragment = reader.fragment(&scored.id)?;
        let Some(at) = sources.place(&fragment.page_id) else {
            continue;
        };
        let work = sources.work(at);
        match works.iter_mut().find(|(known, _, _)| known == work) {
            Some((_, first, fragments)) if *first == at => fragments.push(fragment),
            // A copy repeats the same source.
            Some(_) => {}
            None => works.push((work.to_owned(), at, vec![fragment])),
        }
    }
    let texts = works
        .into_iter()
        .map(|(_, at, fragments)| SourceText::of(&sources.all[at], String::new(), fragments));
    Ok(texts.filter(|text| !text.is_empty()))
}

/// The sentence with this relation and the greatest confidence.
fn surest(heard: &[Heard], relation: Relation, least: f64) -> Option<JudgedSentence<'_>> {
    sentences(heard)
        .filter(|(_, judged)| judged.side.relation == relation && judged.side.sure >= least)
        .max_by(|(_, a), (_, b)| a.side.sure.total_cmp(&b.side.sure))
}

fn contested(item: &Item, heard: &[Heard], judge: &str) -> Option<Finding> {
    let (source, judged) = surest(heard, Relation::Refutes, CONTESTS_FROM)?;
    let evidence = source.evidence(judged.sentence);
    let who = source_name(source.source.title.as_deref(), &source.source.url);
    let message = format!("{who:?} says: {}", shorten(&evidence.quote));
    let mut finding = item.finding(CheckCode::Contested, message);
    finding.evidence = Some(evidence);
    judge.clone_into(&mut finding.judge);
    finding.confidence = Some((judged.side.sure * 1000.0).round() / 1000.0);
    Some(finding)
}

/// Suggests a source for a sentence without a citation.
fn suggest(item: &mut Item, heard: &[Heard]) {
    let Some(uncited) = item
        .findings
        .iter_mut()
        .find(|f| f.code == CheckCode::Uncited)
    else {
        return;
    };
    if let Some((source, judged)) = surest(heard, Relation::Supports, SAYS_IT_FROM) {
        let evidence = source.evidence(judged.sentence);
        let who = source_name(source.source.title.as_deref(), &source.source.url);
        uncited.message = format!(
            "no source is cited for this; {who:?} says: {}",
            shorten(&evidence.quote)
        );
        uncited.evidence = Some(evidence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_searched_by_words_that_are_rare_in_the_cited_texts() {
        let claim =
            "In adults the effect of an unusually cheap treatment was larger after twelve months";
        let longest = rarest_words(claim, &HashMap::new());
        assert_eq!(longest.split(' ').count(), RAREST_WORDS);
        assert!(longest.contains("unusually"), "{longest}");
        let fragment = StoredFragment {
            id: "frag_a".to_owned(),
            page_id: "p_a".to_owned(),
            fragment_type: crate::store::model::FragmentType::Paragraph,
            text: "Unusually warm days. Unusually cold nights.".to_owned(),
            heading: None,
            char_start: Some(0),
        };
        let source = crate::store::graph::CitableSource::default();
        let text = SourceText::of(&source, fragment.text.clone(), vec![fragment]);
        let rarest = rarest_words(claim, &HashMap::from([(0, Arc::new(text))]));
        assert!(!rarest.contains("unusually"), "{rarest}");
        let japanese = "薬は血糖値を下げる";
        assert_eq!(rarest_words(japanese, &HashMap::new()), japanese);
    }
}
