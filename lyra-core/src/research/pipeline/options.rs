//! Options for researching a target.

use serde::{Deserialize, Serialize};

/// Options for researching one target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchOptions {
    /// Maximum number of pages for this target.
    pub budget_pages: Option<u32>,
    /// Only these providers, by name; all if empty.
    pub providers: Vec<String>,
    /// Whether to search for opposing evidence as well.
    pub refute: bool,
    /// The task repeats an earlier query to find what is new. More hits are considered, known pages
    /// neither use up the query's page limit nor end it as exhausted, and web pages are checked for
    /// changes.
    #[serde(rename = "repeat")]
    pub refresh: bool,
}
