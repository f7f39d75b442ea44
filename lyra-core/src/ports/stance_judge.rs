//! Pairs of texts to verdicts.

use crate::error::Result;
use crate::store::model::Relation;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::ops::Range;

/// A question to a stance judge: does the premise support the hypothesis?
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StancePair {
    /// What the source says: a sentence or a few, or a passage for a judge that
    /// [reads passages](StanceJudge::reads_passages).
    pub premise: String,
    /// The claim in question.
    pub hypothesis: String,
    /// Title and heading that the premise stands under, where they say what it leaves out.
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

/// A stance judge's answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// [`Relation::Supports`], [`Relation::Refutes`] or [`Relation::Neutral`].
    pub relation: Relation,
    /// 0 to 1: how sure the judge is of the relation.
    pub confidence: f64,
    /// The probabilities of supports, refutes and neutral, from judges that have them.
    pub probabilities: Option<[f64; 3]>,
    /// The part of the premise that decided, in code points, from judges that tell.
    pub quote: Option<Range<usize>>,
    /// 0 to 1: how likely that part asserts something on the hypothesis at all, from judges that tell.
    pub relevance: Option<f64>,
}

impl Verdict {
    /// A relation and how sure the judge is of it.
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
    /// Stored with every verdict.
    fn judge_id(&self) -> &str;

    /// Ships with the library. A configured judge's verdicts replace its verdicts, never the other
    /// way round.
    fn is_builtin(&self) -> bool;

    /// Whether the judge is given whole passages and finds in them what decides. Others are given
    /// the sentences that are closest to the claim.
    fn reads_passages(&self) -> bool {
        false
    }

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
