//! The result of a check. The JSON of these types is described in docs/check.md.

use super::draft::DraftFormat;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The version of the report's JSON.
pub(super) const SCHEMA: u32 = 1;

/// A finding on a sentence or a reference, most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CheckCode {
    /// Words in quotation marks are not in the cited source.
    QuoteMismatch,
    /// A number differs from the one in the cited source.
    NumberMismatch,
    /// A cited source says the opposite.
    ContradictedBySource,
    /// The cited source was retracted.
    RetractedSource,
    /// The citation cannot be resolved to a source of the graph.
    ReferenceNotFound,
    /// The identifier of a reference belongs to a work with another title.
    ReferenceWrongDoi,
    /// A reference gives a different year than its work.
    ReferenceWrongYear,
    /// Two references are the same work.
    ReferenceDuplicate,
    /// The citation fits several works.
    ReferenceAmbiguous,
    /// The cited source says it with less certainty, of fewer, or not as a cause.
    Overstated,
    /// The cited source does not say it.
    NotInSource,
    /// Another source of the graph says the opposite.
    Contested,
    /// A newer version of the cited source exists.
    SupersededSource,
    /// An assertion without a citation.
    Uncited,
    /// The cited source has no text in the graph.
    NotChecked,
    /// A cited source says it.
    Supported,
}

impl CheckCode {
    /// Every code, most severe first.
    pub const ALL: [Self; 16] = [
        Self::QuoteMismatch,
        Self::NumberMismatch,
        Self::ContradictedBySource,
        Self::RetractedSource,
        Self::ReferenceNotFound,
        Self::ReferenceWrongDoi,
        Self::ReferenceWrongYear,
        Self::ReferenceDuplicate,
        Self::ReferenceAmbiguous,
        Self::Overstated,
        Self::NotInSource,
        Self::Contested,
        Self::SupersededSource,
        Self::Uncited,
        Self::NotChecked,
        Self::Supported,
    ];

    /// The code as written in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContradictedBySource => "contradicted_by_source",
            Self::QuoteMismatch => "quote_mismatch",
            Self::NumberMismatch => "number_mismatch",
            Self::RetractedSource => "retracted_source",
            Self::ReferenceNotFound => "reference_not_found",
            Self::ReferenceWrongDoi => "reference_wrong_doi",
            Self::ReferenceWrongYear => "reference_wrong_year",
            Self::ReferenceDuplicate => "reference_duplicate",
            Self::ReferenceAmbiguous => "reference_ambiguous",
            Self::Overstated => "overstated",
            Self::NotInSource => "not_in_source",
            Self::Contested => "contested",
            Self::SupersededSource => "superseded_source",
            Self::Uncited => "uncited",
            Self::NotChecked => "not_checked",
            Self::Supported => "supported",
        }
    }

    /// The meaning in one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::ContradictedBySource => "The cited source says the opposite.",
            Self::QuoteMismatch => "The quoted words are not in the cited source.",
            Self::NumberMismatch => "A number differs from the cited source.",
            Self::RetractedSource => "The cited source was retracted.",
            Self::ReferenceNotFound => "The citation does not lead to a known source.",
            Self::ReferenceWrongDoi => "The DOI of the reference belongs to another work.",
            Self::ReferenceWrongYear => "The reference names another year than its work.",
            Self::ReferenceDuplicate => "Two references name the same work.",
            Self::ReferenceAmbiguous => "The citation fits several sources.",
            Self::Overstated => "The cited source says less than the sentence.",
            Self::NotInSource => "The cited source does not say this.",
            Self::Contested => "Another source says the opposite.",
            Self::SupersededSource => "A newer version of the cited source exists.",
            Self::Uncited => "The assertion has no citation.",
            Self::NotChecked => "The cited source has no text to check against.",
            Self::Supported => "The cited source says this.",
        }
    }
}

impl fmt::Display for CheckCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for CheckCode {
    type Err = crate::Error;

    fn from_str(text: &str) -> crate::Result<Self> {
        let found = Self::ALL.into_iter().find(|code| code.as_str() == text);
        found.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|code| code.as_str()).collect();
            let names = names.join(", ");
            crate::Error::invalid(format!(
                "there is no finding {text:?}; expected one of: {names}"
            ))
        })
    }
}

/// The kind of a sentence in a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SentenceKind {
    /// It makes a statement that a source can support.
    Assertion,
    /// A heading.
    Heading,
    /// It asks.
    Question,
    /// It gives a view or advice of its author.
    Opinion,
    /// It describes what the author or the draft does.
    Method,
    /// It is a transition, or makes no statement that a source could support.
    Transition,
}

