//! The stance judge that ships with the library: features and a small logistic regression.
//!
//! No model file, no network, one core: a premise is read as clauses ([`statement`]), each says
//! something about the hypothesis' outcome after negation ([`negation`]), by an effect size
//! ([`effects`]) and about a drug ([`subjects`]); what they say together ([`features`]) is weighed
//! by a multinomial logistic regression fitted offline ([`weights`]). It is a stand-in for a neural
//! judge: it knows how findings are worded, not what the words mean.

mod comparatives;
mod effects;
mod features;
mod lexicon;
mod negation;
mod overlap;
mod premise;
mod roles;
mod split;
mod statement;
mod subjects;
mod weights;
mod wording;
mod words;

pub use premise::choose_premise;

pub(crate) use lexicon::Cue;
pub(crate) use words::{Kind, Token, is_cjk, tokenize};

use crate::error::Result;
use crate::model::Relation;
use crate::ports::{StanceJudge, StancePair, Verdict};
use features::{Comparison, Hypothesis};
use statement::Reading;

/// The id that [`BuiltinStanceJudge`] stores with its verdicts.
pub(crate) const JUDGE_ID: &str = "lyra-builtin-stance-v2";

/// The classes, in the order of the weights' rows.
const CLASSES: [Relation; 3] = [Relation::Supports, Relation::Refutes, Relation::Neutral];

/// What stands between the cells of a table's row, as the parsers write it.
const CELLS: &str = " | ";

/// What is said of a table: its head names what was measured, its rows hold numbers, and only
/// together they would say something.
const UNREAD: Verdict = Verdict {
    relation: Relation::Neutral,
    confidence: 0.9,
    probabilities: None,
    quote: None,
};

/// Judges pairs by their wording; rows of tables are neutral, because it does not read them.
///
/// The same pair gets the same verdict on every machine; the confidence is the regression's
/// probability of the class that it chose.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuiltinStanceJudge;

#[async_trait::async_trait]
impl StanceJudge for BuiltinStanceJudge {
    fn judge_id(&self) -> &str {
        JUDGE_ID
    }

    fn is_builtin(&self) -> bool {
        true
    }

    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>> {
        Ok(judge_all(pairs))
    }
}

/// Judges pairs in order; neighbours that share their hypothesis share its reading.
fn judge_all(pairs: &[StancePair]) -> Vec<Verdict> {
    let mut last: Option<(&str, Hypothesis)> = None;
    let mut verdicts = Vec::with_capacity(pairs.len());
    for pair in pairs {
        if pair.premise.contains(CELLS) {
            verdicts.push(UNREAD);
            continue;
        }
        let hypothesis = match last.take() {
            Some((text, read)) if text == pair.hypothesis => read,
            _ => Hypothesis::new(&pair.hypothesis),
        };
        verdicts.push(verdict(&hypothesis.compare(&Reading::new(&pair.premise))));
        last = Some((&pair.hypothesis, hypothesis));
    }
    verdicts
}

fn verdict(comparison: &Comparison) -> Verdict {
    let probabilities = probabilities(comparison);
    let mut best = 2;
    for class in [0, 1] {
        if probabilities[class] > probabilities[best] {
            best = class;
        }
    }
    Verdict::new(CLASSES[best], probabilities[best].clamp(0.0, 1.0))
}

/// The probability of each of [`CLASSES`].
fn probabilities(comparison: &Comparison) -> [f64; 3] {
    let mut scores = weights::INTERCEPTS;
    for (score, row) in scores.iter_mut().zip(weights::WEIGHTS) {
        *score += row
            .iter()
            .zip(&comparison.values)
            .map(|(w, x)| w * x)
            .sum::<f64>();
    }
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let odds = scores.map(|score| (score - top).exp());
    let total: f64 = odds.iter().sum();
    let mut chances = odds.map(|o| o / total);
    // Of a premise that was read whole, the reading decides the side, not the sum of many signs.
    if let Some(supports) = comparison.says() {
        let decided = (chances[0] + chances[1]).max(features::READ_PLAINLY);
        let side = chances[0].max(chances[1]) / (chances[0] + chances[1]) * decided;
        chances = if supports {
            [side, decided - side, 1.0 - decided]
        } else {
            [decided - side, side, 1.0 - decided]
        };
    }
    let decided = chances[0] + chances[1];
    let most = comparison.decided_at_most();
    if decided > most {
        chances[0] *= most / decided;
        chances[1] *= most / decided;
        chances[2] = 1.0 - most;
    }
    chances
}

#[cfg(test)]
mod cases;
#[cfg(test)]
mod held_out;
#[cfg(test)]
mod plain;
#[cfg(test)]
mod tests;
