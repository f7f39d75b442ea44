//! The evidence graph: typed reads and writes over the database file.
//!
//! Most programs hold an [`Engine`](crate::Engine) and reach this level through
//! [`Engine::graph`](crate::Engine::graph). A read sees one state of the file, however long it takes; a
//! write takes effect completely or not at all.
//!
//! ```
//! # let folder = tempfile::tempdir().unwrap();
//! use lyra_core::{Engine, EngineConfig, TaskConfig};
//! let engine = Engine::open(EngineConfig::new(folder.path().join("evidence.db")))?;
//! let task = engine.create_task("Night work shortens sleep", TaskConfig::default())?;
//! let config = engine.graph().read(|reader| reader.task_config(&task.id))?;
//! assert_eq!(config.budget.max_pages, 200);
//! # Ok::<(), lyra_core::Error>(())
//! ```

mod auth_queue;
mod blocked_evidence;
mod calibration;
mod citable;
mod claims;
mod contradictions;
mod documents;
mod domain_rules;
mod embeddings;
mod feedback;
mod folders;
mod forget;
mod handles;
mod hostile_documents;
mod interchange;
mod jobs;
mod judgements;
mod merging;
mod part;
mod remembered_verdicts;
mod screening;
mod screening_list;
mod searches;
mod sessions;
mod sources;
mod status;
mod tasks;
mod verdicts;
mod verify;
mod watch;

pub use auth_queue::AuthItem;
pub(crate) use auth_queue::{AuthScope, NewAuthItem, WaitingPage};
pub use calibration::{CalibrationEvaluation, CalibrationFit, CalibrationStats, RollbackReport};
pub(crate) use citable::CitableSource;
pub use contradictions::Contradiction;
pub use documents::StoredFragment;
pub use domain_rules::{DomainPattern, DomainRules};
pub use embeddings::{MissingVector, decode_vector, encode_vector};
pub use feedback::{Feedback, FeedbackReport};
pub use forget::ForgetReport;
pub(crate) use forget::forget_task;
pub use handles::{EvidenceGraph, Reader, Writer};
pub(crate) use interchange::{
    ColumnType, FlatTable, PageText, canonical_hash, export_jsonl, flat_tables, import_jsonl,
    task_scope,
};
pub use interchange::{ExportReport, ImportProblems, ImportReport};
#[cfg(feature = "parquet")]
pub(crate) use interchange::{export_parquet, import_parquet};
pub use jobs::MAX_ATTEMPTS;
pub(crate) use jobs::{Job, JobClaim, JobEnd, JobTally, NewJob};
pub use judgements::{
    Judgement, JudgementFocus, JudgementReport, JudgementRequest, LEASE_SECONDS, LentPair,
    MOST_LENT, MovedClaim, PairKind, RefusedJudgement, agent_judge_id,
};
pub(crate) use merging::merge;
pub use merging::{Decided, MergeReport};
pub(crate) use part::{Part, Row};
pub(crate) use remembered_verdicts::RememberedVerdict;
pub use screening::{Screening, ScreeningReport};
pub use screening_list::{ReviewerAgreement, ScreenedSource, ScreeningList, ScreeningVote};
pub(crate) use searches::{HitFate, NewHit, SearchFigures, SearchRequest};
pub(crate) use sources::{ReferenceCandidate, UnjudgedClaim, WorkIdentifier};
pub(crate) use status::TOOL_CALL;
pub use status::{QueueItem, RecentError, RecordedCall, SearchCounts, SearchDetail};
pub use verdicts::{AGENT_PREFIX, HUMAN_JUDGE};
pub(crate) use verdicts::{Pair, RETIRED_JUDGES, StoredVerdict};
pub(crate) use verify::verify;
pub use verify::{IntegrityReport, Violation};

pub use crate::store::database::Interrupter;