/// Words of a source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Page of the graph.
    pub page_id: String,
    /// Fragment of the page.
    pub fragment_id: String,
    /// The source's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The source's address.
    pub url: String,
    /// The exact words.
    pub quote: String,
    /// Where they begin in the page's text, in code points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub char_start: Option<usize>,
    /// Where they end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub char_end: Option<usize>,
}

/// A single finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The code.
    pub code: CheckCode,
    /// The same as a message for readers, with details.
    pub message: String,
    /// The start of the part of the draft that it is about, in code points.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// What the source says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The draft's words against the source's: `[-only in the draft-]{+only in the source+}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Who judged: the stance judge, or `rule` for exact comparisons.
    pub judge: String,
    /// 0 to 1, if a stance judge judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
}

/// A citation and the sources that it was resolved to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckedCitation {
    /// As written in the draft.
    pub text: String,
    /// Where it begins in the draft, in code points.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Pages of the graph.
    pub page_ids: Vec<String>,
}

/// A sentence of the draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckedSentence {
    /// Where it begins in the draft, in code points.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// The sentence without the marks of its citations.
    pub text: String,
    /// Its kind.
    pub kind: SentenceKind,
    /// The most severe of its findings; none for a sentence that is not an assertion and has no findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<CheckCode>,
    /// Its citations.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub citations: Vec<CheckedCitation>,
    /// Most severe first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub findings: Vec<Finding>,
}

/// An entry of the list of references.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckedReference {
    /// Its number, label or key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// As written.
    pub text: String,
    /// Where it begins in the draft, in code points; none for an entry of a bibliography file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<usize>,
    /// Where it ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<usize>,
    /// Pages of the graph.
    pub page_ids: Vec<String>,
    /// How many sentences cite it.
    pub cited: usize,
    /// Most severe first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub findings: Vec<Finding>,
}

/// A sentence supported with less confidence should be read again.
const CERTAIN_FROM: f64 = 0.5;

impl Finding {
    /// Whether this is support with low confidence. Reports show it beside the faults.
    pub fn is_uncertain(&self) -> bool {
        let is_unsure = self.confidence.is_some_and(|sure| sure < CERTAIN_FROM);
        self.code == CheckCode::Supported && is_unsure
    }

    /// The words of the source, unless the message already has them.
    pub fn further_quote(&self) -> Option<&str> {
        let quote = self.evidence.as_ref()?.quote.as_str();
        let begins: String = quote.chars().take(40).collect();
        (!self.message.contains(&begins)).then_some(quote)
    }

    /// Whether it is a fault, or support with low confidence.
    pub fn is_worth_a_look(&self) -> bool {
        self.code != CheckCode::Supported || self.is_uncertain()
    }
}

/// Counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckSummary {
    /// Sentences of the draft, without its references.
    pub sentences: usize,
    /// Sentences by kind.
    pub kinds: BTreeMap<SentenceKind, usize>,
    /// Assertions by their verdicts.
    pub verdicts: BTreeMap<CheckCode, usize>,
    /// All findings on sentences and references by code.
    pub findings: BTreeMap<CheckCode, usize>,
    /// Entries of the list of references.
    pub references: usize,
    /// Pages of the graph that could be cited.
    pub sources_known: usize,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Version of this JSON.
    pub schema: u32,
    /// The format in which the draft was read.
    pub format: DraftFormat,
    /// SHA-256 of the draft's bytes.
    pub sha256: String,
    /// The stance judge.
    pub judge: String,
    /// Counts.
    pub summary: CheckSummary,
    /// In order.
    pub sentences: Vec<CheckedSentence>,
    /// In order.
    pub references: Vec<CheckedReference>,
    /// The text that offsets refer to: the draft, or for Word files the extracted text.
    #[serde(skip)]
    pub text: String,
}

impl CheckReport {
    /// How many sentences are clearly supported, so that the text and Markdown reports omit them.
    pub fn omitted(&self) -> usize {
        let is_omitted = |sentence: &&CheckedSentence| {
            let findings = &sentence.findings;
            !findings.is_empty() && !findings.iter().any(Finding::is_worth_a_look)
        };
        self.sentences.iter().filter(is_omitted).count()
    }

    /// How many findings have one of these codes.
    pub fn count(&self, codes: &[CheckCode]) -> usize {
        let of = |code: &CheckCode| self.summary.findings.get(code).copied().unwrap_or(0);
        codes.iter().map(of).sum()
    }
}
