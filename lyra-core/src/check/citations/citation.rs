//! The citation types, and the matches found in a text.

use std::ops::Range;

/// What a citation by author and year states about the work besides its first author and year.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::check) struct Further {
    /// The family names after the first.
    pub(in crate::check) names: Vec<String>,
    /// Whether there are more authors than are listed.
    pub(in crate::check) has_others: bool,
    /// The `a` of 2019a.
    pub(in crate::check) letter: Option<char>,
}

/// What a citation names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) enum CitationTarget {
    /// The entry with this number or label, or this key of the bibliography.
    Label(String),
    /// The first author's family name, the year, and the other details of the work.
    AuthorYear(String, i64, Further),
    /// An address, a file, or a text with a DOI, PubMed or arXiv id.
    Address(String),
}

/// A citation and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) struct Citation {
    /// Code points of the draft.
    pub(in crate::check) span: Range<usize>,
    pub(in crate::check) targets: Vec<CitationTarget>,
    /// Whether this is a link on words of the sentence that name no source, as in "see how to
    /// [install] it". Such a link may point to further information, not to the source of the
    /// sentence.
    pub(in crate::check) is_pointer: bool,
}

impl Citation {
    /// Whether it identifies works only by their authors.
    pub(super) fn names_authors(&self) -> bool {
        let is_author = |target: &CitationTarget| matches!(target, CitationTarget::AuthorYear(..));
        self.targets.iter().all(is_author)
    }
}

/// A sentence without its citation marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::check) struct Sentence {
    pub(in crate::check) text: String,
    /// Code points of the draft.
    pub(in crate::check) span: Range<usize>,
    pub(in crate::check) citations: Vec<Citation>,
}

/// A match found in a piece.
pub(super) struct CitationMatch {
    /// Bytes of the piece's text.
    pub(super) bytes: Range<usize>,
    pub(super) targets: Vec<CitationTarget>,
    /// Whether the matched words are not part of the sentence.
    pub(super) is_mark: bool,
    /// See [`Citation::is_pointer`].
    pub(super) is_pointer: bool,
    /// Its position in the draft, if it differs from the position of its words.
    pub(super) place: Option<Range<usize>>,
}

impl CitationMatch {
    pub(super) fn mark(bytes: Range<usize>, targets: Vec<CitationTarget>) -> Self {
        Self {
            bytes,
            targets,
            is_mark: true,
            is_pointer: false,
            place: None,
        }
    }
}
