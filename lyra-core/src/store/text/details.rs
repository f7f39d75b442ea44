//! Numbers, population and comparator of a statement.

use regex::Regex;
use serde_json::{Map, Value, json};

/// Words that refer to the previous sentence if a sentence begins with them.
const POINTING: &[&str] = &[
    "it", "its", "they", "their", "this", "these", "those", "such", "he", "she", "both", "neither",
];
/// Words that may precede such a word.
const LEADING: &[&str] = &[
    "however", "but", "and", "also", "thus", "moreover", "in", "for", "of",
];

pattern!(
    INTERVAL,
    r"(?i)(?:(?P<level>\d{2}(?:\.\d+)?)\s?%\s?)?(?:confidence interval|credible interval|\bCI\b|\bCrI\b)\W{0,4}?(?:of|from|was)?\s?(?P<low>[-−–]?\d+(?:\.\d+)?)\s?%?\s?(?:to|,|;|-|–|−)\s?(?P<high>[-−–]?\d+(?:\.\d+)?)"
);
pattern!(P_VALUE, r"(?i)\bp\s?(?P<sign>[=<>≤≥])\s?(?P<value>0?\.\d+)");
pattern!(
    NUMBER,
    r"(?P<value>[-−]?\d+(?:,\d{3})*(?:\.\d+)?)(?P<unit>\s?%|\s(?:percent|per cent|percentage points|(?:milli|micro|nano|kilo|mega|giga)?(?:grams?|meters?|metres?|seconds?|bytes?|watts?)|[munk]?g|[mµunk]?m|[mµun]?s|kg|ml|mL|mg|mmHg|mm Hg|mmol/L|mg/dL|[kMG]Hz|[KMGT]i?B|°C|minutes?|hours?|days?|weeks?|months?|years?|times|fold|points?|dollars?|euros?)\b|-fold\b)?"
);
pattern!(
    POPULATION,
    r"(?i)\b(?:in|among|of|for)\s+(?P<who>(?:[\w,'’-]+\s+){0,4}?(?:patients|adults|children|adolescents|infants|newborns|women|men|people|persons|participants|workers|employees|students|pupils|mice|rats|individuals|subjects|volunteers|users|developers|households|firms|countries|smokers)\b(?:\s+(?:with|without|aged|who|on|older than|younger than|over|under)\s+[^,;.()]{2,60})?)"
);
pattern!(
    COMPARATOR,
    r"(?i)\b(?:compared (?:with|to)|in comparison (?:with|to)|relative to|versus|vs\.?|rather than|than)\s+(?P<what>(?:[\w%'’/-]+\s?){1,6})"
);

/// The details of a statement as a JSON object; none if there are no details.
///
/// | key | value |
/// |---|---|
/// | `numbers` | the numbers with their units, as written |
/// | `intervals` | `low`, `high` and, if stated, `level` in percent |
/// | `p_value` | as written |
/// | `population` | the population of the statement |
/// | `comparator` | the treatment or group of comparison |
/// | `preceded_by` | the previous sentence, if the statement refers back to it ("It", "These") |
///
/// All values are excerpts of the text; nothing is inferred.
///
/// ```
/// use lyra_core::store::text::details;
/// let said = "Among 2,400 adults with asthma, attacks fell by 27% compared with placebo (95% CI 12 to 39).";
/// let found: serde_json::Value = serde_json::from_str(&details(said, None).unwrap()).unwrap();
/// assert_eq!(found["population"], "2,400 adults with asthma");
/// assert_eq!(found["comparator"], "placebo");
/// assert_eq!(found["numbers"], serde_json::json!(["2,400", "27%"]));
/// assert_eq!(found["intervals"][0]["low"], 12.0);
/// ```
pub fn details(statement: &str, before: Option<&str>) -> Option<String> {
    let mut found = Map::new();
    let mut put = |key: &str, value: Value| {
        found.insert(key.to_owned(), value);
    };
    let intervals: Vec<Value> = INTERVAL
        .captures_iter(statement)
        .filter_map(|c| interval(&c))
        .collect();
    if !intervals.is_empty() {
        put("intervals", Value::Array(intervals));
    }
    if let Some(p) = P_VALUE.find(statement) {
        put("p_value", json!(p.as_str()));
    }
    let numbers = numbers(statement);
    if !numbers.is_empty() {
        put("numbers", json!(numbers));
    }
    if let Some(who) = named(&POPULATION, "who", statement) {
        put("population", json!(who));
    }
    if let Some(what) = named(&COMPARATOR, "what", statement) {
        put("comparator", json!(what));
    }
    if let Some(before) = before.filter(|_| points_back(statement)) {
        put("preceded_by", json!(before));
    }
    (!found.is_empty()).then(|| Value::Object(found).to_string())
}

