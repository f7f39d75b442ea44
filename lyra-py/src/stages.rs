//! The stages that need no graph: `read` and `judge_pairs`. They are functions of the module, so
//! that frameworks that run Python on many machines can serialise them.

use crate::adapters::{self, Choice};
use crate::argument;
use crate::convert;
use crate::error::{invalid, raise};
use crate::parser_process;
use crate::waiting::{Line, long};
use lyra_core::models::BuiltinStanceJudge;
use lyra_core::ports::{Clock, StanceJudge, SystemClock};
use lyra_core::research::pipeline::{CandidatePair, JudgeRequest, judge_pairs as judge_all};
use lyra_core::{
    EngineConfig, Error, Limits, ReadOutcome, ReadProblem, ReadRequest, ReadSource, Stages,
};
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMapping, PyString};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Adds the functions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(judge_pairs, module)?)
}

/// Reads a document, or a file of records, for a hypothesis, and returns what it finds as a list of
/// dicts: the records that `EvidenceGraph.add_records` takes. It needs no graph, stores nothing, and
/// returns the same records wherever it runs, so engines such as Ray or Dask can call it for parts of a
/// corpus.
///
/// Parameters
/// ----------
/// source
///     A path; an address (http://, https://, file:///), which is fetched; or the bytes of a document.
///     In a .jsonl or .ndjson file, each line is a document.
/// hypothesis
///     The hypothesis for which the documents are read.
/// task_id
///     The task that the claims belong to. By default it is derived from the hypothesis, so it is the
///     same for all parts of a corpus.
/// url, content_type
///     For bytes: their address, by default one made from their SHA-256, and their HTTP content type.
/// lines
///     For a file of records: the lines (start, end) to read, counted from 0, without the end.
/// now
///     The time in the records, an RFC 3339 text or a datetime; by default the current time. Use the
///     same time for all parts of a corpus: of two pages with one text, the earlier is the original.
/// on_error
///     "raise", or "warn": a document that cannot be read is left out, with a UserWarning.
/// embedder, embedder_url, claim_extractor, claim_extractor_url, onnx_runtime, limits, parser
///     The same as for EvidenceGraph. Keys are read from LYRA_EMBEDDER_KEY and LYRA_LLM_KEY.
///
/// >>> import lyra
/// >>> paper = b"# Nurses\n\nNight work shortened sleep by 74 minutes in 412 nurses."
/// >>> records = lyra.read(paper, "Night work shortens sleep", url="file:///papers/nurses.md")
/// >>> [record["claim_text"] for record in records if record["type"] == "claim"]
/// ['Night work shortened sleep by 74 minutes in 412 nurses.']
/// >>> graph = lyra.EvidenceGraph("evidence.db")
/// >>> graph.add_records(records).inserted["page"]
/// 1
#[pyfunction]
#[pyo3(signature = (source, hypothesis, *, task_id=None, url=None, content_type=None, lines=None, now=None,
    on_error="raise", embedder=None, embedder_url=None, claim_extractor=None, claim_extractor_url=None,
    onnx_runtime=None, limits=None, parser=None))]
#[allow(clippy::too_many_arguments, reason = "named arguments in Python")]
fn read<'py>(
    py: Python<'py>,
    source: Bound<'py, PyAny>,
    hypothesis: String,
    task_id: Option<String>,
    url: Option<String>,
    content_type: Option<String>,
    #[pyo3(from_py_with = argument::lines)] lines: Option<(usize, usize)>,
    now: Option<Bound<'py, PyAny>>,
    on_error: &str,
    embedder: Option<Bound<'py, PyAny>>,
    embedder_url: Option<String>,
    claim_extractor: Option<Bound<'py, PyAny>>,
    claim_extractor_url: Option<String>,
    onnx_runtime: Option<PathBuf>,
    limits: Option<HashMap<String, f64>>,
    parser: Option<&str>,
) -> PyResult<Bound<'py, PyList>> {
    let warns = convert::one_of("on_error", on_error, &[("raise", false), ("warn", true)])?;
    let request = ReadRequest {
        source: source_of(&source, url, content_type)?,
        lines: lines.map(|(start, end)| start..end),
        hypothesis,
        task_id,
        now: time_of(now)?,
    };
    let models = Models {
        embedder: choice("embedder", "LYRA_EMBEDDER_KEY", embedder, embedder_url),
        extractor: choice(
            "claim_extractor",
            "LYRA_LLM_KEY",
            claim_extractor,
            claim_extractor_url,
        ),
        onnx_runtime,
    };
    let config = config_of(py, models, limits.unwrap_or_default(), parser)?;
    // Opened in each call and not kept: these frameworks kill their processes without notice, and
    // the private graph would stay on the disk.
    let work =
        move |line: &Line<()>| line.drive(async { Stages::open(config)?.read(&request).await });
    let outcome = long(py, work, |_, ()| Ok(()), || {})?;
    report_problems(py, &outcome, warns)?;
    records_of(py, &outcome.records)
}

