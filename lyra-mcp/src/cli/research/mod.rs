//! `research`: a user's hypothesis over the user's documents, or the continuation of a task.

mod findings;
mod page;
mod place;
mod report;
mod run;
mod targets;

pub(super) use page::PageOptions;
pub(super) use place::{quoted, started_by};
pub(super) use targets::of_hypothesis;

use super::INTERRUPTED;
use super::config::Settings;
use super::output::Output;
use crate::wording;
use clap::Args;
use findings::Findings;
use lyra_core::ports::{Clock, SystemClock};
use lyra_core::{
    Engine, Error, QueueOptions, Record, Result, StatusDetail, StatusReport, TaskBudget, TaskConfig,
};
use place::Place;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Args)]
pub(super) struct Options {
    /// What to find evidence for and against: a statement that can be right or wrong
    #[arg(
        value_name = "HYPOTHESIS",
        required_unless_present = "task",
        conflicts_with = "task"
    )]
    hypothesis: Option<String>,
    /// Accept a hypothesis that is not a statement, such as a question
    #[arg(long)]
    force: bool,
    /// Words to search for; may be given several times [default: derived from the hypothesis, for
    /// both sides; for a continued task: its earlier targets]
    #[arg(long, value_name = "WORDS")]
    query: Vec<String>,
    /// An address or a DOI to read; may be given several times
    #[arg(long, value_name = "ADDRESS")]
    target: Vec<String>,
    /// Search for the other side of each query as well, with words such as "no effect"
    #[arg(long)]
    refute: bool,
    /// Continue this task: its earlier targets are researched again, to find what is new
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// Pages that the task may read in total [default: 200; for a continued task: as before]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_pages: Option<u32>,
    /// Seconds that the task may work in total [default: 3600; for a continued task: as before]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=604_800))]
    max_seconds: Option<u32>,
    /// Record everything that the run receives from outside in this new folder, so that `replay`
    /// can repeat it
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    #[command(flatten)]
    page: PageOptions,
}

pub(super) fn run(settings: &Settings, options: &Options) -> Result<u8> {
    targets::check(&options.target)?;
    refuse_missing(&settings.corpus)?;
    options.page.refuse_foreign()?;
    // Checked before the database is opened, so that a mistake does not create an empty one.
    if let Some(hypothesis) = &options.hypothesis {
        check_hypothesis(hypothesis, options.force)?;
    }
    let asked = targets::asked(&options.query, &options.target);
    let asked = match (&options.hypothesis, asked.is_empty()) {
        (Some(hypothesis), true) => targets::of_hypothesis(hypothesis),
        _ => asked,
    };
    refuse_idle(settings, &asked)?;
    if options.task.is_none() && settings.providers.search.enabled.is_empty() {
        refuse_empty(&settings.corpus)?;
    }
    let record = options.record.as_deref().map(Record::next_place);
    let engine = match options.task {
        // A missing database contains no task, and must not be created to look for one.
        Some(_) if !settings.db.exists() => return Err(super::no_database(settings)),
        _ => open(settings, record.as_deref())?,
    };
    let (task_id, asked) = match (&options.task, &options.hypothesis) {
        (Some(task_id), _) => {
            let asked = match asked.is_empty() {
                true => targets::of_task(&engine, task_id)?,
                false => asked,
            };
            refuse_idle(settings, &asked)?;
            (task_id.clone(), asked)
        }
        (None, Some(hypothesis)) => {
            tell_of_twin(&engine, hypothesis)?;
            let task = engine.create_task(hypothesis, TaskConfig::default())?;
            (task.id, asked)
        }
        (None, None) => return Err(Error::invalid("neither a hypothesis nor a task is given")),
    };
    set_budget(&engine, &task_id, options)?;
    let stem = settings
        .db
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let session = Session {
        engine: &engine,
        settings,
        task_id: &task_id,
        usual_page: settings.db.with_file_name(format!("{stem}-{task_id}.html")),
        page: &options.page,
        refute: options.refute,
        is_example: false,
        record: record.as_deref(),
    };
    session.research(&asked)
}

