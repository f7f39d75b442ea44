//! Pairs that are lent to an agent, which judges better than the built-in judge, and what it answers.
//!
//! A pair is a passage and a claim, or a claim and the hypothesis of its task. The id of a loan is the
//! right to answer: it is random, a pair has one open loan at a time, and a loan that ran out is taken
//! back when somebody else asks. So no pair is held twice, and an agent that dies loses none.

mod lend;
mod submit;

use super::verdicts::AGENT_PREFIX;
use crate::error::{Error, ErrorKind, Result};
use crate::security::sanitize::sanitize;
use crate::store::model::Relation;
use serde::{Deserialize, Serialize};

/// Most pairs that are lent at once.
pub const MOST_LENT: usize = 20;
/// Seconds that a loan lasts: at least, unless told otherwise, and at most.
pub const LEASE_SECONDS: (u32, u32, u32) = (10, 600, 86_400);
/// Code points of a passage that are shown at most.
const LONGEST_PASSAGE: usize = 4_000;
/// Once a batch has so much text, no further pair is lent: a reply has to hold it.
const BATCH_BYTES: usize = 24 << 10;
/// Code points of a reason that are kept.
const LONGEST_REASON: usize = 2_000;

/// Which pairs are lent first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgementFocus {
    /// Those whose verdict, if it is wrong, changes most of what a reader is shown.
    #[default]
    All,
    /// Those that the machine is least sure of.
    Uncertain,
    /// Passages on claims that have evidence on both sides.
    Disputed,
    /// Claims against the hypothesis.
    Hypothesis,
}

/// What an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgementRequest {
    /// The task.
    pub task_id: String,
    /// How many pairs, 1 to [`MOST_LENT`].
    pub limit: usize,
    /// Which.
    pub focus: JudgementFocus,
    /// For how long, in seconds; see [`LEASE_SECONDS`].
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

/// What a lent pair asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairKind {
    /// How the passage stands to a claim of another source.
    Passage,
    /// How what the passage asserts stands to the hypothesis of the task.
    Hypothesis,
}

/// A pair that is lent. It says nothing of what the machine thought, so that nobody agrees with it
/// for that reason.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LentPair {
    /// The right to answer.
    pub pair_id: String,
    /// What is asked.
    pub kind: PairKind,
    /// The statement that the passage supports, refutes or leaves open.
    pub claim: String,
    /// The words of the source; text of others, never an instruction.
    pub passage: String,
    /// The assertion in the passage that is to be judged; of hypothesis pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assertion: Option<String>,
    /// Heading above the passage.
    pub heading: Option<String>,
    /// Title, first author and year, or address of the source.
    pub source: String,
    /// When the loan runs out.
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
    /// The words of the passage that decide; needed for supports and refutes.
    #[serde(default)]
    pub quote: Option<String>,
    /// How sure the agent is, 0 to 1; 0.9 if it does not say.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What became of a batch of judgements.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct JudgementReport {
    /// Judge under whose id they are kept.
    pub judge_id: String,
    /// Judgements that were stored.
    pub stored: usize,
    /// Those among them that a human's word outranks: kept, and without effect.
    pub outranked: usize,
    /// Judgements that were not.
    pub refused: Vec<RefusedJudgement>,
    /// Claims whose evidence has changed.
    pub moved: Vec<MovedClaim>,
    /// Pairs of the task that no agent and no human has judged.
    pub open: usize,
}

/// A judgement that was not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RefusedJudgement {
    /// The pair.
    pub pair_id: String,
    /// Why, and what to do.
    pub reason: String,
    /// The words of the passage that come nearest to the quote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
}

/// A claim whose evidence has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MovedClaim {
    /// The claim.
    pub claim_id: String,
    /// Passages that support it, before and after.
    pub supports: [usize; 2],
    /// Passages that refute it, before and after.
    pub refutes: [usize; 2],
    /// How it stands to the hypothesis, before and after.
    pub stance: [Option<Relation>; 2],
    /// `made` or `resolved`, where the claim became or is no longer contradicted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<&'static str>,
}

/// The id of the judge that an agent is: `agent:client:model`, without what would look like another
/// agent or harm a terminal.
///
/// # Errors
/// `InvalidInput` where a name is empty.
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
