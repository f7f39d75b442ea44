//! Finds the subject of a hypothesis, and what it asserts of it.

use super::{is_cjk, is_stop_word, ranking_terms};
use std::collections::HashSet;

/// Maximum number of terms in the subject of a hypothesis.
const LONGEST_SUBJECT: usize = 4;

/// Whether the text names the subject of a hypothesis: the words before its verb, at most
/// [`LONGEST_SUBJECT`].
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

/// The content words before the first word that may be the verb of a hypothesis, and those after it;
/// none if there is no such word.
pub(crate) fn subject_and_outcome(hypothesis: &str) -> (Vec<&str>, Vec<&str>) {
    let words: Vec<&str> = hypothesis.split_whitespace().collect();
    match (1..words.len()).find(|place| may_be_verb(&words, *place)) {
        Some(verb) => (content(&words[..verb]), content(&words[verb + 1..])),
        None => (Vec::new(), Vec::new()),
    }
}

fn content<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let is_content = |word: &&str| {
        let lower = word.to_lowercase();
        !lower.is_empty() && !is_stop_word(&lower) && !PLAIN_VERBS.contains(&lower.as_str())
    };
    words
        .iter()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(is_content)
        .collect()
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
    fn a_subject_precedes_the_verb_and_an_outcome_follows_it() {
        for (hypothesis, subject, outcome) in [
            (
                "Statins reduce all-cause mortality.",
                vec!["Statins"],
                vec!["all-cause", "mortality"],
            ),
            (
                "Use of tea can help to lower the risk of gout",
                vec!["Use", "tea"],
                vec!["risk", "gout"],
            ),
            ("Sleep matters", vec!["Sleep"], vec![]),
            ("Adults with ADHD differ greatly", vec![], vec![]),
            ("睡眠不足は肥満を招く", vec![], vec![]),
        ] {
            assert_eq!(
                subject_and_outcome(hypothesis),
                (subject, outcome),
                "{hypothesis}"
            );
        }
    }

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
