//! Numbers of a claim against the numbers of a source.

use crate::text::{number_of_one, number_of_two};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($pattern).expect("the pattern is sound"));
    };
}

pattern!(
    NUMBER,
    r"(?:\d{1,3}(?:[,\u{202f}\u{a0}]\d{3})+|\d+)(?:[.·]\d+)?|[.·]\d+"
);
pattern!(
    UNIT,
    r"(?i)^\s?(?P<unit>%|percentage points?|per ?cent\b|pct\b|million\b|billion\b|thousand\b|bn\b|(?:[mµμunkMGT]?(?:g|l|m|s|mol|W|Hz|B|V)|kg|km|cm|mm|ml|mg|ms|KiB|MiB|GiB|MB|GB|KB|kB|mmHg|°C|°F)\b|-?fold\b|times\b|seconds?\b|minutes?\b|hours?\b|days?\b|weeks?\b|months?\b|years?\b|euros?\b|dollars?\b|pounds?\b|points?\b)"
);
pattern!(
    WORDS,
    r"(?i)\b(two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[ -](one|two|three|four|five|six|seven|eight|nine))?)\b"
);
pattern!(
    ABOUT,
    r"(?i)\b(?:about|around|nearly|almost|roughly|approximately|some|over|more than|at least|up to|under|fewer than|less than|close to|just|an estimated|circa|ca\.|~|≈)\s*[$€£¥]?\s*$"
);

/// A number that a text gives.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Quantity {
    pub(super) value: f64,
    /// Digits behind the point.
    decimals: usize,
    /// In one spelling; `%` for every way to write a percentage.
    pub(super) unit: Option<String>,
    /// The words around say that it is rounded.
    is_rough: bool,
    /// It is written in words.
    pub(super) is_in_words: bool,
    /// The word before and the word after, lower case.
    around: [String; 2],
    /// Bytes of the text.
    pub(super) span: Range<usize>,
}

impl Quantity {
    /// A year is no amount.
    pub(super) fn is_year(&self) -> bool {
        self.unit.is_none() && self.decimals == 0 && (1500.0..2200.0).contains(&self.value)
    }

    /// Whether both count things of one name.
    pub(super) fn counts_the_same(&self, other: &Self) -> bool {
        let name = |quantity: &Self| quantity.around[1].trim_end_matches('s').to_owned();
        !name(self).is_empty() && name(self) == name(other)
    }

    /// `angiopoietin 2`, `phase 3`: the number with the word before it, as a name.
    pub(super) fn as_name(&self) -> Option<String> {
        let is_small = self.unit.is_none() && self.decimals == 0 && self.value < 1000.0;
        let before = &self.around[0];
        (is_small && before.chars().count() > 2).then(|| format!("{before} {}", self.value))
    }

    /// Whether the source's number can be meant by this one.
    pub(super) fn is_met_by(&self, other: &Self) -> bool {
        if let (Some(a), Some(b)) = (&self.unit, &other.unit)
            && a != b
        {
            return false;
        }
        let scale = 10_f64.powi(i32::try_from(self.decimals).unwrap_or(0));
        let same = (self.value - other.value).abs() < 1e-9;
        let digits = (self.value * scale).abs();
        // 1.27 may be told as 1.3, and 27.4 as 27; 3.4 as 3 only where the text says "about".
        let rounded = other.decimals > self.decimals
            && ((other.value * scale).round() / scale - self.value).abs() < 1e-9
            && (digits >= 10.0 || self.is_rough);
        let near = self.is_rough
            && self.value > 0.0
            && (self.value - other.value).abs() <= 0.06 * other.value.abs();
        same || rounded || near
    }
}

