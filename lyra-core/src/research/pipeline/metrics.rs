//! The metrics of a search: harvest, novelty, satisfaction, status.

use crate::store::model::QueryStatus;
use std::collections::{HashSet, VecDeque};

/// A page is useful if it has more characters of text than this.
const USEFUL_CHARS: usize = 200;
/// Number of most recent fragments considered for novelty.
const NOVELTY_WINDOW: usize = 20;
/// Number of independent sources that satisfy a search.
const ENOUGH_SOURCES: f64 = 3.0;
/// Satisfaction from which a search counts as satisfied.
const SATISFIED: f64 = 0.8;
/// A search is exhausted when its novelty is below the first value after this many pages.
const STALE: (f64, u32) = (0.1, 10);

/// Counts the results of a search.
#[derive(Debug, Default)]
pub(super) struct Harvest {
    pub(super) pages: u32,
    pub(super) useful: u32,
    sources: HashSet<String>,
    has_primary: bool,
    recent: VecDeque<bool>,
}

impl Harvest {
    /// Counts a page: its length in characters, its source, and which fragments are new to the task.
    pub(super) fn add_page(
        &mut self,
        chars: usize,
        source: Option<&str>,
        primary: bool,
        fresh: impl Iterator<Item = bool>,
    ) {
        self.pages += 1;
        if chars > USEFUL_CHARS {
            self.useful += 1;
        }
        if let Some(source) = source {
            self.sources.insert(source.to_owned());
            self.has_primary |= primary;
        }
        for is_new in fresh {
            if self.recent.len() == NOVELTY_WINDOW {
                self.recent.pop_front();
            }
            self.recent.push_back(is_new);
        }
    }

    pub(super) fn harvest_rate(&self) -> f64 {
        if self.pages == 0 {
            0.0
        } else {
            f64::from(self.useful) / f64::from(self.pages)
        }
    }

    /// Share of the most recent fragments that are new; 1 at the start.
    pub(super) fn novelty(&self) -> f64 {
        if self.recent.is_empty() {
            return 1.0;
        }
        #[allow(clippy::cast_precision_loss, reason = "at most twenty")]
        let share = self.recent.iter().filter(|n| **n).count() as f64 / self.recent.len() as f64;
        share
    }

    pub(super) fn satisfaction(&self) -> f64 {
        satisfaction(self.sources.len(), self.has_primary)
    }

    pub(super) fn is_stale(&self) -> bool {
        self.pages >= STALE.1 && self.novelty() < STALE.0
    }

    pub(super) fn status(&self) -> QueryStatus {
        if self.satisfaction() >= SATISFIED {
            QueryStatus::Satisfied
        } else if self.is_stale() || self.sources.is_empty() {
            QueryStatus::Exhausted
        } else {
            QueryStatus::Partial
        }
    }
}

/// `min(1, 0.7·min(1, sources/3) + 0.3·primary)`.
pub fn satisfaction(independent_sources: usize, has_primary: bool) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "a count of sources")]
    let sources = (independent_sources as f64 / ENOUGH_SOURCES).min(1.0);
    (0.7 * sources + if has_primary { 0.3 } else { 0.0 }).min(1.0)
}

/// Suffixes of domains that publish primary sources: governments, universities, health agencies.
const PRIMARY_SUFFIXES: &[&str] = &[
    "gov",
    "edu",
    "mil",
    "int",
    "who.int",
    "europa.eu",
    "go.jp",
    "nhs.uk",
];
/// Second-level labels with the same meaning below a country's suffix (`ac.uk`, `gov.au`, `go.kr`).
const PRIMARY_LABELS: &[&str] = &["ac", "gov", "edu", "go", "gob", "gouv", "govt", "mil"];

/// Whether a domain is that of a primary source. Only whole labels match, never parts of a name.
///
/// ```
/// use lyra_core::research::pipeline::is_primary_source;
/// assert!(is_primary_source("fda.gov") && is_primary_source("u-tokyo.ac.jp"));
/// assert!(!is_primary_source("edureka.co") && !is_primary_source("gov.example.com"));
/// ```
pub fn is_primary_source(domain: &str) -> bool {
    let domain = domain.trim_end_matches('.').to_ascii_lowercase();
    let is_suffix =
        |s: &str| domain == s || domain.strip_suffix(s).is_some_and(|d| d.ends_with('.'));
    if PRIMARY_SUFFIXES.iter().any(|s| is_suffix(s)) {
        return true;
    }
    let labels: Vec<&str> = domain.rsplit('.').collect();
    matches!(labels.as_slice(), [country, kind, ..] if country.len() == 2 && PRIMARY_LABELS.contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn satisfaction_by_the_formula() {
        let cases = [
            (0, false, 0.0),
            (1, false, 0.7 / 3.0),
            (2, true, 1.4 / 3.0 + 0.3),
            (3, true, 1.0),
            (9, false, 0.7),
        ];
        for (sources, primary, expected) in cases {
            assert!(
                (satisfaction(sources, primary) - expected).abs() < 1e-12,
                "{sources} {primary}"
            );
        }
    }

    #[test]
    fn statuses() {
        let mut none = Harvest::default();
        assert_eq!(
            (none.status(), none.novelty()),
            (QueryStatus::Exhausted, 1.0)
        );
        none.add_page(100, Some("a"), false, [true].into_iter());
        assert_eq!(
            (none.status(), none.useful, none.pages),
            (QueryStatus::Partial, 0, 1)
        );
        none.add_page(500, Some("b"), true, [true, false].into_iter());
        none.add_page(500, Some("c"), false, [false].into_iter());
        assert_eq!(none.status(), QueryStatus::Satisfied);
        assert!((none.novelty() - 0.5).abs() < 1e-12);
        let mut stale = Harvest::default();
        for _ in 0..10 {
            stale.add_page(500, Some("a"), false, [false, false].into_iter());
        }
        assert_eq!(stale.status(), QueryStatus::Exhausted);
    }
}
