//! The confidence that a reader may have in a judge's verdict on a pair.
//!
//! A small network takes sides on sentences from the same document that are about another cause or
//! outcome. Whether its side is right depends on the probability of the side, on the probability
//! that the sentence asserts something on the statement at all, and on how many of the statement's
//! words occur in the sentence, the headings above it and the title. For judges that do not give
//! the second probability, the verdict is used as it is.

use crate::ports::{StancePair, Verdict};
use crate::store::model::Relation;
use crate::store::text::segment::slice_chars;
use crate::store::text::word_vectors::nearness;
use crate::store::text::{is_cjk, ranking_terms, subject_and_outcome};
use std::collections::HashSet;

/// A logistic regression of whether a side is right, fitted on sets of documents that the network
/// was not trained on (`scripts/judge/weigh.py`). Side and relevance are log odds.
const BASE: f64 = -2.18;
const SIDE: f64 = 0.70;
const RELEVANCE: f64 = 0.47;
const WORDS: f64 = 1.63;
/// The share of the statement's words from which more words make no difference.
const WORDS_IN_FULL: f64 = 0.5;
/// The deduction for a side on a hypothesis, in log odds, if the passage does not name the
/// hypothesis's subject. A folder collected for a broader subject describes the same outcome with
/// many other causes: of 15 such sides in four folders, read by hand, none was right. Within a set
/// of documents on one subject, where other words name it, 9 of 30 were right.
const OTHER_SUBJECT: f64 = 1.8;
/// The largest deduction, in log odds, for a side on a hypothesis if the sentence does not come near
/// to the words of the hypothesis's outcome, and for a side on a claim if the claim or the passage
/// does not come near to those of its subject or of its outcome. In six folders that were collected
/// for a cause, read by hand, 16 of 84 sides on hypotheses were right without it, and 15 of 63 are
/// with it; of the passages that refute a claim, 13 of 82 were right, and 11 of 29 are.
const OTHER_QUESTION: f64 = 4.0;
/// The nearness from which words count as named. Below it the deduction grows in proportion.
const NAMED_FROM: f64 = 0.35;
/// The deduction for a side against a hypothesis, in log odds. Half of the hypotheses of the sets
/// above are refuted by their documents, and fewer of those that people ask about. On the sets
/// alone it would be 0.3.
const AGAINST: f64 = 0.5;
/// From this confidence, a side is taken: on a hypothesis, on a sentence of a draft, and on a
/// claim, where it counts in the claim's confidence and may make it a contradiction. On sets of
/// documents that the network was not trained on, half of the sides from this value are right.
const TAKEN_FROM: f64 = 0.4;
/// The same for a judge that does not give the relevance of a premise.
const TAKEN_AT_ITS_WORD_FROM: f64 = 0.5;

/// The side that a judge favours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Side {
    /// Supports or refutes.
    pub(crate) relation: Relation,
    /// The confidence that a reader may have in it.
    pub(crate) sure: f64,
    /// Whether the judge gave the relevance of the premise.
    is_weighed: bool,
}

impl Side {
    /// The side for a judge's probabilities of supports, refutes and neutral, and the probability
    /// that the premise is relevant to the statement at all. `told` is the premise with its
    /// context.
    pub(crate) fn of(
        chances: [f64; 3],
        relevance: Option<f64>,
        statement: &str,
        told: &str,
    ) -> Self {
        let (relation, side) = match chances[0] >= chances[1] {
            true => (Relation::Supports, chances[0]),
            false => (Relation::Refutes, chances[1]),
        };
        let Some(relevance) = relevance else {
            return Self {
                relation,
                sure: side,
                is_weighed: false,
            };
        };
        let sum = BASE
            + SIDE * log_odds(side)
            + RELEVANCE * log_odds(relevance)
            + WORDS * words_named(statement, told);
        Self {
            relation,
            sure: chance(sum),
            is_weighed: true,
        }
    }

    /// Whether the confidence is high enough to take the side.
    pub(crate) fn is_taken(&self) -> bool {
        let from = match self.is_weighed {
            true => TAKEN_FROM,
            false => TAKEN_AT_ITS_WORD_FROM,
        };
        self.sure >= from
    }
}

