//! The life cycle of a task.

use super::EvidenceGraph;
use super::open::records;
use crate::adapters::inside_of;
use crate::argument::{self, is_async};
use crate::awaitable::coroutine;
use crate::convert;
use crate::error::{invalid, raise};
use crate::waiting::{Line, long, patient, quick, quick_async};
use lyra_core::store::model::Priority;
use lyra_core::{
    CandidateChoice, CandidateRequest, Engine, Error, QueueOptions, Result, StatusDetail,
    StatusReport, StopRequest, TaskConfig, WarningKind,
};
use pyo3::exceptions::{PyTypeError, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping, PyString};
use serde_json::Value;
use std::ffi::CString;
use std::time::Duration;

/// Maximum wait of `status`, in seconds.
const MAX_WAIT: f64 = 300.0;

#[pymethods]
impl EvidenceGraph {
    /// Creates a task with a hypothesis, and returns its id.
    ///
    /// `max_pages` and `max_seconds` are its budget, `priority_domains` are read first; `config` can
    /// contain the same settings as a dict: budget (max_pages, max_seconds), priority_domains.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep", max_pages=20)
    /// >>> task.startswith("task_")
    /// True
    #[pyo3(signature = (hypothesis, config=None, *, max_pages=None, max_seconds=None, priority_domains=None))]
    fn create_task(
        &self,
        py: Python<'_>,
        hypothesis: String,
        config: Option<Bound<'_, PyMapping>>,
        #[pyo3(from_py_with = argument::max_pages)] max_pages: Option<u32>,
        #[pyo3(from_py_with = argument::max_seconds)] max_seconds: Option<u32>,
        #[pyo3(from_py_with = argument::optional_texts)] priority_domains: Option<Vec<String>>,
    ) -> PyResult<String> {
        let named = [
            ("max_pages", max_pages.is_some()),
            ("max_seconds", max_seconds.is_some()),
            ("priority_domains", priority_domains.is_some()),
        ];
        let mut settings = match config {
            None => TaskConfig::default(),
            Some(given) => task_config(&given, &named)?,
        };
        settings.budget.max_pages = max_pages.unwrap_or(settings.budget.max_pages);
        settings.budget.max_seconds = max_seconds.unwrap_or(settings.budget.max_seconds);
        if let Some(domains) = priority_domains {
            settings.priority_domains = domains;
        }
        let engine = self.engine()?;
        let task = patient(py, move || engine.create_task(&hypothesis, settings))?;
        Ok(task.id)
    }

