//! What writing an export ends in: counts of what was written, or the reason why it was not.

use crate::error::{Error, ErrorKind};
use crate::store::graph::ExportReport;

pub(super) fn unwritten(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("writing the export: {error}")).with_source(error)
}

/// What was written, from counts by kind.
pub(super) fn report_of(counts: &[(&str, usize)]) -> ExportReport {
    ExportReport {
        written: counts
            .iter()
            .map(|(kind, n)| ((*kind).to_owned(), *n))
            .collect(),
        total_written: 0,
    }
}
