//! Inserts known data without any model: the records of the JSONL format, one by one.
//!
//! Each call is a separate import: the same checks, the same errors, all of it or nothing.

use super::EvidenceGraph;
use crate::argument;
use crate::convert;
use crate::error::{invalid, raise};
use crate::waiting::{Line, long};
use lyra_core::store::graph::{ImportProblems, ImportReport, decode_vector};
use lyra_core::store::model::{EdgeRecord, NodeKind, Relation, content_id, random_id};
use lyra_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};
use serde_json::{Map, Value};
use std::sync::{MutexGuard, PoisonError};

#[pymethods]
impl EvidenceGraph {
    /// Inserts records of the JSONL format, each a dict with a `type`: all of them, or none. They may
    /// be in any order, and records that are already in the graph are accepted.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> report = graph.add_records([
    /// ...     {"type": "claim", "id": "claim_1", "task_id": "task_1", "claim_text": "Sleep is short"},
    /// ...     {"type": "task", "id": "task_1", "hypothesis": "Night work shortens sleep"},
    /// ... ])
    /// >>> report.inserted
    /// {'claim': 1, 'task': 1}
    fn add_records<'py>(
        &self,
        py: Python<'py>,
        records: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.open_batch().is_some() {
            return Err(invalid(
                "add_records stores directly, but a batch is open; call it before or after the batch",
            ));
        }
        let mut lines = Vec::new();
        let mut count = 0;
        argument::each(&records, |record| {
            let place = format!("records[{count}]");
            count += 1;
            let Ok(fields) = record.cast::<PyMapping>() else {
                let kind = record.get_type();
                return Err(invalid(format!(
                    "{place} is of type {}; expected a dict",
                    kind.name()?
                )));
            };
            push_line(&mut lines, &convert::fields(&place, fields)?)
        })?;
        let report = self.import(py, lines, Naming::ByNumber)?;
        convert::report(py, "Report", &report)
    }

    /// Collects what `add_task`, `add_page` and the like insert inside a `with` block, and stores it at
    /// the end of the block in one transaction: all of it, or nothing after an exception. Before that,
    /// none of it can be read.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> with graph.batch():
    /// ...     task = graph.add_task("Night work shortens sleep")
    /// ...     claim = graph.add_claim(task, "Nurses sleep one hour less after night work")
    /// >>> graph.query("SELECT count(*) AS n FROM claims")
    /// Rows([{'n': 1}])
    fn batch(slf: Py<Self>) -> Batch {
        Batch { graph: slf }
    }

    /// Inserts a task and returns its id; for a task that is to run, use `create_task`.
    ///
    /// >>> import lyra
    /// >>> lyra.EvidenceGraph("evidence.db").add_task("Night work shortens sleep", id="task_night")
    /// 'task_night'
    #[pyo3(signature = (hypothesis, *, id=None, **fields),
        text_signature = "($self, hypothesis, *, id=None, status=None, config_json=None, created_at=None, \
        started_at=None, completed_at=None, error_message=None)")]
    fn add_task(
        &self,
        py: Python<'_>,
        hypothesis: String,
        id: Option<String>,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let id = id.unwrap_or_else(|| random_id("task_", 8));
        let record = Record::new("task", fields)?
            .with("id", id.clone())
            .with("hypothesis", hypothesis);
        self.add(py, &[record])?;
        Ok(id)
    }

    /// Inserts a publication under the id that `lyra.canonical_id` returns for it.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> graph.add_work("doi:10.1000/x", title="Night work and sleep", year=2020)
    /// 'doi:10.1000/x'
    #[pyo3(signature = (canonical_id, **fields),
        text_signature = "($self, canonical_id, *, title=None, year=None, published_date=None, venue=None, \
        doi=None, citation_count=None, reference_count=None, is_open_access=None, \
        is_retracted=None, oa_url=None, pdf_url=None, source_api=None)")]
    fn add_work(
        &self,
        py: Python<'_>,
        canonical_id: String,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let record = Record::new("work", fields)?.with("canonical_id", canonical_id.clone());
        self.add(py, &[record])?;
        Ok(canonical_id)
    }

    /// Inserts an author of a publication; position 0 is the first.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> work = graph.add_work("doi:10.1000/x")
    /// >>> graph.add_work_author(work, 0, "A. Author", orcid="0000-0002-1825-0097")
    #[pyo3(signature = (canonical_id, position, name, **fields),
        text_signature = "($self, canonical_id, position, name, *, affiliation=None, orcid=None)")]
    fn add_work_author(
        &self,
        py: Python<'_>,
        canonical_id: String,
        #[pyo3(from_py_with = argument::position)] position: i64,
        name: String,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let record = Record::new("work_author", fields)?
            .with("canonical_id", canonical_id)
            .with("position", position)
            .with("name", name);
        self.add(py, &[record])
    }

    /// Inserts the id that a service has for a publication.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> work = graph.add_work("doi:10.1000/x")
    /// >>> graph.add_work_identifier(work, "openalex", "W1", pmid="123")
    #[pyo3(signature = (canonical_id, provider, provider_paper_id, **fields),
        text_signature = "($self, canonical_id, provider, provider_paper_id, *, doi=None, pmid=None, pmcid=None, \
        arxiv_id=None)")]
    fn add_work_identifier(
        &self,
        py: Python<'_>,
        canonical_id: String,
        provider: String,
        provider_paper_id: String,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let record = Record::new("work_identifier", fields)?
            .with("canonical_id", canonical_id)
            .with("provider", provider)
            .with("provider_paper_id", provider_paper_id);
        self.add(py, &[record])
    }

    /// Inserts a page and returns its id; if there is a page with this address, its id is returned.
    /// `text` is the text of the page, which fragments refer to.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> page = graph.add_page("https://example.org/a", text="Night work shortens sleep.")
    /// >>> graph.query("SELECT domain FROM pages WHERE id = ?", [page])
    /// Rows([{'domain': 'example.org'}])
    #[pyo3(signature = (url, text=None, *, id=None, **fields),
        text_signature = "($self, url, text=None, *, id=None, final_url=None, domain=None, title=None, \
        page_type=None, fetch_method=None, http_status=None, content_type=None, \
        content_hash=None, content_length=None, canonical_id=None, language=None, \
        fetched_at=None, etag=None, last_modified=None, error_message=None, fresh_until=None, \
        near_duplicate_of=None)")]
    fn add_page(
        &self,
        py: Python<'_>,
        url: String,
        text: Option<String>,
        id: Option<String>,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let engine = self.engine()?;
        let known = engine
            .graph()
            .read(|r| r.page_by_url(&url))
            .map_err(raise)?;
        let id = id
            .or_else(|| known.map(|page| page.id))
            .unwrap_or_else(|| content_id("page_", &[&url]));
        let mut records = vec![
            Record::new("page", fields)?
                .with("id", id.clone())
                .with("url", url),
        ];
        if let Some(text) = text {
            records.push(
                Record::new("page_text", None)?
                    .with("page_id", id.clone())
                    .with("text", text),
            );
        }
        self.add(py, &records)?;
        Ok(id)
    }

    /// Inserts the text of a page, or a newer version of it.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> page = graph.add_page("https://example.org/a")
    /// >>> graph.add_page_text(page, "Night work shortens sleep.")
    #[pyo3(signature = (page_id, text, version=1, **fields),
        text_signature = "($self, page_id, text, version=1, *, text_hash=None, fetched_at=None)")]
    fn add_page_text(
        &self,
        py: Python<'_>,
        page_id: String,
        text: String,
        #[pyo3(from_py_with = argument::text_version)] version: i64,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let record = Record::new("page_text", fields)?
            .with("page_id", page_id)
            .with("version", version)
            .with("text", text);
        self.add(py, &[record])
    }

    /// Inserts a fragment of a page and returns its id. If the page has a text, the fragment must
    /// occur in it; offsets that are left out are determined from the text.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> page = graph.add_page("https://example.org/a", text="Night work shortens sleep. Much.")
    /// >>> fragment = graph.add_fragment(page, "Night work shortens sleep.")
    /// >>> graph.query("SELECT char_start, char_end FROM fragments")
    /// Rows([{'char_start': 0, 'char_end': 26}])
    #[pyo3(signature = (page_id, text_content, *, id=None, **fields),
        text_signature = "($self, page_id, text_content, *, id=None, page_version=None, fragment_type=None, \
        position=None, heading_context=None, heading_hierarchy=None, char_start=None, \
        char_end=None, text_hash=None, security_flags=None, created_at=None)")]
    fn add_fragment(
        &self,
        py: Python<'_>,
        page_id: String,
        text_content: String,
        id: Option<String>,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let mut record = Record::new("fragment", fields)?;
        let id = id.unwrap_or_else(|| {
            let part = |name: &str| {
                record
                    .0
                    .get(name)
                    .map_or_else(String::new, Value::to_string)
            };
            let (version, place, start) =
                (part("page_version"), part("position"), part("char_start"));
            content_id(
                "frag_",
                &[&page_id, &version, &place, &start, &text_content],
            )
        });
        record = record
            .with("id", id.clone())
            .with("page_id", page_id)
            .with("text_content", text_content);
        self.add(py, &[record])?;
        Ok(id)
    }

    /// Inserts a claim of a task and returns its id; the claim gets a vector at once.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.add_task("Night work shortens sleep")
    /// >>> claim = graph.add_claim(task, "Night shifts shorten sleep by an hour")
    /// >>> graph.view("v_unsupported_claims", task).column("claim_id") == [claim]
    /// True
    #[pyo3(signature = (task_id, claim_text, *, id=None, **fields),
        text_signature = "($self, task_id, claim_text, *, id=None, claim_type=None, granularity=None, \
        details_json=None, llm_claim_confidence=None, extractor_id=None, claim_adoption_status=None, \
        claim_rejection_reason=None, claim_rejected_at=None, created_at=None, cause_id=None)")]
    fn add_claim(
        &self,
        py: Python<'_>,
        task_id: String,
        claim_text: String,
        id: Option<String>,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let id = id.unwrap_or_else(|| content_id("claim_", &[&task_id, &claim_text]));
        let record = Record::new("claim", fields)?
            .with("id", id.clone())
            .with("task_id", task_id)
            .with("claim_text", claim_text);
        self.add(py, &[record])?;
        Ok(id)
    }

    /// Inserts an edge and returns its id. "cites" goes from a page to a page; "origin", "supports",
    /// "refutes" and "neutral" go from a fragment to a claim.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> page = graph.add_page("https://example.org/a", text="Night work shortens sleep.")
    /// >>> fragment = graph.add_fragment(page, "Night work shortens sleep.")
    /// >>> claim = graph.add_claim(graph.add_task("Night work"), "Night work shortens sleep")
    /// >>> edge = graph.add_edge(fragment, claim, "supports", nli_edge_confidence=0.9)
    /// >>> graph.view("v_claim_evidence_summary").column("support_count")
    /// [1]
    #[pyo3(signature = (source_id, target_id, relation, *, id=None, **fields),
        text_signature = "($self, source_id, target_id, relation, *, id=None, source_type=None, target_type=None, \
        nli_label=None, nli_edge_confidence=None, nli_probabilities=None, judge_id=None, quote_start=None, \
        quote_end=None, citation_source=None, citation_context=None, \
        source_domain_category=None, target_domain_category=None, edge_human_corrected=None, \
        edge_correction_reason=None, edge_corrected_at=None, created_at=None, cause_id=None)")]
    fn add_edge(
        &self,
        py: Python<'_>,
        source_id: String,
        target_id: String,
        relation: &str,
        id: Option<String>,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<String> {
        let relation: Relation = relation.parse().map_err(raise)?;
        let (from, to) = match relation {
            Relation::Cites => (NodeKind::Page, NodeKind::Page),
            _ => (NodeKind::Fragment, NodeKind::Claim),
        };
        let id = id.unwrap_or_else(|| {
            EdgeRecord::between((from, &source_id), relation, (to, &target_id)).id
        });
        let mut record = Record::new("edge", fields)?;
        for (name, kind) in [("source_type", from), ("target_type", to)] {
            let given = record.0.entry(name);
            given.or_insert_with(|| kind.to_string().into());
        }
        let record = record
            .with("id", id.clone())
            .with("source_id", source_id)
            .with("target_id", target_id)
            .with("relation", relation.to_string());
        self.add(py, &[record])?;
        Ok(id)
    }

    /// Inserts the vector of a fragment or claim; `add_embeddings` inserts many at once.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> claim = graph.add_claim(graph.add_task("Night work"), "Night shifts shorten sleep")
    /// >>> graph.add_embedding("claim", claim, [0.6, 0.8], model_id="mine")
    #[pyo3(signature = (target_type, target_id, embedding, model_id=None, **fields),
        text_signature = "($self, target_type, target_id, embedding, model_id=None, *, id=None, dimension=None, \
        created_at=None)")]
    fn add_embedding(
        &self,
        py: Python<'_>,
        target_type: String,
        target_id: String,
        embedding: Bound<'_, PyAny>,
        model_id: Option<String>,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let model_id = match model_id {
            Some(given) => given,
            None => self.engine()?.models().embedder,
        };
        let embedding = match embedding.extract::<Vec<u8>>() {
            Ok(bytes) if embedding.hasattr("decode")? => {
                let vector = decode_vector(&bytes).ok_or_else(|| {
                    invalid("embedding has a number of bytes that is not a multiple of 4")
                })?;
                Value::from(vector)
            }
            _ => convert::value("embedding", &embedding)?,
        };
        let record = Record::new("embedding", fields)?
            .with("target_type", target_type)
            .with("target_id", target_id)
            .with("model_id", model_id)
            .with("embedding_blob", embedding);
        self.add(py, &[record])
    }

    /// Adds a page to a task; `reason` is "search", "academic_api", "citation_chase" or
    /// "manual".
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> page = graph.add_page("https://example.org/a")
    /// >>> graph.add_task_page(graph.add_task("Night work"), page)
    #[pyo3(signature = (task_id, page_id, reason="manual", **fields),
        text_signature = "($self, task_id, page_id, reason=\"manual\", *, depth=None, source_page_id=None)")]
    fn add_task_page(
        &self,
        py: Python<'_>,
        task_id: String,
        page_id: String,
        reason: &str,
        fields: Option<Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let record = Record::new("task_page", fields)?
            .with("task_id", task_id)
            .with("page_id", page_id)
            .with("reason", reason);
        self.add(py, &[record])
    }
}