    /// Every task, newest first.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> graph.tasks()[0]["id"] == task
    /// True
    fn tasks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let engine = self.engine()?;
        let tasks = quick(py, || engine.tasks())?;
        let columns = [
            "id",
            "hypothesis",
            "status",
            "config_json",
            "created_at",
            "started_at",
            "completed_at",
            "error_message",
        ];
        records(py, &tasks, &columns)
    }

    /// Queues targets for the task: words to search for, addresses, DOIs, or dicts with a `kind`
    /// (query, url, doi). A stopped task continues.
    ///
    /// `priority` is "high", "medium" or "low"; `budget_pages` limits the pages of each query;
    /// `providers` restricts the search to the named providers; `refute` also searches for the other
    /// side of each query ("no effect", "contradictory evidence", "limitations"); `repeat` also repeats
    /// targets that the task has done, to find new documents and changed texts.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> report = graph.queue_targets(task, ["shift work sleep", "10.1000/x", "10.1000/X"])
    /// >>> report.queued_count, report.skipped[0].reason
    /// (2, 'already queued, running or done in this task')
    #[allow(clippy::too_many_arguments, reason = "named arguments in Python")]
    #[pyo3(signature = (task_id, targets, *, priority="medium", budget_pages=None, providers=None, refute=false,
        repeat=false))]
    fn queue_targets<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        targets: Bound<'py, PyAny>,
        priority: &str,
        #[pyo3(from_py_with = argument::budget_pages)] budget_pages: Option<u32>,
        #[pyo3(from_py_with = argument::optional_texts)] providers: Option<Vec<String>>,
        refute: bool,
        repeat: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let is_one = targets.is_instance_of::<PyString>() || targets.is_instance_of::<PyMapping>();
        if targets.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err("targets are str or dicts, not bytes"));
        }
        let targets = if is_one {
            vec![convert::value("targets", &targets)?]
        } else {
            argument::each(&targets, |target| convert::value("a target", &target))?
        };
        let options = QueueOptions {
            priority: urgency(priority)?,
            budget_pages,
            providers: providers.unwrap_or_default(),
            refute,
            repeat,
        };
        let engine = self.engine()?;
        let report = patient(py, move || {
            engine.queue_targets(&task_id, &targets, &options)
        })?;
        convert::report(py, "Report", &report)
    }

    /// Works until the task has nothing queued and nothing running; returns its status. If the judge
    /// fails, so that claims have no verdicts, a UserWarning says so.
    ///
    /// `progress` is called with the status after every job, on the calling thread; an exception
    /// there ends the run, and so does Ctrl-C: the current job goes back to the queue, and the next
    /// `run` continues with it.
    ///
    /// >>> import lyra, pathlib
    /// >>> pathlib.Path("papers").mkdir()
    /// >>> _ = pathlib.Path("papers/a.md").write_text("# Trial\n\nNight work shortened sleep by one hour.")
    /// >>> graph = lyra.EvidenceGraph("evidence.db", corpus="papers")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> _ = graph.queue_targets(task, ["night work sleep"])
    /// >>> graph.run(task).metrics.total_pages
    /// 1
    #[pyo3(signature = (task_id, progress=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let engine = self.engine()?;
        self.refuse_inside()?;
        let wants_progress = is_listener(progress.as_ref())?;
        let report = long(
            py,
            move |line| work(&engine, &task_id, wants_progress, line),
            |py, status: StatusReport| match &progress {
                Some(listen) => listen.call1((status_of(py, &status)?,)).map(drop),
                None => Ok(()),
            },
            || {},
        )?;
        warn_of_missing_verdicts(py, &report)?;
        status_of(py, &report)
    }

    /// The same for asyncio: `await graph.run_async(task)`. `progress` is called on the event loop.
    /// Cancelling ends the run, and so does an exception in `progress`, which the await raises.
    ///
    /// >>> import asyncio, lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> asyncio.run(graph.run_async(task)).is_idle
    /// True
    #[pyo3(signature = (task_id, progress=None))]
    fn run_async(
        &self,
        py: Python<'_>,
        task_id: String,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let engine = self.engine()?;
        self.refuse_inside()?;
        let wants_progress = is_listener(progress.as_ref().map(|p| p.bind(py)))?;
        coroutine(
            py,
            move |line| work(&engine, &task_id, wants_progress, line),
            progress,
            |py, status: StatusReport| status_of(py, &status).map(Bound::unbind),
            |py, status| {
                warn_of_missing_verdicts(py, &status)?;
                status_of(py, &status).map(Bound::unbind)
            },
        )
    }

    /// The status of the task. With `wait`, the call returns as soon as anything about the task changes,
    /// or after that many seconds (0 to 300); `changed` says which. If no work is left, the call returns
    /// at once if this graph has not yet reported the end of the work; otherwise it waits for an action
    /// by a human. `detail` is "summary" or "full".
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> status = graph.status(task)
    /// >>> status.status, status["milestones"]["target_queue_drained"]
    /// ('created', True)
    #[pyo3(signature = (task_id, wait=0.0, detail="summary"))]
    fn status<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        wait: f64,
        detail: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (wait, detail) = (seconds(wait)?, level(detail)?);
        let engine = self.engine()?;
        let report = if wait.is_zero() {
            quick(py, || engine.status(&task_id, detail))?
        } else {
            quick_async(py, engine.wait_status(&task_id, wait, detail))?
        };
        status_of(py, &report)
    }

    /// The same for asyncio: `await graph.status_async(task, wait=60)`.
    ///
    /// >>> import asyncio, lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> asyncio.run(graph.status_async(task, wait=1)).status
    /// 'created'
    #[pyo3(signature = (task_id, wait=0.0, detail="summary"))]
    fn status_async(
        &self,
        py: Python<'_>,
        task_id: String,
        wait: f64,
        detail: &str,
    ) -> PyResult<Py<PyAny>> {
        let (wait, detail) = (seconds(wait)?, level(detail)?);
        let engine = self.engine()?;
        coroutine(
            py,
            move |line: &Line<()>| line.drive(engine.wait_status(&task_id, wait, detail)),
            None,
            |py, ()| Ok(py.None()),
            |py, status| status_of(py, &status).map(Bound::unbind),
        )
    }

    /// Stops the task; `queue_targets` continues it.
    ///
    /// `reason` is "session_completed", "budget_exhausted" or "user_cancelled"; `mode` "graceful"
    /// (running jobs may finish), "immediate" or "full" (they are cancelled); `scope` "all_jobs" or
    /// "target_queue_only".
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> _ = graph.queue_targets(task, ["shift work sleep"])
    /// >>> graph.stop_task(task).final_status
    /// 'paused'
    #[pyo3(signature = (task_id, reason="session_completed", mode="graceful", scope="all_jobs"))]
    fn stop_task<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        reason: &str,
        mode: &str,
        scope: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = StopRequest {
            reason: reason.parse().map_err(raise)?,
            mode: mode.parse().map_err(raise)?,
            scope: scope.parse().map_err(raise)?,
        };
        let engine = self.engine()?;
        let work = move |line: &Line<()>| line.drive(engine.stop_task(&task_id, &request));
        let report = long(py, work, |_, ()| Ok(()), || {})?;
        convert::report(py, "Report", &report)
    }

    /// Queues documents that the task's sources cite, from `v_reference_candidates`: those in
    /// `include_ids` (citation edges), or all except those in `exclude_ids`, up to `limit`. With
    /// `dry_run`, nothing is queued; the report lists what would be.
    ///
    /// >>> import lyra
    /// >>> graph = lyra.EvidenceGraph("evidence.db")
    /// >>> task = graph.create_task("Night work shortens sleep")
    /// >>> graph.queue_reference_candidates(task, dry_run=True).candidates
    /// []
    #[pyo3(signature = (task_id, include_ids=None, exclude_ids=None, limit=10, dry_run=false, *, priority="medium"))]
    #[allow(clippy::too_many_arguments, reason = "named arguments in Python")]
    fn queue_reference_candidates<'py>(
        &self,
        py: Python<'py>,
        task_id: String,
        #[pyo3(from_py_with = argument::optional_texts)] include_ids: Option<Vec<String>>,
        #[pyo3(from_py_with = argument::optional_texts)] exclude_ids: Option<Vec<String>>,
        #[pyo3(from_py_with = argument::limit)] limit: usize,
        dry_run: bool,
        priority: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let choice = match (include_ids, exclude_ids) {
            (None, None) => CandidateChoice::All,
            (Some(ids), None) => CandidateChoice::Include(ids),
            (None, Some(ids)) => CandidateChoice::Exclude(ids),
            (Some(_), Some(_)) => {
                return Err(invalid(
                    "include_ids and exclude_ids are both given; expected one of them",
                ));
            }
        };
        let request = CandidateRequest {
            choice,
            limit,
            dry_run,
            priority: urgency(priority)?,
        };
        let engine = self.engine()?;
        let report = patient(py, move || {
            engine.queue_reference_candidates(&task_id, &request)
        })?;
        convert::report(py, "Report", &report)
    }
}

