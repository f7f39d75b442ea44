//! How directly a text speaks to a statement.
//!
//! A small network sees that a passage tells of the same outcome, and often misses that it tells of
//! another cause. Of its verdicts those count less where the passage, the headings above it and the
//! title leave out most of what the statement is about. Larger judges need no such help.

use crate::model::Relation;
use crate::ports::{StancePair, Verdict};
use crate::text::segment::slice_chars;
use crate::text::{is_cjk, ranking_terms};
use std::collections::HashSet;

/// What a verdict counts where nothing of the statement is named.
const LEAST: f64 = 0.3;
/// The share of the statement's words from which on it counts in full.
const IN_FULL: f64 = 0.5;

/// How much a verdict counts that rests on `told`: from [`LEAST`] to 1.
fn directness(statement: &str, told: &str) -> f64 {
    // A word in another script may be written in many ways.
    if statement.chars().any(is_cjk) {
        return 1.0;
    }
    let terms = |text: &str| -> HashSet<String> {
        let terms = ranking_terms(text).into_iter();
        terms
            .filter(|term| term.chars().any(char::is_alphabetic))
            .collect()
    };
    let sought = terms(statement);
    if sought.is_empty() {
        return 1.0;
    }
    let shared = sought.intersection(&terms(told)).count();
    let share = shared as f64 / sought.len() as f64;
    (LEAST + (1.0 - LEAST) * share / IN_FULL).min(1.0)
}

/// The verdict with its confidence weighed by how directly the part of the premise that decided
/// speaks to the statement.
pub(super) fn weighed(verdict: &Verdict, pair: &StancePair) -> Verdict {
    if !matches!(verdict.relation, Relation::Supports | Relation::Refutes) {
        return verdict.clone();
    }
    let part = verdict.quote.as_ref();
    let part = part.and_then(|span| slice_chars(&pair.premise, span.start, span.end));
    let part = part.unwrap_or(&pair.premise);
    let context = pair.context.as_deref().unwrap_or_default();
    let told = format!("{context} {part}");
    Verdict {
        confidence: verdict.confidence * directness(&pair.hypothesis, &told),
        ..verdict.clone()
    }
}

/// The verdict, or neutral where it is less sure than `least`.
pub(super) fn at_least(verdict: Verdict, least: f64) -> Verdict {
    if verdict.relation == Relation::Neutral || verdict.confidence >= least {
        return verdict;
    }
    Verdict {
        relation: Relation::Neutral,
        confidence: 1.0 - verdict.confidence,
        ..verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(premise: &str, context: Option<&str>) -> f64 {
        let pair = StancePair {
            context: context.map(str::to_owned),
            ..StancePair::new(
                premise,
                "Removing the global interpreter lock makes single-threaded Python programs slower",
            )
        };
        weighed(&Verdict::new(Relation::Supports, 1.0), &pair).confidence
    }

    #[test]
    fn another_cause_counts_less_than_the_same() {
        let other = of(
            "Replacing macros with functions makes Python 1.04 times slower.",
            None,
        );
        let same = of(
            "Without the global interpreter lock, Python programs are slower.",
            None,
        );
        assert!(other < 0.8 && same > 0.99, "{other} {same}");
    }

    #[test]
    fn a_heading_names_what_a_sentence_leaves_out() {
        let sentence = "It will have slower single-threaded performance.";
        let heading = "Making the Global Interpreter Lock Optional. ";
        assert!(of(sentence, Some(heading)) > of(sentence, None));
    }

    #[test]
    fn only_the_part_that_decided_counts() {
        let pair = StancePair::new("Sleep matters. Tea helps.", "Tea helps sleep");
        let verdict = Verdict {
            quote: Some(15..25),
            ..Verdict::new(Relation::Refutes, 0.9)
        };
        let long = StancePair::new("Nothing. Lamps are red.", "Tea helps sleep well at night");
        assert!(weighed(&verdict, &pair).confidence > 0.8);
        let whole = Verdict {
            quote: None,
            ..verdict
        };
        assert!(weighed(&whole, &long).confidence < 0.3);
    }

    #[test]
    fn what_is_not_sure_enough_takes_no_side() {
        let unsure = at_least(Verdict::new(Relation::Refutes, 0.3), 0.45);
        assert_eq!(
            (unsure.relation, unsure.confidence),
            (Relation::Neutral, 0.7)
        );
        let sure = at_least(Verdict::new(Relation::Refutes, 0.5), 0.45);
        assert_eq!(sure.relation, Relation::Refutes);
    }
}
