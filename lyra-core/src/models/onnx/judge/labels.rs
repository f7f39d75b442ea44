//! Maps a model's classes to relations, according to `id2label` in `config.json`.

use super::super::folder::ModelFolder;
use crate::error::{Error, ErrorKind, Result};
use crate::store::model::Relation;
use serde_json::Value;

/// The hint for classes without names.
const NAME_THEM: &str = "write into config.json what the model card says, in the order of the scores, for example \
     \"id2label\": {\"0\": \"contradiction\", \"1\": \"entailment\", \"2\": \"neutral\"}";

/// Names of classes, in lower case, letters and digits only.
const NAMES: [(Relation, &[&str]); 3] = [
    (
        Relation::Supports,
        &[
            "entailment",
            "entail",
            "entails",
            "entailed",
            "support",
            "supports",
            "supported",
        ],
    ),
    (
        Relation::Refutes,
        &[
            "contradiction",
            "contradict",
            "contradicts",
            "contradictory",
            "refute",
            "refutes",
            "refuted",
        ],
    ),
    (
        Relation::Neutral,
        &["neutral", "notenoughinfo", "notenoughinformation", "nei"],
    ),
];

/// The relation of each score of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Labels([Relation; 3]);

impl Labels {
    /// Reads the classes of a folder.
    pub(super) fn read(folder: &ModelFolder) -> Result<Self> {
        let place = folder.root.join("config.json");
        if folder.layer("Pooling").is_some() {
            let message = format!(
                "{} is the folder of a sentence encoder, which makes vectors",
                folder.root.display()
            );
            return Err(Error::new(ErrorKind::Unsupported, message).with_hint(CROSS_ENCODER));
        }
        Self::parse(&folder.config["id2label"]).map_err(|e| e.context(place.display()))
    }

    fn parse(id2label: &Value) -> Result<Self> {
        let unnamed =
            |message: String| Error::new(ErrorKind::Backend, message).with_hint(NAME_THEM);
        let names = names(id2label)
            .ok_or_else(|| unnamed("id2label does not name the model's classes".to_owned()))?;
        if names.len() != 3 {
            let message = format!(
                "the model has {} classes ({}); expected entailment, contradiction and neutral",
                names.len(),
                names.join(", ")
            );
            return Err(Error::new(ErrorKind::Unsupported, message).with_hint(CROSS_ENCODER));
        }
        let mut labels = [Relation::Neutral; 3];
        for (label, name) in labels.iter_mut().zip(&names) {
            *label = relation(name).ok_or_else(|| {
                unnamed(format!(
                    "id2label has a class {name:?}; expected entailment, contradiction or neutral"
                ))
            })?;
        }
        match NAMES.iter().all(|(relation, _)| labels.contains(relation)) {
            true => Ok(Self(labels)),
            false => Err(unnamed(format!(
                "id2label names a class twice ({})",
                names.join(", ")
            ))),
        }
    }

    /// The relation with the greatest score, and the softmax of its score; none if a score is not
    /// finite. In a tie, neutral wins.
    pub(super) fn verdict(self, scores: [f32; 3]) -> Option<(Relation, f64)> {
        let scores = scores.map(f64::from);
        if scores.iter().any(|score| !score.is_finite()) {
            return None;
        }
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|score| (score - top).exp()).sum();
        let mut best = self.0.iter().zip(scores).filter(|(_, score)| *score >= top);
        let neutral = best.clone().find(|(label, _)| **label == Relation::Neutral);
        let (relation, score) = neutral.or_else(|| best.next())?;
        Some((*relation, (score - top).exp() / total))
    }
}

impl std::fmt::Display for Labels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}, {}", self.0[0], self.0[1], self.0[2])
    }
}

/// The requirements for a judge, for messages about unsuitable models.
pub(super) const CROSS_ENCODER: &str = "a judge needs a cross-encoder for natural language inference with the classes entailment, \
     contradiction and neutral; docs/judges.md says how to get one";

