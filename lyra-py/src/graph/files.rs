//! Import, merge, export, what changed, verify, forget.

use super::EvidenceGraph;
use crate::convert;
use crate::error::{invalid, raise};
use crate::waiting::{Line, long};
use lyra_core::{
    Error, ErrorKind, ExportFormat, PackKey, PackOptions, ParquetOptions, StatedLicence, WholeFile,
};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The target of an export.
enum Target {
    File(ExportFormat),
    Folder(ParquetOptions),
}

impl Target {
    fn named(
        format: &str,
        task_id: Option<&str>,
        partition_by: Option<&str>,
    ) -> lyra_core::Result<Self> {
        let by_task = match (format, partition_by) {
            (_, None) => false,
            ("parquet", Some("task")) => true,
            ("parquet", Some(other)) => {
                return Err(Error::invalid(format!("partition_by is {other:?}"))
                    .with_hint("the only partition is \"task\""));
            }
            (_, Some(_)) => {
                return Err(
                    Error::invalid(format!("format {format:?} has no partition_by"))
                        .with_hint("leave partition_by out, or export as \"parquet\""),
                );
            }
        };
        match format {
            "parquet" => Ok(Self::Folder(ParquetOptions {
                task_id: task_id.map(str::to_owned),
                by_task,
            })),
            _ => format.parse().map(Self::File),
        }
    }
}