/// The return value of `EvidenceGraph.batch`.
#[pyclass(frozen, module = "lyra")]
pub(crate) struct Batch {
    graph: Py<EvidenceGraph>,
}

#[pymethods]
impl Batch {
    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<EvidenceGraph>> {
        let graph = self.graph.get();
        graph.engine()?;
        let mut open = graph.open_batch();
        if open.is_some() {
            return Err(invalid("a batch is open already; end it first"));
        }
        *open = Some(Vec::new());
        Ok(self.graph.clone_ref(py))
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        raised: Option<Bound<'_, PyAny>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let graph = self.graph.get();
        let lines = graph.open_batch().take().unwrap_or_default();
        if raised.is_none() && !lines.is_empty() {
            graph.import(py, lines, Naming::ByNumber)?;
        }
        Ok(())
    }
}

impl EvidenceGraph {
    fn open_batch(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, py: Python<'_>, records: &[Record]) -> PyResult<()> {
        let mut lines = Vec::new();
        for record in records {
            push_line(&mut lines, &record.0)?;
        }
        if let Some(batch) = self.open_batch().as_mut() {
            batch.extend(lines);
            return Ok(());
        }
        self.import(py, lines, Naming::Alone).map(drop)
    }

    fn import(&self, py: Python<'_>, lines: Vec<u8>, naming: Naming) -> PyResult<ImportReport> {
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |line: &Line<()>| -> Result<ImportReport> {
            let imported = line.drive(engine.add_records(lines.as_slice()));
            imported.map_err(|error| naming.without_lines(error))
        };
        long(py, work, |_, ()| Ok(()), || interrupter.interrupt())
    }
}

