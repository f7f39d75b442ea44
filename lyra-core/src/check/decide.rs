//! Combines the judge's verdicts on single sentences into how the sources relate to a claim.

use super::numbers::{Quantity, quantities};
use super::overstated;
use super::report::Evidence;
use super::source_text::SourceText;
use super::stance::Judged;
use crate::store::model::Relation;
use std::sync::Arc;

/// The judge's evidence from a source on a claim. The probabilities are those of the sentence that
/// supports, or refutes, most, each weighted by closeness.
struct SourceEvidence {
    supports: f64,
    refutes: f64,
    /// The support from the nearest sentences as one premise.
    together_supports: f64,
    together_refutes: f64,
    /// The closeness of the nearest sentence.
    closeness: f64,
    has_numbers: bool,
    overstates: bool,
}

/// A logistic regression on [`SourceEvidence`].
struct Weights {
    base: f64,
    supports: f64,
    refutes: f64,
    together_supports: f64,
    together_refutes: f64,
    closeness: f64,
    has_numbers: f64,
    overstates: f64,
}

/// Whether a sentence is unsound, fitted on half "a" of benches/check.
const UNSOUND: Weights = Weights {
    base: 2.59,
    supports: -3.24,
    refutes: 0.73,
    together_supports: -2.72,
    together_refutes: 1.14,
    closeness: -1.20,
    has_numbers: -1.50,
    overstates: 1.47,
};
/// From these log odds, a sentence is flagged. Of the sound sentences of half "a" 5 % are flagged as well.
const FLAGGED_FROM: f64 = 1.2;
/// Whether a flagged sentence says the opposite of its source, fitted on the unsound sentences of half "a".
const OPPOSITE: Weights = Weights {
    base: -1.70,
    supports: 0.52,
    refutes: 2.33,
    together_supports: 1.43,
    together_refutes: 1.32,
    closeness: 0.80,
    has_numbers: -0.41,
    overstates: -1.54,
};
/// From these log odds, a flagged sentence says the opposite. On half "a" that is right in 7 of 10 cases.
const OPPOSITE_FROM: f64 = -0.3;
/// From this weighted probability of refutation, a flagged sentence says the opposite, whatever it
/// leaves out.
const CLEARLY_OPPOSITE_FROM: f64 = 0.7;
/// A sentence that is neutral with at least this probability is not about the claim, so its
/// limitations do not limit what the claim says.
const SILENT_FROM: f64 = 0.8;

impl Weights {
    /// The log odds.
    fn of(&self, shown: &SourceEvidence) -> f64 {
        let term = |weight: f64, holds: bool| if holds { weight } else { 0.0 };
        self.base
            + self.supports * shown.supports
            + self.refutes * shown.refutes
            + self.together_supports * shown.together_supports
            + self.together_refutes * shown.together_refutes
            + self.closeness * shown.closeness
            + term(self.has_numbers, shown.has_numbers)
            + term(self.overstates, shown.overstates)
    }
}

/// The judge's verdicts for a claim and one of its sources.
pub(super) struct Heard {
    pub(super) source: Arc<SourceText>,
    pub(super) judged: Vec<Judged>,
    /// The judge's probabilities for the nearest sentences as one premise: supports, refutes, neutral.
    pub(super) together: Option<[f64; 3]>,
}

/// How the sources of a claim relate to it.
pub(super) enum ClaimDecision {
    /// With the judge's confidence.
    Supports(Evidence, f64),
    /// With the judge's confidence.
    Refutes(Evidence, f64),
    /// With what the claim omits from the source's words.
    Overstates(Evidence, String),
    /// The nearest words, if any.
    Silent(Option<Evidence>, f64),
}

pub(super) type JudgedSentence<'h> = (&'h Arc<SourceText>, &'h Judged);

/// All judged sentences.
pub(super) fn sentences(heard: &[Heard]) -> impl Iterator<Item = JudgedSentence<'_>> {
    heard
        .iter()
        .flat_map(|one| one.judged.iter().map(move |judged| (&one.source, judged)))
}

/// The first of the sentences with the greatest score.
fn greatest<'h>(heard: &'h [Heard], score: impl Fn(&Judged) -> f64) -> Option<JudgedSentence<'h>> {
    let mut best: Option<(f64, JudgedSentence<'h>)> = None;
    for sentence in sentences(heard) {
        let score = score(sentence.1);
        if best.as_ref().is_none_or(|(top, _)| score > *top) {
            best = Some((score, sentence));
        }
    }
    best.map(|(_, sentence)| sentence)
}

/// A probability of a judged sentence, weighted by how many of the claim's words it contains.
fn weighed(judged: &Judged, class: usize) -> f64 {
    judged.probabilities[class] * (0.3 + 1.4 * judged.closeness).min(1.0)
}

fn evidence((source, judged): JudgedSentence<'_>) -> Evidence {
    source.evidence(judged.sentence)
}

/// The greatest probability for a source's nearest sentences as one premise. A source of one
/// sentence uses the probability of that sentence.
fn together(heard: &[Heard], class: usize) -> f64 {
    let of = |one: &Heard| {
        let alone = one.judged.first().map(|judged| judged.probabilities);
        one.together.or(alone).map_or(0.0, |found| found[class])
    };
    heard.iter().map(of).fold(0.0, f64::max)
}

