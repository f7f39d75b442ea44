//! The sentences of a draft with their citations, and the faults of the citations themselves.

mod by_author;
mod head;
mod listed;

use self::by_author::by_author;
use super::bibliography::bibliography;
use super::citations::{self, CitationTarget, Sentence};
use super::draft::Draft;
use super::kinds::kind;
use super::references;
use super::references::{MOST_REFERENCES, not_more};
use super::report::{CheckCode, CheckedCitation, CheckedSentence, Finding, SentenceKind};
use super::request::CheckRequest;
use super::resolve::{EntryFault, Resolved, Sources};
use crate::error::Result;
use crate::store::text::identifiers::find_identifiers;
use crate::store::text::points_back;
use head::EntryHead;
pub(super) use listed::Listed;
use listed::page_ids;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The judge recorded for exact comparisons.
pub(super) const RULE: &str = "rule";

/// Maximum number of sentences, and of citations, checked in one draft.
const MOST_SENTENCES: usize = 20_000;

/// The message for a citation or an entry whose source is not known.
const NOT_READ: &str =
    "leads to no source that was read: it may be missing from the graph, or not exist";
/// The message for cited keys without a bibliography that defines them.
const NO_BIBLIOGRAPHY: &str =
    "; no bibliography was given that says what the key means: name one with --bibliography FILE";

/// A sentence and its state during the check.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) sentence: Sentence,
    pub(super) kind: SentenceKind,
    /// What each citation was resolved to.
    pub(super) resolved: Vec<Resolved>,
    /// Whether it continues the sentence before and shares its citations.
    inherits: bool,
    pub(super) findings: Vec<Finding>,
}

