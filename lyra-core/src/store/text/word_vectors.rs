//! Vectors of words, from the static table that the built-in embedder uses.

mod table;
mod wordpiece;

pub(crate) use table::EmbeddingTable;
pub(crate) use wordpiece::{Terms, terms};

use super::is_stop_word;
use crate::error::{Error, Result};
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The built-in table.
static BUILTIN: LazyLock<Result<EmbeddingTable, String>> = LazyLock::new(|| {
    EmbeddingTable::parse(include_bytes!("../../../models/static-minilm-256.lyt"))
});

pub(crate) fn builtin() -> Result<&'static EmbeddingTable> {
    BUILTIN
        .as_ref()
        .map_err(|e| Error::internal(format!("the built-in embedding table: {e}")))
}

/// The rows of a text's pieces in the built-in table, in order; `None` for a word that the pieces
/// do not cover. Chinese, Japanese and Korean characters have no pieces. Returns at most 512.
#[cfg(feature = "neural-judge")]
pub(crate) fn word_pieces(text: &str) -> Result<Vec<Option<u32>>> {
    Ok(terms(text, builtin()?).pieces)
}

/// How near a text comes to naming some words: the mean over the words of the cosine of each to the
/// nearest word of the text. Words that the table does not cover are left out; `None` if no word is
/// left.
pub(crate) fn nearness(words: &[&str], text: &str) -> Option<f64> {
    let table = builtin().ok()?;
    let told: Vec<Vec<f32>> = text
        .unicode_words()
        .filter(|word| !is_stop_word(&word.to_lowercase()))
        .filter_map(|word| unit_vector(table, word))
        .collect();
    let nearest = |sought: &Vec<f32>| {
        let cosines = told.iter().map(|word| dot(sought, word));
        f64::from(cosines.fold(0.0, f32::max))
    };
    let sought = words.iter().filter_map(|word| unit_vector(table, word));
    let each: Vec<f64> = sought.map(|word| nearest(&word)).collect();
    (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
}

fn unit_vector(table: &EmbeddingTable, word: &str) -> Option<Vec<f32>> {
    let mut total = vec![0.0; table.dimension()];
    for row in terms(word, table).pieces.into_iter().flatten() {
        table.add_row(&mut total, row, 1.0);
    }
    let length = dot(&total, &total).sqrt();
    if length == 0.0 {
        return None;
    }
    for value in &mut total {
        *value /= length;
    }
    Some(total)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn related_words_are_nearer_than_others() {
        let near = |text: &str| nearness(&["drug", "trial"], text).unwrap();
        let named = near("Drugs were compared in a trial.");
        let related = near("Medications were compared in a study.");
        let other = near("Windows were painted in a house.");
        assert!(
            named > related && related > other,
            "{named} {related} {other}"
        );
        assert!(nearness(&["muscle"], "muscle").unwrap() > 0.999);
        assert_eq!(nearness(&["muscle"], "筋力"), Some(0.0));
        assert_eq!(nearness(&["筋力"], "muscle"), None);
        assert_eq!(nearness(&[], "muscle"), None);
    }
}
