//! Which pairs are worth a verdict, and what of a fragment the judge is shown.

use super::super::stages::{Pipeline, PremiseChooser};
use super::candidate_pair::CandidatePair;
use super::memory::Look;
use super::sources::{Candidate, Subject, candidate};
use crate::error::Result;
use crate::ports::{StancePair, Verdict};
use crate::store::graph::{DomainRules, Reader};
use crate::store::model::{EmbeddingTarget, Relation};
use crate::store::ranking::kneedle_cutoff;
use crate::store::text::segment::slice_chars;
use crate::store::text::{is_question, missing_headings, without_measures};
use crate::store::vectors::{Ranking, SearchMode};
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Sentences of a fragment that make the premise.
const PREMISE_SENTENCES: usize = 2;
/// So many times more candidates are fetched, because some are of blocked domains.
const OVERSAMPLING: usize = 2;
/// Candidates that a claim keeps, however early the curve of their scores has its knee.
const FEWEST: usize = 3;

/// A pair to be judged.
pub(super) struct Question {
    pub(super) claim_id: String,
    pub(super) fragment_id: String,
    pub(super) pair: StancePair,
    /// The fragment's text.
    passage: String,
    /// What the fragment stands under.
    headings: Vec<String>,
    /// Where the fragment begins in the page's text.
    passage_start: Option<i64>,
    /// The deciding part of the fragment, where it is known before the judge is asked.
    quote: Option<Range<usize>>,
}

impl Question {
    /// The question as a value that can be sent elsewhere.
    pub(super) fn into_pair(self) -> CandidatePair {
        let StancePair {
            premise,
            hypothesis,
            context,
        } = self.pair;
        CandidatePair {
            claim_id: self.claim_id,
            fragment_id: Some(self.fragment_id),
            passage: Some(self.passage).filter(|passage| *passage != premise),
            premise,
            statement: hypothesis,
            context,
            headings: self.headings,
            passage_start: self.passage_start,
            quote: self.quote.map(|span| (span.start, span.end)),
            ..CandidatePair::default()
        }
    }

    /// The question that was sent as this pair; none for a pair of claim and hypothesis.
    pub(super) fn of_pair(pair: &CandidatePair) -> Option<Self> {
        let passage = pair.passage.as_ref().unwrap_or(&pair.premise);
        Some(Self {
            claim_id: pair.claim_id.clone(),
            fragment_id: pair.fragment_id.clone()?,
            pair: pair.question(),
            passage: passage.clone(),
            headings: pair.headings.clone(),
            passage_start: pair.passage_start,
            quote: pair.quote.map(|(start, end)| start..end),
        })
    }

    /// The verdict, unless what decided is a question or a heading that the passage repeats: they
    /// name a subject and say nothing of it.
    pub(super) fn held(&self, verdict: Verdict) -> Verdict {
        let span = verdict.quote.as_ref().or(self.quote.as_ref());
        let part = span.and_then(|span| slice_chars(&self.passage, span.start, span.end));
        let part = part.unwrap_or(&self.passage);
        // A title may be a sentence that the text repeats as one.
        let same = |heading: &String| !part.ends_with('.') && letters(heading) == letters(part);
        match is_question(part) || self.headings.iter().any(same) {
            true => silence(),
            false => verdict,
        }
    }

    /// The part of the page's text that decided: what the judge named, or what it was given.
    pub(super) fn quote(&self, verdict: &Verdict) -> Option<(i64, i64)> {
        let span = verdict.quote.as_ref().or(self.quote.as_ref())?;
        let start = self.passage_start?;
        let at = |n: usize| i64::try_from(n).ok().map(|n| start + n);
        at(span.start).zip(at(span.end))
    }
}

