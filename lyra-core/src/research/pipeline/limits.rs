//! The limits and settings of research, by name.

use crate::error::{Error, Result};
use crate::store::text::names::nearest;

/// How far research goes, and how results are ranked.
///
/// ```
/// use lyra_core::Limits;
/// let mut limits = Limits::default();
/// limits.set("claims_per_document", 12.0)?;
/// assert_eq!(limits.claims_per_document, 12);
/// assert!(limits.set("claims_per_document", 0.0).unwrap_err().message().contains("1 to 200"));
/// # Ok::<(), lyra_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Hits requested from each provider.
    pub hits_per_query: usize,
    /// Pages read for one query.
    pub pages_per_query: u32,
    /// Papers of a task for which providers are asked for references in one run.
    pub cited_papers: usize,
    /// References of one paper that are added to the graph, the most relevant first.
    pub references_per_paper: usize,
    /// Claims taken from one document.
    pub claims_per_document: usize,
    /// Passages with a lower cosine to the question are not read for claims; 0 means no minimum.
    pub passage_floor: f32,
    /// Passages of a document that the ranking by words passes on to the ranking by meaning.
    pub bm25_top_k: usize,
    /// Weight of meaning relative to words in the ranking of passages; none for the embedder's own.
    pub embedding_weight: Option<f64>,
    /// Whether the ranking of passages is cut at the knee of its curve; otherwise at `kneedle_max`.
    pub kneedle: bool,
    /// Minimum number of passages of a document that are read for claims.
    pub kneedle_min: usize,
    /// Maximum number of passages of a document that are read for claims.
    pub kneedle_max: usize,
    /// How pronounced a knee has to be: the `S` of Kneedle.
    pub kneedle_sensitivity: f64,
    /// Fragments considered for each claim in verification.
    pub verify_candidates: usize,
    /// Maximum number of different domains whose passages are judged for one claim.
    pub verify_domains: usize,
    /// Maximum number of pairs judged for one claim.
    pub verify_pairs: usize,
    /// Verdicts with a lower confidence are remembered but make no edge.
    pub min_confidence: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hits_per_query: 60,
            pages_per_query: 60,
            cited_papers: 5,
            references_per_paper: 10,
            claims_per_document: 4,
            passage_floor: 0.0,
            bm25_top_k: 150,
            embedding_weight: None,
            kneedle: true,
            kneedle_min: 3,
            kneedle_max: 50,
            kneedle_sensitivity: 1.0,
            verify_candidates: 30,
            verify_domains: 6,
            verify_pairs: 20,
            min_confidence: 0.5,
        }
    }
}

/// A setting: its name, its minimum and maximum, whether it is an integer, and its setter.
type Setting = (&'static str, f64, f64, bool, fn(&mut Limits, f64));

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "values are whole and within the bounds of the table"
)]
const SETTINGS: [Setting; 16] = [
    ("hits_per_query", 1.0, 1e4, true, |l, n| {
        l.hits_per_query = n as usize
    }),
    ("pages_per_query", 1.0, 1e4, true, |l, n| {
        l.pages_per_query = n as u32
    }),
    ("cited_papers", 0.0, 1e3, true, |l, n| {
        l.cited_papers = n as usize
    }),
    ("references_per_paper", 0.0, 1e3, true, |l, n| {
        l.references_per_paper = n as usize
    }),
    ("claims_per_document", 1.0, 200.0, true, |l, n| {
        l.claims_per_document = n as usize
    }),
    ("passage_floor", 0.0, 1.0, false, |l, n| {
        l.passage_floor = n as f32
    }),
    ("bm25_top_k", 1.0, 1e5, true, |l, n| {
        l.bm25_top_k = n as usize
    }),
    ("embedding_weight", 0.0, 1.0, false, |l, n| {
        l.embedding_weight = Some(n)
    }),
    ("kneedle", 0.0, 1.0, true, |l, n| l.kneedle = n != 0.0),
    ("kneedle_min", 1.0, 1e3, true, |l, n| {
        l.kneedle_min = n as usize
    }),
    ("kneedle_max", 1.0, 1e3, true, |l, n| {
        l.kneedle_max = n as usize
    }),
    ("kneedle_sensitivity", 0.0, 100.0, false, |l, n| {
        l.kneedle_sensitivity = n
    }),
    ("verify_candidates", 1.0, 1e3, true, |l, n| {
        l.verify_candidates = n as usize
    }),
    ("verify_domains", 1.0, 1e3, true, |l, n| {
        l.verify_domains = n as usize
    }),
    ("verify_pairs", 1.0, 1e3, true, |l, n| {
        l.verify_pairs = n as usize
    }),
    ("min_confidence", 0.0, 1.0, false, |l, n| {
        l.min_confidence = n
    }),
];

impl Limits {
    /// The names accepted by [`set`](Self::set), which are the names of the fields.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SETTINGS.iter().map(|(name, ..)| *name)
    }

    /// Sets a limit by name; `kneedle` is 1 for on and 0 for off.
    ///
    /// Fails with [`InvalidInput`](crate::ErrorKind::InvalidInput) for an unknown name and for a
    /// value out of range; the message states what is expected.
    pub fn set(&mut self, name: &str, value: f64) -> Result<()> {
        let Some((_, least, most, is_whole, set)) = SETTINGS.iter().find(|s| s.0 == name) else {
            let known = Self::names().collect::<Vec<_>>().join(", ");
            let error = Error::invalid(format!(
                "limit {name:?} is not known; expected one of {known}"
            ));
            return Err(match nearest(name, Self::names()).first() {
                Some(near) => error.with_hint(format!("did you mean {near:?}?")),
                None => error,
            });
        };
        if !(*least..=*most).contains(&value) || (*is_whole && value.fract() != 0.0) {
            let kind = if *is_whole {
                "a whole number"
            } else {
                "a number"
            };
            return Err(Error::invalid(format!(
                "limit {name:?} is {value}; expected {kind} from {least} to {most}"
            )));
        }
        set(self, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_changes_its_own_field() {
        let mut seen = Vec::new();
        for (name, _, most, ..) in SETTINGS {
            let value = if name == "kneedle" { 0.0 } else { most };
            let mut limits = Limits::default();
            limits.set(name, value).expect(name);
            assert_ne!(limits, Limits::default(), "{name}");
            assert!(!seen.contains(&limits), "{name} sets what another sets");
            seen.push(limits);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut limits = Limits::default();
        let error = limits
            .set("claims_per_documents", 5.0)
            .expect_err("unknown");
        assert_eq!(error.hint(), Some("did you mean \"claims_per_document\"?"));
        for (name, value) in [
            ("verify_pairs", 0.0),
            ("verify_pairs", 2.5),
            ("min_confidence", 1.1),
            ("min_confidence", f64::NAN),
        ] {
            let error = limits.set(name, value).expect_err(name);
            assert!(error.message().contains("expected a"), "{error}");
        }
        assert_eq!(limits, Limits::default(), "nothing is half set");
    }
}
