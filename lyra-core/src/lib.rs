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

pub mod check;
mod clock;
pub mod documents;
mod engine;
mod error;
mod export;
pub mod models;
mod pack;
pub mod ports;
mod record;
pub mod research;
pub mod security;
pub mod store;
pub mod web;

#[cfg(feature = "parquet")]
pub use engine::ParquetOptions;
pub use engine::{
    DoctorCheck, Engine, EngineConfig, ModelReport, ReadOutcome, ReadProblem, ReadRequest,
    ReadSource, Stages, ViewColumns, ViewReply, ViewRequest,
};
pub use error::{Error, ErrorKind, Result};
pub use export::{
    ChangeEvent, Entry, EvidencePage, ExportFormat, FlowBox, LeftOut, MachineItem, NewerVersion,
    PageClaim, PageEvidence, PageSource, Review, ReviewFormat, ReviewRun, ReviewSince,
    ScreeningEvent, SearchLine, Section, WholeFile,
};
pub use pack::{
    PackKey, PackOptions, PackReport, PackSummary, PackTexts, StatedLicence, rows_of_pack,
    unpack_pack, verify_pack,
};
pub use record::Record;
pub use research::jobs::{MAX_ATTEMPTS, Workers};
pub use research::pipeline::Limits;
pub use research::task::{
    AuthAction, AuthItem, AuthResolution, AuthTarget, BudgetStatus, Candidate, CandidateChoice,
    CandidateReport, CandidateRequest, Cookies, EvidenceSummary, JobCounts, JobsByPhase, Metrics,
    Milestones, Progress, QueueCounts, QueueItem, QueueOptions, QueueReport, RecentError,
    SearchCounts, SearchDetail, SkippedTarget, StatusDetail, StatusReport, StatusWarning,
    StopCounts, StopMode, StopReason, StopReport, StopRequest, StopScope, WaitingFor, WarningKind,
};
pub use store::graph::{EvidenceGraph, RecordedCall};
pub use store::model::{TaskBudget, TaskConfig, TaskRecord};
pub use store::vectors::{Cutoff, SearchMode, VectorHit, VectorReply, VectorRequest};
pub use store::{
    ChangeCause, ClaimChange, ConfidenceChange, EdgeChange, EdgeEvent, GraphDiff, NewSource,
    RetractedWork, StanceChange, TextChange,
};

/// Compiles the examples of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct ReadmeExamples;
