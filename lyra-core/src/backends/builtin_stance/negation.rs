//! What a clause says happened, after negation: "did not increase" is no increase.

use super::lexicon::Cue;
use super::words::{Kind, Token};

/// What a clause says about a quantity, once negation is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// More, higher.
    Up,
    /// Less, lower.
    Down,
    /// Better.
    Good,
    /// Worse.
    Bad,
    /// No difference or change.
    Same,
    /// Not more: "did not increase".
    NotUp,
    /// Not less.
    NotDown,
    /// Not better.
    NotGood,
    /// Not worse.
    NotBad,
    /// A link, a difference, an effect, without its direction.
    Linked,
    /// No such link.
    Unlinked,
}

impl Value {
    /// The same finding told from the other side.
    pub(crate) fn flipped(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
            Self::Good => Self::Bad,
            Self::Bad => Self::Good,
            Self::NotUp => Self::NotDown,
            Self::NotDown => Self::NotUp,
            Self::NotGood => Self::NotBad,
            Self::NotBad => Self::NotGood,
            kept => kept,
        }
    }

    /// What is left when the finding is denied.
    pub(crate) fn denied(self) -> Self {
        match self {
            Self::Up => Self::NotUp,
            Self::Down => Self::NotDown,
            Self::Good => Self::NotGood,
            Self::Bad => Self::NotBad,
            Self::Linked => Self::Unlinked,
            Self::Same => Self::Linked,
            kept => kept,
        }
    }
}

/// A cue that names a change, with what negation makes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Event {
    /// Index of the token.
    pub(crate) at: usize,
    /// What it says.
    pub(crate) value: Value,
    /// Whether a negation reaches it.
    pub(crate) negated: bool,
}

/// How many tokens a negation reaches ahead.
const REACH_AHEAD: usize = 8;
/// How many tokens back "was not observed" and Japanese negations reach.
const REACH_BACK: usize = 14;

/// The events of one clause; indices count from the start of `clause`.
pub(crate) fn events(clause: &[Token]) -> Vec<Event> {
    let negated = negated_positions(clause);
    clause
        .iter()
        .enumerate()
        .filter(|(at, token)| token.cue.is_event() && !is_modifier(clause, *at))
        .filter_map(|(at, _)| {
            let insignificant = beside(clause, at, Cue::Insignificant);
            value(signed_cue(clause, at), negated[at], insignificant).map(|value| Event {
                at,
                value,
                negated: negated[at] || insignificant,
            })
        })
        .collect()
}

/// The cue of a token; a link that is called positive or inverse has a direction.
fn signed_cue(clause: &[Token], at: usize) -> Cue {
    let cue = clause[at].cue;
    if cue != Cue::Link {
        return cue;
    }
    match at.checked_sub(1).map_or("", |i| clause[i].lower.as_str()) {
        "positive" => Cue::Up,
        "negative" => Cue::Down,
        _ => cue,
    }
}

/// Whether a negation word stands in the clause at all.
pub(crate) fn has_negation(clause: &[Token]) -> bool {
    clause.iter().enumerate().any(|(at, t)| {
        matches!(t.cue, Cue::NotBefore | Cue::Insignificant) || is_negation(clause, at)
    })
}

/// Which tokens a negation reaches.
fn negated_positions(clause: &[Token]) -> Vec<bool> {
    let mut negated = vec![false; clause.len()];
    for at in 0..clause.len() {
        if is_negation(clause, at) {
            let ahead = reach_ahead(clause, at);
            if ahead.clone().any(|i| clause[i].cue.is_event()) {
                ahead.for_each(|i| negated[i] = true);
            } else if negates_observation(clause, at) || clause[at].lower == "lacking" {
                nearest_event_before(clause, at)
                    .into_iter()
                    .for_each(|i| negated[i] = true);
            }
        } else if clause[at].cue == Cue::NotBefore {
            nearest_event_before(clause, at)
                .into_iter()
                .for_each(|i| negated[i] = true);
        }
    }
    negated
}

