//! The evidence of one claim, and the counts that follow from it, as pure functions.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Stands for an unknown year in a key, which cannot be null.
pub(super) const UNDATED: i64 = -99_999;

/// Number of integer units per 1 in sums of confidences, so that a subtraction exactly reverses an
/// addition. An i64 holds the sum of 92 million.
const UNITS: f64 = 1e11;

/// The role of an edge for a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Bearing {
    #[serde(rename = "o")]
    Origin,
    #[serde(rename = "s")]
    Supports,
    #[serde(rename = "r")]
    Refutes,
    #[serde(rename = "n")]
    Neutral,
}

/// An edge from a fragment to the claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct EvidenceEdge(
    pub(super) String,
    pub(super) Bearing,
    pub(super) Option<f64>,
    /// `fragments.seq` and the index in [`Snapshot::pages`]; none if there is no such fragment.
    pub(super) Option<(i64, usize)>,
);

/// A claim with its evidence at the time of its last count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Snapshot {
    #[serde(rename = "t")]
    pub(super) task_id: String,
    #[serde(rename = "a")]
    pub(super) is_adopted: bool,
    /// Confidence of the extraction.
    #[serde(rename = "c")]
    pub(super) confidence: Option<f64>,
    #[serde(rename = "e")]
    pub(super) evidence: Vec<EvidenceEdge>,
    /// The pages that the fragments stand on, with the year of their publication.
    #[serde(rename = "p")]
    pub(super) pages: Vec<(String, Option<i64>)>,
}

impl Snapshot {
    /// The verdicts: all edges except origins.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = &EvidenceEdge> {
        self.evidence.iter().filter(|e| e.1 != Bearing::Origin)
    }

    /// The verdicts whose fragment is known, with the fragment and the year of its page.
    pub(super) fn located(&self) -> impl Iterator<Item = (&EvidenceEdge, i64, usize, Option<i64>)> {
        self.verdicts().filter_map(|edge| {
            let (fragment, page) = edge.3?;
            Some((edge, fragment, page, self.year_of(page)))
        })
    }

    pub(super) fn year_of(&self, page: usize) -> Option<i64> {
        self.pages.get(page).and_then(|(_, year)| *year)
    }

    /// Whether an edge comes from a missing fragment.
    pub(super) fn lacks_fragments(&self) -> bool {
        self.evidence.iter().any(|edge| edge.3.is_none())
    }

    fn count(&self, bearing: Bearing) -> i64 {
        self.evidence.iter().filter(|e| e.1 == bearing).count() as i64
    }

    /// The claim's own row of `stat_claims`; "recent" starts two years before `reference_year`.
    pub(super) fn summary(&self, reference_year: i64) -> Summary {
        let weight = |bearing| {
            sum(self
                .evidence
                .iter()
                .filter(|e| e.1 == bearing)
                .map(strength))
        };
        let count = self.verdicts().count();
        let years = |bearing: Bearing| {
            self.located()
                .filter(move |(edge, ..)| edge.1 == bearing)
                .filter_map(|(.., year)| year)
        };
        let supports = || years(Bearing::Supports);
        let located_supports = self.located().filter(|(e, ..)| e.1 == Bearing::Supports);
        let dated_support_count = supports().count() as i64;
        Summary {
            support_count: self.count(Bearing::Supports),
            refute_count: self.count(Bearing::Refutes),
            neutral_count: self.count(Bearing::Neutral),
            max_confidence: self.verdicts().map(strength).fold(0.0, f64::max),
            avg_confidence: if count == 0 {
                0.0
            } else {
                sum(self.verdicts().map(strength)) / count as f64
            },
            support_weight: weight(Bearing::Supports),
            refute_weight: weight(Bearing::Refutes),
            dated_count: self.located().filter(|(.., y)| y.is_some()).count() as i64,
            year_sum: (self.located().filter_map(|(.., year)| year)).fold(0, i64::saturating_add),
            newest_support_year: supports().max(),
            oldest_support_year: supports().min(),
            newest_refute_year: years(Bearing::Refutes).max(),
            support_years: supports().collect::<BTreeSet<_>>().len() as i64,
            dated_support_count,
            undated_support_count: located_supports.count() as i64 - dated_support_count,
            recent_support_count: self.recent_support_count(reference_year),
        }
    }

    /// Number of supports from two years before the reference year on.
    pub(super) fn recent_support_count(&self, reference_year: i64) -> i64 {
        let is_recent = |year: i64| year >= reference_year.saturating_sub(2);
        self.located()
            .filter(|(edge, _, _, year)| edge.1 == Bearing::Supports && year.is_some_and(is_recent))
            .count() as i64
    }

    /// What the claim adds to each page of its evidence, in the order of `pages`.
    pub(super) fn page_counts(&self) -> Vec<[i64; 6]> {
        let mut counts = vec![[0; 6]; self.pages.len()];
        for edge in &self.evidence {
            let Some(count) = edge.3.and_then(|(_, page)| counts.get_mut(page)) else {
                continue;
            };
            let [
                supported,
                supports,
                evidence,
                generated,
                sum,
                with_confidence,
            ] = count;
            if edge.1 == Bearing::Origin {
                if *generated == 0
                    && let Some(confidence) = self.confidence
                {
                    *sum = fixed(confidence);
                    *with_confidence = 1;
                }
                *generated = 1;
                continue;
            }
            *evidence += 1;
            if edge.1 == Bearing::Supports {
                *supported = 1;
                *supports += 1;
            }
        }
        counts
    }

    /// What the claim adds to each year: claims, edges, confidences.
    pub(super) fn year_counts(&self) -> Vec<(i64, [i64; 3])> {
        let mut counts: Vec<(i64, [i64; 3])> = Vec::new();
        for (edge, _, _, year) in self.located() {
            let year = year.unwrap_or(UNDATED);
            let at = counts
                .iter()
                .position(|(y, _)| *y == year)
                .unwrap_or_else(|| {
                    counts.push((year, [1, 0, 0]));
                    counts.len() - 1
                });
            counts[at].1[1] += 1;
            counts[at].1[2] += fixed(strength(edge));
        }
        counts
    }

    /// What the claim adds to the decade of its newest evidence: the number of claims with evidence for
    /// or against, the number of those in dispute, and the sum of their dispute scores.
    pub(super) fn era_count(&self) -> Option<(i64, [i64; 3])> {
        let newest = self.located().filter_map(|(.., year)| year).max()?;
        let relations = |bearing| self.located().filter(|(e, ..)| e.1 == bearing).count();
        let (supports, refutes) = (relations(Bearing::Supports), relations(Bearing::Refutes));
        if supports + refutes == 0 {
            return None;
        }
        let lesser = supports.min(refutes);
        let score = lesser as f64 / self.located().count() as f64;
        let disputed = i64::from(lesser > 0);
        Some((newest / 10 * 10, [1, disputed, disputed * fixed(score)]))
    }
}

