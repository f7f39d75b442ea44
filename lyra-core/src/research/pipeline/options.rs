//! How a target is researched.

use serde::{Deserialize, Serialize};

/// How one target is researched.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchOptions {
    /// At most so many pages for this target.
    pub budget_pages: Option<u32>,
    /// Only these providers, by name; all if empty.
    pub providers: Vec<String>,
    /// Search for the other side as well.
    pub refute: bool,
    /// The task has asked this before, and wants to know what is new: more
    /// hits are looked at, pages that it knows neither use up the pages of the query nor end it as exhausted, and what
    /// is on the web is asked whether it changed.
    #[serde(rename = "repeat")]
    pub refresh: bool,
}
