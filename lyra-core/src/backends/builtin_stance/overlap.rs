//! How much of one text's words another holds.

use super::words::Token;

/// Stems with their weights, sorted by stem, so that sums always run in the same order.
pub(crate) type Weights = Vec<(String, f64)>;

pub(crate) fn stem_weights<'a>(tokens: impl Iterator<Item = &'a Token>) -> Weights {
    let mut weights: Weights = tokens
        .filter(|t| t.is_content())
        .map(|t| (t.stem.clone(), t.weight))
        .collect();
    weights.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
    weights.dedup_by(|a, b| a.0 == b.0);
    weights
}

pub(crate) fn has_stem(weights: &Weights, stem: &str) -> bool {
    weights
        .binary_search_by(|(s, _)| s.as_str().cmp(stem))
        .is_ok()
}

/// The stems of a text, each once, sorted: quick to build and to ask, whatever the text.
pub(crate) struct Stems<'a>(Vec<&'a str>);

impl<'a> Stems<'a> {
    /// Collects stems.
    pub(crate) fn new(stems: impl Iterator<Item = &'a str>) -> Self {
        let mut all: Vec<&str> = stems.filter(|s| !s.is_empty()).collect();
        all.sort_unstable();
        all.dedup();
        Self(all)
    }

    /// Whether a stem is among them.
    pub(crate) fn has(&self, stem: &str) -> bool {
        self.0.binary_search(&stem).is_ok()
    }
}

/// The share of the weights whose stems are there; 0 where there are no weights.
pub(crate) fn covered(weights: &Weights, stems: &Stems<'_>) -> f64 {
    let total: f64 = weights.iter().map(|(_, w)| w).sum();
    let there: f64 = weights
        .iter()
        .filter(|(s, _)| stems.has(s))
        .map(|(_, w)| w)
        .sum();
    if total > 0.0 { there / total } else { 0.0 }
}

/// Pairs of neighbouring content stems, each once, sorted.
pub(crate) fn bigrams(tokens: &[Token]) -> Vec<(&str, &str)> {
    let content: Vec<&str> = tokens
        .iter()
        .filter(|t| t.is_content())
        .map(|t| t.stem.as_str())
        .collect();
    let mut pairs: Vec<(&str, &str)> = content.windows(2).map(|p| (p[0], p[1])).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// The share of a text's weight that its stems among `known` carry.
pub(crate) fn share_of(tokens: &[Token], known: &Weights) -> f64 {
    let mut own: Vec<(&str, f64)> = tokens
        .iter()
        .filter(|t| t.is_content())
        .map(|t| (t.stem.as_str(), t.weight))
        .collect();
    own.sort_by(|a, b| a.0.cmp(b.0).then(b.1.total_cmp(&a.1)));
    own.dedup_by(|a, b| a.0 == b.0);
    let total: f64 = own.iter().map(|(_, w)| w).sum();
    let there: f64 = own
        .iter()
        .filter(|(s, _)| has_stem(known, s))
        .map(|(_, w)| w)
        .sum();
    if total > 0.0 { there / total } else { 0.0 }
}

/// Words of the outcome that stand side by side, both of them telling.
pub(crate) fn phrases(tokens: &[Token], outcome: &Weights) -> Vec<(String, String)> {
    let tells = |t: &Token| t.weight >= 1.0 && has_stem(outcome, &t.stem);
    tokens
        .windows(2)
        .filter(|pair| tells(&pair[0]) && tells(&pair[1]))
        .map(|pair| (pair[0].stem.clone(), pair[1].stem.clone()))
        .collect()
}

pub(crate) fn numbers(tokens: &[Token]) -> Vec<(f64, bool)> {
    tokens
        .iter()
        .filter_map(|t| t.number().map(|v| (v, t.percent)))
        .collect()
}
