//! The port that judges pairs of texts.

use crate::error::Result;
use crate::store::model::Relation;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::ops::Range;

/// A question to a stance judge: does the premise support the hypothesis?
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StancePair {
    /// The text of the source: one or a few sentences, or a passage for a judge that [reads
    /// passages](StanceJudge::reads_passages).
    pub premise: String,
    /// The claim in question.
    pub hypothesis: String,
    /// Title and heading above the premise, if they say what it leaves out.
    pub context: Option<String>,
}

impl StancePair {
    /// A premise and a claim without context.
    pub fn new(premise: impl Into<String>, hypothesis: impl Into<String>) -> Self {
        Self {
            premise: premise.into(),
            hypothesis: hypothesis.into(),
            context: None,
        }
    }
}

/// The answer of a stance judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// [`Relation::Supports`], [`Relation::Refutes`] or [`Relation::Neutral`].
    pub relation: Relation,
    /// Confidence in the relation, 0 to 1.
    pub confidence: f64,
    /// The probabilities of supports, refutes and neutral, from judges that report them.
    pub probabilities: Option<[f64; 3]>,
    /// The decisive part of the premise, in code points, from judges that report it.
    pub quote: Option<Range<usize>>,
    /// The probability, 0 to 1, that this part asserts anything about the hypothesis, from judges
    /// that report it.
    pub relevance: Option<f64>,
}

impl Verdict {
    /// A verdict with a relation and a confidence.
    pub fn new(relation: Relation, confidence: f64) -> Self {
        Self {
            relation,
            confidence,
            probabilities: None,
            quote: None,
            relevance: None,
        }
    }
}

/// Judges whether one text supports or refutes another (natural language inference).
#[async_trait::async_trait]
pub trait StanceJudge: Debug + Send + Sync + 'static {
    /// Id of the judge, stored with every verdict.
    fn judge_id(&self) -> &str;

    /// Whether it ships with the library. Verdicts of a configured judge replace those of a
    /// built-in one, never the reverse.
    fn is_builtin(&self) -> bool;

    /// Whether the judge receives whole passages and finds the decisive part itself. Other judges
    /// receive the sentences that are closest to the claim.
    fn reads_passages(&self) -> bool {
        false
    }

    /// One verdict for each pair, in order.
    ///
    /// The relation is one of the three NLI relations, the confidence is in 0..=1, and the same
    /// pair gets the same verdict, alone or in a batch.
    async fn judge(&self, pairs: &[StancePair]) -> Result<Vec<Verdict>>;

    /// The configuration in readable form: which model is used and at which address; never a key.
    fn setup(&self) -> Option<String> {
        None
    }
}