/// Judges pairs that `EvidenceGraph.candidate_pairs` has made, as verification does, and returns the
/// verdicts as records that `EvidenceGraph.add_records` takes. It needs no graph and stores nothing. The
/// resulting graph does not depend on how the pairs are divided among calls.
///
/// `judge`, `judge_url`, `onnx_runtime` and `limits` are the same as for EvidenceGraph, and have to be those
/// of the graph that made the pairs; a key is read from LYRA_JUDGE_KEY. `now` is the time in the records, an
/// RFC 3339 text or a datetime; by default the current time.
///
/// >>> import lyra
/// >>> graph = lyra.EvidenceGraph("evidence.db")
/// >>> for name, text in [("a", "Night work shortened sleep in 412 nurses."),
/// ...                    ("b", "Night work did not shorten sleep in 80 drivers.")]:
/// ...     records = lyra.read(text.encode(), "Night work shortens sleep", url=f"file:///papers/{name}.txt")
/// ...     _ = graph.add_records(records)
/// >>> task = records[0]["id"]
/// >>> verdicts = [record for pairs in graph.candidate_pairs(task) for record in lyra.judge_pairs(pairs)]
/// >>> graph.add_records(verdicts).inserted["hypothesis_stance"]
/// 2
#[pyfunction]
#[pyo3(signature = (pairs, *, judge=None, judge_url=None, onnx_runtime=None, limits=None, now=None))]
fn judge_pairs<'py>(
    py: Python<'py>,
    pairs: Bound<'py, PyAny>,
    judge: Option<Bound<'py, PyAny>>,
    judge_url: Option<String>,
    onnx_runtime: Option<PathBuf>,
    limits: Option<HashMap<String, f64>>,
    now: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let pairs = pairs_of(&pairs)?;
    let judge = choice("judge", "LYRA_JUDGE_KEY", judge, judge_url);
    let judge = adapters::judge(py, judge, onnx_runtime)?;
    let judge: Arc<dyn StanceJudge> = judge.unwrap_or_else(|| Arc::new(BuiltinStanceJudge));
    let how = JudgeRequest {
        min_confidence: limits_of(limits.unwrap_or_default())?.min_confidence,
        now: time_of(now)?.unwrap_or_else(|| SystemClock.now()),
    };
    let work = move |line: &Line<()>| line.drive(judge_all(judge.as_ref(), &pairs, &how));
    let records = long(py, work, |_, ()| Ok(()), || {})?;
    let list = PyList::empty(py);
    for record in records {
        list.append(convert::object(py, &Value::Object(record))?)?;
    }
    Ok(list)
}

/// The value of `type` of a pair.
const PAIR: &str = "candidate_pair";

/// A pair as a dict.
pub(crate) fn pair_object<'py>(
    py: Python<'py>,
    pair: &CandidatePair,
) -> PyResult<Bound<'py, PyAny>> {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), PAIR.into());
    if let Ok(Value::Object(own)) = serde_json::to_value(pair) {
        fields.extend(own);
    }
    convert::object(py, &Value::Object(fields))
}

fn pairs_of(given: &Bound<'_, PyAny>) -> PyResult<Vec<CandidatePair>> {
    let mut at = 0;
    argument::each(given, |pair| {
        let place = format!("pairs[{at}]");
        at += 1;
        let Ok(fields) = pair.cast::<PyMapping>() else {
            let kind = pair.get_type();
            return Err(invalid(format!(
                "{place} is of type {}; expected a dict of candidate_pairs",
                kind.name()?
            )));
        };
        let mut fields = convert::fields(&place, fields)?;
        let kind = fields.remove("type");
        if kind.as_ref().and_then(Value::as_str) != Some(PAIR) {
            return Err(invalid(format!(
                "{place} has not the type {PAIR:?}; expected a dict of candidate_pairs"
            )));
        }
        serde_json::from_value(Value::Object(fields))
            .map_err(|e| invalid(format!("{place}: {e}; expected a dict of candidate_pairs")))
    })
}

