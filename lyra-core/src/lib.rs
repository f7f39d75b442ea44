#![doc = include_str!("../README.md")]
#![doc = ""]
#![doc = include_str!("book.md")]
#![cfg_attr(
    test,
    allow(clippy::too_many_lines, reason = "cases of a test are a table")
)]

/// A regular expression that is compiled when it is first used.
macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("the pattern is sound"));
    };
}

pub mod backends;
pub mod check;
mod clock;
pub mod confidence;
mod engine;
mod error;
mod exports;
pub mod graph;
pub mod guard;
pub mod ingest;
mod jobs;
pub mod model;
pub mod pipeline;
pub mod ports;
pub mod ranking;
pub mod security;
mod storage;
mod task;
pub mod text;
pub mod vectors;
pub mod views;

pub use engine::{
    DoctorCheck, Engine, EngineConfig, ModelReport, RecordedCall, ViewColumns, ViewReply,
    ViewRequest,
};
pub use error::{Error, ErrorKind, Result};
pub use exports::{
    ChangeCause, ClaimChange, ConfidenceChange, EdgeChange, EdgeEvent, EvidencePage, ExportFormat,
    GraphDiff, LeftOut, NewSource, PageClaim, PageEvidence, PageSource, RetractedWork,
    StanceChange, TextChange, WholeFile,
};
pub use graph::EvidenceGraph;
pub use jobs::{MAX_ATTEMPTS, Workers};
pub use model::{TaskBudget, TaskConfig, TaskRecord};
pub use pipeline::Limits;
pub use task::{
    AuthAction, AuthItem, AuthResolution, AuthTarget, BudgetStatus, Candidate, CandidateChoice,
    CandidateReport, CandidateRequest, Cookies, EvidenceSummary, JobCounts, JobsByPhase, Metrics,
    Milestones, Progress, QueueCounts, QueueItem, QueueOptions, QueueReport, RecentError,
    SearchCounts, SearchDetail, SkippedTarget, StatusDetail, StatusReport, StatusWarning,
    StopCounts, StopMode, StopReason, StopReport, StopRequest, StopScope, WaitingFor, WarningKind,
};
pub use vectors::{Cutoff, SearchMode, VectorHit, VectorReply, VectorRequest};

/// Compiles the examples of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct ReadmeExamples;