/// The kind of statement that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked<'a> {
    /// The hypothesis of a task, judged against a claim in a passage.
    Hypothesis {
        /// Whether the passage names the subject of the hypothesis.
        names_subject: bool,
    },
    /// A claim that was extracted for this hypothesis.
    Claim(&'a str),
    /// A sentence of a draft.
    Sentence,
}

/// The share of the statement's words that occur in the text, 1 from [`WORDS_IN_FULL`] on.
fn words_named(statement: &str, told: &str) -> f64 {
    // A word may be written in many ways in another script.
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
    (shared as f64 / sought.len() as f64 / WORDS_IN_FULL).min(1.0)
}

/// The deduction for a side, in log odds, for what is judged and for what it does not name. `part`
/// is the deciding part of the premise.
fn deduction(asked: Asked<'_>, side: Relation, pair: &StancePair, part: &str) -> f64 {
    match asked {
        Asked::Sentence => 0.0,
        Asked::Claim(hypothesis) => {
            let (subject, outcome) = subject_and_outcome(hypothesis);
            let texts = [&pair.hypothesis, part];
            let parts = texts.map(|text| unnamed(&subject, text).max(unnamed(&outcome, text)));
            OTHER_QUESTION * parts[0].max(parts[1])
        }
        Asked::Hypothesis { names_subject } => {
            let (_, outcome) = subject_and_outcome(&pair.hypothesis);
            let other_subject = if names_subject { 0.0 } else { OTHER_SUBJECT };
            let against = if side == Relation::Refutes {
                AGAINST
            } else {
                0.0
            };
            other_subject + OTHER_QUESTION * unnamed(&outcome, part) + against
        }
    }
}

/// How far a sentence is from naming some words: 0 if it names them, at most 1.
fn unnamed(words: &[&str], sentence: &str) -> f64 {
    (1.0 - nearness(words, sentence).unwrap_or(1.0) / NAMED_FROM).max(0.0)
}

