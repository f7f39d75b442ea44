//! What the judge is asked about the sentences of a draft, and what it answers.

use super::decide::Heard;
use super::items::Item;
use super::report::SentenceKind;
use super::request::{Check, CheckProgress};
use super::source_text::SourceText;
use super::stance::{Candidate, Claim, judged};
use crate::error::Result;
use crate::ports::{StancePair, TextRole};
use regex::Regex;
use std::sync::{Arc, LazyLock};

/// Pairs that are judged at once, between two reports of progress.
const BATCH: usize = 64;
/// Sentences that cite nothing and are read for whether they assert something. It takes some milliseconds each.
const MOST_READ: usize = 2_000;

/// "Roe et al. (2019) found that …": who says it is no part of what is said.
static SAID_BY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:According to|As per|In)\s+)?[^.;:]{2,80}?\((?:19|20)\d{2}[a-z]?\)(?:,|\s+(?:also\s+)?(?:found|finds?|showed?|shows|reported|reports?|concluded?s?|observed|saw|noted?s?|argued?s?|demonstrated?s?|estimated?s?|stated?s?|wrote|writes|suggested)(?:\s+that)?)\s+")
        .expect("the pattern is sound")
});

/// What is asked about a claim and a source.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) item: usize,
    pub(super) source: Arc<SourceText>,
    pub(super) candidates: Vec<Candidate>,
    /// Several candidates as one premise.
    pub(super) together: Option<StancePair>,
}

impl Question {
    fn pairs(&self) -> impl Iterator<Item = &StancePair> {
        let alone = self.candidates.iter().map(|one| &one.pair);
        alone.chain(&self.together)
    }
}

impl Check<'_> {
    /// What the assertions say.
    pub(super) async fn claims(&self, items: &[Item]) -> Result<Vec<Claim>> {
        let asserting = items.iter().enumerate();
        let mut claims: Vec<Claim> = asserting
            .filter(|(_, item)| item.kind == SentenceKind::Assertion)
            .map(|(at, item)| Claim {
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

    /// What cites nothing and asserts nothing needs no source.
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

    /// Has the questions judged, telling how far that is. Answers for each item what its sources say.
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

/// What a sentence says, without who says it.
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
