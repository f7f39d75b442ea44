//! The text of a source, split into sentences that can be compared with a claim.

use super::numbers::{Quantity, quantities};
use super::report::Evidence;
use crate::error::Result;
use crate::store::graph::{CitableSource, Reader, StoredFragment};
use crate::store::model::FragmentType;
use crate::store::text::sentence::sentence_texts;
use crate::store::text::{is_question, ranking_terms};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::OnceLock;

pattern!(SHORT_NAME, r"\b([A-Za-z]{2,8})-?(\d{1,3})\b");

/// Maximum number of sentences of a source that are compared; the rest is ignored.
const MOST_SENTENCES: usize = 20_000;

/// A sentence of a source.
#[derive(Debug)]
pub(super) struct SourceSentence {
    /// The index of its fragment.
    pub(super) fragment: usize,
    /// Code points of the fragment.
    pub(super) span: Range<usize>,
    pub(super) text: String,
    pub(super) terms: HashSet<String>,
    quantities: OnceLock<Vec<Quantity>>,
}

impl SourceSentence {
    /// The numbers in it. They are computed on demand: it costs as much as all other work on a
    /// sentence, and few are needed.
    pub(super) fn quantities(&self) -> &[Quantity] {
        self.quantities.get_or_init(|| quantities(&self.text))
    }
}

/// A source with its text.
#[derive(Debug)]
pub(super) struct SourceText {
    pub(super) source: CitableSource,
    /// The newest text, for quotations that cross fragment boundaries.
    pub(super) text: String,
    pub(super) fragments: Vec<StoredFragment>,
    pub(super) sentences: Vec<SourceSentence>,
    /// The number of sentences that contain a term.
    holders: HashMap<String, usize>,
    /// The words of the title.
    title: HashSet<String>,
    /// The words of each fragment's heading.
    headings: Vec<HashSet<String>>,
    /// Numbers with the words before them.
    names: OnceLock<HashSet<String>>,
}

/// The weight of a word that occurs in the title, the heading or the sentence before.
const AROUND: f64 = 0.8;

impl SourceText {
    pub(super) fn read(reader: &Reader<'_>, source: &CitableSource) -> Result<Self> {
        let text = match source.version {
            Some(version) => reader.page_text(&source.page_id, version)?,
            None => None,
        };
        let fragments = reader.page_fragments(&source.page_id)?;
        Ok(Self::of(source, text.unwrap_or_default(), fragments))
    }

    /// Some fragments of a source.
    pub(super) fn of(source: &CitableSource, text: String, fragments: Vec<StoredFragment>) -> Self {
        let mut sentences = Vec::new();
        let mut holders: HashMap<String, usize> = HashMap::new();
        for (at, fragment) in fragments.iter().enumerate() {
            if matches!(
                fragment.fragment_type,
                FragmentType::Heading | FragmentType::Code
            ) {
                continue;
            }
            for (span, text) in sentence_texts(&fragment.text) {
                if is_question(text) || sentences.len() == MOST_SENTENCES {
                    continue;
                }
                let terms: HashSet<String> = ranking_terms(text).into_iter().collect();
                for term in &terms {
                    *holders.entry(term.clone()).or_default() += 1;
                }
                sentences.push(SourceSentence {
                    fragment: at,
                    span,
                    quantities: OnceLock::new(),
                    text: text.to_owned(),
                    terms,
                });
            }
        }
        let terms = |text: Option<&str>| -> HashSet<String> {
            text.map(ranking_terms).into_iter().flatten().collect()
        };
        let headings = fragments.iter().map(|f| terms(f.heading.as_deref()));
        Self {
            title: terms(source.title.as_deref()),
            headings: headings.collect(),
            names: OnceLock::new(),
            source: source.clone(),
            text,
            fragments,
            sentences,
            holders,
        }
    }

