//! An entry of the list of references and its state during the check.

use super::super::references::{ReferenceEntry, address_of};
use super::super::report::{CheckedReference, Finding};
use super::super::resolve::{EntryFault, Resolved, Sources};
use super::head::EntryHead;

/// An entry of the list of references and its state during the check.
#[derive(Debug)]
pub(in crate::check) struct Listed {
    pub(super) entry: ReferenceEntry,
    pub(in crate::check) resolved: Resolved,
    pub(super) faults: Vec<EntryFault>,
    pub(super) head: EntryHead,
    pub(super) cited: usize,
    pub(super) findings: Vec<Finding>,
}

impl Listed {
    /// Where the work can be read; none for an entry of a file that the draft does not cite.
    pub(in crate::check) fn address(&self) -> Option<String> {
        let is_of_the_draft = self.entry.span.is_some() || self.cited > 0;
        let url = self.entry.urls.first().map(String::as_str);
        address_of(&self.entry.ids, url).filter(|_| is_of_the_draft)
    }

    pub(in crate::check) fn checked(mut self, sources: &Sources) -> CheckedReference {
        self.findings.sort_by_key(|finding| finding.code);
        CheckedReference {
            label: self.entry.label,
            text: self.entry.text,
            start: self.entry.span.as_ref().map(|span| span.start),
            end: self.entry.span.as_ref().map(|span| span.end),
            page_ids: page_ids(&self.resolved, sources),
            cited: self.cited,
            findings: self.findings,
        }
    }
}

pub(super) fn page_ids(resolved: &Resolved, sources: &Sources) -> Vec<String> {
    let ids = resolved.sources.iter().map(|at| &sources.all[*at].page_id);
    ids.cloned().collect()
}
