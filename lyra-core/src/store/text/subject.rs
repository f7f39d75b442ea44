//! Finds the subject of a hypothesis.

use super::{is_cjk, ranking_terms};
use std::collections::HashSet;

/// Maximum number of terms in the subject of a hypothesis.
const LONGEST_SUBJECT: usize = 4;

/// Whether the text names the subject of a hypothesis. The subject is the text before the first word
/// that may be its verb.
pub(crate) fn names_subject(hypothesis: &str, told: &str) -> bool {
    if hypothesis.chars().any(is_cjk) {
        return true;
    }
    let words: Vec<&str> = hypothesis.split_whitespace().collect();
    let mut subject = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let begins_verb = !subject.is_empty() && may_be_verb(&words, place);
        if begins_verb || subject.len() >= LONGEST_SUBJECT {
            break;
        }
        let terms = ranking_terms(word).into_iter();
        subject.extend(terms.filter(|term| term.chars().any(char::is_alphabetic)));
    }
    let told: HashSet<String> = ranking_terms(told).into_iter().collect();
    subject.is_empty() || subject.iter().any(|term| told.contains(term))
}

/// Base forms of verbs that occur in hypotheses.
const PLAIN_VERBS: &[&str] = &[
    "affect", "are", "can", "cause", "decrease", "delay", "do", "does", "harm", "has", "have",
    "help", "improve", "increase", "induce", "inhibit", "is", "lead", "lower", "make", "may",
    "must", "predict", "prevent", "promote", "protect", "raise", "reduce", "should", "slow", "was",
    "were", "will", "worsen",
];

/// Words that are followed by a noun.
const BEFORE_NOUNS: &[&str] = &[
    "a", "among", "an", "and", "at", "between", "by", "for", "from", "in", "of", "on", "or", "the",
    "to", "with",
];

/// Whether a word is a verb in its base form, or ends in s and stands neither after a preposition or an
/// article nor before a verb, as a plural does.
fn may_be_verb(words: &[&str], place: usize) -> bool {
    let is_plain = |at: usize| words.get(at).is_some_and(|word| PLAIN_VERBS.contains(word));
    let word = words[place];
    let ends_in_s = word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us");
    let follows = place.checked_sub(1).map(|before| words[before]);
    !follows.is_some_and(|before| BEFORE_NOUNS.contains(&before))
        && (is_plain(place) || ends_in_s && !is_plain(place + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_ends_before_the_verb() {
        for (hypothesis, told, is_named) in [
            (
                "DPP-4 inhibitors increase heart failure",
                "The inhibitors failed.",
                true,
            ),
            (
                "Regular use of coffee lowers the risk of diabetes",
                "Coffee is a drink.",
                true,
            ),
            (
                "Regular use of coffee lowers the risk of diabetes",
                "Tea lowers the risk.",
                false,
            ),
            (
                "People who sleep less gain weight",
                "Those who sleep long stay slim.",
                true,
            ),
            (
                "Exercise reduces pain in knee osteoarthritis",
                "Risedronate reduced pain in knee osteoarthritis.",
                false,
            ),
            ("Statins reduce mortality", "Mortality fell.", false),
            (
                "Use of statins lowers cholesterol",
                "Statins were taken.",
                true,
            ),
            ("睡眠不足は肥満を招く", "Tea.", true),
        ] {
            assert_eq!(
                names_subject(hypothesis, told),
                is_named,
                "{hypothesis} {told}"
            );
        }
    }
}
