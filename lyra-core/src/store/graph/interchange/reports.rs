//! Results of imports and exports.

use serde::Serialize;
use std::collections::BTreeMap;

/// The result of an import, by type of line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Number of non-blank lines.
    pub lines: usize,
    /// New rows.
    pub inserted: BTreeMap<String, usize>,
    /// Rows with missing values that a line filled in.
    pub updated: BTreeMap<String, usize>,
    /// Lines whose row, or an equivalent row, already existed.
    pub skipped: BTreeMap<String, usize>,
    /// The sum of `inserted`.
    pub total_inserted: usize,
}

/// The result of an export, by type of line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    /// Lines written.
    pub written: BTreeMap<String, usize>,
    /// The sum of `written`.
    pub total_written: usize,
}
