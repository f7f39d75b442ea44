//! Plain data types used by all layers: ids, enumerations, targets, records.
//!
//! ```
//! use lyra_core::store::model::{NodeKind, Relation, EdgeRecord, content_id};
//! // Ids are made of content, so that saying the same twice changes nothing.
//! assert_eq!(content_id("claim_", &["task", "text"]), content_id("claim_", &["task", "text"]));
//! let edge = EdgeRecord::between((NodeKind::Fragment, "f"), Relation::Supports, (NodeKind::Claim, "c"));
//! assert_eq!(edge.relation.as_str(), "supports");
//! ```

mod enums;
mod ids;
mod records;
mod target;

pub use enums::{
    AdoptionStatus, ClaimType, EmbeddingTarget, FragmentType, JobKind, JobState, NodeKind,
    Priority, QueryStatus, Relation, ScreeningDecision, TaskPageReason, TaskStatus,
};
pub use ids::{content_id, random_id};
pub use records::{
    ClaimRecord, DocumentMeta, EdgeRecord, EmbeddingRecord, FragmentRecord, PageRecord,
    PageTextRecord, Reference, TaskBudget, TaskConfig, TaskPageRecord, TaskRecord,
    WorkAuthorRecord, WorkRecord,
};
pub use target::Target;

/// Milliseconds for which a job stays leased to a worker that does not respond.
pub(crate) const LEASE_MS: i64 = 15_000;
