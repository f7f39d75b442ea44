//! Exports the graph to common formats.
//!
//! | format | what is in it | for |
//! |---|---|---|
//! | `jsonl` | every row, readable by `import` | moving and keeping graphs |
//! | `bibtex`, `ris`, `csl-json` | the sources: publications, and pages without one | reference managers |
//! | `graphml` | claims, fragments and pages with their edges | graph tools |
//! | `markdown` | a report: claims for and against, each verdict with its quote and a numbered source | reading |
//! | `csv` | a table: one row per claim and piece of evidence | spreadsheets |
//! | `html` | a page with all of a task's evidence, its quotes in context, and the graph | looking |
//! | `prov` | where every claim comes from, in W3C PROV-O as JSON-LD | audits |
//!
//! Equal graphs give equal files. If a task is given, only its part of the graph is written.

mod bibtex;
mod bounded;
mod csl;
mod dates;
mod evidence;
mod graphml;
mod html;
mod keys;
mod makers;
mod people;
mod prov;
mod report;
mod review;
mod ris;
mod sources;
mod spreadsheet;
mod told;
mod whole_file;
mod written;

pub(crate) use bounded::bounded;
pub(crate) use evidence::data as evidence_page;
pub use evidence::{EvidencePage, LeftOut, PageClaim, PageEvidence, PageSource};
pub(crate) use html::app as evidence_app;
pub use review::{
    ChangeEvent, FlowBox, MachineItem, NewerVersion, Review, ReviewFormat, ReviewRun, ReviewSince,
    ScreeningEvent, SearchLine,
};
pub(crate) use review::{diagram, review};
pub use told::{Entry, Section};
pub use whole_file::WholeFile;

use crate::error::{Error, Result};
use crate::store::graph::{EvidenceGraph, ExportReport, Part, Reader, export_jsonl};
use std::io::Write;
use std::str::FromStr;
use written::unwritten;

/// An export format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// One row per line; `import` reads it.
    Jsonl,
    /// BibTeX.
    Bibtex,
    /// RIS, for reference managers.
    Ris,
    /// CSL-JSON 1.0, for citation processors.
    CslJson,
    /// GraphML.
    Graphml,
    /// A report in Markdown.
    Markdown,
    /// PROV-O in JSON-LD.
    Prov,
    /// A page for a browser, with the evidence of one task.
    Html,
    /// A table for spreadsheets, one row per claim and piece of evidence.
    Csv,
}

impl ExportFormat {
    /// All formats, with their names.
    pub const ALL: [(&'static str, Self); 9] = [
        ("jsonl", Self::Jsonl),
        ("bibtex", Self::Bibtex),
        ("ris", Self::Ris),
        ("csl-json", Self::CslJson),
        ("graphml", Self::Graphml),
        ("markdown", Self::Markdown),
        ("prov", Self::Prov),
        ("html", Self::Html),
        ("csv", Self::Csv),
    ];
}

impl FromStr for ExportFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, format)| *format).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            Error::invalid(format!("there is no export format {name:?}"))
                .with_hint(format!("expected one of {}", names.join(", ")))
        })
    }
}

/// Writes the graph, or one task's part of it; returns what was written, with counts.
pub(crate) fn export(
    graph: &EvidenceGraph,
    writer: &mut impl Write,
    format: ExportFormat,
    task_id: Option<&str>,
) -> Result<ExportReport> {
    if format == ExportFormat::Jsonl {
        return export_jsonl(graph.database(), writer, task_id);
    }
    graph.read(|reader| {
        if let Some(task_id) = task_id {
            reader.task(task_id)?;
        }
        let mut report = write_as(reader, writer, format, task_id)?;
        report.total_written = report.written.values().sum();
        writer.flush().map_err(unwritten)?;
        Ok(report)
    })
}

fn write_as(
    reader: &Reader<'_>,
    writer: &mut impl Write,
    format: ExportFormat,
    task_id: Option<&str>,
) -> Result<ExportReport> {
    let part = Part::new(reader, task_id);
    match format {
        ExportFormat::Jsonl => Err(Error::internal("lines are written elsewhere")),
        ExportFormat::Bibtex => bibtex::write(&part, writer),
        ExportFormat::Ris => ris::write(&part, writer),
        ExportFormat::CslJson => csl::write(&part, writer),
        ExportFormat::Graphml => graphml::write(&part, writer),
        ExportFormat::Markdown => report::write(&part, writer),
        ExportFormat::Prov => prov::write(&part, writer),
        ExportFormat::Html => html::write(&part, writer),
        ExportFormat::Csv => spreadsheet::write(&part, writer),
    }
}

#[cfg(test)]
mod tests;
