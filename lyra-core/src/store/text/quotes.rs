//! Finds the position of a quote in a passage.
//!
//! Models copy with small errors: different quotation marks, different white space, a capital letter, a
//! full-width digit. The quote is therefore compared by letters and digits, and the position in the
//! passage is stored: the words of the source, never the model's.

use crate::security::sanitize::is_invisible;
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// Minimum number of letters and digits of a quote; in scripts where one stands for a syllable or a
/// word, each counts as three.
const FEWEST: usize = 12;

/// Maximum number of adjacent symbols that belong to the words that they touch: `−5`, `(95% CI …)`,
/// `23%`, `。`.
const LONGEST_EDGE: usize = 2;

/// The range of code points of `passage` that `quote` repeats; none if there is no match, or if the
/// quote is too short to be meaningful.
pub(crate) fn locate(passage: &str, quote: &str) -> Option<Range<usize>> {
    let trimmed = quote.trim();
    let wanted = Letters::of(trimmed);
    if wanted.weight() < FEWEST {
        return None;
    }
    if let Some(at) = passage.find(trimmed) {
        let start = passage[..at].chars().count();
        return Some(start..start + trimmed.chars().count());
    }
    let there = Letters::of(passage);
    let at = find(&there.letters, &wanted.letters)?;
    let first = there.places[at];
    let last = there.places[at + wanted.letters.len() - 1];
    Some(with_edges(passage, first, last))
}

/// A text without the differences between copies: case, white space, punctuation, composed characters
/// and invisible characters; with the position of each letter.
struct Letters {
    letters: Vec<char>,
    places: Vec<usize>,
}

impl Letters {
    fn of(text: &str) -> Self {
        let (mut letters, mut places) = (Vec::new(), Vec::new());
        for (place, c) in text.chars().enumerate() {
            if is_invisible(c) {
                continue;
            }
            let folded = std::iter::once(c).nfkd().flat_map(char::to_lowercase);
            for letter in folded.filter(|c| c.is_alphanumeric()) {
                letters.push(letter);
                places.push(place);
            }
        }
        Self { letters, places }
    }

    fn weight(&self) -> usize {
        let of = |c: &char| if crate::store::text::is_cjk(*c) { 3 } else { 1 };
        self.letters.iter().map(of).sum()
    }
}

/// The first position of `needle`, in time linear in both (Knuth, Morris, Pratt 1977), because the texts
/// may be hostile.
fn find(hay: &[char], needle: &[char]) -> Option<usize> {
    let mut borders = vec![0; needle.len()];
    let mut length = 0;
    for at in 1..needle.len() {
        while length > 0 && needle[at] != needle[length] {
            length = borders[length - 1];
        }
        length += usize::from(needle[at] == needle[length]);
        borders[at] = length;
    }
    let mut matched = 0;
    for (at, c) in hay.iter().enumerate() {
        while matched > 0 && *c != needle[matched] {
            matched = borders[matched - 1];
        }
        matched += usize::from(*c == needle[matched]);
        if matched == needle.len() {
            return Some(at + 1 - matched);
        }
    }
    None
}

/// The range from one letter to another, including adjacent symbols.
fn with_edges(passage: &str, first: usize, last: usize) -> Range<usize> {
    let chars: Vec<char> = passage.chars().collect();
    let is_sign = |at: usize| {
        chars
            .get(at)
            .is_some_and(|c| !c.is_alphanumeric() && !c.is_whitespace() && !is_invisible(*c))
    };
    let mut start = first;
    while first - start < LONGEST_EDGE && start > 0 && is_sign(start - 1) {
        start -= 1;
    }
    let mut end = last + 1;
    while end - last <= LONGEST_EDGE && is_sign(end) {
        end += 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::segment::slice_chars;
    use proptest::prelude::*;

    #[test]
    fn quotes_are_found_where_they_stand() {
        let passage = "Methods. “Drug X” raised\nthe risk of falls by 23 % (HR 1.41; 95% CI 1.07–1.86). \
                       Naïve ﬁndings … 薬剤Ｘは転倒のリスクを高めた。 The end.";
        for (quote, expected) in [
            (
                "raised\nthe risk of falls",
                Some("raised\nthe risk of falls"),
            ),
            (
                "raised the risk of falls",
                Some("raised\nthe risk of falls"),
            ),
            (
                "\"drug x\" RAISED the risk",
                Some("“Drug X” raised\nthe risk"),
            ),
            (
                "risk of falls by 23% (HR 1.41",
                Some("risk of falls by 23 % (HR 1.41;"),
            ),
            (
                "(HR 1.41; 95% CI 1.07-1.86).",
                Some("(HR 1.41; 95% CI 1.07–1.86)."),
            ),
            ("nai\u{308}ve findings", Some("Naïve ﬁndings")),
            (
                "薬剤Xは転倒のリスクを高めた",
                Some("薬剤Ｘは転倒のリスクを高めた。"),
            ),
            ("risk of falls", None),
            ("risk of falls by 25 %", None),
            ("raised the risk … by 23 %", None),
            ("the end", None),
            ("", None),
            ("…………………………", None),
        ] {
            let found = locate(passage, quote);
            let text = found.map(|range| slice_chars(passage, range.start, range.end).unwrap());
            // "risk of falls" has 11 letters: too short to be a quote.
            assert_eq!(text, expected, "{quote}");
        }
    }

    #[test]
    fn hostile_texts_cost_linear_time() {
        let passage = "a".repeat(200_000);
        let quote = format!("{}b", "a".repeat(100_000));
        assert_eq!(locate(&passage, &quote), None);
    }

    proptest! {
        #[test]
        fn what_is_found_lies_in_the_passage(passage in "\\PC{0,80}", from in 0_usize..40, length in 1_usize..40) {
            let chars: Vec<char> = passage.chars().collect();
            let from = from.min(chars.len());
            let quote: String = chars[from..(from + length).min(chars.len())].iter().collect();
            for quote in [quote.clone(), quote.to_uppercase()] {
                if let Some(range) = locate(&passage, &quote) {
                    prop_assert!(range.start < range.end && range.end <= chars.len());
                }
            }
            if Letters::of(&quote).weight() >= FEWEST {
                prop_assert!(locate(&passage, &quote).is_some());
            }
        }
    }
}
