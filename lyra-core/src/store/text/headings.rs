//! Information that the headings above a passage add to it.

use super::ranking_terms;
use std::collections::HashSet;

/// The headings that name something of the claim which the passage does not, as sentences: for example,
/// the title of a paper says what "the drug" is. Empty if they add nothing.
///
/// ```
/// use lyra_core::store::text::missing_headings;
/// let headings = ["Saxagliptin and heart failure", "Results"];
/// let named = missing_headings("The drug raised admissions.", &headings, "Saxagliptin raises admissions");
/// assert_eq!(named, "Saxagliptin and heart failure. ");
/// ```
pub fn missing_headings(passage: &str, headings: &[&str], claim: &str) -> String {
    let mut missing: HashSet<String> = ranking_terms(claim).into_iter().collect();
    for term in ranking_terms(passage) {
        missing.remove(&term);
    }
    let mut named = String::new();
    for heading in headings {
        let terms = ranking_terms(heading);
        if terms.iter().any(|term| missing.contains(term)) {
            named.push_str(heading.trim_end_matches(['.', ' ']));
            named.push_str(". ");
            for term in &terms {
                missing.remove(term);
            }
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_say_what_a_passage_leaves_out() {
        let passage = "The drug raised admissions by 27%.";
        let headings = ["Saxagliptin and heart failure.", "Results"];
        let named = missing_headings(passage, &headings, "Saxagliptin raises admissions");
        assert_eq!(named, "Saxagliptin and heart failure. ");
        let named = missing_headings(passage, &headings, "A drug raised admissions");
        assert_eq!(named, "", "nothing is missing");
    }
}
