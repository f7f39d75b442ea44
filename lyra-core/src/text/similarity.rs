//! Whether two texts are nearly the same.

use super::hash::md5;
use std::collections::BTreeSet;

/// The sets of `size` neighbouring words, in lower case; of all words where there are fewer.
///
/// ```
/// use lyra_core::text::similarity::word_shingles;
/// let shingles = word_shingles("The quick brown fox", 3);
/// assert_eq!(Vec::from_iter(shingles), ["quick brown fox", "the quick brown"]);
/// ```
pub fn word_shingles(text: &str, size: usize) -> BTreeSet<String> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return BTreeSet::new();
    }
    words
        .windows(size.clamp(1, words.len()))
        .map(|window| window.join(" "))
        .collect()
}

/// The sets of `size` neighbouring characters, in lower case, each white space as `_`.
///
/// For texts whose words are not set off by spaces.
pub fn char_shingles(text: &str, size: usize) -> BTreeSet<String> {
    let chars: Vec<char> = text
        .to_lowercase()
        .chars()
        .map(|c| if c.is_whitespace() { '_' } else { c })
        .collect();
    if chars.is_empty() {
        return BTreeSet::new();
    }
    chars
        .windows(size.clamp(1, chars.len()))
        .map(|window| window.iter().collect())
        .collect()
}

/// The share of common elements, 0 to 1; two empty sets have nothing in common.
pub fn jaccard(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let common = a.intersection(b).count();
    let all = a.len() + b.len() - common;
    if all == 0 {
        0.0
    } else {
        common as f64 / all as f64
    }
}

/// A fingerprint of 64 bits (Charikar 2002); texts with many common shingles differ in few bits.
///
/// ```
/// use lyra_core::text::similarity::{simhash, word_shingles};
/// let of = |text| simhash(&word_shingles(text, 3));
/// let near = of("the quick brown fox jumps over the lazy dog") ^ of("the quick brown fox jumps over the lazy cat");
/// assert!(near.count_ones() < 20);
/// ```
pub fn simhash(shingles: &BTreeSet<String>) -> u64 {
    let mut balance = [0_i64; 64];
    for shingle in shingles {
        let digest = md5(shingle.as_bytes());
        let bits = digest[..8]
            .iter()
            .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        for (nth, sum) in balance.iter_mut().enumerate() {
            *sum += if bits >> nth & 1 == 1 { 1 } else { -1 };
        }
    }
    balance
        .iter()
        .enumerate()
        .fold(0, |hash, (nth, sum)| hash | u64::from(*sum > 0) << nth)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::testing::reference_cases;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn agrees_with_the_reference() {
        for row in reference_cases("shingles") {
            let text = row["text"].as_str().unwrap();
            assert_eq!(json!(word_shingles(text, 3)), row["word3"], "{text}");
            assert_eq!(json!(char_shingles(text, 3)), row["char3"], "{text}");
        }
        for row in reference_cases("simhash64_md5_word3") {
            let hash = simhash(&word_shingles(row["text"].as_str().unwrap(), 3));
            assert_eq!(format!("{hash:016x}"), row["hash_hex"], "{row}");
        }
        for row in reference_cases("jaccard_word3") {
            let of = |key: &str| word_shingles(row[key].as_str().unwrap(), 3);
            let found = jaccard(&of("a"), &of("b"));
            assert!(
                (found - row["jaccard"].as_f64().unwrap()).abs() < 1e-12,
                "{row}"
            );
            assert_eq!(found >= 0.5, row["dup_at_0.5"], "{row}");
        }
    }

    #[test]
    fn empty_texts_are_no_duplicates() {
        assert!(word_shingles("  !? ", 3).is_empty() && char_shingles("", 3).is_empty());
        assert_eq!(jaccard(&BTreeSet::new(), &BTreeSet::new()), 0.0);
        assert_eq!(simhash(&BTreeSet::new()), 0);
    }

    proptest! {
        #[test]
        fn a_text_is_like_itself(text in "\\PC{1,60}", other in "\\PC{0,60}") {
            let (a, b) = (char_shingles(&text, 3), char_shingles(&other, 3));
            prop_assert_eq!(jaccard(&a, &a), 1.0);
            prop_assert_eq!(jaccard(&a, &b), jaccard(&b, &a));
            prop_assert!((0.0..=1.0).contains(&jaccard(&a, &b)));
        }
    }
}
