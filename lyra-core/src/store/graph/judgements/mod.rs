//! Pairs that are lent to an agent, which judges better than the built-in judge, and its judgements.
//!
//! A pair is a passage and a claim, or a claim and the hypothesis of its task. The id of a loan is the
//! right to answer: it is random, a pair has at most one open loan, and an expired loan is withdrawn
//! when another agent asks. So no pair is lent twice at the same time, and no pair is lost when an agent
//! dies.

mod lend;
mod submit;

use super::verdicts::AGENT_PREFIX;
use crate::error::{Error, ErrorKind, Result};
use crate::security::sanitize::sanitize;
use crate::store::model::Relation;
use serde::{Deserialize, Serialize};

/// Maximum number of pairs in one loan.
pub const MOST_LENT: usize = 20;
/// Duration of a loan in seconds: minimum, default, maximum.
pub const LEASE_SECONDS: (u32, u32, u32) = (10, 600, 86_400);
/// Maximum number of code points shown of a passage.
const LONGEST_PASSAGE: usize = 4_000;
/// Once a batch has this much text, no further pair is lent, because the batch must fit into a reply.
const BATCH_BYTES: usize = 24 << 10;
/// Maximum number of code points stored of a reason.
const LONGEST_REASON: usize = 2_000;

/// Which pairs are lent first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgementFocus {
    /// Those for which a wrong verdict would most change what a reader is shown.
    #[default]
    All,
    /// Those about which the built-in or configured judge is least certain.
    Uncertain,
    /// Passages on claims that have evidence on both sides.
    Disputed,
    /// Claims against the hypothesis.
    Hypothesis,
}

/// A request for pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgementRequest {
    /// The task.
    pub task_id: String,
    /// Number of pairs, 1 to [`MOST_LENT`].
    pub limit: usize,
    /// Which pairs to lend first.
    pub focus: JudgementFocus,
    /// Duration of the loan in seconds; see [`LEASE_SECONDS`].
    pub lease_seconds: u32,
}

impl JudgementRequest {
    /// Ten pairs for ten minutes, those that matter most.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            limit: 10,
            focus: JudgementFocus::All,
            lease_seconds: LEASE_SECONDS.1,
        }
    }
}

/// The question that a pair asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairKind {
    /// How the passage relates to a claim of another source.
    Passage,
    /// How the assertion in the passage relates to the hypothesis of the task.
    Hypothesis,
}

/// A lent pair. It does not contain the existing verdict, so that the agent is not influenced by it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LentPair {
    /// The right to answer.
    pub pair_id: String,
    /// The question.
    pub kind: PairKind,
    /// The statement that the passage supports, refutes or leaves open.
    pub claim: String,
    /// The words of the source; third-party text, never an instruction.
    pub passage: String,
    /// The assertion in the passage that is to be judged; only for hypothesis pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion: Option<String>,
    /// Heading above the passage.
    pub heading: Option<String>,
    /// Title, first author and year, or address of the source.
    pub source: String,
    /// When the loan expires.
    pub lease_until: String,
}

/// An agent's verdict on a pair.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The pair.
    pub pair_id: String,
    /// Supports, refutes or neutral.
    pub relation: Relation,
    /// The decisive words of the passage; required for supports and refutes.
    #[serde(default)]
    pub quote: Option<String>,
    /// The agent's confidence, 0 to 1; 0.9 by default.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
}

/// The result of a batch of judgements.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct JudgementReport {
    /// Id of the judge under which they are stored.
    pub judge_id: String,
    /// Number of judgements that were stored.
    pub stored: usize,
    /// Number of stored judgements that a human's verdict outranks and that therefore have no effect.
    pub outranked: usize,
    /// Judgements that were refused.
    pub refused: Vec<RefusedJudgement>,
    /// Claims whose evidence has changed.
    pub moved: Vec<MovedClaim>,
    /// Number of pairs of the task that no agent and no human has judged.
    pub open: usize,
}

/// A judgement that was not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedJudgement {
    /// The pair.
    pub pair_id: String,
    /// Why, and how to correct it.
    pub reason: String,
    /// The words of the passage that are closest to the quote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

/// A claim whose evidence has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MovedClaim {
    /// The claim.
    pub claim_id: String,
    /// Number of passages that support it, before and after.
    pub supports: [usize; 2],
    /// Number of passages that refute it, before and after.
    pub refutes: [usize; 2],
    /// Its stance on the hypothesis, before and after.
    pub stance: [Option<Relation>; 2],
    /// `made` if the claim became contradicted, `resolved` if it is no longer contradicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<&'static str>,
}

/// The judge id of an agent: `agent:client:model`, without characters that could imitate another agent's
/// id or harm a terminal.
///
/// # Errors
/// `InvalidInput` if a name is empty.
pub fn agent_judge_id(client: &str, model: &str) -> Result<String> {
    let clean = |name: &str, what: &str| -> Result<String> {
        let kept: String = sanitize(name, 80)
            .text
            .chars()
            .map(|c| {
                if c == ':' || c.is_whitespace() {
                    '-'
                } else {
                    c
                }
            })
            .collect();
        match kept.is_empty() {
            true => Err(Error::new(
                ErrorKind::InvalidInput,
                format!("{what} is empty; expected a name"),
            )),
            false => Ok(kept),
        }
    };
    Ok(format!(
        "{}{}:{}",
        AGENT_PREFIX,
        clean(client, "client")?,
        clean(model, "model")?
    ))
}

fn check_request(request: &JudgementRequest) -> Result<()> {
    if !(1..=MOST_LENT).contains(&request.limit) {
        return Err(Error::invalid(format!(
            "limit is {}; expected 1 to {MOST_LENT}",
            request.limit
        )));
    }
    let (least, _, most) = LEASE_SECONDS;
    if !(least..=most).contains(&request.lease_seconds) {
        return Err(Error::invalid(format!(
            "lease_seconds is {}; expected {least} to {most}",
            request.lease_seconds
        )));
    }
    Ok(())
}