impl EvidenceGraph {
    /// A run ends only when nothing is running any more, so a callable that waits for the run would
    /// wait for itself.
    fn refuse_inside(&self) -> PyResult<()> {
        let Some(role) = inside_of(&self.path) else {
            return Ok(());
        };
        let message =
            format!("run was called inside the {role}, which a run of this graph waits for");
        Err(raise(Error::invalid(message).with_hint(
            "call run after the callable has returned, or use a graph in a separate file",
        )))
    }
}

fn work(
    engine: &Engine,
    task_id: &str,
    wants_progress: bool,
    line: &Line<StatusReport>,
) -> Result<StatusReport> {
    let tell = |status: &StatusReport| line.tell(status.clone());
    let progress: Option<&(dyn Fn(&StatusReport) + Send + Sync)> =
        if wants_progress { Some(&tell) } else { None };
    line.drive(engine.run(task_id, progress))
}

/// Whether there is a listener; a value that is not callable is refused before any work is done.
fn is_listener(progress: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
    match progress {
        None => Ok(false),
        Some(listen) if is_async(listen)? => Err(PyTypeError::new_err(
            "progress is a coroutine function, which is never awaited; expected an ordinary function",
        )),
        Some(listen) if listen.is_callable() => Ok(true),
        Some(other) => {
            let kind = other.get_type();
            let message = format!(
                "progress is of type {}, which cannot be called",
                kind.name()?
            );
            Err(PyTypeError::new_err(message))
        }
    }
}

