//! Screening by people, and the review of a task.

use super::EvidenceGraph;
use crate::convert;
use crate::error::{invalid, raise};
use crate::waiting::{Line, long, patient};
use lyra_core::store::graph::Screening;
use lyra_core::store::model::ScreeningDecision;
use lyra_core::{Result, Review, ReviewFormat, ReviewSince};
use pyo3::prelude::*;
use pyo3::types::PyString;

#[pymethods]
impl EvidenceGraph {
    /// Includes a source of a task, or excludes it ("exclude" needs a reason). An excluded source is
    /// removed from the counts and stays in the flow of the review. `source` is the address or id of a
    /// page, a DOI, or the id of a publication; a `final` decision overrides others. docs/review.md.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.add_task("Night work shortens sleep")
    /// >>> page = graph.add_page("https://trials.example.org/a")
    /// >>> graph.add_task_page(task, page)
    /// >>> graph.screen(task, page, "exclude", reason="no trial", by="ann").counts
    /// False
    /// >>> graph.screen(task, page, "include", by="ann").previous
    /// 'exclude'
    #[pyo3(signature = (task_id, source, decision, *, reason=None, by="user", r#final=false))]
    #[allow(clippy::too_many_arguments, reason = "named arguments in Python")]
    fn screen<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        source: String,
        decision: &str,
        reason: Option<String>,
        by: &str,
        r#final: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known = [
            ("include", ScreeningDecision::Include),
            ("exclude", ScreeningDecision::Exclude),
        ];
        let screening = Screening {
            source,
            decision: convert::one_of("decision", decision, &known)?,
            reason,
            is_final: r#final,
        };
        let (engine, by) = (self.engine()?, by.to_owned());
        let report = patient(py, move || engine.screen(&task_id, &screening, &by))?;
        convert::report(py, "Report", &report)
    }

    /// The sources of a task with the decisions of people, the disputed sources, and Cohen's kappa of
    /// each pair of reviewers. With `by`, only the decisions of that reviewer, for blind screening.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> graph.screening(graph.add_task("Night work shortens sleep")).sources
    /// []
    #[pyo3(signature = (task_id, *, by=None))]
    fn screening<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        by: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let engine = self.engine()?;
        let list = patient(py, move || engine.screening(&task_id, by.as_deref()))?;
        convert::report(py, "Report", &list)
    }

    /// The review of a task: the flow of its records, what changed since the last run of research began
    /// (or `since` a day or a time) and why, its searches, and what machines did. Returns a str if
    /// `format` is text, markdown, json, atom or svg, otherwise a Report.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.add_task("Night work shortens sleep")
    /// >>> graph.review(task).hypothesis
    /// 'Night work shortens sleep'
    /// >>> graph.review(task, format="svg")[:4]
    /// '<svg'
    #[pyo3(signature = (task_id, *, since=None, format=None))]
    fn review<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        since: Option<Bound<'py, PyAny>>,
        format: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let since = since.map(|since| match since.cast::<PyString>() {
            Ok(text) => Ok(text.to_str()?.to_owned()),
            Err(_) => convert::point_in_time(&since)?
                .ok_or_else(|| invalid("since is not a date, datetime or text")),
        });
        let since = since.transpose()?;
        let format: Option<ReviewFormat> = format.map(str::parse).transpose().map_err(raise)?;
        let engine = self.engine()?;
        let work = move |_: &Line<()>| -> Result<(Review, Option<String>)> {
            let review = engine.review(&task_id, ReviewSince::parse(since.as_deref()))?;
            let text = format.map(|format| review.write_as(format)).transpose()?;
            Ok((review, text))
        };
        match long(py, work, |_, ()| Ok(()), || {})? {
            (_, Some(text)) => Ok(PyString::new(py, &text).into_any()),
            (review, None) => convert::report(py, "Report", &review),
        }
    }
}
