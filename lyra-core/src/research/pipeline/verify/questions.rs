//! Selects the pairs worth judging, and the part of a fragment that is given to the judge.

use super::super::stages::{Pipeline, PremiseChooser};
use super::candidate_pair::CandidatePair;
use super::memory::PastVerification;
use super::sources::{CandidateFragment, Subject, candidate};
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

/// Sentences of a fragment that form the premise.
const PREMISE_SENTENCES: usize = 2;
/// Factor for the number of candidates fetched, because some are from blocked domains.
const OVERSAMPLING: usize = 2;
/// Minimum number of candidates kept for a claim, wherever the curve of their scores has its knee.
const FEWEST: usize = 3;

/// A pair to be judged.
pub(super) struct StanceQuestion {
    pub(super) claim_id: String,
    pub(super) fragment_id: String,
    pub(super) pair: StancePair,
    /// The fragment's text.
    passage: String,
    /// The headings above the fragment.
    headings: Vec<String>,
    /// The start of the fragment in the page's text.
    passage_start: Option<i64>,
    /// The deciding part of the fragment, if it is known before the judge is asked.
    quote: Option<Range<usize>>,
}

impl StanceQuestion {
    /// Converts the question to a value that can be sent elsewhere.
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

    /// Restores the question from a pair; none for a pair of claim and hypothesis.
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

    /// The verdict, unless the deciding part is a question or a heading that the passage repeats:
    /// these name a subject without a statement on it.
    pub(super) fn held(&self, verdict: Verdict) -> Verdict {
        let span = verdict.quote.as_ref().or(self.quote.as_ref());
        let part = span.and_then(|span| slice_chars(&self.passage, span.start, span.end));
        let part = part.unwrap_or(&self.passage);
        // A title may be a full sentence that the text repeats.
        let same = |heading: &String| !part.ends_with('.') && letters(heading) == letters(part);
        match is_question(part) || self.headings.iter().any(same) {
            true => silence(),
            false => verdict,
        }
    }

    /// The deciding part of the page's text: the judge's quote, or the known part.
    pub(super) fn quote(&self, verdict: &Verdict) -> Option<(i64, i64)> {
        let span = verdict.quote.as_ref().or(self.quote.as_ref())?;
        let start = self.passage_start?;
        let at = |n: usize| i64::try_from(n).ok().map(|n| start + n);
        at(span.start).zip(at(span.end))
    }
}

impl Pipeline {
    /// The claims for which there may be new evidence since the last verification: new claims, and
    /// those with a new fragment near them.
    pub(super) fn claims_to_verify<'s>(
        &self,
        reader: &Reader<'_>,
        subjects: &'s [Subject],
        members: &HashSet<String>,
        last: Option<Arc<PastVerification>>,
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

    /// The questions on some claims, without those that were answered before.
    pub(super) fn questions(
        &self,
        reader: &Reader<'_>,
        batch: &[&Subject],
        members: &HashSet<String>,
    ) -> Result<Vec<StanceQuestion>> {
        let rules = reader.domain_rules()?;
        let mut questions = Vec::new();
        // Claims are in the order in which documents were read, so the claims of one document are adjacent.
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
                // Candidates from sources beyond the limit are skipped, but the loop continues.
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

    /// Candidates from other sources on the claim's subject, closest first, cut at the knee.
    /// `others` are the fragments of the task that do not belong to the claim's own sources.
    fn candidates(
        &self,
        reader: &Reader<'_>,
        subject: &Subject,
        others: &HashSet<String>,
        rules: &DomainRules,
    ) -> Result<Vec<CandidateFragment>> {
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

/// The verdict on a text without a statement; its confidence is too low for an edge.
pub(super) fn silence() -> Verdict {
    Verdict::new(Relation::Neutral, 0.0)
}

/// The letters and digits of a text in lower case, for comparisons that ignore punctuation.
fn letters(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The question to a judge that reads passages: the whole fragment, with the headings above it. The
/// built-in judge mistakes another size of the same effect, or the same effect in another
/// population, for a contradiction, so it is asked about the finding alone.
fn passage_question(
    subject: &Subject,
    candidate: &CandidateFragment,
    is_builtin: bool,
) -> StanceQuestion {
    let claim = match is_builtin {
        true => without_measures(&subject.text),
        false => Cow::Borrowed(subject.text.as_str()),
    };
    let headings = missing_headings(&candidate.text, &candidate.headings(), &claim);
    StanceQuestion {
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

/// The question to other judges: the sentences of the fragment that are closest to the claim.
fn sentence_question(
    choose_premise: PremiseChooser,
    subject: &Subject,
    candidate: &CandidateFragment,
) -> StanceQuestion {
    let mut spans = choose_premise(&candidate.text, &subject.text, PREMISE_SENTENCES);
    let deciding = spans.first().cloned();
    spans.sort_by_key(|span| span.start);
    let parts: Vec<&str> = spans
        .iter()
        .filter_map(|s| slice_chars(&candidate.text, s.start, s.end))
        .collect();
    let premise = match parts.is_empty() {
        // Only questions; a heading would make them look like more than that, so none is added.
        true => candidate.text.clone(),
        false => {
            let passage = parts.join(" ");
            missing_headings(&passage, &candidate.headings(), &subject.text) + &passage
        }
    };
    StanceQuestion {
        claim_id: subject.claim_id.clone(),
        fragment_id: candidate.fragment_id.clone(),
        pair: StancePair::new(premise, &subject.text),
        passage: candidate.text.clone(),
        headings: candidate.headings.clone(),
        passage_start: candidate.char_start,
        quote: deciding,
    }
}