#[pymethods]
impl EvidenceGraph {
    /// Reads a JSONL file into the graph: all of it, or nothing if the input is bad; the error then
    /// names line, field and reason. Imported claims and fragments without a vector get one.
    ///
    /// >>> import lyra, pathlib
    /// >>> line = '{"type": "task", "id": "task_1", "hypothesis": "Night work shortens sleep"}'
    /// >>> _ = pathlib.Path("graph.jsonl").write_text(line)
    /// >>> lyra.EvidenceGraph("evidence.db").import_jsonl("graph.jsonl").inserted
    /// {'task': 1}
    fn import_jsonl<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |line: &Line<()>| {
            let file = File::open(&path).map_err(|e| {
                Error::invalid(format!("{} cannot be read: {e}", path.display())).with_source(e)
            })?;
            line.drive(engine.import_jsonl(BufReader::new(line.watched(file))))
        };
        let report = long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?;
        convert::report(py, "Report", &report)
    }

    /// Merges other graphs into this one: all of them, or nothing. Neither the order of the graphs nor
    /// a repetition makes a difference (docs/merge.md). With `report`, `decided` lists the rows that
    /// differed and says which of them were kept.
    ///
    /// >>> import lyra
    /// >>> task = lyra.EvidenceGraph("a.db").create_task("Night work shortens sleep")
    /// >>> lyra.EvidenceGraph("all.db").merge("a.db").inserted["tasks"]
    /// 1
    #[pyo3(signature = (*paths, report=false))]
    fn merge<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<PathBuf>,
        report: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |line: &Line<()>| line.drive(engine.merge(&paths, report));
        let report = long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?;
        convert::report(py, "Report", &report)
    }

    /// Reads a folder of Parquet files that `export` wrote, or that another program wrote with the same
    /// tables and columns: all of it, or nothing if the input is bad; the error then names file, row and
    /// reason. Imported claims and fragments without a vector get one.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> graph.export("tables", "parquet").written
    /// {'task': 1}
    /// >>> lyra.EvidenceGraph("copy.db").import_parquet("tables").inserted
    /// {'task': 1}
    fn import_parquet<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |line: &Line<()>| line.drive(engine.import_parquet(&path));
        let report = long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?;
        convert::report(py, "Report", &report)
    }

    /// Writes the graph, or the part of one task, to a file: as JSONL, which `import_jsonl` reads, or
    /// in another of the formats of the command line. The file appears only when it is complete. For
    /// "parquet", `path` is a folder, which `import_parquet` reads; with `partition_by="task"`, tables
    /// whose rows belong to a task have one folder for each task.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> graph.export("graph.jsonl").written
    /// {'task': 1}
    #[pyo3(signature = (path, format="jsonl", task_id=None, *, partition_by=None))]
    fn export<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        format: &str,
        task_id: Option<String>,
        partition_by: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let target = Target::named(format, task_id.as_deref(), partition_by).map_err(raise)?;
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |line: &Line<()>| {
            let format = match target {
                Target::Folder(options) => return engine.export_parquet(&path, &options),
                Target::File(format) => format,
            };
            let mut out = WholeFile::create(&path)?;
            let mut writer = BufWriter::new(line.watched(&mut out));
            let report = engine.export(&mut writer, format, task_id.as_deref())?;
            writer.flush().map_err(|e| unwritable(&path, e))?;
            drop(writer);
            out.finish()?;
            Ok(report)
        };
        let report = long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?;
        convert::report(py, "Report", &report)
    }

    /// A SHA-256 in hex that is the same for all graphs with the same evidence, whenever it was found;
    /// with `task_id`, the hash of that task's part.
    ///
    /// >>> import lyra
    /// >>> len(lyra.EvidenceGraph("evidence.db").canonical_hash())
    /// 64
    #[pyo3(signature = (task_id=None))]
    fn canonical_hash(&self, py: Python<'_>, task_id: Option<String>) -> PyResult<String> {
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |_: &Line<()>| engine.canonical_hash(task_id.as_deref());
        long(py, work, |_, ()| Ok(()), || interrupter.interrupt())
    }

    /// Puts the evidence of a task into one signed file that others can check. `key` is the file of a
    /// private key (Ed25519, PEM), created if it does not exist. `texts` says which page texts are
    /// included: "licensed", "all" or "none"; `licences` maps prefixes of addresses to licences; `record`
    /// is the folder of a recorded run.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> packed = graph.pack("evidence.zip", task, key="key.pem")
    /// >>> lyra.verify_pack("evidence.zip", key="key.pem.pub").key_id == packed.key_id
    /// True
    #[pyo3(signature = (path, task_id, *, key, texts="licensed", licences=None, record=None))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn pack<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        task_id: String,
        key: PathBuf,
        texts: &str,
        licences: Option<BTreeMap<String, String>>,
        record: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stated = licences.unwrap_or_default().into_iter();
        let options = PackOptions {
            task_id,
            texts: texts.parse().map_err(raise)?,
            licences: stated
                .map(|(prefix, licence)| StatedLicence { prefix, licence })
                .collect(),
            record,
        };
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |line: &Line<()>| {
            let key = PackKey::load_or_make(&key)?;
            let mut out = WholeFile::create(&path)?;
            let mut writer = BufWriter::new(line.watched(&mut out));
            let summary = engine.pack(&mut writer, &options, &key)?;
            writer.flush().map_err(|e| unwritable(&path, e))?;
            drop(writer);
            out.finish()?;
            Ok(summary)
        };
        let summary = long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?;
        convert::report(py, "Report", &summary)
    }

    /// What changed since the state in the file `before`, for example a copy of an earlier day; with
    /// `task_id`, for that task. `before` is a path, or a graph that is open.
    ///
    /// >>> import lyra
    /// >>> before = lyra.EvidenceGraph("monday.db")
    /// >>> task = before.add_task("Night work shortens sleep", id="task_1")
    /// >>> now = lyra.EvidenceGraph("friday.db")
    /// >>> task = now.add_task("Night work shortens sleep", id="task_1")
    /// >>> claim = now.add_claim(task, "Night shifts shorten sleep by an hour")
    /// >>> diff = now.diff("monday.db")
    /// >>> diff.total, diff.new_claims[0].claim_text
    /// (1, 'Night shifts shorten sleep by an hour')
    #[pyo3(signature = (before, task_id=None))]
    fn diff<'py>(
        &self,
        py: Python<'py>,
        before: Bound<'py, PyAny>,
        task_id: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let before = match before.cast::<EvidenceGraph>() {
            Ok(graph) => graph.get().path.to_path_buf(),
            Err(_) => before.extract()?,
        };
        let engine = self.engine()?;
        let work = move |_: &Line<()>| engine.diff(&before, task_id.as_deref());
        let diff = long(py, work, |_, ()| Ok(()), || {})?;
        convert::report(py, "GraphDiff", &diff)
    }

    /// What changed in this graph since a day or a time: a date, a datetime with a time zone, or text
    /// such as "2026-11-01" or "2026-11-01T09:30:00Z". Deleted rows, retractions, and the earlier
    /// verdict of a judge that another judge has replaced are not included; `diff` includes them.
    ///
    /// >>> import datetime, lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> began = datetime.datetime.now(datetime.timezone.utc)
    /// >>> claim = graph.add_claim(graph.add_task("Night work"), "Night shifts shorten sleep")
    /// >>> [change.claim_id for change in graph.changes_since(began).new_claims] == [claim]
    /// True
    #[pyo3(signature = (since, task_id=None))]
    fn changes_since<'py>(
        &self,
        py: Python<'py>,
        since: Bound<'py, PyAny>,
        task_id: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let since = match since.cast::<PyString>() {
            Ok(text) => text.to_str()?.to_owned(),
            Err(_) => convert::point_in_time(&since)?
                .ok_or_else(|| invalid("since is not a date, datetime or text"))?,
        };
        let engine = self.engine()?;
        let work = move |_: &Line<()>| engine.changes_since(&since, task_id.as_deref());
        let diff = long(py, work, |_, ()| Ok(()), || {})?;
        convert::report(py, "GraphDiff", &diff)
    }

    /// Checks the whole graph again: every quote against its page, every reference. `ok` is true if
    /// no row fails, `violations` names every row that fails.
    ///
    /// >>> import lyra
    /// >>> lyra.EvidenceGraph("evidence.db").verify().ok
    /// True
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |_: &Line<()>| engine.verify();
        let report = long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?;
        convert::report(py, "Report", &report)
    }

    /// Copies a consistent state of the database to a new file, even while others write to it.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> graph.backup("copy.db")
    /// >>> lyra.EvidenceGraph("copy.db").verify().ok
    /// True
    fn backup(&self, py: Python<'_>, to: PathBuf) -> PyResult<()> {
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |_: &Line<()>| engine.backup(&to);
        long(py, work, |_, ()| Ok(()), || interrupter.interrupt())
    }

    /// Removes a task with its claims, edges and jobs; with `orphans` also the pages, fragments and
    /// works that nothing else refers to.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> graph.forget(task_id=graph.create_task("Night work shortens sleep")).deleted
    /// {'tasks': 1}
    #[pyo3(signature = (task_id, orphans=false))]
    fn forget<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        orphans: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let engine = self.engine()?;
        let interrupter = engine.graph().interrupter();
        let work = move |_: &Line<()>| engine.forget(&task_id, orphans);
        let report = long(py, work, |_, ()| Ok(()), || interrupter.interrupt())?;
        convert::report(py, "Report", &report)
    }

    /// Reads new and changed documents of the corpus into the graph. Queries do this automatically;
    /// call this method to do it beforehand. Returns None without a corpus.
    ///
    /// >>> import lyra
    /// >>> lyra.EvidenceGraph("evidence.db").sync_corpus() is None
    /// True
    fn sync_corpus<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let engine = self.engine()?;
        let work = move |line: &Line<()>| line.drive(engine.sync_corpus(&|_| {}));
        let report = long(py, work, |_, ()| Ok(()), || {})?;
        report
            .map(|report| convert::report(py, "Report", &report))
            .transpose()
    }
}

fn unwritable(path: &Path, error: std::io::Error) -> Error {
    let message = format!("{} cannot be written: {error}", path.display());
    Error::new(ErrorKind::Backend, message).with_source(error)
}
