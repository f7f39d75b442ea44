//! A pair that verification would judge, as a serialisable value.

use super::direct::Asked;
use crate::ports::StancePair;
use crate::store::confidence::Calibration;
use crate::store::graph::UnjudgedClaim;
use serde::{Deserialize, Serialize};

/// A pair of texts that verification would judge: a passage and a claim, or a claim and the
/// hypothesis of its task. It contains everything that [`judge_pairs`](super::judge_pairs) needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CandidatePair {
    /// The task.
    pub task_id: String,
    /// The claim.
    pub claim_id: String,
    /// The fragment that the claim is judged against; none if the claim itself is judged against
    /// the hypothesis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fragment_id: Option<String>,
    /// The judge for which the pair was made. Judges differ in how much of a passage they are given.
    pub judge_id: String,
    /// The judge's input: a passage, some of its sentences, or the claim.
    pub premise: String,
    /// The statement to judge: the claim, or the hypothesis.
    pub statement: String,
    /// The hypothesis of the task, if the statement is a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypothesis: Option<String>,
    /// Title and heading above the premise, if they contain what the premise omits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The fragment's text, if it differs from the premise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage: Option<String>,
    /// The title of the document and the heading above the fragment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headings: Vec<String>,
    /// The start of the fragment in the page's text, in code points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passage_start: Option<i64>,
    /// First code point, and one past the last, of the sentence of the fragment that a verdict
    /// quotes, if it is known before the judge is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<(usize, usize)>,
    /// Whether claim and context name the subject of the hypothesis; only if the claim is judged
    /// against it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names_subject: Option<bool>,
    /// The graph's correction of this judge's confidence, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

impl CandidatePair {
    pub(super) fn question(&self) -> StancePair {
        StancePair {
            context: self.context.clone(),
            ..StancePair::new(&self.premise, &self.statement)
        }
    }

    pub(super) fn of_claim(claim: &UnjudgedClaim, hypothesis: &str) -> Self {
        let StancePair {
            premise,
            hypothesis: statement,
            context,
        } = claim.pair(hypothesis);
        Self {
            claim_id: claim.id.clone(),
            premise,
            statement,
            context,
            names_subject: Some(claim.names_subject(hypothesis)),
            ..Self::default()
        }
    }

    pub(super) fn asked(&self) -> Asked<'_> {
        match self.fragment_id {
            Some(_) => match &self.hypothesis {
                Some(hypothesis) => Asked::Claim(hypothesis),
                None => Asked::Sentence,
            },
            None => Asked::Hypothesis {
                names_subject: self.names_subject.unwrap_or(true),
            },
        }
    }
}