/// What the claim omits from the sentence's words.
fn lost(claim: &str, (source, judged): JudgedSentence<'_>) -> Option<String> {
    let before = source
        .before(judged.sentence)
        .map(|before| before.text.as_str());
    let title = source.source.title.as_deref().unwrap_or_default();
    let around = format!("{title} {}", before.unwrap_or_default());
    overstated::lost(claim, &source.sentences[judged.sentence].text, &around)
}

/// Whether one sentence, with its surrounding text, gives all numbers of the claim.
fn has_numbers(claim: &str, heard: &[Heard]) -> bool {
    let wanted = quantities(claim);
    !wanted.is_empty()
        && sentences(heard).any(|(source, judged)| {
            let there = source.numbers_around(judged.sentence);
            let is_there = |quantity: &Quantity| {
                source.is_year_of(quantity) || there.iter().any(|other| quantity.is_met_by(other))
            };
            wanted.iter().all(is_there)
        })
}

/// Whether the nearest sentences of the sources support a claim so clearly that no other sentence
/// could change the verdict.
pub(super) fn is_settled(heard: &[Heard]) -> bool {
    let pro = greatest(heard, |judged| weighed(judged, 0));
    let near = greatest(heard, |judged| judged.closeness);
    let (Some(pro), Some(near)) = (pro, near) else {
        return false;
    };
    let at_worst = SourceEvidence {
        supports: weighed(pro.1, 0),
        refutes: 1.0,
        together_supports: together(heard, 0),
        together_refutes: together(heard, 1),
        closeness: near.1.closeness,
        has_numbers: false,
        overstates: true,
    };
    UNSOUND.of(&at_worst) < 0.0
}

/// Whether the sources of a claim support it. The claim cites them, so silence is a fault.
pub(super) fn decide(claim: &str, heard: &[Heard], is_builtin: bool) -> ClaimDecision {
    let pro = greatest(heard, |judged| weighed(judged, 0));
    let contra = greatest(heard, |judged| weighed(judged, 1));
    let near = greatest(heard, |judged| judged.closeness);
    let (Some(pro), Some(contra), Some(near)) = (pro, contra, near) else {
        return ClaimDecision::Silent(None, 1.0);
    };
    if !is_builtin {
        return of_a_model(claim, pro, contra, near);
    }
    let speaking = [near, pro].into_iter();
    let lost = speaking
        .filter(|one| one.1.probabilities[2] < SILENT_FROM)
        .find_map(|one| Some((one, lost(claim, one)?)));
    let shown = SourceEvidence {
        supports: weighed(pro.1, 0),
        refutes: weighed(contra.1, 1),
        together_supports: together(heard, 0),
        together_refutes: together(heard, 1),
        closeness: near.1.closeness,
        has_numbers: has_numbers(claim, heard),
        overstates: lost.is_some(),
    };
    let doubt = UNSOUND.of(&shown);
    let unsound = 1.0 / (1.0 + (-doubt).exp());
    if doubt < FLAGGED_FROM {
        return ClaimDecision::Supports(evidence(pro), 1.0 - unsound);
    }
    let is_clear = shown.refutes >= CLEARLY_OPPOSITE_FROM && shown.refutes > shown.supports;
    if is_clear || OPPOSITE.of(&shown) >= OPPOSITE_FROM {
        return ClaimDecision::Refutes(evidence(contra), unsound);
    }
    match lost {
        Some((sentence, lost)) => ClaimDecision::Overstates(evidence(sentence), lost),
        None => ClaimDecision::Silent(Some(evidence(near)), unsound),
    }
}

/// The verdict of a larger judge is used as it is.
fn of_a_model(
    claim: &str,
    pro: JudgedSentence<'_>,
    contra: JudgedSentence<'_>,
    near: JudgedSentence<'_>,
) -> ClaimDecision {
    let (supports, refutes) = (pro.1.probabilities[0], contra.1.probabilities[1]);
    if supports < 0.5 && refutes < 0.5 {
        return ClaimDecision::Silent(Some(evidence(near)), 1.0 - supports);
    }
    if refutes > supports {
        return ClaimDecision::Refutes(evidence(contra), refutes);
    }
    match lost(claim, pro) {
        Some(lost) => ClaimDecision::Overstates(evidence(pro), lost),
        None => ClaimDecision::Supports(evidence(pro), supports),
    }
}

/// The position of a source on a statement that does not cite it.
pub(super) fn side(heard: &Heard) -> ClaimDecision {
    let heard = std::slice::from_ref(heard);
    let Some(surest) = greatest(heard, |judged| judged.side.sure) else {
        return ClaimDecision::Silent(None, 1.0);
    };
    let side = surest.1.side;
    match side.relation {
        _ if !side.is_taken() => {
            let near = greatest(heard, |judged| judged.closeness);
            ClaimDecision::Silent(near.map(evidence), 1.0 - side.sure)
        }
        Relation::Supports => ClaimDecision::Supports(evidence(surest), side.sure),
        _ => ClaimDecision::Refutes(evidence(surest), side.sure),
    }
}
