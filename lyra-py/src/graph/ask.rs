//! SQL, views, search, judging.

use super::EvidenceGraph;
use super::open::records;
use crate::adapters::as_floats;
use crate::argument;
use crate::convert::{self, Beside};
use crate::error::{invalid, raise};
use crate::waiting::{Line, long, quick, quick_async, quick_while_wanted};
use lyra_core::ports::StancePair;
use lyra_core::store::guard::{SqlOptions, SqlParams, SqlRequest};
use lyra_core::store::model::EmbeddingTarget;
use lyra_core::{Cutoff, SearchMode, VectorRequest, ViewRequest};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString};
use serde_json::{Map, Value};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// After a search that took longer, the next one can be interrupted with Ctrl-C.
const LONG_SEARCH: Duration = Duration::from_millis(50);

/// Number of rows per page if all are requested.
const PAGE: usize = 200;

type Page = (Vec<Map<String, Value>>, Beside);

/// One page, or all pages from there on, combined.
fn pages(
    offset: usize,
    all: bool,
    page: &mut dyn FnMut(usize) -> PyResult<Page>,
) -> PyResult<Page> {
    let (mut rows, mut beside) = page(offset)?;
    while let Some(next) = beside.next_offset.filter(|_| all && beside.truncated) {
        let elapsed_ms = beside.elapsed_ms;
        let (more, after) = page(next)?;
        rows.extend(more);
        beside = after;
        beside.elapsed_ms += elapsed_ms;
    }
    Ok((rows, beside))
}