impl Item {
    /// The places of the sources that it cites.
    pub(super) fn sources(&self) -> Vec<usize> {
        let all = self.resolved.iter().flat_map(|one| &one.sources);
        let mut sources: Vec<usize> = all.copied().collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    pub(super) fn is_cited(&self) -> bool {
        !self.sentence.citations.is_empty()
    }

    /// Whether it is an assertion without a citation.
    pub(super) fn is_uncited(&self) -> bool {
        self.kind == SentenceKind::Assertion && !self.is_cited()
    }

    /// Whether all of its citations are pointers, not statements of where the sentence is from.
    pub(super) fn only_points(&self) -> bool {
        self.is_cited() && self.sentence.citations.iter().all(|c| c.is_pointer)
    }

    /// The sections that its links point to.
    pub(super) fn sections(&self) -> Vec<String> {
        let targets = self.sentence.citations.iter().flat_map(|c| &c.targets);
        let sections = targets.filter_map(|target| match target {
            CitationTarget::Address(address) => Some(address.split_once('#')?.1.to_lowercase()),
            _ => None,
        });
        sections.filter(|section| !section.is_empty()).collect()
    }

    /// A finding on the whole sentence.
    pub(super) fn finding(&self, code: CheckCode, message: impl Into<String>) -> Finding {
        finding(code, message, &self.sentence.span)
    }

    pub(super) fn checked(mut self, draft: &[char], sources: &Sources) -> CheckedSentence {
        self.findings.sort_by_key(|finding| finding.code);
        let citations = self.sentence.citations.iter().zip(&self.resolved);
        CheckedSentence {
            start: self.sentence.span.start,
            end: self.sentence.span.end,
            text: self.sentence.text.clone(),
            kind: self.kind,
            verdict: self.findings.first().map(|finding| finding.code),
            citations: citations
                .map(|(citation, resolved)| CheckedCitation {
                    text: cut(draft, &citation.span).trim().to_owned(),
                    start: citation.span.start,
                    end: citation.span.end,
                    page_ids: page_ids(resolved, sources),
                })
                .collect(),
            findings: self.findings,
        }
    }
}

fn cut(draft: &[char], span: &Range<usize>) -> String {
    draft.get(span.clone()).unwrap_or_default().iter().collect()
}

/// A finding that is not from a judge.
pub(super) fn finding(code: CheckCode, message: impl Into<String>, span: &Range<usize>) -> Finding {
    Finding {
        code,
        message: message.into(),
        start: span.start,
        end: span.end,
        evidence: None,
        diff: None,
        judge: RULE.to_owned(),
        confidence: None,
    }
}

/// The sentences of a draft and the entries of its list of references.
pub(super) fn read(
    draft: &Draft,
    request: &CheckRequest,
    sources: &Sources,
) -> Result<(Vec<Item>, Vec<Listed>)> {
    let parts = references::split(&draft.pieces);
    let mut entries = parts.entries;
    for text in &request.bibliographies {
        entries.extend(bibliography(text)?);
    }
    let mut listed: Vec<Listed> = entries
        .into_iter()
        .map(|entry| {
            let (resolved, faults) = sources.entry(&entry);
            Listed {
                head: EntryHead::of(&entry.text),
                entry,
                resolved,
                faults,
                cited: 0,
                findings: Vec::new(),
            }
        })
        .collect();
    not_more(listed.len(), MOST_REFERENCES, "references")?;
    let by_label = labels(&listed);
    let numbers = by_label.keys().filter(|label| is_number(label));
    let numbers: HashSet<String> = numbers.cloned().collect();
    let mut items: Vec<Item> = Vec::new();
    let mut citations = 0;
    for piece in parts.prose {
        let mut before: Option<usize> = None;
        for sentence in citations::read(&piece, &numbers) {
            let kind = kind(&piece, &sentence);
            let mut item = Item {
                kind,
                resolved: Vec::new(),
                inherits: false,
                findings: Vec::new(),
                sentence,
            };
            item.resolve(&mut listed, &by_label, sources);
            let last = before.and_then(|before| items.get(before));
            if let Some(last) = last.filter(|last| last.is_cited())
                && kind == SentenceKind::Assertion
                && !item.is_cited()
                && points_back(&item.sentence.text)
            {
                item.inherits = true;
                item.sentence.citations = last.sentence.citations.clone();
                item.resolved = last.resolved.clone();
            }
            citations += item.sentence.citations.len();
            before = Some(items.len());
            items.push(item);
        }
        not_more(items.len(), MOST_SENTENCES, "sentences")?;
        not_more(citations, MOST_SENTENCES, "citations")?;
    }
    Ok((items, listed))
}

/// Entries by label, number or key. A label that occurs twice refers to its first entry.
fn labels(listed: &[Listed]) -> HashMap<String, usize> {
    let mut by_label = HashMap::new();
    for (at, one) in listed.iter().enumerate() {
        if let Some(label) = &one.entry.label {
            by_label.entry(label.to_lowercase()).or_insert(at);
        }
    }
    by_label
}

impl Item {
    fn resolve(
        &mut self,
        listed: &mut [Listed],
        by_label: &HashMap<String, usize>,
        sources: &Sources,
    ) {
        for citation in &self.sentence.citations {
            let mut found = Resolved::default();
            for target in &citation.targets {
                let entries: Vec<usize> = match target {
                    CitationTarget::Label(label) => {
                        let entry = by_label.get(&label.to_lowercase());
                        entry.copied().into_iter().collect()
                    }
                    CitationTarget::AuthorYear(who, year, further) => {
                        by_author(listed, who, *year, further)
                    }
                    CitationTarget::Address(_) => Vec::new(),
                };
                let one = match entries.is_empty() {
                    true => sources.target(target),
                    false => of_entries(listed, &entries, sources),
                };
                found.is_ambiguous |= one.is_ambiguous;
                found.sources.extend(one.sources);
            }
            self.resolved.push(found);
        }
    }
}

/// The resolution of the entries that a citation matches; several works are ambiguous.
fn of_entries(listed: &mut [Listed], entries: &[usize], sources: &Sources) -> Resolved {
    let mut found = Resolved::default();
    let mut unread = 0;
    for at in entries {
        let one = &mut listed[*at];
        one.cited += 1;
        unread += usize::from(one.resolved.sources.is_empty());
        found.is_ambiguous |= one.resolved.is_ambiguous;
        for source in &one.resolved.sources {
            if !found.sources.contains(source) {
                found.sources.push(*source);
            }
        }
    }
    if entries.len() > 1 {
        let works = found.sources.iter().map(|at| sources.work(*at));
        let works = works.collect::<HashSet<_>>().len() + unread;
        found.is_ambiguous |= works > 1;
    }
    found
}

fn is_number(label: &str) -> bool {
    label.bytes().all(|b| b.is_ascii_digit())
}

/// Why a citation leads to no source.
fn not_found(
    targets: &[CitationTarget],
    listed: &[Listed],
    by_label: &HashMap<String, usize>,
) -> String {
    let names: Vec<String> = targets
        .iter()
        .map(|target| match target {
            CitationTarget::Label(label) => format!("[{label}]"),
            CitationTarget::AuthorYear(who, year, further) => {
                let letter = further.letter.map(String::from).unwrap_or_default();
                format!("{who} {year}{letter}")
            }
            CitationTarget::Address(address) => address.clone(),
        })
        .collect();
    let mut labels = Vec::new();
    for target in targets {
        match target {
            CitationTarget::Label(of) if !by_label.contains_key(&of.to_lowercase()) => {
                labels.push(of);
            }
            _ => return format!("{} {NOT_READ}", names.join(", ")),
        }
    }
    // Only a separate bibliography could define a key.
    let is_key = |label: &&String| !is_number(label) && !label.contains(' ');
    let is_given = listed.iter().any(|one| one.entry.span.is_none());
    let hint = if !is_given && labels.iter().any(is_key) {
        NO_BIBLIOGRAPHY
    } else {
        ""
    };
    let names = names.join(", ");
    match listed {
        [] => format!("the draft has no list of references that explains {names}{hint}"),
        _ => format!("{names} is not in the list of references{hint}"),
    }
}

/// Finds the faults of the citations and the list, before anything is compared.
pub(super) fn resolve_findings(items: &mut [Item], listed: &mut [Listed], sources: &Sources) {
    let by_label = labels(listed);
    for item in items.iter_mut() {
        match item.kind {
            SentenceKind::Assertion => {}
            _ if item.is_cited() => {}
            _ => continue,
        }
        let found = citation_findings(item, listed, &by_label, sources);
        item.findings.extend(found);
        if item.is_uncited() {
            let uncited = item.finding(CheckCode::Uncited, "no source is cited for this");
            item.findings.push(uncited);
        }
    }
    let mut first: HashMap<String, String> = HashMap::new();
    // A bibliography file may serve several drafts, so entries that this draft does not cite are ignored.
    let of_the_draft = |one: &&mut Listed| one.entry.span.is_some() || one.cited > 0;
    for one in listed.iter_mut().filter(of_the_draft) {
        let found = entry_findings(one, sources, &mut first);
        one.findings.extend(found);
    }
}

fn citation_findings(
    item: &Item,
    listed: &[Listed],
    by_label: &HashMap<String, usize>,
    sources: &Sources,
) -> Vec<Finding> {
    let mut found = Vec::new();
    if item.inherits {
        return found;
    }
    for (citation, resolved) in item.sentence.citations.iter().zip(&item.resolved) {
        let span = &citation.span;
        // Outside of assertions, a link without an identifier is not a citation.
        let is_link = |target: &CitationTarget| match target {
            CitationTarget::Address(address) => find_identifiers(address).is_empty(),
            _ => false,
        };
        let is_mere_link =
            item.kind != SentenceKind::Assertion && citation.targets.iter().all(is_link);
        if resolved.sources.is_empty() && !is_mere_link {
            let message = not_found(&citation.targets, listed, by_label);
            found.push(finding(CheckCode::ReferenceNotFound, message, span));
        }
        if resolved.is_ambiguous && citation.targets.len() == 1 {
            let titles = resolved.sources.iter().map(|at| name(sources, *at));
            let mut titles: Vec<String> = titles.collect();
            if titles.len() == 1 {
                titles.push("another entry of the list, which was not read".to_owned());
            }
            let message = format!("the citation fits {}", titles.join("; "));
            found.push(finding(CheckCode::ReferenceAmbiguous, message, span));
        }
        for at in &resolved.sources {
            let source = &sources.all[*at];
            if source.is_retracted {
                let message = format!("{} was retracted", name(sources, *at));
                found.push(finding(CheckCode::RetractedSource, message, span));
            }
            if let Some(newer) = &source.superseded_by {
                let message = format!("{} was superseded by {newer}", name(sources, *at));
                found.push(finding(CheckCode::SupersededSource, message, span));
            }
        }
    }
    found.dedup_by(|a, b| (a.code, &a.message) == (b.code, &b.message));
    found
}

/// The title of a source, or its address.
pub(super) fn name(sources: &Sources, at: usize) -> String {
    let source = &sources.all[at];
    match &source.title {
        Some(title) => format!("{title:?}"),
        None => source.url.clone(),
    }
}

fn entry_findings(
    one: &Listed,
    sources: &Sources,
    first: &mut HashMap<String, String>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let span = one.entry.span.clone().unwrap_or_default();
    let label = one.entry.label.clone().unwrap_or_default();
    let Some(at) = one.resolved.sources.first() else {
        let message = format!("the reference {NOT_READ}");
        return vec![finding(CheckCode::ReferenceNotFound, message, &span)];
    };
    for fault in &one.faults {
        found.push(match fault {
            EntryFault::Title(at) => {
                let message = format!("the identifier belongs to {}", name(sources, *at));
                finding(CheckCode::ReferenceWrongDoi, message, &span)
            }
            EntryFault::Doi(at) => {
                let doi = sources.all[*at].doi.as_deref().unwrap_or_default();
                let message = format!("{} has the DOI {doi}", name(sources, *at));
                finding(CheckCode::ReferenceWrongDoi, message, &span)
            }
            EntryFault::Year(at, year) => {
                let message = format!("{} appeared in {year}", name(sources, *at));
                finding(CheckCode::ReferenceWrongYear, message, &span)
            }
        });
    }
    if sources.all[*at].is_retracted {
        let message = format!("{} was retracted", name(sources, *at));
        found.push(finding(CheckCode::RetractedSource, message, &span));
    }
    if let Some(before) = first.get(sources.work(*at)) {
        let message = format!("the same work as {before}");
        found.push(finding(CheckCode::ReferenceDuplicate, message, &span));
    } else {
        first.insert(sources.work(*at).to_owned(), format!("[{label}]"));
    }
    found
}

#[cfg(test)]
mod tests;