fn chance(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

fn log_odds(chance: f64) -> f64 {
    let chance = chance.clamp(1e-4, 1.0 - 1e-4);
    (chance / (1.0 - chance)).ln()
}

/// The verdict with the confidence that a reader may have in it, or neutral if that is too low.
pub(super) fn weighed(verdict: Verdict, pair: &StancePair, asked: Asked<'_>) -> Verdict {
    let (Some(_), Some(chances)) = (verdict.relevance, verdict.probabilities) else {
        return verdict;
    };
    let part = verdict.quote.as_ref();
    let part = part.and_then(|span| slice_chars(&pair.premise, span.start, span.end));
    let part = part.unwrap_or(&pair.premise);
    let context = pair.context.as_deref().unwrap_or_default();
    let told = format!("{context} {part}");
    let mut side = Side::of(chances, verdict.relevance, &pair.hypothesis, &told);
    side.sure = chance(log_odds(side.sure) - deduction(asked, side.relation, pair, part));
    let (relation, confidence) = match side.is_taken() {
        true => (side.relation, side.sure),
        false => (Relation::Neutral, 1.0 - side.sure),
    };
    Verdict {
        relation,
        confidence,
        ..verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::names_subject;

    /// The weighed verdict for these probabilities on a premise under a heading.
    fn of(premise: &str, context: Option<&str>, side: f64, relevance: f64) -> Verdict {
        let pair = StancePair {
            context: context.map(str::to_owned),
            ..StancePair::new(
                premise,
                "Removing the global interpreter lock makes single-threaded Python programs slower",
            )
        };
        let verdict = Verdict {
            probabilities: Some([side, 0.0, 1.0 - side]),
            relevance: Some(relevance),
            ..Verdict::new(Relation::Supports, side)
        };
        weighed(verdict, &pair, Asked::Sentence)
    }

    const SAME: &str = "Without the global interpreter lock, Python programs are slower.";

    #[test]
    fn words_relevance_and_the_side_s_chance_all_count() {
        let whole = of(SAME, None, 0.95, 0.95).confidence;
        let other = "Replacing macros makes it 1.04 times slower.";
        for less in [
            of(other, None, 0.95, 0.95),
            of(SAME, None, 0.95, 0.5),
            of(SAME, None, 0.6, 0.95),
        ] {
            assert!(less.confidence < whole, "{less:?} {whole}");
        }
    }

    #[test]
    fn a_heading_names_what_a_sentence_leaves_out() {
        let sentence = "It will have slower single-threaded performance.";
        let heading = "Making the Global Interpreter Lock Optional. ";
        let under = of(sentence, Some(heading), 0.9, 0.9).confidence;
        assert!(under > of(sentence, None, 0.9, 0.9).confidence);
    }

    #[test]
    fn only_the_part_that_decided_counts() {
        let pair = StancePair::new("Sleep matters. Tea helps.", "Tea helps sleep");
        let verdict = Verdict {
            quote: Some(15..25),
            probabilities: Some([0.05, 0.9, 0.05]),
            relevance: Some(0.9),
            ..Verdict::new(Relation::Refutes, 0.9)
        };
        let other = Verdict {
            quote: Some(0..14),
            ..verdict
        };
        let decided = |verdict| weighed(verdict, &pair, Asked::Sentence).confidence;
        assert!(decided(verdict) > decided(other));
    }

    #[test]
    fn what_is_not_sure_enough_takes_no_side() {
        let unsure = of(SAME, None, 0.3, 0.05);
        assert_eq!(unsure.relation, Relation::Neutral);
        assert!(unsure.confidence > 1.0 - TAKEN_FROM);
        assert_eq!(of(SAME, None, 0.9, 0.9).relation, Relation::Supports);
    }

    #[test]
    fn a_judge_that_tells_no_relevance_is_taken_at_its_word() {
        let pair = StancePair::new("Lamps are red.", "Tea helps sleep");
        let verdict = Verdict::new(Relation::Refutes, 0.9);
        assert_eq!(weighed(verdict.clone(), &pair, Asked::Sentence), verdict);
    }

    /// The confidence in a clear side on this statement.
    fn sure(premise: &str, statement: &str, asked: Asked<'_>) -> f64 {
        let verdict = Verdict {
            probabilities: Some([0.9, 0.02, 0.08]),
            relevance: Some(0.9),
            ..Verdict::new(Relation::Supports, 0.9)
        };
        let verdict = weighed(verdict, &StancePair::new(premise, statement), asked);
        match verdict.relation {
            Relation::Neutral => 1.0 - verdict.confidence,
            _ => verdict.confidence,
        }
    }

    #[test]
    fn another_outcome_of_the_same_cause_counts_less_for_a_hypothesis() {
        let hypothesis = "Vitamin D supplements improve muscle strength";
        let asked = Asked::Hypothesis {
            names_subject: true,
        };
        let of = |premise: &str| sure(premise, hypothesis, asked);
        let named = of("Vitamin D supplements improved the strength of muscles.");
        let other = of("Vitamin D supplements improved serum parathyroid hormone.");
        assert!(named > other, "{named} {other}");
    }

    #[test]
    fn a_claim_or_a_passage_on_another_question_is_no_evidence() {
        let hypothesis = "Zinc prevents pneumonia";
        let of = |premise: &str, claim: &str| sure(premise, claim, Asked::Claim(hypothesis));
        let claim = "Zinc reduced the incidence of pneumonia.";
        let premise = "Zinc lowered how often pneumonia occurred.";
        let both = of(premise, claim);
        assert!(both > of(premise, "The groups did not differ in age."));
        assert!(both > of("Zinc lowered serum iron in adults.", claim));
        let draft = sure(premise, claim, Asked::Sentence);
        assert!((both - draft).abs() < 1e-9);
    }

    #[test]
    fn another_cause_of_the_same_outcome_counts_less_for_a_hypothesis() {
        let pair = StancePair::new(
            "Injections reduce pain in knee osteoarthritis.",
            "Exercise therapy reduces pain in people with knee osteoarthritis",
        );
        let of = |names_subject: bool| {
            let verdict = Verdict {
                probabilities: Some([0.9, 0.02, 0.08]),
                relevance: Some(0.9),
                ..Verdict::new(Relation::Supports, 0.9)
            };
            weighed(verdict, &pair, Asked::Hypothesis { names_subject }).confidence
        };
        assert!(of(false) < of(true));
        let named = |told: &str| names_subject(&pair.hypothesis, told);
        assert!(!named(&pair.premise) && named("All exercised. It reduced pain."));
    }
}
