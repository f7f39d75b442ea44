//! Checks whether a hypothesis is a statement that evidence can support or refute.

/// ASCII texts with fewer words are treated as a subject.
const FEWEST_WORDS: usize = 3;

/// What to write instead of a question or a subject.
pub(crate) const HINT: &str = "write the answer that you expect: \"Night work shortens sleep\" in place of \
    \"Does night work shorten sleep?\" or \"night work\"";

/// Words that begin a question also where the question mark is missing.
const ASKING: [&str; 11] = [
    "are", "could", "did", "do", "does", "is", "should", "was", "were", "why", "would",
];

/// What is wrong with a hypothesis that no claim can support or refute.
pub(crate) fn problem(hypothesis: &str) -> Option<String> {
    let text = hypothesis.trim();
    let words: Vec<&str> = text.split_whitespace().collect();
    // "DO" and "IS" in capitals are abbreviations.
    let asks = words.first().is_some_and(|first| {
        let is_word = first.chars().skip(1).all(char::is_lowercase);
        is_word && ASKING.contains(&first.to_lowercase().as_str())
    });
    let is_subject = text.is_ascii() && words.len() < FEWEST_WORDS && !is_plural_with_verb(&words);
    let what = match asks || text.ends_with(['?', '？']) {
        true => "a question",
        false if is_subject => "a subject",
        false => return None,
    };
    Some(format!(
        "the hypothesis is {what}; expected a statement that can be right or wrong"
    ))
}

/// "Naps help": a plural followed by a word that is none.
fn is_plural_with_verb(words: &[&str]) -> bool {
    let is_plural = |word: &str| word.ends_with('s') && !word.ends_with("ss");
    matches!(words, [subject, verb] if is_plural(subject) && !is_plural(verb))
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn questions_and_subjects_are_no_statements() {
        for (text, what) in [
            ("Does night work shorten sleep?", Some("a question")),
            ("Should passwords expire", Some("a question")),
            ("Is password expiry useful", Some("a question")),
            ("夜勤は睡眠を短くするか？", Some("a question")),
            ("night work", Some("a subject")),
            ("sleep", Some("a subject")),
            ("night shifts", Some("a subject")),
            ("Naps help", None),
            ("Passwords expire", None),
            ("DO concentration raises the growth of fish", None),
            ("Night work shortens sleep", None),
            ("How people sleep affects their memory", None),
            ("夜勤は睡眠を短くする", None),
        ] {
            let found = problem(text);
            let expected = what.map(|what| format!("the hypothesis is {what};"));
            match expected {
                Some(words) => assert!(found.is_some_and(|f| f.starts_with(&words)), "{text}"),
                None => assert_eq!(found, None, "{text}"),
            }
        }
    }
}
