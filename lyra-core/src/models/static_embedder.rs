//! The built-in embedder: a static token table, fitted by regression onto the sentence vectors of
//! all-MiniLM-L6-v2. It needs no download, network or runtime, and embeds some ten thousand short
//! texts a second; `models/NOTICE.md` describes how it was made and its quality.
//!
//! The table covers English. Chinese, Japanese and Korean text gets a vector from its characters
//! and pairs of characters, hashed into the same space: texts that share terms are near each other,
//! but no text is near its translation. Text that the table does not cover at all (Thai, Amharic, a
//! row of emoji) gets a vector from its words and pairs of characters.

use crate::error::Result;
use crate::ports::{Embedder, EmbedderInfo, TextRole};
use crate::store::text::word_vectors::{EmbeddingTable, Terms, builtin, terms};
use std::collections::HashMap;
use unicode_normalization::UnicodeNormalization;

/// Stored with every vector of the built-in table.
pub const MODEL_ID: &str = "lyra-static-minilm-256-v1";

/// The built-in static embedder.
#[derive(Debug)]
pub struct StaticEmbedder {
    table: &'static EmbeddingTable,
    info: EmbedderInfo,
}

impl StaticEmbedder {
    /// The built-in table.
    ///
    /// ```
    /// use lyra_core::models::StaticEmbedder;
    /// let embedder = StaticEmbedder::new()?;
    /// let v = embedder.encode("heart failure");
    /// assert_eq!(v.len(), 256);
    /// assert!((v.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-4);
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    pub fn new() -> Result<Self> {
        let table = builtin()?;
        let info = EmbedderInfo {
            model_id: MODEL_ID.to_owned(),
            dimension: table.dimension(),
            builtin: true,
            fusion_weight: 0.5,
            fusion_weight_cjk: 0.15,
            related_threshold: 0.45,
        };
        Ok(Self { table, info })
    }

    /// The unit vector of one text; zeros if the text is empty.
    pub fn encode(&self, text: &str) -> Vec<f32> {
        let Terms { pieces, hashed } = terms(text, self.table);
        let mut total = vec![0.0_f32; self.table.dimension()];
        for (row, count) in counted(pieces.into_iter().flatten().collect()) {
            self.table
                .add_row(&mut total, row, self.table.tf_weight(count));
        }
        for ((term, weight), count) in counted(hashed) {
            let factor = self.table.tf_weight(count) * (weight.value() * self.table.cjk_unit());
            add_direction(&mut total, &term, factor);
        }
        if total.iter().all(|value| *value == 0.0) {
            for (part, count) in counted(parts(text)) {
                add_direction(&mut total, &part, self.table.tf_weight(count));
            }
        }
        let length = total.iter().map(|v| v * v).sum::<f32>().sqrt();
        if length > 0.0 {
            for value in &mut total {
                *value /= length;
            }
        }
        total
    }
}

/// The features of a text that the table does not cover: words, pairs of characters, and the
/// characters of the shortest words.
fn parts(text: &str) -> Vec<String> {
    let folded: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let mut parts = Vec::new();
    for word in folded.split_whitespace() {
        parts.push(word.to_owned());
        let following = word.chars().skip(1);
        let pairs = word.chars().zip(following);
        parts.extend(pairs.map(|(a, b)| String::from_iter([a, b])));
        if word.chars().nth(2).is_none() {
            parts.extend(word.chars().map(String::from));
        }
    }
    parts
}

#[async_trait::async_trait]
impl Embedder for StaticEmbedder {
    fn info(&self) -> &EmbedderInfo {
        &self.info
    }

    async fn embed(&self, texts: &[&str], _role: TextRole) -> Result<Vec<Vec<f32>>> {
        Ok(texts.iter().map(|text| self.encode(text)).collect())
    }
}

/// Each distinct item with its count, in order of first appearance. The order affects the rounding
/// of the sums, and the same text must give the same vector.
fn counted<T: std::hash::Hash + Eq + Clone>(items: Vec<T>) -> Vec<(T, u32)> {
    let mut place: HashMap<T, usize> = HashMap::with_capacity(items.len());
    let mut counts: Vec<(T, u32)> = Vec::with_capacity(items.len());
    for item in items {
        if let Some(&at) = place.get(&item) {
            counts[at].1 += 1;
        } else {
            place.insert(item.clone(), counts.len());
            counts.push((item, 1));
        }
    }
    counts
}

/// Adds the pseudo-random direction of a hashed term: ±1/√d, signs from FNV-1a and splitmix64.
fn add_direction(total: &mut [f32], term: &str, factor: f32) {
    let mut state: u64 = 0xCBF2_9CE4_8422_2325;
    for byte in term.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    }
    #[allow(clippy::cast_precision_loss, reason = "a few hundred dimensions")]
    let step = factor / (total.len() as f32).sqrt();
    for chunk in total.chunks_mut(64) {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        for (bit, value) in chunk.iter_mut().enumerate() {
            *value += if z >> bit & 1 == 1 { step } else { -step };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// The expected vectors were written by the reference encoder in scripts/static_table.
    #[test]
    fn agrees_with_the_reference_encoder() {
        let text = include_str!("../../../scripts/static_table/reference.json");
        let reference: Value = serde_json::from_str(text).unwrap();
        let cases = reference
            .as_array()
            .or_else(|| reference["cases"].as_array())
            .unwrap();
        let embedder = StaticEmbedder::new().unwrap();
        assert!(cases.len() >= 20);
        for case in cases {
            let text = case["text"].as_str().unwrap();
            let expected = case["vector"].as_array().unwrap();
            let got = embedder.encode(text);
            assert_eq!(got.len(), expected.len());
            for (ours, theirs) in got.iter().zip(expected) {
                let theirs = theirs.as_f64().unwrap();
                assert!(
                    (f64::from(*ours) - theirs).abs() < 2e-5,
                    "{text:?}: {ours} for {theirs}"
                );
            }
        }
    }

    #[test]
    fn near_and_far() {
        let embedder = StaticEmbedder::new().unwrap();
        let similarity = |a: &str, b: &str| -> f32 {
            embedder
                .encode(a)
                .iter()
                .zip(embedder.encode(b))
                .map(|(x, y)| x * y)
                .sum()
        };
        let cases = [
            (
                "heart failure",
                "cardiac insufficiency",
                "stock market prices",
            ),
            ("blood sugar", "glucose level", "football match"),
            ("心不全による入院", "心不全で入院した患者", "株価の下落"),
            // None of these is in the table.
            ("กาแฟลดการนอนหลับ", "กาแฟกับการนอนหลับ", "ราคาหุ้นตกวันนี้"),
            ("የቡና ተጽእኖ", "የቡና መጠጥ", "ዋጋው ወደቀ"),
            ("🎉🎉", "🎉", "🌧️"),
        ];
        for (a, near, far) in cases {
            assert!(
                similarity(a, near) > similarity(a, far) + 0.1,
                "{a}: {near} / {far}"
            );
        }
        assert!(embedder.encode(" ").iter().all(|v| *v == 0.0));
    }
}