    /// The number of sentences that contain a term.
    pub(super) fn holding(&self, term: &str) -> usize {
        self.holders.get(term).copied().unwrap_or(0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sentences.is_empty()
    }

    /// The share of the claim's words that each sentence contains. Rare words count more, and words
    /// that occur only around the sentence count less.
    pub(super) fn closeness(&self, claim: &str) -> Vec<f64> {
        let wanted: HashSet<String> = ranking_terms(claim).into_iter().collect();
        let all = self.sentences.len() as f64;
        let mut weights: Vec<(String, f64)> = wanted
            .into_iter()
            .map(|term| {
                let held = self.holding(&term) as f64;
                let weight = ((1.0 + all) / (1.0 + held)).ln() + 1.0;
                (term, weight)
            })
            .collect();
        // The order is fixed because the order of a floating-point sum changes its last digits.
        weights.sort_by(|a, b| a.0.cmp(&b.0));
        let total: f64 = weights
            .iter()
            .map(|(_, weight)| weight)
            .sum::<f64>()
            .max(1e-9);
        let share = |at: usize| {
            let sentence = &self.sentences[at];
            let before = self.before(at);
            let around = |term: &String| {
                self.title.contains(term)
                    || self.headings[sentence.fragment].contains(term)
                    || before.is_some_and(|before| before.terms.contains(term))
            };
            let held = weights
                .iter()
                .map(|(term, weight)| match sentence.terms.contains(term) {
                    true => *weight,
                    false if around(term) => AROUND * weight,
                    false => 0.0,
                });
            held.sum::<f64>() / total
        };
        (0..self.sentences.len()).map(share).collect()
    }

    /// The words of a sentence and their position.
    pub(super) fn evidence(&self, at: usize) -> Evidence {
        let sentence = &self.sentences[at];
        self.evidence_of(
            sentence.fragment,
            sentence.span.clone(),
            sentence.text.clone(),
        )
    }

    /// The words of a part of a fragment and their position.
    pub(super) fn evidence_of(
        &self,
        fragment: usize,
        span: Range<usize>,
        quote: String,
    ) -> Evidence {
        let fragment = &self.fragments[fragment];
        let start = fragment
            .char_start
            .and_then(|start| usize::try_from(start).ok());
        Evidence {
            page_id: fragment.page_id.clone(),
            fragment_id: fragment.id.clone(),
            title: self.source.title.clone(),
            url: self.source.url.clone(),
            quote,
            char_start: start.map(|start| start + span.start),
            char_end: start.map(|start| start + span.end),
        }
    }

    /// The numbers of a sentence, of the one before it, and of the title.
    pub(super) fn numbers_around(&self, at: usize) -> Vec<Quantity> {
        let mut numbers = self.sentences[at].quantities().to_vec();
        numbers.extend(
            self.before(at)
                .into_iter()
                .flat_map(|before| before.quantities().to_vec()),
        );
        numbers.extend(
            self.source
                .title
                .as_deref()
                .map(quantities)
                .into_iter()
                .flatten(),
        );
        numbers
    }

    /// Whether a number is part of a name that the source uses or abbreviates: `angiopoietin 2` and `Ang2`.
    pub(super) fn holds_name(&self, quantity: &Quantity) -> bool {
        let Some(name) = quantity.as_name() else {
            return false;
        };
        let shortens = |word: &str, number: &str| {
            let short = SHORT_NAME.captures_iter(&self.text);
            let mut short = short.filter(|found| found[2] == *number);
            short.any(|found| word.starts_with(&found[1].to_lowercase()))
        };
        let names = || {
            let numbers = self.sentences.iter().flat_map(SourceSentence::quantities);
            numbers.filter_map(Quantity::as_name).collect()
        };
        self.names.get_or_init(names).contains(&name)
            || name
                .rsplit_once(' ')
                .is_some_and(|(word, number)| shortens(word, number))
    }

    /// Whether a sentence is under a heading that one of the links points to, with anchors as code
    /// hosts generate them from headings.
    pub(super) fn is_in_section(&self, at: usize, sections: &[String]) -> bool {
        let heading = self.fragments[self.sentences[at].fragment]
            .heading
            .as_deref();
        let slug = heading.map(slug).filter(|slug| !slug.is_empty());
        slug.is_some_and(|slug| sections.contains(&slug))
    }

    /// Whether a number is the source's year of publication.
    pub(super) fn is_year_of(&self, quantity: &Quantity) -> bool {
        quantity.is_year()
            && self
                .source
                .year
                .is_some_and(|year| year as f64 == quantity.value)
    }

    /// The sentence before, if it is in the same fragment.
    pub(super) fn before(&self, at: usize) -> Option<&SourceSentence> {
        let before = self.sentences.get(at.checked_sub(1)?)?;
        (before.fragment == self.sentences[at].fragment).then_some(before)
    }
}

/// `Manual filtering: globs` → `manual-filtering-globs`.
fn slug(heading: &str) -> String {
    let letters = heading.trim().chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
        _ => None,
    });
    letters.flat_map(char::to_lowercase).collect()
}
