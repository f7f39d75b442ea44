//! The request for a check, and the state shared by the steps of a check.

use super::draft::DraftFormat;
use super::resolve::Sources;
use super::source_text::SourceText;
use crate::research::pipeline::Pipeline;
use std::collections::HashMap;
use std::sync::Arc;

/// A request to check a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRequest {
    /// The bytes of the draft.
    pub draft: Vec<u8>,
    /// The format of the draft.
    pub format: DraftFormat,
    /// The texts of separate bibliographies, BibTeX or CSL-JSON, for its citation keys.
    pub bibliographies: Vec<String>,
    /// Whether the other sources of the graph are also compared.
    pub other_sources: bool,
    /// Restricts the check to the sources of this task; otherwise all.
    pub task_id: Option<String>,
}

impl CheckRequest {
    /// A check of a draft without bibliographies, against all sources.
    pub fn new(draft: impl Into<Vec<u8>>, format: DraftFormat) -> Self {
        Self {
            draft: draft.into(),
            format,
            bibliographies: Vec::new(),
            other_sources: true,
            task_id: None,
        }
    }
}

/// The progress of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckProgress {
    /// Pairs of sentence and passage that were judged.
    pub judged: usize,
    /// The total number of pairs, as far as is known.
    pub pairs: usize,
}

/// The state shared by the steps of a check.
pub(super) struct Check<'p> {
    pub(super) pipeline: &'p Pipeline,
    pub(super) sources: Arc<Sources>,
    pub(super) texts: HashMap<usize, Arc<SourceText>>,
    pub(super) progress: &'p (dyn Fn(CheckProgress) + Send + Sync),
    pub(super) judged: usize,
    pub(super) pairs: usize,
}
