//! Removes effect sizes and sample sizes from a finding.

use regex::{Captures, Regex};
use std::borrow::Cow;
use std::sync::LazyLock;

const NUMBER: &str =
    r"(?P<n>\d+(?:[.,]\d+)*|one|two|three|four|five|six|seven|eight|nine|ten|half)";
/// Statements with fewer words say too little.
const FEWEST_WORDS: usize = 3;
/// Units, which are never the members of a sample.
const UNITS: &[&str] = &[
    "seconds", "minutes", "hours", "days", "weeks", "months", "years", "decades", "times",
    "points", "doses", "cycles", "steps", "cases", "units", "degrees", "grams", "metres", "meters",
    "rounds",
];

macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(&$pattern).expect("the pattern is sound"));
    };
}

pattern!(BRACKETS, r"\s*[(\[][^()\[\]]*\d[^()\[\]]*[)\]]");
pattern!(
    EXTENT,
    format!(
        r"(?i)\s+by\s+(?:(?:about|around|nearly|almost|roughly|approximately|more than|less than|over|up to|at least|an average of)\s+)?{NUMBER}(?:(?:\s?[-–]\s?|\s+(?:to|and)\s+)\d[\d.,]*)?(?P<unit>\s?%|-fold|\s+(?:percentage points?|per cent|\p{{L}}+))?(?:\s+(?:an?|per|each)\s+\p{{L}}+)?"
    )
);
pattern!(
    SAMPLE,
    format!(
        r"(?i)(?:^|,?\s+)(?:in|among)\s+(?:(?:an?|the|this|our)\s+(?:[\w-]+\s+){{1,4}}?(?:of|with|in|among)\s+)?{NUMBER}\s+(?:[\p{{L}}'’-]+\s+){{0,3}}?(?P<who>[\p{{L}}'’-]+s)(?P<end>,|[.;:]|$)"
    )
);

/// The statement without estimates in brackets, without the amount of a change, and without the size of
/// the sample: the part with which another source can agree, whatever it measured. "By some minutes" is
/// kept, because the built-in judge interprets "shortened sleep by some minutes" correctly, but takes
/// "shortened sleep" for the opposite of shorter sleep.
///
/// ```
/// use lyra_core::store::text::without_measures;
/// let finding = "In a cohort of 412 nurses, night work shortened sleep by 74 minutes a day (95% CI 61 to 87).";
/// assert_eq!(without_measures(finding), "Night work shortened sleep by some minutes.");
/// ```
pub fn without_measures(statement: &str) -> Cow<'_, str> {
    let plain = BRACKETS.replace_all(statement, "");
    let plain = EXTENT.replace_all(&plain, |found: &Captures<'_>| {
        match (is_year(&found["n"]), found.name("unit")) {
            (true, _) => found[0].to_owned(),
            (false, Some(unit)) => format!(" by some {}", unit.as_str().trim_start()),
            (false, None) => String::new(),
        }
    });
    let plain = SAMPLE.replace_all(&plain, |found: &Captures<'_>| {
        let is_sample = !is_year(&found["n"]) && !UNITS.contains(&&*found["who"].to_lowercase());
        match (is_sample, &found["end"]) {
            (false, _) => found[0].to_owned(),
            (true, ",") => " ".to_owned(),
            (true, end) => end.to_owned(),
        }
    });
    let words: Vec<&str> = plain.split_whitespace().collect();
    let plain = words.join(" ");
    if words.len() < FEWEST_WORDS || plain == statement {
        return Cow::Borrowed(statement);
    }
    let mut letters = plain.chars();
    let first = letters.next().map(char::to_uppercase);
    Cow::Owned(first.into_iter().flatten().chain(letters).collect())
}

fn is_year(number: &str) -> bool {
    number.parse().is_ok_and(|n: u32| (1900..2100).contains(&n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_and_in_how_many_are_left_out() {
        for (statement, expected) in [
            (
                "Night work was associated with shorter sleep in 1,204 bus drivers.",
                "Night work was associated with shorter sleep.",
            ),
            (
                "Saxagliptin raised admissions by nearly 27% (hazard ratio 1.27, 95% CI 1.07 to 1.51; P = 0.007).",
                "Saxagliptin raised admissions by some %.",
            ),
            (
                "Among 120 engineers at work, tea lowered stress by two points, in 2016.",
                "Among 120 engineers at work, tea lowered stress by some points, in 2016.",
            ),
            (
                "The rate rose by 1.5 to 2.5 percentage points per year.",
                "The rate rose by some percentage points.",
            ),
            ("It fell by 5%.", "It fell by some %."),
        ] {
            assert_eq!(without_measures(statement), expected);
        }
    }

    #[test]
    fn what_a_statement_is_about_stays() {
        for statement in [
            "Emissions must fall to zero by 2050.",
            "The wound heals in 3 weeks.",
            "Tea with 2 doses of sugar is sweet.",
            "In 2016, wheat yields fell in France.",
            "It fell by half.",
            "睡眠は74分短くなった。",
        ] {
            assert!(
                matches!(without_measures(statement), Cow::Borrowed(s) if s == statement),
                "{statement}"
            );
        }
    }
}