fn choice<'py>(
    name: &'static str,
    key_variable: &'static str,
    which: Option<Bound<'py, PyAny>>,
    url: Option<String>,
) -> Choice<'py> {
    Choice {
        name,
        key_variable,
        which,
        url,
        key: None,
        graph: Arc::from(Path::new("")),
    }
}

/// The models used for reading.
struct Models<'py> {
    embedder: Choice<'py>,
    extractor: Choice<'py>,
    onnx_runtime: Option<PathBuf>,
}

fn config_of(
    py: Python<'_>,
    models: Models<'_>,
    limits: HashMap<String, f64>,
    parser: Option<&str>,
) -> PyResult<EngineConfig> {
    let mut config = EngineConfig::new("");
    config.embedder = adapters::embedder(py, models.embedder, models.onnx_runtime)?;
    config.claim_extractor = adapters::claim_extractor(py, models.extractor)?;
    config.limits = limits_of(limits)?;
    config.parser = parser_process::of_graph(py, parser, None, None, 1)?;
    Ok(config)
}

fn limits_of(given: HashMap<String, f64>) -> PyResult<Limits> {
    let mut limits = Limits::default();
    for (name, value) in given {
        limits.set(&name, value).map_err(raise)?;
    }
    Ok(limits)
}

/// An RFC 3339 text or a datetime.
fn time_of(given: Option<Bound<'_, PyAny>>) -> PyResult<Option<String>> {
    let Some(given) = given else {
        return Ok(None);
    };
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Some(text.to_str()?.to_owned()));
    }
    let time = convert::point_in_time(&given)?;
    time.map(Some)
        .ok_or_else(|| invalid("now is not a datetime or text; expected an RFC 3339 time"))
}

fn source_of(
    given: &Bound<'_, PyAny>,
    url: Option<String>,
    content_type: Option<String>,
) -> PyResult<ReadSource> {
    let is_path = given.is_instance_of::<PyString>() || given.hasattr("__fspath__")?;
    if !is_path {
        let body = crate::functions::bytes_of(given, "source")?.to_vec();
        return Ok(ReadSource::Bytes {
            body,
            url,
            content_type,
        });
    }
    if url.is_some() || content_type.is_some() {
        return Err(raise(
            Error::invalid("url and content_type are given, and source is no bytes")
                .with_hint("for a file under another address, pass its bytes"),
        ));
    }
    if let Ok(text) = given.cast::<PyString>() {
        let text = text.to_str()?;
        if ["http://", "https://", "file:"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
        {
            return Ok(ReadSource::Url(text.to_owned()));
        }
    }
    Ok(ReadSource::Path(given.extract()?))
}

/// Raises for the first document that could not be read, or warns of each.
fn report_problems(py: Python<'_>, outcome: &ReadOutcome, warns: bool) -> PyResult<()> {
    let said = |problem: &ReadProblem| format!("{}: {}", problem.url, problem.error);
    if let (Some(first), false) = (outcome.problems.first(), warns) {
        let more = match outcome.problems.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more documents that could not be read)"),
        };
        let message = format!("{}{more}", said(first));
        let hint = first.error.hint().map_or_else(
            || "on_error=\"warn\" leaves such documents out".to_owned(),
            |hint| format!("{hint}; on_error=\"warn\" leaves such documents out"),
        );
        return Err(raise(
            Error::new(first.error.kind(), message).with_hint(hint),
        ));
    }
    let left_out = outcome.problems.iter().map(said);
    for message in left_out.chain(outcome.notes.iter().cloned()) {
        let message = CString::new(message.replace('\0', " "))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)?;
    }
    Ok(())
}

fn records_of<'py>(py: Python<'py>, lines: &[u8]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for line in lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let record: Value = serde_json::from_slice(line)
            .map_err(|e| raise(Error::internal("a record is not JSON").with_source(e)))?;
        list.append(convert::object(py, &record)?)?;
    }
    Ok(list)
}