#[pymethods]
impl EvidenceGraph {
    /// Runs one read-only SQL statement, within its budgets, and returns its rows.
    ///
    /// `params` is a list for `?`, or a dict for `:name`. `limit` is 1 to 200, `timeout_ms` 1 to
    /// 2,000, `max_vm_steps` 1 to 50,000,000, `max_bytes` 1,024 to 1,048,576 (the default, because
    /// the rows are not sent over a network). See docs/sql-guard.md.
    ///
    /// With `all=True`, all rows from `offset` on are returned: the statement runs once for every 200
    /// of them, so it should have an `ORDER BY`, and each run may use the whole budget.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> graph.query("SELECT :a + 1 AS b", {"a": 41})
    /// Rows([{'b': 42}])
    #[pyo3(signature = (sql, params=None, limit=50, offset=0, timeout_ms=300, max_vm_steps=5_000_000, *, max_bytes=1_048_576, all=false))]
    #[allow(clippy::too_many_arguments, reason = "named arguments in Python")]
    fn query<'py>(
        &self,
        py: Python<'py>,
        sql: String,
        params: Option<Bound<'py, PyAny>>,
        #[pyo3(from_py_with = argument::limit)] limit: usize,
        #[pyo3(from_py_with = argument::offset)] offset: usize,
        #[pyo3(from_py_with = argument::timeout_ms)] timeout_ms: u64,
        #[pyo3(from_py_with = argument::max_vm_steps)] max_vm_steps: u64,
        #[pyo3(from_py_with = argument::max_bytes)] max_bytes: usize,
        all: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let params = match params {
            None => SqlParams::None,
            Some(given) => {
                SqlParams::from_json(convert::value("params", &given)?).map_err(raise)?
            }
        };
        let mut request = SqlRequest {
            sql,
            params,
            options: SqlOptions {
                limit: if all { PAGE } else { limit },
                offset,
                timeout_ms,
                max_vm_steps,
                max_bytes,
                include_schema: false,
            },
        };
        let engine = self.engine()?;
        let mut page = |offset| {
            request.options.offset = offset;
            let reply =
                quick_while_wanted(py, |is_wanted| engine.query_sql_while(&request, is_wanted))?;
            let beside = Beside {
                columns: reply.columns,
                truncated: reply.truncated,
                next_offset: reply.next_offset,
                elapsed_ms: reply.elapsed_ms,
            };
            Ok((reply.rows, beside))
        };
        let (rows, beside) = pages(offset, all, &mut page)?;
        convert::rows(py, &rows, beside)
    }

    /// Runs a ready-made view and returns its rows; `views()` lists the views.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> graph.view("v_contradictions").columns[:3]
    /// ['task_id', 'claim_id', 'claim_text']
    ///
    /// `limit` is 1 to 200; with `all=True`, all rows from `offset` on are returned.
    #[pyo3(signature = (name, task_id=None, limit=50, offset=0, params=None, *, all=false))]
    #[allow(clippy::too_many_arguments, reason = "named arguments in Python")]
    fn view<'py>(
        &self,
        py: Python<'py>,
        name: String,
        task_id: Option<String>,
        #[pyo3(from_py_with = argument::limit)] limit: usize,
        #[pyo3(from_py_with = argument::offset)] offset: usize,
        params: Option<Bound<'py, PyMapping>>,
        all: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut request = ViewRequest::new(name);
        request.task_id = task_id;
        request.limit = if all { PAGE } else { limit };
        if let Some(params) = params {
            request.params = convert::fields("params", &params)?;
        }
        let engine = self.engine()?;
        let mut page = |offset| {
            request.offset = offset;
            let reply =
                quick_while_wanted(py, |is_wanted| engine.query_view_while(&request, is_wanted))?;
            let beside = Beside {
                columns: reply.columns,
                truncated: reply.truncated,
                next_offset: reply.next_offset,
                elapsed_ms: reply.elapsed_ms,
            };
            Ok((reply.rows, beside))
        };
        let (rows, beside) = pages(offset, all, &mut page)?;
        convert::rows(py, &rows, beside)
    }

    /// The ready-made views: name, description, parameters, columns.
    ///
    /// >>> import lyra
    /// >>> views = lyra.EvidenceGraph("evidence.db").views()
    /// >>> "v_contradictions" in views.column("name")
    /// True
    fn views<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let views = self.engine()?.list_views();
        let columns = [
            "name",
            "description",
            "parameters",
            "columns",
            "extra_columns",
            "column_descriptions",
            "order",
        ];
        records(py, &views, &columns)
    }

    /// Searches claims or fragments by meaning ("semantic"), by words ("lexical") or by both
    /// ("hybrid"); the query is text, or a vector of the graph's embedder. The default `mode` is hybrid
    /// for text and semantic for vectors.
    ///
    /// `target` is "claims" or "fragments", `top_k` 1 to 50, `offset` the number of results to skip,
    /// `min_similarity` 0 to 1 (None: the threshold of the embedder), `cutoff` "none" or "kneedle"
    /// (the list ends at the knee of its scores).
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.add_task("Night work shortens sleep")
    /// >>> _ = graph.add_claim(task, "Night shifts shorten sleep by an hour")
    /// >>> [hit["text_preview"] for hit in graph.search("sleep after night shifts")]
    /// ['Night shifts shorten sleep by an hour']
    /// >>> vector = graph.embed(["sleep after night shifts"], role="query")[0]
    /// >>> len(graph.search(vector, top_k=3))
    /// 1
    #[pyo3(signature = (query, target="claims", task_id=None, top_k=10, min_similarity=None, mode=None, cutoff="none", offset=0))]
    #[allow(clippy::too_many_arguments, reason = "named arguments in Python")]
    fn search<'py>(
        &self,
        py: Python<'py>,
        query: Bound<'py, PyAny>,
        target: &str,
        task_id: Option<String>,
        #[pyo3(from_py_with = argument::top_k)] top_k: usize,
        min_similarity: Option<f64>,
        mode: Option<&str>,
        cutoff: &str,
        offset: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let modes = [
            ("semantic", SearchMode::Semantic),
            ("hybrid", SearchMode::Hybrid),
            ("lexical", SearchMode::Lexical),
        ];
        let is_words = query.is_instance_of::<PyString>();
        let mode = mode.unwrap_or(if is_words { "hybrid" } else { "semantic" });
        let cutoffs = [("none", Cutoff::None), ("kneedle", Cutoff::Kneedle)];
        let mut request = VectorRequest {
            query: String::new(),
            target: embedded(target)?,
            task_id,
            top_k,
            offset,
            min_similarity,
            mode: convert::one_of("mode", mode, &modes)?,
            cutoff: convert::one_of("cutoff", cutoff, &cutoffs)?,
        };
        let engine = self.engine()?;
        // Running a search so that Ctrl-C can end it costs more than a search in a matrix in
        // memory.
        let takes_long = self.searches_take_long.load(Ordering::Relaxed);
        let interrupter = engine.graph().interrupter();
        let began = Instant::now();
        let reply = if let Ok(words) = query.cast::<PyString>() {
            words.to_str()?.clone_into(&mut request.query);
            if takes_long {
                let work = move |line: &Line<()>| line.drive(engine.vector_search(&request));
                long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?
            } else {
                quick_async(py, engine.vector_search(&request))?
            }
        } else {
            if request.mode != SearchMode::Semantic {
                return Err(invalid(format!(
                    "mode {mode} searches for words, but the query is a vector; expected semantic"
                )));
            }
            let vector = as_vector(&query)?;
            if takes_long {
                let work = move |_: &Line<()>| engine.search_by_vector(&vector, &request);
                long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?
            } else {
                quick(py, || engine.search_by_vector(&vector, &request))?
            }
        };
        let takes_long = began.elapsed() > LONG_SEARCH;
        self.searches_take_long.store(takes_long, Ordering::Relaxed);
        let hits = py.import("lyra._reply")?.getattr("Hits")?;
        hits.call_method1("_of", (convert::reply(py, &reply)?,))
    }

    /// Judges pairs of a premise (what a source says) and a hypothesis: returns one (relation,
    /// confidence) for each, where the relation is "supports", "refutes" or "neutral".
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> graph.judge([("Night work shortened sleep.", "Night work shortens sleep")])[0][0]
    /// 'supports'
    fn judge(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = argument::text_pairs)] pairs: Vec<(String, String)>,
    ) -> PyResult<Vec<(String, f64)>> {
        let pairs: Vec<StancePair> = pairs
            .into_iter()
            .map(|(premise, hypothesis)| StancePair::new(premise, hypothesis))
            .collect();
        let engine = self.engine()?;
        let work = move |line: &Line<()>| line.drive(engine.judge(&pairs));
        let verdicts = long(py, work, |_, ()| Ok(()), || {})?;
        let said = verdicts
            .into_iter()
            .map(|verdict| (verdict.relation.to_string(), verdict.confidence));
        Ok(said.collect())
    }
}

/// `claims` or `fragments`, like the tables; the singular is accepted.
pub(super) fn embedded(target: &str) -> PyResult<EmbeddingTarget> {
    let words = [
        ("claims", EmbeddingTarget::Claim),
        ("fragments", EmbeddingTarget::Fragment),
        ("claim", EmbeddingTarget::Claim),
        ("fragment", EmbeddingTarget::Fragment),
    ];
    convert::one_of("target", target, &words)
}

/// An array or a list of numbers as a vector of float32.
fn as_vector(given: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    let array = as_floats(given).map_err(|e| {
        let why = e.value(given.py());
        invalid(format!("the query is neither a str nor a vector: {why}"))
    })?;
    // `embed` returns a matrix with a single row for a single text.
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let flat = if shape.len() == 2 && shape[0] == 1 {
        array.call_method1("reshape", (-1,))?
    } else {
        array
    };
    match flat.cast::<PyArray1<f32>>() {
        Ok(vector) => Ok(vector.try_readonly()?.as_array().to_vec()),
        Err(_) => {
            let dimensions = shape.len();
            Err(invalid(format!(
                "the query vector has {dimensions} dimension(s); expected 1"
            )))
        }
    }
}
