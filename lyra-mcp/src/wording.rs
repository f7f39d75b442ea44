//! Checks whether a hypothesis is a statement that evidence can support or refute.

/// ASCII texts with fewer words are treated as a subject.
const FEWEST_WORDS: usize = 3;

/// What to write instead of a question or a subject.
pub(crate) const HINT: &str = "write the answer that you expect: \"Night work shortens sleep\" in place of \
    \"Does night work shorten sleep?\" or \"night work\"";

/// What is wrong with a hypothesis that no claim can support or refute.
pub(crate) fn problem(hypothesis: &str) -> Option<String> {
    let text = hypothesis.trim();
    let is_subject = text.is_ascii() && text.split_whitespace().count() < FEWEST_WORDS;
    let what = match text.ends_with(['?', '？']) {
        true => "a question",
        false if is_subject => "a subject",
        false => return None,
    };
    Some(format!(
        "the hypothesis is {what}; expected a statement that can be right or wrong"
    ))
}
