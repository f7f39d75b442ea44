//! The result of a comparison.

use crate::store::model::Relation;
use serde::Serialize;

/// The changes between two states of a graph. Lists are sorted by id; texts are truncated to 200
/// characters.
///
/// A claim is the same on both sides if it has the same id. Figures are scores to navigate by.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct GraphDiff {
    /// The file of the earlier state, or the time (RFC 3339, UTC) since which changes are listed.
    pub before: String,
    /// The file with the newer state.
    pub after: String,
    /// The task to which the comparison is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// Claims that exist only now, except those that were rejected in the meantime.
    pub new_claims: Vec<ClaimChange>,
    /// Claims that existed only before.
    pub vanished_claims: Vec<ClaimChange>,
    /// Claims that have been rejected.
    pub rejected_claims: Vec<ClaimChange>,
    /// Rejected claims that have been restored.
    pub restored_claims: Vec<ClaimChange>,
    /// Claims of both sides whose stance on the hypothesis changed.
    pub flipped_stances: Vec<StanceChange>,
    /// Adopted claims of both sides whose confidence moved by at least 0.05.
    pub moved_claims: Vec<ConfidenceChange>,
    /// Verdicts that a human has corrected or confirmed, however little this moved the claim.
    pub corrected_verdicts: Vec<EdgeChange>,
    /// Passages that refute a claim now and did not before.
    pub new_contradictions: Vec<EdgeChange>,
    /// Publications that are marked as retracted now and were not before.
    pub retracted_works: Vec<RetractedWork>,
    /// Pages of both sides that have a newer text.
    pub superseded_texts: Vec<TextChange>,
    /// Pages that have been read for the first time.
    pub new_sources: Vec<NewSource>,
}

impl GraphDiff {
    /// Number of changes of all kinds.
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

/// The cause of a change, as far as the graph records it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangeCause {
    /// The job that did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// The target of that job: a query, an address, a DOI, or the kind of the job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_target: Option<String>,
    /// The judge whose verdict it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_id: Option<String>,
    /// Who corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The reason, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A claim that was added, removed, rejected or restored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimChange {
    /// The claim.
    pub claim_id: String,
    /// Its task.
    pub task_id: String,
    /// Its text.
    pub claim_text: String,
    /// Its stance on the hypothesis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stance: Option<Relation>,
    /// The page in which it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The cause.
    pub cause: ChangeCause,
}

/// A claim whose stance on the hypothesis changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StanceChange {
    /// The claim.
    pub claim_id: String,
    /// Its task.
    pub task_id: String,
    /// Its text.
    pub claim_text: String,
    /// The stance before; none if no judge had judged it, or if the earlier verdict is not kept.
    pub before: Option<Relation>,
    /// The stance now; none if the verdict is gone.
    pub after: Option<Relation>,
    /// The judge's confidence now, 0 to 1.
    pub confidence: Option<f64>,
    /// The earlier judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_before: Option<String>,
    /// The cause: the current judge.
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
    /// The same value now.
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
    /// A judge gave another verdict or another confidence.
    Rejudged,
}

/// A verdict of a passage on a claim that was added, removed or changed.
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
    /// The page of the passage, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What happened.
    pub event: EdgeEvent,
    /// The relation before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation_before: Option<Relation>,
    /// The relation now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relation_after: Option<Relation>,
    /// The confidence before, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_before: Option<f64>,
    /// The confidence now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_after: Option<f64>,
    /// The cause.
    pub cause: ChangeCause,
}

/// A publication that has been retracted, and the claims that depend on it.
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
    /// The newest text version before.
    pub version_before: i64,
    /// The newest text version now.
    pub version_after: i64,
    /// When the newest text was read.
    pub fetched_at: String,
    /// Number of claims whose quote is in an older text.
    pub claims_on_older_text: i64,
}

/// A page that has been read for the first time.
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
    /// How it was found: `search`, `academic_api`, `citation_chase` or `manual`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
