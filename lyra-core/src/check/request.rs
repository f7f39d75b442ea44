//! What is to be checked, and what the steps of a check work with.

use super::draft::DraftFormat;
use super::resolve::Sources;
use super::source_text::SourceText;
use crate::research::pipeline::Pipeline;
use std::collections::HashMap;
use std::sync::Arc;

/// What is to be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRequest {
    /// The bytes of the draft.
    pub draft: Vec<u8>,
    /// How it is written.
    pub format: DraftFormat,
    /// The texts of bibliographies beside it, BibTeX or CSL-JSON, for its citation keys.
    pub bibliographies: Vec<String>,
    /// Whether the other sources of the graph are asked, too.
    pub other_sources: bool,
    /// Only the sources of this task; otherwise all.
    pub task_id: Option<String>,
}

impl CheckRequest {
    /// A draft alone, checked against all sources.
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

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckProgress {
    /// Pairs of sentence and passage that were judged.
    pub judged: usize,
    /// Pairs in all, as far as is known.
    pub pairs: usize,
}

/// Everything that the steps of a check work with.
pub(super) struct Check<'p> {
    pub(super) pipeline: &'p Pipeline,
    pub(super) sources: Arc<Sources>,
    pub(super) texts: HashMap<usize, Arc<SourceText>>,
    pub(super) progress: &'p (dyn Fn(CheckProgress) + Send + Sync),
    pub(super) judged: usize,
    pub(super) pairs: usize,
}