fn status_of<'py>(py: Python<'py>, status: &StatusReport) -> PyResult<Bound<'py, PyAny>> {
    convert::report(py, "Status", status)
}

/// Claims without verdicts look like claims without any evidence.
fn warn_of_missing_verdicts(py: Python<'_>, status: &StatusReport) -> PyResult<()> {
    let mut warnings = status.warnings.iter();
    let Some(warning) = warnings.find(|warning| warning.kind == WarningKind::NotJudged) else {
        return Ok(());
    };
    let message = CString::new(warning.text.replace('\0', " "))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 1)
}

/// `named` says which settings were also given as separate arguments.
fn task_config(given: &Bound<'_, PyMapping>, named: &[(&str, bool)]) -> PyResult<TaskConfig> {
    let fields = convert::fields("config", given)?;
    for (place, known) in [
        (None, &["budget", "priority_domains"]),
        (Some("budget"), &["max_pages", "max_seconds"]),
    ] {
        let entries = match place {
            None => Some(&fields),
            Some(name) => fields.get(name).and_then(Value::as_object),
        };
        let stranger =
            entries.and_then(|all| all.keys().find(|key| !known.contains(&key.as_str())));
        if let Some(stranger) = stranger {
            let [first, second] = known;
            return Err(invalid(format!(
                "config has {stranger:?}; expected {first} and {second} there"
            )));
        }
    }
    let budget = fields.get("budget").and_then(Value::as_object);
    let is_there = |name: &str| {
        let in_budget = budget.is_some_and(|budget| budget.contains_key(name));
        in_budget || fields.contains_key(name)
    };
    if let Some((twice, _)) = named.iter().find(|(name, is)| *is && is_there(name)) {
        return Err(invalid(format!(
            "{twice} is given, and config has it, too; expected one of them"
        )));
    }
    serde_json::from_value(Value::Object(fields)).map_err(|e| invalid(format!("config: {e}")))
}

fn urgency(word: &str) -> PyResult<Priority> {
    word.parse().map_err(raise)
}

fn level(word: &str) -> PyResult<StatusDetail> {
    let words = [
        ("summary", StatusDetail::Summary),
        ("full", StatusDetail::Full),
    ];
    convert::one_of("detail", word, &words)
}

fn seconds(wait: f64) -> PyResult<Duration> {
    if (0.0..=MAX_WAIT).contains(&wait) {
        return Ok(Duration::from_secs_f64(wait));
    }
    Err(invalid(format!(
        "wait is {wait}; expected 0 to 300 seconds"
    )))
}
