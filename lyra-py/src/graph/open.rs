//! Opening, closing, configuration.

use super::EvidenceGraph;
use crate::adapters::{self, Choice, PythonProvider};
use crate::convert;
use crate::error::{invalid, raise};
use crate::parser_process;
use crate::waiting::quick;
use lyra_core::ports::SearchProvider;
use lyra_core::web::{ApiKey, ProviderKind, ProvidersConfig};
use lyra_core::{Engine, EngineConfig, Error};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyString, PyTuple};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError};

#[pymethods]
impl EvidenceGraph {
    #[new]
    #[pyo3(signature = (path, corpus=None, embedder=None, *, claim_extractor=None, judge=None,
        stance_judge=None, providers=None, mailto=None, embedder_url=None, embedder_key=None, claim_extractor_url=None,
        claim_extractor_key=None, judge_url=None, judge_key=None, onnx_runtime=None, views_dir=None,
        retractions_csv=None, allow_private_hosts=false, read_only=false, limits=None, parser=None,
        parser_memory=None, parser_seconds=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "named arguments of a constructor in Python"
    )]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        corpus: Option<Bound<'_, PyAny>>,
        embedder: Option<Bound<'_, PyAny>>,
        claim_extractor: Option<Bound<'_, PyAny>>,
        judge: Option<Bound<'_, PyAny>>,
        stance_judge: Option<Bound<'_, PyAny>>,
        providers: Option<Bound<'_, PyAny>>,
        mailto: Option<String>,
        embedder_url: Option<String>,
        embedder_key: Option<String>,
        claim_extractor_url: Option<String>,
        claim_extractor_key: Option<String>,
        judge_url: Option<String>,
        judge_key: Option<String>,
        onnx_runtime: Option<PathBuf>,
        views_dir: Option<PathBuf>,
        retractions_csv: Option<PathBuf>,
        allow_private_hosts: bool,
        read_only: bool,
        limits: Option<HashMap<String, f64>>,
        parser: Option<&str>,
        parser_memory: Option<u64>,
        parser_seconds: Option<u64>,
    ) -> PyResult<Self> {
        let given = path;
        let path: Arc<Path> = place_of(&given)?.into();
        let mut config = EngineConfig::new(&*path);
        config.corpus = paths(corpus)?;
        let embedder = Choice {
            name: "embedder",
            key_variable: "LYRA_EMBEDDER_KEY",
            which: embedder,
            url: embedder_url,
            key: embedder_key,
            graph: Arc::clone(&path),
        };
        config.embedder = adapters::embedder(py, embedder, onnx_runtime.clone())?;
        let extractor = Choice {
            name: "claim_extractor",
            key_variable: "LYRA_LLM_KEY",
            which: claim_extractor,
            url: claim_extractor_url,
            key: claim_extractor_key,
            graph: Arc::clone(&path),
        };
        config.claim_extractor = adapters::claim_extractor(py, extractor)?;
        if judge.is_some() && stance_judge.is_some() {
            return Err(raise(Error::invalid(
                "judge and stance_judge are two names of one thing; use only one of them",
            )));
        }
        let judge = Choice {
            name: "judge",
            key_variable: "LYRA_JUDGE_KEY",
            which: judge.or(stance_judge),
            url: judge_url,
            key: judge_key,
            graph: Arc::clone(&path),
        };
        config.stance_judge = adapters::judge(py, judge, onnx_runtime)?;
        (config.providers, config.search) = search(providers, &path)?;
        config.search.mailto = mailto;
        config.views_dir = views_dir;
        config.retractions_csv = retractions_csv;
        config.allow_private_hosts = allow_private_hosts;
        config.read_only = read_only;
        for (name, value) in limits.unwrap_or_default() {
            config.limits.set(&name, value).map_err(raise)?;
        }
        config.parser =
            parser_process::of_graph(py, parser, parser_memory, parser_seconds, config.workers)?;
        let engine = quick(py, || Engine::open(config))?;
        Ok(Self {
            engine: super::opened(engine),
            path,
            given,
            pid: std::process::id(),
            searches_take_long: AtomicBool::new(true),
            batch: std::sync::Mutex::new(None),
        })
    }

    /// The database file, as an absolute path.
    ///
    /// >>> import lyra
    /// >>> path = lyra.EvidenceGraph("evidence.db").path
    /// >>> path.name, path.is_absolute()
    /// ('evidence.db', True)
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.to_path_buf()
    }

    /// Closes the file and ends the threads of this graph; calls in progress run to their end.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> graph.close()
    /// >>> graph
    /// EvidenceGraph('evidence.db', closed)
    fn close(&self, py: Python<'_>) {
        if std::process::id() == self.pid {
            super::close(py, &self.engine);
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().engine()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let open = self.engine.read().unwrap_or_else(PoisonError::into_inner);
        let closed = if open.is_none() { ", closed" } else { "" };
        let path = self.given.as_os_str().into_pyobject(py)?.repr()?;
        Ok(format!("EvidenceGraph({path}{closed})"))
    }

    /// A summary of the contents of the graph, for a notebook.
    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let shown = slf.py().import("lyra._reply")?.getattr("_graph_html")?;
        shown.call1((slf,))
    }

    /// A graph is an open file with its own threads: it cannot be copied or sent.
    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "an EvidenceGraph cannot be copied or pickled; open it by its path where you need it",
        ))
    }

    /// The models in use, and which of them are the small models that ship with the library.
    ///
    /// >>> import lyra
    /// >>> lyra.EvidenceGraph("evidence.db").models().builtin
    /// ['embedder', 'claim_extractor', 'stance_judge']
    fn models<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::report(py, "Report", &self.engine()?.models())
    }

    /// What is configured, what works, and what to do about what does not work.
    ///
    /// >>> import lyra
    /// >>> checks = lyra.EvidenceGraph("evidence.db").doctor()
    /// >>> {check["name"]: check["ok"] for check in checks}["database"]
    /// True
    fn doctor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let engine = self.engine()?;
        let checks = quick(py, || Ok(engine.doctor()))?;
        records(py, &checks, &["name", "ok", "detail", "advice"])
    }

    /// The tables and columns that SQL may read.
    ///
    /// >>> import lyra
    /// >>> schema = lyra.EvidenceGraph("evidence.db").schema()
    /// >>> [table.name for table in schema.tables if "claim_text" in table.columns][:1]
    /// ['claims']
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        convert::report(py, "Report", &self.engine()?.schema())
    }
}