/// A row of `stat_claims` without its keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Summary {
    pub(super) support_count: i64,
    pub(super) refute_count: i64,
    pub(super) neutral_count: i64,
    pub(super) max_confidence: f64,
    pub(super) avg_confidence: f64,
    pub(super) support_weight: f64,
    pub(super) refute_weight: f64,
    pub(super) dated_count: i64,
    pub(super) year_sum: i64,
    pub(super) newest_support_year: Option<i64>,
    pub(super) oldest_support_year: Option<i64>,
    pub(super) newest_refute_year: Option<i64>,
    pub(super) support_years: i64,
    pub(super) dated_support_count: i64,
    pub(super) undated_support_count: i64,
    pub(super) recent_support_count: i64,
}

/// A missing confidence counts as evidence of confidence 0.
fn strength(edge: &EvidenceEdge) -> f64 {
    edge.2.unwrap_or(0.0)
}

fn fixed(value: f64) -> i64 {
    (value * UNITS).round() as i64
}

/// The sum with Neumaier's correction, as in SQLite's `sum`.
fn sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut lost) = (0.0_f64, 0.0_f64);
    for value in values {
        let next = total + value;
        lost += if total.abs() >= value.abs() {
            (total - next) + value
        } else {
            (value - next) + total
        };
        total = next;
    }
    total + lost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        let edge =
            |id: &str, bearing, confidence, at| EvidenceEdge(id.into(), bearing, confidence, at);
        Snapshot {
            task_id: "t".into(),
            is_adopted: true,
            confidence: Some(0.8),
            evidence: vec![
                edge("a", Bearing::Origin, None, Some((1, 0))),
                edge("b", Bearing::Origin, None, Some((2, 0))),
                edge("c", Bearing::Supports, Some(0.9), Some((3, 1))),
                edge("d", Bearing::Supports, Some(0.1), Some((4, 1))),
                edge("e", Bearing::Refutes, None, Some((5, 2))),
                edge("f", Bearing::Supports, Some(0.5), None),
            ],
            pages: vec![
                ("p0".into(), Some(2001)),
                ("p1".into(), Some(2019)),
                ("p2".into(), None),
            ],
        }
    }

    #[test]
    fn a_claim_adds_up() {
        let summary = snapshot().summary(2021);
        assert_eq!(
            (
                summary.support_count,
                summary.refute_count,
                summary.neutral_count
            ),
            (3, 1, 0)
        );
        assert_eq!((summary.support_weight, summary.refute_weight), (1.5, 0.0));
        assert_eq!(
            (summary.max_confidence, summary.avg_confidence),
            (0.9, 0.375)
        );
        assert_eq!((summary.dated_count, summary.year_sum), (2, 4038));
        assert_eq!(
            (summary.newest_support_year, summary.newest_refute_year),
            (Some(2019), None)
        );
        assert_eq!((summary.support_years, summary.dated_support_count), (1, 2));
        assert_eq!(
            (summary.undated_support_count, summary.recent_support_count),
            (0, 2)
        );
        assert_eq!(snapshot().recent_support_count(2022), 0);
    }

    #[test]
    fn pages_years_and_eras_get_their_share() {
        let whole = 100_000_000_000;
        let expected = [
            [0, 0, 0, 1, whole * 8 / 10, 1],
            [1, 2, 2, 0, 0, 0],
            [0, 0, 1, 0, 0, 0],
        ];
        assert_eq!(snapshot().page_counts(), expected);
        assert_eq!(
            snapshot().year_counts(),
            [(2019, [1, 2, whole]), (UNDATED, [1, 1, 0])]
        );
        let third = (whole as f64 / 3.0).round() as i64;
        assert_eq!(snapshot().era_count(), Some((2010, [1, 1, third])));
    }

    #[test]
    fn what_is_stored_comes_back() {
        let text = serde_json::to_string(&snapshot()).unwrap();
        assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), snapshot());
    }

    #[test]
    fn sums_do_not_depend_on_the_order() {
        let values = [1e16, 1.0, -1e16, 0.1];
        let mut reversed = values;
        reversed.reverse();
        assert_eq!(sum(values.into_iter()), 1.1);
        assert_eq!(sum(reversed.into_iter()), 1.1);
    }
}
