//! The balance of evidence, counted by independent source and not by number of verdicts.

use std::collections::BTreeMap;

/// One supporting or refuting verdict, with its source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Testimony<'a> {
    /// Whether it supports the claim; otherwise it refutes it.
    pub supports: bool,
    /// 0 to 1.
    pub confidence: f64,
    /// The publication or, if none is known, the page.
    pub source: &'a str,
    /// The site of a page without a publication; none for publications.
    pub site: Option<&'a str>,
    /// Whether the publication was retracted.
    pub is_retracted: bool,
}

/// The evidence after repeated sources are discounted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IndependentEvidence {
    /// Number of different sources with a verdict.
    pub sources: usize,
    /// Discounted sum of the confidences for the claim.
    pub support_weight: f64,
    /// Discounted sum of the confidences against the claim.
    pub refute_weight: f64,
    /// Number of verdicts that are ignored because their source was retracted.
    pub retracted: usize,
}

impl IndependentEvidence {
    /// Mean of Beta(1 + support, 1 + refutation): 0.5 without evidence.
    pub fn mean(&self) -> f64 {
        (1.0 + self.support_weight) / (2.0 + self.support_weight + self.refute_weight)
    }
}

/// Combines testimonies: only the strongest testimony of a source on each side counts, the second page
/// of a site counts half, the third a quarter, and retracted sources do not count.
///
/// Ten passages of one paper count as one source, and ten articles of one newspaper as less than two.
///
/// ```
/// use lyra_core::store::confidence::{Testimony, independent_evidence};
/// let paper = Testimony { supports: true, confidence: 0.8, source: "doi:10.1/a", site: None, is_retracted: false };
/// let again = Testimony { confidence: 0.6, ..paper };
/// let other = Testimony { source: "doi:10.1/b", ..paper };
/// let found = independent_evidence(&[paper, again, other]);
/// assert_eq!((found.sources, found.support_weight), (2, 1.6));
/// ```
pub fn independent_evidence(testimonies: &[Testimony<'_>]) -> IndependentEvidence {
    let mut found = IndependentEvidence::default();
    // Sorted maps: sums of floats depend on their order.
    let mut strongest: BTreeMap<(bool, &str), (f64, Option<&str>)> = BTreeMap::new();
    for testimony in testimonies {
        if testimony.is_retracted {
            found.retracted += 1;
            continue;
        }
        let confidence = if testimony.confidence.is_nan() {
            0.0
        } else {
            testimony.confidence.clamp(0.0, 1.0)
        };
        let best = strongest
            .entry((testimony.supports, testimony.source))
            .or_insert((confidence, testimony.site));
        best.0 = best.0.max(confidence);
    }
    let mut sites: BTreeMap<(bool, &str), Vec<f64>> = BTreeMap::new();
    for ((supports, source), (confidence, site)) in &strongest {
        let voice = site.unwrap_or(source);
        sites
            .entry((*supports, voice))
            .or_default()
            .push(*confidence);
        if *supports || !strongest.contains_key(&(true, source)) {
            found.sources += 1;
        }
    }
    for ((supports, _), mut confidences) in sites {
        confidences.sort_by(|a, b| b.total_cmp(a));
        let discounted = confidences.iter().rev().fold(0.0, |sum, c| c + sum / 2.0);
        if supports {
            found.support_weight += discounted;
        } else {
            found.refute_weight += discounted;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page<'a>(supports: bool, confidence: f64, source: &'a str, site: &'a str) -> Testimony<'a> {
        Testimony {
            supports,
            confidence,
            source,
            site: Some(site),
            is_retracted: false,
        }
    }

    #[test]
    fn sites_are_heard_less_with_every_page() {
        let all = [
            page(true, 0.8, "a", "x.org"),
            page(true, 0.4, "b", "x.org"),
            page(true, 0.4, "c", "x.org"),
            page(true, 0.9, "d", "y.org"),
            page(false, 0.5, "d", "y.org"),
        ];
        let found = independent_evidence(&all);
        assert_eq!(found.sources, 4);
        assert!((found.support_weight - (0.8 + 0.2 + 0.1 + 0.9)).abs() < 1e-12);
        assert!((found.refute_weight - 0.5).abs() < 1e-12);
        assert!((found.mean() - 3.0 / 4.5).abs() < 1e-12);
    }

    #[test]
    fn what_was_retracted_is_counted_and_not_weighed() {
        let withdrawn = Testimony {
            is_retracted: true,
            ..page(false, 0.9, "r", "x.org")
        };
        let found = independent_evidence(&[withdrawn, page(true, f64::NAN, "a", "x.org")]);
        assert_eq!((found.retracted, found.sources), (1, 1));
        assert_eq!((found.support_weight, found.refute_weight), (0.0, 0.0));
        assert_eq!(independent_evidence(&[]).mean(), 0.5);
    }

    proptest! {
        #[test]
        fn hearing_somebody_again_changes_nothing_and_a_site_never_counts_for_two(
            raw in proptest::collection::vec((any::<bool>(), 0.0..1.0_f64, 0..4_u8, 0..3_u8), 0..20)
        ) {
            let names: Vec<(String, String)> =
                raw.iter().map(|r| (format!("{}-{}", r.3, r.2), format!("site{}", r.3))).collect();
            let all: Vec<Testimony<'_>> =
                raw.iter().zip(&names).map(|(r, n)| page(r.0, r.1, &n.0, &n.1)).collect();
            let found = independent_evidence(&all);
            let twice: Vec<_> = all.iter().chain(&all).rev().copied().collect();
            prop_assert_eq!(independent_evidence(&twice), found);
            for (supports, weight) in [(true, found.support_weight), (false, found.refute_weight)] {
                let of_side = || all.iter().filter(move |t| t.supports == supports);
                prop_assert!(weight <= of_side().map(|t| t.confidence).sum::<f64>() + 1e-9);
                let sites: std::collections::HashSet<_> = of_side().map(|t| t.site).collect();
                prop_assert!(weight <= 2.0 * sites.len() as f64);
            }
        }
    }
}
