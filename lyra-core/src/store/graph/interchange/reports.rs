//! What imports and exports say that they did.

use serde::Serialize;
use std::collections::BTreeMap;

/// What an import did, by type of line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Lines that were not blank.
    pub lines: usize,
    /// New rows.
    pub inserted: BTreeMap<String, usize>,
    /// Rows that knew less than the line, and now know as much.
    pub updated: BTreeMap<String, usize>,
    /// Lines whose row, or a row of the same meaning, was there already.
    pub skipped: BTreeMap<String, usize>,
    /// The sum of `inserted`.
    pub total_inserted: usize,
}

/// What an export wrote, by type of line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    /// Lines written.
    pub written: BTreeMap<String, usize>,
    /// The sum of `written`.
    pub total_written: usize,
}