fn open(settings: &Settings, record: Option<&Path>) -> Result<Engine> {
    let Some(dir) = record else {
        return super::open_or_make(settings);
    };
    super::make_folder(settings)?;
    let mut config = super::engine_config(settings)?;
    config.record = Some(Arc::new(Record::create(dir)?));
    Engine::open(config)
}

fn check_hypothesis(hypothesis: &str, force: bool) -> Result<()> {
    if hypothesis.trim().is_empty() {
        return Err(Error::invalid("hypothesis is empty")
            .with_hint("say what the research should find evidence for or against"));
    }
    match wording::problem(hypothesis) {
        Some(problem) if !force => {
            let hint = format!("{}; --force researches it as it stands", wording::HINT);
            Err(Error::invalid(problem).with_hint(hint))
        }
        _ => Ok(()),
    }
}

/// Checks the folders first, so that a misspelled name does not create an empty database.
fn refuse_missing(corpus: &[PathBuf]) -> Result<()> {
    let Some(folder) = corpus.iter().find(|folder| !folder.is_dir()) else {
        return Ok(());
    };
    let folder_shown = folder.display();
    let message = match folder.exists() {
        true => format!("{folder_shown} is a file; a folder of documents is expected"),
        false => format!("there is no folder {folder_shown}"),
    };
    Err(Error::invalid(message).with_hint("--corpus names a folder of documents"))
}

/// Refuses folders without a single file.
fn refuse_empty(corpus: &[PathBuf]) -> Result<()> {
    if corpus.is_empty() || corpus.iter().any(|folder| has_file(folder)) {
        return Ok(());
    }
    let folders: Vec<String> = corpus.iter().map(|f| f.display().to_string()).collect();
    Err(
        Error::invalid(format!("there is no document in {}", folders.join(", "))).with_hint(
            "put documents in the folder: .md, .rst, .org, .txt, .html, .pdf, .xml or .jsonl",
        ),
    )
}

fn has_file(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    // Links are not followed: one may lead back to its own folder.
    paths.any(|path| path.is_symlink() || path.is_file() || has_file(&path))
}

/// Warns if the same question has a task already: two tasks are seldom intended.
fn tell_of_twin(engine: &Engine, hypothesis: &str) -> Result<()> {
    let tasks = engine.tasks()?;
    if let Some(twin) = tasks.iter().find(|t| t.hypothesis == hypothesis.trim()) {
        crate::log::line(&format!(
            "note: {} has the same hypothesis; `research --task {}` continues it",
            twin.id, twin.id
        ));
    }
    Ok(())
}

/// Refuses to start if there is nothing to search.
fn refuse_idle(settings: &Settings, asked: &[Value]) -> Result<()> {
    let has_query = asked.iter().any(|target| target["kind"] == "query");
    let search = &settings.providers.search;
    if !has_query || !settings.corpus.is_empty() || !search.enabled.is_empty() {
        return Ok(());
    }
    Err(Error::invalid("there is nothing to search").with_hint(
        "name a folder of documents with --corpus DIR, or a search service with --provider NAME",
    ))
}

fn set_budget(engine: &Engine, task_id: &str, options: &Options) -> Result<()> {
    if options.max_pages.is_none() && options.max_seconds.is_none() {
        return Ok(());
    }
    let budget = engine.graph().read(|r| r.task_config(task_id))?.budget;
    let budget = TaskBudget {
        max_pages: options.max_pages.unwrap_or(budget.max_pages),
        max_seconds: options.max_seconds.unwrap_or(budget.max_seconds),
    };
    engine.set_budget(task_id, budget)
}

/// One run of a task, with a report at its end.
pub(super) struct Session<'a> {
    pub(super) engine: &'a Engine,
    pub(super) settings: &'a Settings,
    pub(super) task_id: &'a str,
    /// The default location of the page.
    pub(super) usual_page: PathBuf,
    pub(super) page: &'a PageOptions,
    /// Whether opposing evidence is searched for each query as well.
    pub(super) refute: bool,
    /// Whether the documents are those that ship with the project.
    pub(super) is_example: bool,
    /// The folder in which the run is recorded.
    pub(super) record: Option<&'a Path>,
}

