//! The parts of a review.

use super::log::ChangeEvent;
use crate::store::GraphDiff;
use crate::store::graph::ReviewerAgreement;
use serde::Serialize;

/// The review of a task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Review {
    /// The task.
    pub task_id: String,
    /// Its hypothesis.
    pub hypothesis: String,
    /// Its runs of research.
    pub runs: Vec<ReviewRun>,
    /// The boxes of `v_prisma`, those of the whole task last.
    pub flow: Vec<FlowBox>,
    /// What has changed in the period, with causes.
    pub changes: GraphDiff,
    /// Newer versions of sources, such as the publication of a preprint, that became known in the
    /// period.
    pub newer_versions: Vec<NewerVersion>,
    /// Decisions of people in the period.
    pub screenings: Vec<ScreeningEvent>,
    /// How far reviewers agree.
    pub agreement: Vec<ReviewerAgreement>,
    /// Sources on which they disagree and for which there is no final decision.
    pub disputed: Vec<String>,
    /// The searches.
    pub searches: Vec<SearchLine>,
    /// The work of machines, item by item.
    pub machines: Vec<MachineItem>,
    /// Every change with its time, newest first.
    pub log: Vec<ChangeEvent>,
}

/// A run of research.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReviewRun {
    /// Its number, from 1; 0 for targets of a file of an older version.
    pub wave: i64,
    /// When its first target was queued.
    pub began_at: String,
    /// When its last target was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
    /// Number of targets.
    pub targets: i64,
}

/// A box of the flow, with its components.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FlowBox {
    /// The run; `None` for the whole task.
    pub wave: Option<i64>,
    /// Its name in `v_prisma`.
    pub name: String,
    /// Number of records in it.
    pub records: i64,
    /// Sources or reasons, with their counts, most frequent first.
    pub details: Vec<(String, i64)>,
}

/// A newer version of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewerVersion {
    /// Address of the source.
    pub url: String,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Address of the newer version.
    pub newer_url: String,
    /// When that became known.
    pub at: String,
}

/// A decision by a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScreeningEvent {
    /// Address of the source.
    pub url: String,
    /// Who decided.
    pub reviewer: String,
    /// include or exclude.
    pub decision: String,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the decision is final for the source.
    pub is_final: bool,
    /// When it was made.
    pub at: String,
}

/// One request to one provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchLine {
    /// The run.
    pub wave: i64,
    /// The provider; in graphs of older versions, all that replied.
    pub provider: String,
    /// The query as it was sent.
    pub query: String,
    /// When it was sent.
    pub at: String,
    /// Number of hits; `None` if it failed.
    pub hits: Option<i64>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One item of the report on the work of machines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineItem {
    /// The item.
    pub item: String,
    /// What the graph says about it.
    pub text: String,
}

pub(super) fn total<'a>(flow: &'a [FlowBox], name: &str) -> Option<&'a FlowBox> {
    flow.iter()
        .find(|one| one.wave.is_none() && one.name == name)
}