/// Whether a sentence begins with a word that refers to something named before.
///
/// ```
/// use lyra_core::store::text::points_back;
/// assert!(points_back("However, it is slower.") && !points_back("Iterators are slower."));
/// ```
pub fn points_back(statement: &str) -> bool {
    let words = statement
        .split(|c: char| !c.is_alphanumeric())
        .filter(|w| !w.is_empty());
    let mut words = words.map(str::to_lowercase);
    let Some(first) = words.next() else {
        return false;
    };
    let is_pointing = |word: &str| POINTING.contains(&word);
    is_pointing(&first)
        || (LEADING.contains(&first.as_str()) && words.next().is_some_and(|w| is_pointing(&w)))
}

fn interval(captures: &regex::Captures<'_>) -> Option<Value> {
    let number = |name: &str| -> Option<f64> {
        let text = captures.name(name)?.as_str().replace(['−', '–'], "-");
        text.parse().ok()
    };
    let (low, high) = (number("low")?, number("high")?);
    if low > high {
        return None;
    }
    Some(match number("level") {
        Some(level) => json!({"low": low, "high": high, "level": level}),
        None => json!({"low": low, "high": high}),
    })
}

/// The numbers that are not part of an interval, a p-value or a name.
fn numbers(statement: &str) -> Vec<&str> {
    let taken: Vec<_> = INTERVAL
        .find_iter(statement)
        .chain(P_VALUE.find_iter(statement))
        .map(|found| found.range())
        .collect();
    let is_free = |at: usize| !taken.iter().any(|range| range.contains(&at));
    let is_apart = |found: &regex::Match<'_>| {
        let before = statement[..found.start()].chars().next_back();
        let after = statement[found.end()..].chars().next();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | '['))
            && !after.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ']'))
    };
    NUMBER
        .find_iter(statement)
        .filter(|found| is_free(found.start()) && is_apart(found))
        .map(|found| found.as_str())
        .collect()
}

fn named<'a>(pattern: &Regex, group: &str, statement: &'a str) -> Option<&'a str> {
    let found = pattern.captures(statement)?.name(group)?.as_str();
    Some(found.trim_matches(|c: char| c.is_whitespace() || c == '-')).filter(|f| !f.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(statement: &str) -> Value {
        details(statement, Some("The GIL was removed."))
            .map_or(Value::Null, |d| serde_json::from_str(&d).unwrap())
    }

    #[test]
    fn numbers_keep_their_units_and_names_are_no_numbers() {
        let found =
            read("COVID-19 deaths fell by 1.5 million in 2021, a 12-fold drop in T2 wards [14].");
        assert_eq!(found["numbers"], json!(["1.5", "2021", "12-fold"]));
        assert_eq!(
            read("The interpreter is 5 % slower.")["numbers"],
            json!(["5 %"])
        );
        assert_eq!(read("Nothing is counted here."), Value::Null);
    }

    #[test]
    fn intervals_are_read_in_their_usual_forms() {
        for (text, low, high) in [
            ("HR 0.77, 95% CI 0.66-0.89.", 0.66, 0.89),
            (
                "a hazard ratio of 1.3 (95 % confidence interval, 1.1 to 1.6)",
                1.1,
                1.6,
            ),
            ("a change of -3 (95% CI: −5.2, −0.8)", -5.2, -0.8),
        ] {
            let found = read(text);
            assert_eq!(
                found["intervals"][0],
                json!({"low": low, "high": high, "level": 95.0}),
                "{text}"
            );
        }
        assert_eq!(
            read("The difference was small (P = .03).")["p_value"],
            "P = .03"
        );
    }

    #[test]
    fn a_statement_that_points_back_keeps_the_sentence_before() {
        for text in [
            "It is slower.",
            "These were slower.",
            "However, it is slower.",
            "Both were slower.",
        ] {
            assert_eq!(read(text)["preceded_by"], "The GIL was removed.", "{text}");
        }
        assert_eq!(read("Iterators are slower."), Value::Null);
    }
}
