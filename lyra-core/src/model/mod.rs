//! Plain data that crosses every boundary: ids, closed sets, targets, records.

mod enums;
mod ids;
mod records;
mod target;

pub use enums::{
    AdoptionStatus, ClaimType, EmbeddingTarget, FragmentType, JobKind, JobState, NodeKind,
    Priority, QueryStatus, Relation, TaskPageReason, TaskStatus,
};
pub use ids::{content_id, random_id};
pub use records::{
    ClaimRecord, DocumentMeta, EdgeRecord, EmbeddingRecord, FragmentRecord, PageRecord,
    PageTextRecord, Reference, TaskBudget, TaskConfig, TaskPageRecord, TaskRecord,
    WorkAuthorRecord, WorkRecord,
};
pub use target::Target;
