//! The data that verification reads: claims with their origins, and fragments with their sources.

use crate::error::Result;
use crate::ports::StancePair;
use crate::store::graph::{DomainRules, Reader, UnjudgedClaim};
use crate::store::text::{missing_headings, names_subject};
use std::collections::HashSet;

/// A claim with the data that distinguishes its own sources from others.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) claim_id: String,
    pub(super) text: String,
    /// Pages in which it was found; for a page that repeats another, the other page.
    pages: HashSet<String>,
    /// The works of these pages.
    works: HashSet<String>,
}

/// A fragment that may be relevant to a claim.
pub(super) struct CandidateFragment {
    pub(super) fragment_id: String,
    pub(super) text: String,
    pub(super) char_start: Option<i64>,
    /// The title of the document and the heading above the fragment, if known.
    pub(super) headings: Vec<String>,
    /// The page, or the page that it repeats.
    page_id: String,
    work_id: Option<String>,
    domain: String,
    url: String,
    final_url: Option<String>,
}

impl Subject {
    /// Whether the candidate is from a page or a work in which the claim was found; such evidence
    /// is not independent.
    pub(super) fn is_from(&self, candidate: &CandidateFragment) -> bool {
        let work = candidate.work_id.as_ref();
        self.pages.contains(&candidate.page_id) || work.is_some_and(|w| self.works.contains(w))
    }

    pub(super) fn has_sources_of(&self, other: &Self) -> bool {
        self.pages == other.pages && self.works == other.works
    }

    /// `members` without the fragments of the claim's own sources. Fragments of a long document
    /// would otherwise take every place among the claim's nearest.
    pub(super) fn others(
        &self,
        reader: &Reader<'_>,
        members: &HashSet<String>,
    ) -> Result<HashSet<String>> {
        let own = reader.fragments_of(&self.pages, &self.works)?;
        Ok(members.difference(&own).cloned().collect())
    }
}

impl CandidateFragment {
    pub(super) fn headings(&self) -> Vec<&str> {
        self.headings.iter().map(String::as_str).collect()
    }

    /// The source that the candidate counts for. Local files without a publisher, and documents
    /// known only by their DOI, each count as a separate source: a disk or a resolver is not a
    /// publisher.
    pub(super) fn source(&self) -> String {
        if matches!(self.domain.as_str(), "local" | "doi.org") {
            self.page_id.clone()
        } else {
            self.domain.clone()
        }
    }

    pub(super) fn is_blocked(&self, rules: &DomainRules) -> bool {
        rules
            .blocking_page(&self.url, self.final_url.as_deref(), Some(&self.domain))
            .is_some()
    }
}

/// The adopted claims of a task, oldest first.
pub(super) fn subjects(reader: &Reader<'_>, task_id: &str) -> Result<Vec<Subject>> {
    let mut subjects: Vec<Subject> = Vec::new();
    for origin in reader.claim_origins(task_id)? {
        if subjects
            .last()
            .is_none_or(|s| s.claim_id != origin.claim_id)
        {
            subjects.push(Subject {
                claim_id: origin.claim_id,
                text: origin.text,
                pages: HashSet::new(),
                works: HashSet::new(),
            });
        }
        if let Some(subject) = subjects.last_mut() {
            subject.pages.extend(origin.page_id);
            subject.works.extend(origin.canonical_id);
        }
    }
    Ok(subjects)
}

impl UnjudgedClaim {
    /// The text above and before the claim.
    fn surroundings(&self) -> Vec<&str> {
        let parts = [&self.preceded_by, &self.title, &self.heading];
        parts.into_iter().filter_map(Option::as_deref).collect()
    }

    pub(super) fn names_subject(&self, hypothesis: &str) -> bool {
        let passage = self.passage.as_deref().unwrap_or_default();
        let told = format!("{} {} {passage}", self.surroundings().join(" "), self.text);
        names_subject(hypothesis, &told)
    }

    pub(super) fn pair(&self, hypothesis: &str) -> StancePair {
        let context = missing_headings(&self.text, &self.surroundings(), hypothesis);
        StancePair {
            context: (!context.is_empty()).then_some(context),
            ..StancePair::new(&self.text, hypothesis)
        }
    }
}

pub(super) fn candidate(reader: &Reader<'_>, fragment_id: &str) -> Result<CandidateFragment> {
    let source = reader.passage_source(fragment_id)?;
    let mut headings: Vec<String> = source.title.into_iter().chain(source.heading).collect();
    headings.dedup();
    Ok(CandidateFragment {
        fragment_id: source.fragment_id,
        text: source.text,
        char_start: source.char_start,
        headings,
        page_id: source.page_id,
        work_id: source.canonical_id,
        domain: source.domain,
        url: source.url,
        final_url: source.final_url,
    })
}
