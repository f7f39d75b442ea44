//! The messages about a corpus file that was not read, or not completely.

use super::super::file_fetch::file_url;
use super::super::meta::FRONT_MATTER;
use super::super::records::RecordDocument;
use crate::error::Result;
use std::path::Path;

/// Whether a warning of the parser concerns the metadata of a document.
pub(super) fn about_meta(warning: &str) -> bool {
    warning.starts_with(FRONT_MATTER)
}

/// What could not be read from a file of records: lines, and values of good lines.
pub(super) fn record_notes(records: &[Result<RecordDocument>]) -> Vec<String> {
    let of_one = |record: &Result<RecordDocument>| match record {
        Ok(record) => {
            let warning = record.document.warnings.first()?;
            Some(format!("line {}: {warning}", record.line))
        }
        Err(e) => Some(e.to_string()),
    };
    records.iter().filter_map(of_one).collect()
}

/// Why a file was not read, without the file's name, which is shown next to it.
pub(super) fn reason_of(path: &Path, message: &str) -> String {
    if path.metadata().is_ok_and(|meta| meta.len() == 0) {
        return "the file is empty".to_owned();
    }
    let names = [
        file_url(path).unwrap_or_default(),
        path.display().to_string(),
    ];
    let mut reason = message;
    while let Some(rest) = names
        .iter()
        .find_map(|name| reason.strip_prefix(name.as_str())?.strip_prefix(": "))
    {
        reason = rest;
    }
    reason.to_owned()
}