/// Researches the targets of a task again; returns whether the run was completed.
pub(super) fn again(engine: &Engine, settings: &Settings, task_id: &str) -> Result<bool> {
    let asked = targets::of_task(engine, task_id)?;
    refuse_idle(settings, &asked)?;
    let work = Work {
        asked: &asked,
        refute: false,
        record: None,
    };
    work_off(engine, settings, task_id, &work).map(|status| status.is_some())
}

/// The targets of a run.
struct Work<'a> {
    asked: &'a [Value],
    /// Whether opposing evidence is searched for each query as well.
    refute: bool,
    /// The folder in which the run is recorded.
    record: Option<&'a Path>,
}

/// Queues targets and processes them. `None` if interrupted.
fn work_off(
    engine: &Engine,
    settings: &Settings,
    task_id: &str,
    work: &Work<'_>,
) -> Result<Option<StatusReport>> {
    let began = SystemClock.now();
    let options = QueueOptions {
        refute: work.refute,
        repeat: true,
        ..QueueOptions::default()
    };
    for part in work.asked.chunks(targets::AT_ONCE) {
        let queued = engine.queue_targets(task_id, part, &options)?;
        crate::log::line(&format!(
            "task {task_id}: {} queued: {}",
            counted(queued.queued_count, "target"),
            targets::told(part)
        ));
        for skipped in &queued.skipped {
            crate::log::line(&format!("skipped {}: {}", skipped.target, skipped.reason));
        }
    }
    if work.record.is_some() {
        engine.record_start(task_id)?;
    }
    let searches = work.asked.iter().any(|target| target["kind"] == "query");
    let Some(status) = run::to_the_end(engine, task_id, searches)? else {
        let place = Place::new(&settings.db, &settings.corpus, None);
        crate::log::line(&format!(
            "interrupted: the task is paused; what was read is kept. To go on: {} research \
             --task {task_id}{}{}",
            place.program(),
            place.db(),
            place.corpus()
        ));
        return Ok(None);
    };
    if let Some(dir) = work.record {
        let hash = engine.record_end(task_id)?;
        crate::log::line(&format!("recorded in {}: hash {hash}", dir.display()));
    }
    run::tell_trouble(engine, task_id, &began)?;
    Ok(Some(status))
}

impl Session<'_> {
    /// Queues the targets, processes them, writes the page and prints the report; returns the exit
    /// code.
    pub(super) fn research(&self, asked: &[Value]) -> Result<u8> {
        let (engine, task_id) = (self.engine, self.task_id);
        let began = SystemClock.now();
        let before = engine.status(task_id, StatusDetail::Summary)?.metrics;
        let work = Work {
            asked,
            refute: self.refute,
            record: self.record,
        };
        let Some(status) = work_off(engine, self.settings, task_id, &work)? else {
            return Ok(INTERRUPTED);
        };
        let now = status.metrics;
        if before.total_pages > 0 {
            crate::log::line(&format!(
                "new: {}, {}; `diff --since {began}` says what changed",
                counted(
                    now.total_pages.saturating_sub(before.total_pages),
                    "document"
                ),
                counted(
                    now.total_claims.saturating_sub(before.total_claims),
                    "claim"
                ),
            ));
        }
        self.report()
    }

    fn report(&self) -> Result<u8> {
        let (engine, task_id) = (self.engine, self.task_id);
        let page = page::write(engine, task_id, self.usual_page.clone(), self.page)?;
        let findings = Findings::collect(engine, task_id)?;
        let mut place = Place::new(&self.settings.db, &self.settings.corpus, page);
        place.is_example = self.is_example;
        let mut out = Output::new();
        report::print(&findings, &place, &mut |line| out.line(line))?;
        out.finish()?;
        Ok(0)
    }
}

fn counted(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