/// The names in the order of their ids: `{"0": …, "1": …}`.
fn names(id2label: &Value) -> Option<Vec<String>> {
    let labels = id2label.as_object().filter(|labels| !labels.is_empty())?;
    let in_order =
        (0..labels.len()).map(|id| Some(labels.get(&id.to_string())?.as_str()?.to_owned()));
    in_order.collect()
}

fn relation(name: &str) -> Option<Relation> {
    let plain: String = name
        .chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect();
    let found = NAMES.iter().find(|(_, names)| names.contains(&&*plain));
    found.map(|(relation, _)| *relation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Relation::{Neutral, Refutes, Supports};
    use serde_json::json;

    #[test]
    fn classes_are_known_by_their_names_in_any_order() {
        for (id2label, expected) in [
            (
                json!({ "0": "contradiction", "1": "entailment", "2": "neutral" }),
                [Refutes, Supports, Neutral],
            ),
            (
                json!({ "2": "CONTRADICTION", "1": "NEUTRAL", "0": "ENTAILMENT" }),
                [Supports, Neutral, Refutes],
            ),
            (
                json!({ "0": "NOT ENOUGH INFO", "1": "REFUTES", "2": "SUPPORTS" }),
                [Neutral, Refutes, Supports],
            ),
            (
                json!({ "0": "entail", "1": "not_enough_info", "2": "Contradict" }),
                [Supports, Neutral, Refutes],
            ),
        ] {
            assert_eq!(Labels::parse(&id2label).unwrap().0, expected, "{id2label}");
        }
    }

    #[test]
    fn classes_that_are_not_named_are_asked_for() {
        for (id2label, why, kind) in [
            (json!(null), "does not name", ErrorKind::Backend),
            (json!({}), "does not name", ErrorKind::Backend),
            (json!(["a", "b", "c"]), "does not name", ErrorKind::Backend),
            (
                json!({ "1": "a", "2": "b", "3": "c" }),
                "does not name",
                ErrorKind::Backend,
            ),
            (
                json!({ "0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2" }),
                "a class \"LABEL_0\"",
                ErrorKind::Backend,
            ),
            (
                json!({ "0": "neutral", "1": "entailment", "2": "not_contradiction" }),
                "a class \"not_contradiction\"",
                ErrorKind::Backend,
            ),
            (
                json!({ "0": "neutral", "1": "entailment", "2": "Supports" }),
                "a class twice",
                ErrorKind::Backend,
            ),
            (
                json!({ "0": "entailment", "1": "not_entailment" }),
                "2 classes (entailment, not_entailment)",
                ErrorKind::Unsupported,
            ),
        ] {
            let error = Labels::parse(&id2label).unwrap_err();
            assert!(error.message().contains(why), "{id2label}: {error}");
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.hint().is_some(), "{error}");
        }
    }

    #[test]
    fn the_greatest_score_decides_and_equals_are_neutral() {
        let labels = Labels([Refutes, Supports, Neutral]);
        let third = 1.0 / 3.0;
        for (scores, expected) in [
            ([2.0_f32.ln(), 0.0, 0.0], Some((Refutes, 0.5))),
            ([0.0, 2.0_f32.ln(), 0.0], Some((Supports, 0.5))),
            ([1e30, -1e30, 0.0], Some((Refutes, 1.0))),
            ([7.0, 7.0, 7.0], Some((Neutral, third))),
            ([5.0, 5.0, -1e9], Some((Refutes, 0.5))),
            ([f32::NAN, 0.0, 0.0], None),
            ([f32::INFINITY, 0.0, 0.0], None),
        ] {
            match (labels.verdict(scores), expected) {
                (Some((relation, sure)), Some((wanted, probability))) => {
                    assert_eq!(relation, wanted, "{scores:?}");
                    assert!((sure - probability).abs() < 1e-6, "{scores:?}: {sure}");
                }
                (None, None) => {}
                (got, wanted) => panic!("{scores:?}: {got:?} for {wanted:?}"),
            }
        }
    }
}