impl Pipeline {
    /// The claims that something may have been said about since the last look: those that are new,
    /// and those that a new fragment comes near.
    pub(super) fn claims_to_verify<'s>(
        &self,
        reader: &Reader<'_>,
        subjects: &'s [Subject],
        members: &HashSet<String>,
        last: Option<Arc<Look>>,
    ) -> Result<Vec<&'s Subject>> {
        let Some(last) = last else {
            return Ok(subjects.iter().collect());
        };
        let model = self.reading.embedder.info();
        let fresh: HashSet<String> = members.difference(&last.fragments).cloned().collect();
        let mut worth = Vec::new();
        for subject in subjects {
            let is_known = last.claims.contains(&subject.claim_id);
            if is_known && fresh.is_empty() {
                continue;
            }
            if is_known {
                let claim = [subject.claim_id.as_str()];
                let vectors = reader.vectors_of(EmbeddingTarget::Claim, &claim, &model.model_id)?;
                let Some(Some(vector)) = vectors.into_iter().next() else {
                    continue;
                };
                if !self.vectors.is_any_near(reader, model, &vector, &fresh)? {
                    continue;
                }
            }
            worth.push(subject);
        }
        Ok(worth)
    }

    /// What is to be asked about some claims, less what was answered before.
    pub(super) fn questions(
        &self,
        reader: &Reader<'_>,
        batch: &[&Subject],
        members: &HashSet<String>,
    ) -> Result<Vec<Question>> {
        let rules = reader.domain_rules()?;
        let mut questions = Vec::new();
        // Claims stand in the order in which documents were read, so those of one are neighbours.
        let mut last: Option<(&Subject, HashSet<String>)> = None;
        for &subject in batch {
            let others = match last.take() {
                Some((before, others)) if before.has_sources_of(subject) => others,
                _ => subject.others(reader, members)?,
            };
            let (_, others) = last.insert((subject, others));
            let judge = (!self.judge.is_builtin()).then(|| self.judge.judge_id());
            let judged = reader.judged_fragments(&subject.claim_id, judge)?;
            let candidates = self.candidates(reader, subject, others, &rules)?;
            let mut sources: HashSet<String> = HashSet::new();
            let mut pairs = 0;
            for candidate in candidates {
                if pairs == self.limits.verify_pairs {
                    break;
                }
                // A source beyond the cap is passed over; the walk goes on.
                let source = candidate.source();
                if sources.len() == self.limits.verify_domains && !sources.contains(&source) {
                    continue;
                }
                sources.insert(source);
                pairs += 1;
                if !judged.contains(&candidate.fragment_id) {
                    questions.push(match self.judge.reads_passages() {
                        true => passage_question(subject, &candidate, self.judge.is_builtin()),
                        false => sentence_question(self.choose_premise, subject, &candidate),
                    });
                }
            }
        }
        Ok(questions)
    }

    /// What other sources say on the claim's subject, the closest first, cut at the knee. `others`
    /// are the fragments of the task that are not of the claim's own sources.
    fn candidates(
        &self,
        reader: &Reader<'_>,
        subject: &Subject,
        others: &HashSet<String>,
        rules: &DomainRules,
    ) -> Result<Vec<Candidate>> {
        let model = self.reading.embedder.info();
        let claim = [subject.claim_id.as_str()];
        let vectors = reader.vectors_of(EmbeddingTarget::Claim, &claim, &model.model_id)?;
        let Some(Some(vector)) = vectors.into_iter().next() else {
            return Ok(Vec::new());
        };
        let ranking = Ranking {
            query: &subject.text,
            vector: &vector,
            members: Some(others),
            mode: SearchMode::Hybrid,
            limit: self.limits.verify_candidates * OVERSAMPLING,
        };
        let related = self.vectors.related_fragments(reader, model, &ranking)?;
        let (mut candidates, mut scores) = (Vec::new(), Vec::new());
        for scored in related {
            if candidates.len() == self.limits.verify_candidates {
                break;
            }
            let candidate = candidate(reader, &scored.id)?;
            if !candidate.is_blocked(rules) && !subject.is_from(&candidate) {
                candidates.push(candidate);
                scores.push(scored.score);
            }
        }
        let most = self.limits.verify_candidates;
        candidates.truncate(kneedle_cutoff(&scores, FEWEST.min(most), most, 1.0));
        Ok(candidates)
    }
}

/// What is said of a text that says nothing: too little for an edge.
pub(super) fn silence() -> Verdict {
    Verdict::new(Relation::Neutral, 0.0)
}

/// A text as far as two that differ in their signs are the same.
fn letters(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// What a judge that reads passages is asked: the whole fragment, and the headings above it. The
/// built-in one takes another size of the same effect, and the same effect in other people, for a
/// contradiction: it is asked of the finding alone.
fn passage_question(subject: &Subject, candidate: &Candidate, is_builtin: bool) -> Question {
    let claim = match is_builtin {
        true => without_measures(&subject.text),
        false => Cow::Borrowed(subject.text.as_str()),
    };
    let headings = missing_headings(&candidate.text, &candidate.headings(), &claim);
    Question {
        claim_id: subject.claim_id.clone(),
        fragment_id: candidate.fragment_id.clone(),
        pair: StancePair {
            context: (!headings.is_empty()).then_some(headings),
            ..StancePair::new(&candidate.text, claim)
        },
        passage: candidate.text.clone(),
        headings: candidate.headings.clone(),
        passage_start: candidate.char_start,
        quote: None,
    }
}

/// What other judges are asked: the sentences of the fragment that are closest to the claim.
fn sentence_question(
    choose_premise: PremiseChooser,
    subject: &Subject,
    candidate: &Candidate,
) -> Question {
    let mut spans = choose_premise(&candidate.text, &subject.text, PREMISE_SENTENCES);
    let deciding = spans.first().cloned();
    spans.sort_by_key(|span| span.start);
    let parts: Vec<&str> = spans
        .iter()
        .filter_map(|s| slice_chars(&candidate.text, s.start, s.end))
        .collect();
    let premise = match parts.is_empty() {
        // Nothing but questions, with no heading that would make them look like more.
        true => candidate.text.clone(),
        false => {
            let passage = parts.join(" ");
            missing_headings(&passage, &candidate.headings(), &subject.text) + &passage
        }
    };
    Question {
        claim_id: subject.claim_id.clone(),
        fragment_id: candidate.fragment_id.clone(),
        pair: StancePair::new(premise, &subject.text),
        passage: candidate.text.clone(),
        headings: candidate.headings.clone(),
        passage_start: candidate.char_start,
        quote: deciding,
    }
}