/// The numbers of a text, those of names (`HbA1c`, `TIMI-53`) left out.
pub(super) fn quantities(text: &str) -> Vec<Quantity> {
    let mut found = Vec::new();
    for hit in NUMBER.find_iter(text) {
        let before = text[..hit.start()].chars().next_back();
        let after = text[hit.end()..].chars().next();
        let two_before = text[..hit.start()].chars().rev().nth(1);
        let in_word = |c: Option<char>| c.is_some_and(|c| c.is_alphabetic() || c == '_');
        let is_hyphened = matches!(before, Some('-' | '‐')) && in_word(two_before);
        let unit = UNIT.captures(&text[hit.end()..]);
        if in_word(before) || is_hyphened || (in_word(after) && unit.is_none()) {
            continue;
        }
        let digits: String = hit
            .as_str()
            .chars()
            .filter(|c| !matches!(c, ',' | '\u{202f}' | '\u{a0}'))
            .map(|c| if c == '·' { '.' } else { c })
            .collect();
        let Ok(value) = digits.parse::<f64>() else {
            continue;
        };
        let (unit, scale) = unit.map_or((None, 1.0), |unit| spelling(&unit["unit"]));
        found.push(Quantity {
            value: value * scale,
            decimals: if scale > 1.0 {
                0
            } else {
                digits.split('.').nth(1).map_or(0, str::len)
            },
            unit,
            is_rough: ABOUT.is_match(&text[..hit.start()]),
            is_in_words: false,
            around: around(text, &hit.range()),
            span: hit.range(),
        });
    }
    for hit in WORDS.captures_iter(text) {
        let all = hit.get(0).expect("a match has a whole");
        let lower = all.as_str().to_lowercase();
        let digits = match (hit.get(2), hit.get(3)) {
            (Some(tens), Some(ones)) => {
                number_of_two(&tens.as_str().to_lowercase(), &ones.as_str().to_lowercase())
            }
            _ => number_of_one(&lower),
        };
        let Some(value) = digits.and_then(|digits| digits.parse().ok()) else {
            continue;
        };
        let unit = UNIT.captures(&text[all.end()..]);
        found.push(Quantity {
            value,
            decimals: 0,
            unit: unit.and_then(|unit| spelling(&unit["unit"]).0),
            is_rough: ABOUT.is_match(&text[..all.start()]),
            is_in_words: true,
            around: around(text, &all.range()),
            span: all.range(),
        });
    }
    found
}

/// The words that stand before and after.
fn around(text: &str, span: &Range<usize>) -> [String; 2] {
    let is_edge = |c: char| !c.is_alphanumeric();
    let word = |word: Option<&str>| {
        let word = word.unwrap_or_default().trim_matches(is_edge);
        word.to_lowercase()
    };
    [
        word(text[..span.start].split_whitespace().next_back()),
        word(text[span.end..].split_whitespace().next()),
    ]
}

/// One spelling of a unit, and what a number before it is multiplied by.
fn spelling(unit: &str) -> (Option<String>, f64) {
    let lower = unit.to_lowercase();
    let named = |name: &str| (Some(name.to_owned()), 1.0);
    match lower.as_str() {
        "%" | "percent" | "per cent" | "pct" => named("%"),
        // Who writes "percent" of a difference in points is not wrong about the number.
        "percentage point" | "percentage points" => named("%"),
        "thousand" => (None, 1e3),
        "million" => (None, 1e6),
        "billion" | "bn" => (None, 1e9),
        "-fold" | "fold" | "times" => named("times"),
        _ if lower.len() > 3 && lower.ends_with('s') => named(lower.trim_end_matches('s')),
        _ if lower.len() > 3 => named(&lower),
        _ => named(unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(claim: &str, source: &str) -> bool {
        let source = quantities(source);
        quantities(claim)
            .iter()
            .all(|q| source.iter().any(|s| q.is_met_by(s)))
    }

    #[test]
    fn numbers_are_found_and_names_are_not() {
        let values = |text| -> Vec<f64> { quantities(text).iter().map(|q| q.value).collect() };
        assert_eq!(values("16,492 patients (3.5%)"), [16_492.0, 3.5]);
        assert_eq!(values("SAVOR-TIMI 53 and HbA1c in COVID-19"), [53.0]);
        assert_eq!(values("GPT4 and GLP-1"), [] as [f64; 0]);
        assert_eq!(values("Twenty-five people, three of them"), [25.0, 3.0]);
        assert_eq!(values("1.2 million euros"), [1_200_000.0]);
        assert_eq!(values("HR 1·27"), [1.27]);
    }

    #[test]
    fn a_number_may_be_written_in_other_ways() {
        for (claim, source) in [
            ("27%", "by 27 percent"),
            ("1.3", "HR 1.27"),
            ("27%", "27.4%"),
            ("about 3%", "3.4%"),
            ("roughly 16,500 patients", "16 492 and 16,492 patients"),
            ("five years", "5 years"),
            ("5", "five"),
        ] {
            assert!(met(claim, source), "{claim} / {source}");
        }
        for (claim, source) in [
            ("27%", "72%"),
            ("3%", "3.4%"),
            ("5 weeks", "5 days"),
            ("12 mg", "12 g"),
            ("1.27", "1.3"),
            ("16,429", "16,492"),
        ] {
            assert!(!met(claim, source), "{claim} / {source}");
        }
    }
}
