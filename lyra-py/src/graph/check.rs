//! Checks drafts and statements against the sources of the graph.

use super::EvidenceGraph;
use super::open::records;
use crate::convert;
use crate::error::raise;
use crate::waiting::{Line, long};
use lyra_core::Error;
use lyra_core::check::{CheckReport, CheckRequest, DraftFormat, StandingRequest};
use pyo3::prelude::*;
use serde_json::{Value, json};

#[pymethods]
impl EvidenceGraph {
    /// Checks every sentence of a draft against what the sources that it cites say. docs/check.md.
    ///
    /// `draft` is text, or the bytes of a file; `format` is "markdown" (also for plain text), "html",
    /// "latex" or "docx"; `bibliography` is BibTeX or CSL-JSON for its citation keys. The report's
    /// `findings`, `sentences` and `references` are Rows, so `.to_pandas()` converts them to frames.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> report = graph.check("Night work shortens the sleep of nurses.")
    /// >>> report.findings.column("code")
    /// ['uncited']
    #[pyo3(signature = (draft, *, format="markdown", bibliography=None, task_id=None, other_sources=true))]
    fn check<'py>(
        &self,
        py: Python<'py>,
        draft: Draft,
        format: &str,
        bibliography: Option<String>,
        task_id: Option<String>,
        other_sources: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let formats = [
            ("markdown", DraftFormat::Markdown),
            ("html", DraftFormat::Html),
            ("latex", DraftFormat::Latex),
            ("docx", DraftFormat::Docx),
        ];
        let bytes = match draft {
            Draft::Text(text) => text.into_bytes(),
            Draft::Bytes(bytes) => bytes,
        };
        let request = CheckRequest {
            task_id,
            bibliographies: bibliography.into_iter().collect(),
            other_sources,
            ..CheckRequest::new(bytes, convert::one_of("format", format, &formats)?)
        };
        let engine = self.engine()?;
        let work = move |line: &Line<()>| line.drive(engine.check(&request, &|_| {}));
        let report = long(py, work, |_, ()| Ok(()), || {})?;
        let made = convert::report(py, "Report", &report)?;
        made.set_item("findings", records(py, &findings(&report)?, FINDING)?)?;
        made.set_item("sentences", records(py, &report.sentences, SENTENCE)?)?;
        made.set_item("references", records(py, &report.references, REFERENCE)?)?;
        Ok(made)
    }

    /// The stance of the sources of the graph to one statement: `supporting` ("for" in JSON), `against`,
    /// `silent`, each a list of sources with quotes from them; copies of a work count once.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> standing = graph.claim_standing("Night work shortens sleep")
    /// >>> standing.independent_for, standing.independent_against
    /// (0, 0)
    #[pyo3(signature = (text, task_id=None))]
    fn claim_standing<'py>(
        &self,
        py: Python<'py>,
        text: String,
        task_id: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = StandingRequest { text, task_id };
        let engine = self.engine()?;
        let work = move |line: &Line<()>| line.drive(engine.claim_standing(&request));
        let standing = long(py, work, |_, ()| Ok(()), || {})?;
        let made = convert::report(py, "Report", &standing)?;
        // `for` is a keyword and cannot be used as an attribute.
        made.set_item("supporting", made.get_item("for")?)?;
        Ok(made)
    }
}

#[derive(FromPyObject)]
enum Draft {
    Text(String),
    Bytes(Vec<u8>),
}

const FINDING: &[&str] = &[
    "code",
    "message",
    "text",
    "start",
    "end",
    "quote",
    "title",
    "url",
    "diff",
    "judge",
    "confidence",
];
const SENTENCE: &[&str] = &[
    "start",
    "end",
    "text",
    "kind",
    "verdict",
    "citations",
    "findings",
];
const REFERENCE: &[&str] = &[
    "label", "text", "start", "end", "page_ids", "cited", "findings",
];

/// Every finding as a row, with its sentence or reference and the quoted words of its source.
fn findings(report: &CheckReport) -> PyResult<Vec<Value>> {
    let of_sentences = report.sentences.iter().map(|s| (&s.text, &s.findings));
    let of_references = report.references.iter().map(|r| (&r.text, &r.findings));
    let mut rows = Vec::new();
    for (text, findings) in of_sentences.chain(of_references) {
        for finding in findings {
            let mut row = serde_json::to_value(finding)
                .map_err(|_| raise(Error::internal("a finding is not JSON")))?;
            if let Some(evidence) = &finding.evidence {
                row["quote"] = json!(evidence.quote);
                row["title"] = json!(evidence.title);
                row["url"] = json!(evidence.url);
            }
            row["text"] = json!(text);
            rows.push(row);
        }
    }
    Ok(rows)
}