/// Records as `Rows` with these columns, all of which are in every row.
pub(super) fn records<'py, T: serde::Serialize>(
    py: Python<'py>,
    records: &[T],
    columns: &[&str],
) -> PyResult<Bound<'py, PyAny>> {
    let mut rows = Vec::with_capacity(records.len());
    for record in records {
        match serde_json::to_value(record) {
            Ok(serde_json::Value::Object(mut fields)) => {
                for name in columns {
                    fields.entry(*name).or_insert(serde_json::Value::Null);
                }
                rows.push(fields);
            }
            _ => return Err(raise(Error::internal("a record is not a JSON object"))),
        }
    }
    let beside = convert::Beside {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        ..convert::Beside::default()
    };
    convert::rows(py, &rows, beside)
}

/// The file of a graph.
fn place_of(given: &Path) -> PyResult<PathBuf> {
    let shown = given.as_os_str();
    if shown.is_empty() || shown == ":memory:" || shown.as_encoded_bytes().contains(&0) {
        return Err(raise(
            Error::invalid(format!("{given:?} is not a file; a graph is a file"))
                .with_hint("for a temporary graph, use tempfile.TemporaryDirectory()"),
        ));
    }
    Ok(std::path::absolute(given)?)
}

/// A path, or several.
fn paths(given: Option<Bound<'_, PyAny>>) -> PyResult<Vec<PathBuf>> {
    let Some(given) = given else {
        return Ok(Vec::new());
    };
    let is_one = given.is_instance_of::<PyString>()
        || given.hasattr("__fspath__")?
        || !given.hasattr("__iter__")?;
    if is_one {
        return Ok(vec![given.extract()?]);
    }
    given.try_iter()?.map(|path| path?.extract()).collect()
}

type Search = (Vec<Arc<dyn SearchProvider>>, ProvidersConfig);

/// Names and dicts refer to services; a callable is a custom provider.
fn search(given: Option<Bound<'_, PyAny>>, graph: &Arc<Path>) -> PyResult<Search> {
    let (mut own, mut services) = (Vec::new(), ProvidersConfig::default());
    let Some(given) = given else {
        return Ok((own, services));
    };
    let is_one = given.is_instance_of::<PyString>()
        || given.cast::<PyMapping>().is_ok()
        || given.is_callable();
    let entries = if is_one {
        vec![given]
    } else {
        given.try_iter()?.collect::<PyResult<_>>()?
    };
    for entry in entries {
        if let Ok(name) = entry.cast::<PyString>() {
            services.enabled.push(kind(name.to_str()?)?);
        } else if let Ok(facts) = entry.cast::<PyMapping>() {
            service(&mut services, facts)?;
        } else {
            let provider: Arc<dyn SearchProvider> = {
                let own = PythonProvider::new(entry, Arc::clone(graph))?;
                Arc::new(own)
            };
            own.push(provider);
        }
    }
    Ok((own, services))
}

fn kind(name: &str) -> PyResult<ProviderKind> {
    name.parse().map_err(raise)
}

fn service(services: &mut ProvidersConfig, facts: &Bound<'_, PyMapping>) -> PyResult<()> {
    let mut facts = convert::fields("provider", facts)?;
    let mut text = |name: &str| match facts.remove(name) {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid(format!("a provider's {name:?} is not a str"))),
    };
    let name = text("name")?.ok_or_else(|| invalid("a provider has no \"name\""))?;
    let (base_url, key) = (text("base_url")?, text("key")?);
    let kind = kind(&name)?;
    if let Some(stranger) = facts.keys().next() {
        return Err(invalid(format!(
            "a provider has {stranger:?}; expected name, base_url and key"
        )));
    }
    let key = key.map(|key| ApiKey::new(format!("the key of {kind}"), &key));
    let settings = services.services.entry(kind).or_default();
    settings.base_url = base_url;
    settings.key = key.transpose().map_err(raise)?;
    services.enabled.push(kind);
    Ok(())
}
