//! The result of an export: counts of what was written, or the reason for the failure.

use crate::error::{Error, ErrorKind};
use crate::store::graph::ExportReport;

pub(super) fn unwritten(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("writing the export: {error}")).with_source(error)
}

/// A report with counts by kind.
pub(super) fn report_of(counts: &[(&str, usize)]) -> ExportReport {
    ExportReport {
        written: counts
            .iter()
            .map(|(kind, n)| ((*kind).to_owned(), *n))
            .collect(),
        total_written: 0,
    }
}
