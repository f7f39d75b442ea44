//! The evidence graph.

mod forget;
mod interchange;
mod verify;

pub use forget::ForgetReport;
pub(crate) use forget::forget_task;
pub use interchange::{ExportReport, ImportReport};
pub(crate) use interchange::{export_jsonl, import_jsonl};
pub(crate) use verify::verify;
pub use verify::{VerifyReport, Violation};
