//! Whether two texts are nearly the same.

use super::hash::md5;
use super::is_cjk;
use std::collections::BTreeSet;

/// The sets of `size` adjacent words, in lower case; of all words if there are fewer.
///
/// ```
/// use lyra_core::store::text::similarity::word_shingles;
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

/// The sets of `size` adjacent characters, in lower case, with white space as `_`.
///
/// For texts whose words are not separated by spaces.
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
/// use lyra_core::store::text::similarity::{simhash, word_shingles};
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

/// Minimum resemblance at which two pages count as the same text: a copy on another site, a reprinted
/// press release, a page and its print version.
pub const SAME_TEXT: f64 = 0.5;

/// Two findings of a sentence or two share half their words by chance; texts with fewer runs than this
/// must agree in nearly all.
const SHORT: usize = 24;
const SAME_SHORT_TEXT: f64 = 0.9;

/// Maximum number of hashes in a sketch; the error of the estimate is about one over its square root.
const SKETCH: usize = 256;

/// The smallest hashes of a text's three-word runs (Broder 1997), from which the [`jaccard`] similarity
/// of two texts can be estimated quickly, and computed exactly if both are short.
///
/// Characters of scripts without spaces count as words. Texts with different words have nothing in
/// common, however similar they look.
///
/// ```
/// use lyra_core::store::text::similarity::{SAME_TEXT, Sketch};
/// let text = "Drug X increased the risk of falls in older adults compared with placebo.";
/// let copy = Sketch::of(&format!("{text} All rights reserved."));
/// assert!(Sketch::of(text).resemblance(&copy) >= SAME_TEXT);
/// assert_eq!(Sketch::of(text).resemblance(&Sketch::of("")), 0.0);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    /// Sorted, without duplicates, at most [`SKETCH`].
    hashes: Vec<u64>,
}

impl Sketch {
    /// The sketch of a text.
    pub fn of(text: &str) -> Self {
        let words = word_hashes(text);
        let mut hashes: Vec<u64> = words
            .windows(3.min(words.len().max(1)))
            .map(|run| run.iter().fold(0, |hash, word| mix(hash ^ word)))
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(SKETCH);
        Self { hashes }
    }

    /// The smallest hashes, at most this many: similar texts share many of them.
    pub(crate) fn smallest(&self, most: usize) -> &[u64] {
        &self.hashes[..self.hashes.len().min(most)]
    }

    /// The hashes as bytes, little-endian.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.hashes.iter().flat_map(|h| h.to_le_bytes()).collect()
    }

    /// Decodes the output of [`to_bytes`](Self::to_bytes).
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let (hashes, _) = bytes.as_chunks::<8>();
        Self {
            hashes: hashes.iter().map(|h| u64::from_le_bytes(*h)).collect(),
        }
    }

    /// Whether both are the same text: they share at least [`SAME_TEXT`] of their three-word runs, or
    /// nearly all if one of them is short.
    ///
    /// ```
    /// use lyra_core::store::text::similarity::Sketch;
    /// let one = Sketch::of("Drug X increased the risk of falls in older adults.");
    /// let other = Sketch::of("Drug X increased the risk of falls in frail older adults.");
    /// assert!(one.tells_the_same_as(&one) && !one.tells_the_same_as(&other));
    /// ```
    pub fn tells_the_same_as(&self, other: &Self) -> bool {
        let shorter = self.hashes.len().min(other.hashes.len());
        let least = if shorter < SHORT {
            SAME_SHORT_TEXT
        } else {
            SAME_TEXT
        };
        self.resemblance(other) >= least
    }

    /// The estimated fraction of common three-word runs, 0 to 1.
    pub fn resemblance(&self, other: &Self) -> f64 {
        // The smallest hashes of the union are an unbiased sample of it.
        let (mut a, mut b) = (
            self.hashes.iter().peekable(),
            other.hashes.iter().peekable(),
        );
        let (mut all, mut common) = (0_u32, 0_u32);
        while all < SKETCH as u32 {
            match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x == y => {
                    common += 1;
                    a.next();
                    b.next();
                }
                (Some(x), Some(y)) if x < y => {
                    a.next();
                }
                (_, Some(_)) => {
                    b.next();
                }
                (Some(_), None) => {
                    a.next();
                }
                (None, None) => break,
            }
            all += 1;
        }
        if all == 0 {
            0.0
        } else {
            f64::from(common) / f64::from(all)
        }
    }
}

/// A hash for each word, in order.
fn word_hashes(text: &str) -> Vec<u64> {
    let (mut words, mut word) = (Vec::new(), None);
    for c in text.chars().flat_map(char::to_lowercase) {
        let code = u64::from(u32::from(c));
        if is_cjk(c) {
            words.extend(word.take());
            words.push(mix(code));
        } else if c.is_alphanumeric() {
            word = Some(mix(word.unwrap_or(0) ^ code));
        } else {
            words.extend(word.take());
        }
    }
    words.extend(word);
    words
}

/// Spreads a number over all 64 bits (the finaliser of SplitMix64).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;
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

    #[test]
    fn sketches_estimate_the_jaccard_of_long_texts() {
        let words = |from: usize, to: usize| {
            let words: Vec<String> = (from..to)
                .map(|n| format!("w{}", n * 7919 % 100_003))
                .collect();
            words.join(" ")
        };
        // 2,000 words each, of which this many are common.
        for common in [0, 500, 1_000, 1_333, 1_600, 2_000] {
            let (a, b) = (words(0, 2_000), words(2_000 - common, 4_000 - common));
            let exact = jaccard(&word_shingles(&a, 3), &word_shingles(&b, 3));
            let found = Sketch::of(&a).resemblance(&Sketch::of(&b));
            assert!(
                (found - exact).abs() < 0.12,
                "{common}: {found} for {exact}"
            );
        }
        let ja = "薬剤Xは高齢者の転倒のリスクを高めることが示された。";
        let copy = format!("{ja}転載を禁じる。");
        assert!(Sketch::of(ja).resemblance(&Sketch::of(&copy)) >= SAME_TEXT);
        let other = "この試験では血糖値の変化を朝食の前に測定した。";
        assert!(Sketch::of(ja).resemblance(&Sketch::of(other)) < 0.1);
    }

    proptest! {
        #[test]
        fn sketches_of_short_texts_are_exact(a in "[a-d ]{0,60}", b in "[a-d ]{0,60}") {
            let (x, y) = (word_shingles(&a, 3), word_shingles(&b, 3));
            let found = Sketch::of(&a).resemblance(&Sketch::of(&b));
            prop_assert!((found - jaccard(&x, &y)).abs() < 1e-12, "{found}");
        }

        #[test]
        fn a_text_is_like_itself(text in "\\PC{1,60}", other in "\\PC{0,60}") {
            let (a, b) = (char_shingles(&text, 3), char_shingles(&other, 3));
            prop_assert_eq!(jaccard(&a, &a), 1.0);
            prop_assert_eq!(jaccard(&a, &b), jaccard(&b, &a));
            prop_assert!((0.0..=1.0).contains(&jaccard(&a, &b)));
        }
    }
}
