//! The questions to the judge about the sentences of a draft, and its answers.

use super::decide::{Heard, is_settled};
use super::items::Item;
use super::report::SentenceKind;
use super::request::{Check, CheckProgress};
use super::source_text::SourceText;
use super::stance::{CandidateSentence, StatedClaim, judged};
use crate::error::Result;
use crate::ports::{StancePair, TextRole};
use crate::store::graph::RememberedVerdict;
use regex::Regex;
use std::sync::{Arc, LazyLock};

/// Pairs judged in one batch, between two progress reports.
const BATCH: usize = 64;
/// A pair that is not judged counts as silent on the claim.
const UNASKED: RememberedVerdict = RememberedVerdict {
    probabilities: [0.0, 0.0, 1.0],
    relevance: None,
};
/// Maximum number of uncited sentences that are tested for being an assertion. Each takes some milliseconds.
const MOST_READ: usize = 2_000;

/// "Roe et al. (2019) found that …": the speaker is not part of the statement.
static SAID_BY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:According to|As per|In)\s+)?[^.;:]{2,80}?\((?:19|20)\d{2}[a-z]?\)(?:,|\s+(?:also\s+)?(?:found|finds?|showed?|shows|reported|reports?|concluded?s?|observed|saw|noted?s?|argued?s?|demonstrated?s?|estimated?s?|stated?s?|wrote|writes|suggested)(?:\s+that)?)\s+")
        .expect("the pattern is sound")
});

/// The question about a claim and a source.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) item: usize,
    pub(super) source: Arc<SourceText>,
    pub(super) candidates: Vec<CandidateSentence>,
    /// The number of candidates that are judged in any case; the others only if these leave a doubt.
    pub(super) asked_first: usize,
    /// Several candidates as one premise.
    pub(super) together: Option<StancePair>,
}

impl Question {
    fn pairs(&self) -> impl Iterator<Item = &StancePair> {
        let alone = self.candidates.iter().map(|one| &one.pair);
        alone.chain(&self.together)
    }

    /// Moves the candidates that are not asked first into a separate question.
    fn split_off(&mut self) -> Self {
        let first = self.asked_first.min(self.candidates.len());
        Self {
            item: self.item,
            source: Arc::clone(&self.source),
            candidates: self.candidates.split_off(first),
            asked_first: 0,
            together: None,
        }
    }
}

impl Check<'_> {
    /// The statements of the assertions.
    pub(super) async fn claims(&self, items: &[Item]) -> Result<Vec<StatedClaim>> {
        let asserting = items.iter().enumerate();
        let mut claims: Vec<StatedClaim> = asserting
            .filter(|(_, item)| item.kind == SentenceKind::Assertion)
            .map(|(at, item)| StatedClaim {
                item: at,
                text: without_speaker(&item.sentence.text),
                vector: Vec::new(),
                sections: item.sections(),
            })
            .collect();
        if claims.is_empty() {
            return Ok(claims);
        }
        let texts: Vec<&str> = claims.iter().map(|claim| claim.text.as_str()).collect();
        let embedder = &self.pipeline.reading.embedder;
        let vectors = embedder.embed(&texts, TextRole::Query).await?;
        for (claim, vector) in claims.iter_mut().zip(vectors) {
            claim.vector = vector;
        }
        Ok(claims)
    }

    /// Reclassifies uncited sentences that assert nothing, since they need no source.
    pub(super) async fn set_aside_what_asserts_nothing(&self, items: &mut [Item]) -> Result<()> {
        let uncited = items.iter().enumerate();
        let uncited = uncited
            .filter(|(_, item)| item.is_uncited())
            .take(MOST_READ);
        let (places, texts): (Vec<usize>, Vec<String>) = uncited
            .map(|(at, item)| (at, item.sentence.text.clone()))
            .unzip();
        let found = super::memory::asserts_nothing(self.pipeline, &texts).await?;
        for (at, is_nothing) in places.into_iter().zip(found) {
            if is_nothing {
                items[at].kind = SentenceKind::Transition;
            }
        }
        Ok(())
    }

    /// Judges the candidates that are asked first, usually only the nearest sentence of each cited
    /// source, and the others if the result is not clear.
    pub(super) async fn hear_nearest_first(
        &mut self,
        mut questions: Vec<Question>,
        items: usize,
    ) -> Result<Vec<Vec<Heard>>> {
        let others: Vec<Question> = questions.iter_mut().map(Question::split_off).collect();
        let mut heard = self.hear(questions, items).await?;
        let (settled, open): (Vec<Question>, Vec<Question>) = others
            .into_iter()
            .partition(|one| is_settled(&heard[one.item]));
        let more = self.hear(open, items).await?;
        for (heard, more) in heard.iter_mut().zip(more) {
            // An item is settled with all of its sources or with none.
            for (one, more) in heard.iter_mut().zip(more) {
                one.judged.extend(more.judged);
            }
        }
        for one in settled {
            let of_source = heard[one.item]
                .iter_mut()
                .find(|heard| Arc::ptr_eq(&heard.source, &one.source));
            if let Some(heard) = of_source {
                let silent = one.candidates.iter().map(|of| judged(of, UNASKED));
                heard.judged.extend(silent);
            }
        }
        Ok(heard)
    }

    /// Judges the questions and reports progress. Returns the answers of the sources for each item.
    pub(super) async fn hear(
        &mut self,
        questions: Vec<Question>,
        items: usize,
    ) -> Result<Vec<Vec<Heard>>> {
        let pairs: Vec<_> = questions
            .iter()
            .flat_map(Question::pairs)
            .cloned()
            .collect();
        self.pairs += pairs.len();
        let mut said = Vec::with_capacity(pairs.len());
        self.tell();
        for batch in pairs.chunks(BATCH) {
            said.extend(super::memory::said(self.pipeline, batch).await?);
            self.judged += batch.len();
            self.tell();
        }
        let mut said = said.into_iter();
        let mut heard: Vec<Vec<Heard>> = (0..items).map(|_| Vec::new()).collect();
        for one in questions {
            let both = one.candidates.iter().zip(said.by_ref());
            heard[one.item].push(Heard {
                judged: both.map(|(of, said)| judged(of, said)).collect(),
                together: one
                    .together
                    .and_then(|_| said.next())
                    .map(|said| said.probabilities),
                source: one.source,
            });
        }
        Ok(heard)
    }

    fn tell(&self) {
        (self.progress)(CheckProgress {
            judged: self.judged,
            pairs: self.pairs,
        });
    }
}

/// The statement of a sentence, without its speaker.
pub(super) fn without_speaker(text: &str) -> String {
    let Some(found) = SAID_BY.find(text) else {
        return text.to_owned();
    };
    let rest = &text[found.end()..];
    if rest.split_whitespace().count() < 4 {
        return text.to_owned();
    }
    let mut letters = rest.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}