/// Whether the token negates what follows; "not only" and "no longer than" style uses do not.
fn is_negation(clause: &[Token], at: usize) -> bool {
    let next = clause.get(at + 1).map_or("", |t| t.lower.as_str());
    match clause[at].lower.as_str() {
        "not" | "no" if matches!(next, "only" | "just" | "merely" | "all" | "every") => false,
        "against" => at.checked_sub(1).is_some_and(|i| {
            matches!(
                clause[i].lower.as_str(),
                "speaks" | "speak" | "spoke" | "argues" | "argue" | "argued" | "evidence"
            )
        }),
        "little" => matches!(
            next,
            "or" | "evidence" | "effect" | "difference" | "association"
        ),
        "lacking" => {
            at > 0 && matches!(clause[at - 1].lower.as_str(), "was" | "is" | "were" | "are")
        }
        // "lack of effect" negates; "mice lacking Sirt1" does not.
        "lack" | "absence" => clause
            .get(at + 2)
            .is_some_and(|t| next == "of" && (t.cue.is_event() || t.cue == Cue::Observed)),
        _ => clause[at].cue == Cue::Not,
    }
}

/// The tokens that a negation reaches ahead: to a mark, a contrast, or a fixed distance.
fn reach_ahead(clause: &[Token], at: usize) -> std::ops::Range<usize> {
    let limit = clause.len().min(at + 1 + REACH_AHEAD);
    let end = (at + 1..limit)
        .find(|&i| clause[i].cue == Cue::Contrast || (clause[i].is_mark(",") && i > at + 2))
        .unwrap_or(limit);
    at + 1..end
}

/// "was not significant", "were not observed".
fn negates_observation(clause: &[Token], at: usize) -> bool {
    clause[at + 1..clause.len().min(at + 4)]
        .iter()
        .any(|t| t.cue == Cue::Observed)
}

fn nearest_event_before(clause: &[Token], at: usize) -> Option<usize> {
    (at.saturating_sub(REACH_BACK)..at)
        .rev()
        .find(|&i| clause[i].cue.is_event())
}

/// Verbs that stand behind a subject, so that what is before them is a noun.
const AUXILIARIES: &[&str] = &[
    "do", "does", "did", "is", "are", "was", "were", "have", "has", "had", "can", "may", "will",
];

/// A cue that only describes a noun: "reduced ejection fraction", "DPP-4 inhibitor use", "less
/// than 10", "more than 50 patients".
fn is_modifier(clause: &[Token], at: usize) -> bool {
    let token = &clause[at];
    let next = clause.get(at + 1);
    let second = clause.get(at + 2);
    let then_number =
        next.is_some_and(|t| t.lower == "than") && second.is_some_and(|t| t.kind == Kind::Number);
    let ejection = matches!(token.lower.as_str(), "reduced" | "preserved")
        && next.is_some_and(|t| t.lower == "ejection");
    let adverse_events = token.lower == "adverse";
    // "Wage increases do not …": a plural noun before its verb.
    let noun = token.kind == Kind::Word
        && token.lower.ends_with('s')
        && next.is_some_and(|t| AUXILIARIES.contains(&t.lower.as_str()));
    let glucose_lowering = token.lower == "lowering"
        && next.is_some_and(|t| {
            matches!(t.stem.as_str(), "medic" | "treat") || t.lower.starts_with("strateg")
        });
    // "different answers" is no finding of a difference; "not different" is one of none.
    let merely_several = token.lower == "different"
        && !clause[at.saturating_sub(3)..at]
            .iter()
            .any(|t| t.cue == Cue::Not || t.cue == Cue::Observed);
    let loose = token.lower == "independent" && next.is_none_or(|t| t.lower != "of");
    then_number || ejection || adverse_events || loose || noun || glucose_lowering || merely_several
}

fn beside(clause: &[Token], at: usize, cue: Cue) -> bool {
    let from = at.saturating_sub(2);
    clause[from..clause.len().min(at + 2)]
        .iter()
        .any(|t| t.cue == cue)
}

fn value(cue: Cue, negated: bool, insignificant: bool) -> Option<Value> {
    if insignificant && !negated {
        return Some(Value::Same);
    }
    Some(match (cue, negated) {
        (Cue::Up, false) => Value::Up,
        (Cue::Up, true) => Value::NotUp,
        (Cue::Down, false) => Value::Down,
        (Cue::Down, true) => Value::NotDown,
        (Cue::Good, false) => Value::Good,
        (Cue::Good, true) => Value::NotGood,
        (Cue::Bad, false) => Value::Bad,
        (Cue::Bad, true) => Value::NotBad,
        (Cue::Same, false) | (Cue::Differ, true) => Value::Same,
        (Cue::Differ | Cue::Link, false) | (Cue::Same, true) => Value::Linked,
        (Cue::Link, true) => Value::Unlinked,
        _ => return None,
    })
}