/// How errors name the records, which are numbered lines only in a file.
#[derive(Clone, Copy)]
enum Naming {
    /// The call inserts only one record.
    Alone,
    /// By their index in the list.
    ByNumber,
}

impl Naming {
    fn without_lines(self, error: Error) -> Error {
        let source = std::error::Error::source(&error);
        let Some(problems) = source.and_then(|source| source.downcast_ref::<ImportProblems>())
        else {
            return error;
        };
        match self {
            Self::Alone => Error::invalid(problems.described(|_| String::new()))
                .with_hint("nothing was written"),
            Self::ByNumber => {
                // Every record is one line, and lines are counted from 1.
                let place = |line: u64| format!("records[{}]: ", line.saturating_sub(1));
                Error::invalid(problems.described(place)).with_hint(
                    "nothing was written; correct the records named here and add all records again",
                )
            }
        }
    }
}

/// A line of the JSONL format.
struct Record(Map<String, Value>);

impl Record {
    /// Fields with the value None are left out, as in a file.
    fn new(tag: &str, fields: Option<Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut line = Map::new();
        line.insert("type".to_owned(), tag.into());
        if let Some(fields) = fields {
            let given = convert::fields("", fields.as_mapping())?;
            line.extend(given.into_iter().filter(|(_, value)| !value.is_null()));
        }
        Ok(Self(line))
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }
}

fn push_line(lines: &mut Vec<u8>, fields: &Map<String, Value>) -> PyResult<()> {
    serde_json::to_writer(&mut *lines, fields)
        .map_err(|e| raise(Error::internal("a record is not JSON").with_source(e)))?;
    lines.push(b'\n');
    Ok(())
}
