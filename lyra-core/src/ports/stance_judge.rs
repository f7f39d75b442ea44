//! Pairs of texts to verdicts.

use crate::error::Result;
use crate::model::Relation;
use std::fmt::Debug;

/// A question to a stance judge: does the premise support the hypothesis?
#[derive(Debug, Clone, PartialEq)]
pub struct StancePair {
    /// What the source says: a sentence or a few.
    pub premise: String,
    /// The claim in question.
    pub hypothesis: String,
}

/// A stance judge's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// [`Relation::Supports`], [`Relation::Refutes`] or [`Relation::Neutral`].
    pub relation: Relation,
    /// 0 to 1: how sure the judge is of the relation.
    pub confidence: f64,
}

/// Judges whether one text supports or refutes another (natural language inference).
#[async_trait::async_trait]
pub trait StanceJudge: Debug + Send + Sync + 'static {
    /// Stored with every verdict.
    fn judge_id(&self) -> &str;

    /// A stand-in that ships with the library rather than a neural model.
    fn is_builtin(&self) -> bool;

    /// One verdict for each pair, in order.
    ///
    /// The relation is one of the three NLI relations, the confidence lies in 0..=1, and the same
    /// pair gets the same verdict, alone or in a batch.
    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>>;

    /// How it is set up, for people: which model it asks and where; never a key.
    fn setup(&self) -> Option<String> {
        None
    }
}