/// How far two values agree: 1 the same, -1 opposite, 0 nothing to do with one another.
pub(crate) fn agreement(hypothesis: Value, premise: Value) -> f64 {
    use Value as V;
    match (hypothesis, premise) {
        (a, b) if a == b => 1.0,
        (V::Up, V::Down) | (V::Down, V::Up) | (V::Good, V::Bad) | (V::Bad, V::Good) => -1.0,
        (V::Up | V::Down | V::Good | V::Bad, V::Same | V::Unlinked) => -0.9,
        (V::Up, V::NotUp) | (V::Down, V::NotDown) | (V::Good, V::NotGood) | (V::Bad, V::NotBad) => {
            -1.0
        }
        (V::NotUp, V::Up) | (V::NotDown, V::Down) | (V::NotGood, V::Good) | (V::NotBad, V::Bad) => {
            -1.0
        }
        (V::NotUp | V::NotDown | V::NotGood | V::NotBad, V::Same | V::Unlinked) => 0.9,
        (V::NotUp, V::Down) | (V::NotDown, V::Up) | (V::NotGood, V::Bad) | (V::NotBad, V::Good) => {
            0.6
        }
        (V::Same | V::Unlinked, V::Same | V::Unlinked) => 1.0,
        (V::Same | V::Unlinked, V::NotUp | V::NotDown | V::NotGood | V::NotBad) => 0.8,
        (V::Same | V::Unlinked, V::Up | V::Down | V::Good | V::Bad) => -0.9,
        (V::Same | V::Unlinked, V::Linked) => -0.7,
        (V::Linked, V::Same | V::Unlinked) => -0.9,
        (V::Linked, V::Up | V::Down | V::Good | V::Bad) => 0.5,
        (V::Linked, V::NotUp | V::NotDown | V::NotGood | V::NotBad) => -0.7,
        (V::Up | V::Bad, V::Linked) => 0.4,
        (V::Down | V::Good, V::Linked) => 0.2,
        (V::NotUp | V::NotBad, V::Linked) => -0.4,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::tokenize;
    use super::*;

    #[test]
    fn negation_reaches_what_it_denies() {
        use Value as V;
        let cases: &[(&str, &[Value])] = &[
            ("the drug increased the risk", &[V::Up]),
            ("the drug did not increase the risk", &[V::NotUp]),
            ("the drug didn't increase the risk", &[V::NotUp]),
            ("no significant reduction in deaths", &[V::NotDown]),
            ("a nonsignificant increase in deaths", &[V::Same]),
            ("an increase was not observed", &[V::NotUp]),
            ("there was no difference between groups", &[V::Same]),
            ("not only raised glucose", &[V::Up]),
            ("more than 50 centers took part", &[]),
            ("an inverse correlation", &[V::Down, V::Linked]),
            ("a positive correlation", &[V::Up]),
            ("heart failure with reduced ejection fraction", &[]),
            ("増加させなかった", &[V::NotUp]),
            ("関連は認められなかった", &[V::Unlinked]),
            ("有意差はなかった", &[V::Same]),
        ];
        for (text, expected) in cases {
            let found: Vec<Value> = events(&tokenize(text)).iter().map(|e| e.value).collect();
            assert_eq!(&found, expected, "{text}");
        }
    }

    #[test]
    fn agreement_is_about_sides() {
        use Value as V;
        let cases = [
            (V::Up, V::Same, -0.9),
            (V::NotUp, V::Same, 0.9),
            (V::NotUp, V::Down, 0.6),
            (V::Same, V::Up, -0.9),
            (V::Linked, V::Down, 0.5),
            (V::Linked, V::Unlinked, -0.9),
            (V::Up, V::Good, 0.0),
        ];
        for (hypothesis, premise, expected) in cases {
            assert_eq!(
                agreement(hypothesis, premise),
                expected,
                "{hypothesis:?} {premise:?}"
            );
        }
        for value in [V::Up, V::Down, V::Good, V::Bad] {
            assert_eq!(agreement(value, value), 1.0);
            assert_eq!(agreement(value, value.flipped()), -1.0);
            assert_eq!(agreement(value, value.denied()), -1.0);
            assert_eq!(agreement(value.denied(), value), -1.0);
            assert_eq!(value.flipped().flipped(), value);
        }
    }
}
