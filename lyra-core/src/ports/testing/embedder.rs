//! Checks of an embedder.

use super::promises::{SAME, TEXTS, answered, is_a_name};
use crate::ports::{Embedder, TextRole};

const ROLES: [TextRole; 2] = [TextRole::Query, TextRole::Document];

/// Maximum deviation of the length of a vector from 1.
const UNIT: f64 = 1e-3;

/// Runs every check of an embedder.
pub async fn check_embedder(embedder: &dyn Embedder) {
    embedder_describes_itself(embedder).await;
    embedder_gives_one_vector_a_text(embedder).await;
    embedder_gives_unit_vectors(embedder).await;
    embedder_is_the_same_alone_or_in_a_batch(embedder).await;
    embedder_accepts_empty_text(embedder).await;
    embedder_accepts_an_empty_batch(embedder).await;
}

/// The id can be stored, the dimension is positive, weight and threshold are in range.
pub async fn embedder_describes_itself(embedder: &dyn Embedder) {
    let info = embedder.info();
    assert!(
        is_a_name(&info.model_id),
        "model_id {:?} is no name",
        info.model_id
    );
    assert!(info.dimension > 0, "{}: dimension 0", info.model_id);
    assert!(
        (0.0..=1.0).contains(&info.fusion_weight),
        "{}: fusion_weight {} lies outside 0..=1",
        info.model_id,
        info.fusion_weight
    );
    assert!(
        (0.0..=1.0).contains(&info.fusion_weight_cjk),
        "{}: fusion_weight_cjk {} lies outside 0..=1",
        info.model_id,
        info.fusion_weight_cjk
    );
    assert!(
        (-1.0..=1.0).contains(&info.related_threshold),
        "{}: related_threshold {} is no cosine",
        info.model_id,
        info.related_threshold
    );
}

/// There are as many vectors as texts, each of the declared dimension.
pub async fn embedder_gives_one_vector_a_text(embedder: &dyn Embedder) {
    let info = embedder.info();
    for role in ROLES {
        let vectors = embed(embedder, TEXTS, role).await;
        assert_eq!(
            vectors.len(),
            TEXTS.len(),
            "{}: {} vectors for {} texts",
            info.model_id,
            vectors.len(),
            TEXTS.len()
        );
        for (vector, text) in vectors.iter().zip(TEXTS) {
            assert_eq!(
                vector.len(),
                info.dimension,
                "{}: {} values for {text:?}; info() says {}",
                info.model_id,
                vector.len(),
                info.dimension
            );
        }
    }
}

/// Vectors have length 1, or are all zeros; an English sentence is not all zeros.
pub async fn embedder_gives_unit_vectors(embedder: &dyn Embedder) {
    let id = &embedder.info().model_id;
    for role in ROLES {
        for (vector, text) in embed(embedder, TEXTS, role).await.iter().zip(TEXTS) {
            assert_unit_or_zero(id, text, vector);
        }
        let sentence = embed(embedder, &TEXTS[..1], role).await;
        assert!(
            sentence.iter().flatten().any(|value| *value != 0.0),
            "{id}: nothing but zeros for {:?}",
            TEXTS[0]
        );
    }
}

/// The vector of a text depends only on the text and its role.
pub async fn embedder_is_the_same_alone_or_in_a_batch(embedder: &dyn Embedder) {
    let id = &embedder.info().model_id;
    for role in ROLES {
        let batch = embed(embedder, TEXTS, role).await;
        for (text, expected) in TEXTS.iter().zip(&batch) {
            let alone = embed(embedder, &[text], role).await;
            let same = alone.first().is_some_and(|alone| {
                let mut pairs = alone.iter().zip(expected);
                pairs.all(|(a, b)| f64::from(a - b).abs() <= SAME)
            });
            assert!(same, "{id}: {text:?} alone and in a batch give two vectors");
        }
    }
}

/// Empty and blank texts are accepted.
pub async fn embedder_accepts_empty_text(embedder: &dyn Embedder) {
    let info = embedder.info();
    let texts = ["", "   ", "\n", "between"];
    for role in ROLES {
        let vectors = embed(embedder, &texts, role).await;
        assert_eq!(
            vectors.len(),
            texts.len(),
            "{}: empty texts must keep their place in the batch",
            info.model_id
        );
        for (vector, text) in vectors.iter().zip(texts) {
            assert_eq!(
                vector.len(),
                info.dimension,
                "{}: wrong length for {text:?}",
                info.model_id
            );
            assert_unit_or_zero(&info.model_id, text, vector);
        }
    }
}

/// An empty batch gives no vectors and no error.
pub async fn embedder_accepts_an_empty_batch(embedder: &dyn Embedder) {
    let vectors = embed(embedder, &[], TextRole::Document).await;
    assert!(
        vectors.is_empty(),
        "{}: {} vectors for no text",
        embedder.info().model_id,
        vectors.len()
    );
}

async fn embed(embedder: &dyn Embedder, texts: &[&str], role: TextRole) -> Vec<Vec<f32>> {
    let asked = format!("embed({} texts, {role:?})", texts.len());
    let answer = embedder.embed(texts, role).await;
    answered(&embedder.info().model_id, &asked, answer)
}

fn assert_unit_or_zero(id: &str, text: &str, vector: &[f32]) {
    assert!(
        vector.iter().all(|value| value.is_finite()),
        "{id}: a value for {text:?} is not a finite number"
    );
    let squares: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
    let length = squares.sqrt();
    assert!(
        squares == 0.0 || (length - 1.0).abs() <= UNIT,
        "{id}: the vector of {text:?} has length {length}; expected 1 or all zeros"
    );
}
