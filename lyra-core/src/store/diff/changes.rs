//! What a comparison answers with.

use crate::store::model::Relation;
use serde::Serialize;

/// What changed between two states of a graph. Lists are in order of their ids; texts are cut to
/// 200 characters.
///
/// A claim is the same on both sides if it has the same id. Figures are scores to navigate by.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GraphDiff {
    /// The file that was compared with, or the time (RFC 3339, UTC) that changes are counted from.
    pub before: String,
    /// The file with the newer state.
    pub after: String,
    /// The only task that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Claims that are there now only, less those that were rejected in the meantime.
    pub new_claims: Vec<ClaimChange>,
    /// Claims that were there before only.
    pub vanished_claims: Vec<ClaimChange>,
    /// Claims that have been rejected.
    pub rejected_claims: Vec<ClaimChange>,
    /// Rejected claims that have been taken back in.
    pub restored_claims: Vec<ClaimChange>,
    /// Claims of both sides that stand otherwise to the hypothesis.
    pub flipped_stances: Vec<StanceChange>,
    /// Adopted claims of both sides whose confidence moved by at least 0.05.
    pub moved_claims: Vec<ConfidenceChange>,
    /// Verdicts that a human has corrected or confirmed, however little that moved the claim.
    pub corrected_verdicts: Vec<EdgeChange>,
    /// Passages that refute a claim and did not before.
    pub new_contradictions: Vec<EdgeChange>,
    /// Publications that are marked as retracted now and were not.
    pub retracted_works: Vec<RetractedWork>,
    /// Pages of both sides that have a newer text.
    pub superseded_texts: Vec<TextChange>,
    /// Pages of which nothing had been read before.
    pub new_sources: Vec<NewSource>,
}

impl GraphDiff {
    /// Changes of all kinds.
    pub fn total(&self) -> usize {
        self.new_claims.len()
            + self.vanished_claims.len()
            + self.rejected_claims.len()
            + self.restored_claims.len()
            + self.flipped_stances.len()
            + self.moved_claims.len()
            + self.corrected_verdicts.len()
            + self.new_contradictions.len()
            + self.retracted_works.len()
            + self.superseded_texts.len()
            + self.new_sources.len()
    }
}

/// Why something changed, as far as the graph knows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangeCause {
    /// The job that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// What that job was to do: a query, an address, a DOI, or the kind of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_target: Option<String>,
    /// The judge whose verdict it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_id: Option<String>,
    /// Who corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Why, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A claim that came, went, was rejected or restored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimChange {
    /// The claim.
    pub claim_id: String,
    /// Its task.
    pub task_id: String,
    /// Its text.
    pub claim_text: String,
    /// How it stands to the hypothesis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stance: Option<Relation>,
    /// Where it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Why.
    pub cause: ChangeCause,
}

/// A claim whose stance to the hypothesis changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StanceChange {
    /// The claim.
    pub claim_id: String,
    /// Its task.
    pub task_id: String,
    /// Its text.
    pub claim_text: String,
    /// Before; none where nobody had judged it, or where what was said is not kept.
    pub before: Option<Relation>,
    /// Now; none where what was said is gone.
    pub after: Option<Relation>,
    /// How sure the judge is now, 0 to 1.
    pub confidence: Option<f64>,
    /// Who judged before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_before: Option<String>,
    /// Why: the judge of now.
    pub cause: ChangeCause,
}

/// A claim whose confidence moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfidenceChange {
    /// The claim.
    pub claim_id: String,
    /// Its task.
    pub task_id: String,
    /// Its text.
    pub claim_text: String,
    /// `bayesian_truth_confidence` of `v_claim_evidence_summary` before.
    pub before: f64,
    /// And now.
    pub after: f64,
    /// The verdicts that moved it.
    pub edges: Vec<EdgeChange>,
}

/// What happened to a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeEvent {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// A human corrected or confirmed it.
    Corrected,
    /// A judge says something else, or is otherwise sure.
    Rejudged,
}

/// A verdict of a passage on a claim that came, went or changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EdgeChange {
    /// The edge.
    pub edge_id: String,
    /// The claim.
    pub claim_id: String,
    /// The text of the claim.
    pub claim_text: String,
    /// The passage.
    pub fragment_id: String,
    /// The page of the passage, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What happened.
    pub event: EdgeEvent,
    /// What it said before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation_before: Option<Relation>,
    /// What it says now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation_after: Option<Relation>,
    /// How surely before, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_before: Option<f64>,
    /// How surely now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_after: Option<f64>,
    /// Why.
    pub cause: ChangeCause,
}

/// A publication that has been retracted, and what rests on it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RetractedWork {
    /// `works.canonical_id`.
    pub canonical_id: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Claims that were read in it.
    pub claims_read_in_it: Vec<String>,
    /// Claims that it supports or refutes.
    pub claims_judged_by_it: Vec<String>,
}

/// A page with a newer text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextChange {
    /// The page.
    pub page_id: String,
    /// Its address.
    pub url: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The newest text of before.
    pub version_before: i64,
    /// The newest text of now.
    pub version_after: i64,
    /// When that was read.
    pub fetched_at: String,
    /// Claims whose quote stands in an older text.
    pub claims_on_older_text: i64,
}

/// A page of which something has been read for the first time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewSource {
    /// The page.
    pub page_id: String,
    /// Its address.
    pub url: String,
    /// The title of the publication, or of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical_id: Option<String>,
    /// How it came: `search`, `academic_api`, `citation_chase` or `manual`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
