//! Measures the 21 views over graphs of growing size: first 50 rows of the largest task, compared
//! with the same views as plain SQL in the same file, and the cost for an import of keeping the
//! views fast.
//!
//! `cargo run --release -p lyra-core --example views_at_scale -- [SIZES] [--tasks N] [--keep FOLDER]
//! [--make] [--cut-off SECONDS]`
//!
//! SIZES are numbers of edges (10000 100000 1000000 if none is given). A graph of E edges has E/10
//! claims, E/5 fragments and E/20 pages; `generate.rs` describes how they are connected. The claims
//! are in one task, or divided among N with about 2/N in the first. `--keep` leaves the files in
//! FOLDER; with `--make` the program only generates the files.
//!
//! Measured, for each size:
//! - rows per second of `Engine::import_jsonl` into a new file with full text and without vectors
//!   (the embedder of this bench makes none), and the same into a file that does not record what
//!   must be counted; twice each, alternating, of which the better counts, and the ratio of the two
//!   in processor time;
//! - for each view: the first answer of a newly opened engine ("cold"; the file itself is in the
//!   system's cache), the median of those after it ("ms"), both through `Engine::query_view`; steps
//!   of SQLite's virtual machine to row 51 of the view's SQL on a bare connection; and "plain ms":
//!   `SELECT * FROM view WHERE task_id = … LIMIT 50` once on a bare connection, where the view is
//!   the plain SQL of tests/data/views/plain for the whole graph. The ratio is plain ms / ms. For
//!   the plain SQL, SQLite sees the LIMIT and keeps at most 50 rows while it sorts.
//!
//! Not measured: a cold system cache, other processes that write at the same time.
//!
//! Fails if a row differs from the plain SQL's, or if a view of a task takes more than 500,000
//! steps or does not answer. Times are shown but not checked. A plain view that reaches the cut-off
//! (20 s) cannot be compared; a global view may exceed the engine's own budget.

#![allow(clippy::print_stdout, reason = "a bench shows what it measured")]

mod generate;
mod measure;

use generate::{Shape, Written};
use lyra_core::ports::{Clock, Embedder, EmbedderInfo, SystemClock, TextRole};
use lyra_core::store::views::{ViewCatalog, ViewInfo, ViewParams};
use lyra_core::{Engine, EngineConfig, Error, Result, ViewRequest};
use measure::{Measured, Stepped, Timed, broken};
use rusqlite::OpenFlags;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PLAIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/views/plain");
/// Maximum number of steps for the first 50 rows of a view of a task.
const MOST_STEPS: u32 = 500_000;

/// Makes no vectors: the bench measures rows and their aggregates.
#[derive(Debug)]
struct NoVectors(EmbedderInfo);

#[async_trait::async_trait]
impl Embedder for NoVectors {
    fn info(&self) -> &EmbedderInfo {
        &self.0
    }

    async fn embed(&self, texts: &[&str], _: TextRole) -> Result<Vec<Vec<f32>>> {
        Ok(vec![vec![0.0]; texts.len()])
    }
}

struct Options {
    sizes: Vec<usize>,
    tasks: usize,
    keep: Option<PathBuf>,
    make: bool,
    cut_off: Duration,
}

fn main() -> Result<ExitCode> {
    let options = options(std::env::args().skip(1))?;
    let temporary = tempfile::tempdir().map_err(|e| Error::internal(e.to_string()))?;
    let folder = options.keep.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder).map_err(|e| Error::invalid(e.to_string()))?;
    println!("SQLite {}", rusqlite::version());
    let mut failures = Vec::new();
    for edges in &options.sizes {
        let shape = Shape {
            edges: *edges,
            tasks: options.tasks,
        };
        failures.extend(one_size(shape, folder, &options)?);
    }
    for failure in &failures {
        println!("FAIL {failure}");
    }
    Ok(match failures.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options {
        sizes: Vec::new(),
        tasks: 1,
        keep: None,
        make: false,
        cut_off: Duration::from_secs(20),
    };
    let number = |what: &str, text: Option<String>, least: usize| {
        let number = text.as_deref().and_then(|t| t.parse().ok());
        number
            .filter(|n| *n >= least)
            .ok_or_else(|| Error::invalid(format!("{what} is a number of at least {least}")))
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--tasks" => options.tasks = number("--tasks", words.next(), 1)?,
            "--cut-off" => {
                let seconds = number("--cut-off", words.next(), 1)?;
                options.cut_off = Duration::from_secs(seconds as u64);
            }
            "--make" => options.make = true,
            "--keep" => options.keep = words.next().map(PathBuf::from),
            _ => options
                .sizes
                .push(number("a size in edges", Some(word), 1_000)?),
        }
    }
    if options.sizes.is_empty() {
        options.sizes = vec![10_000, 100_000, 1_000_000];
    }
    Ok(options)
}

/// Measures one graph; returns the faults found.
fn one_size(shape: Shape, folder: &Path, options: &Options) -> Result<Vec<String>> {
    let (edges, tasks) = (shape.edges, shape.tasks);
    let lines = folder.join(format!("graph_{edges}_{tasks}.jsonl"));
    let written = generate::write(&lines, shape).map_err(|e| Error::internal(e.to_string()))?;
    println!(
        "\n{edges} edges, {tasks} tasks; {} lines, {:.0} MB; the largest task has {} claims",
        written.lines,
        written.bytes as f64 / 1e6,
        written.claims_of_largest_task
    );
    let db = folder.join(format!("graph_{edges}_{tasks}.db"));
    if options.make {
        println!("import: {}", import(&db, &lines, true)?.show(written.lines));
        return Ok(Vec::new());
    }
    imports(&db, &lines, &written)?;
    views(&db, &written.largest_task, options.cut_off, edges)
}

// ---------------------------------------------------------------- import

/// The cost of one import.
#[derive(Clone, Copy)]
struct Import {
    seconds: f64,
    /// Processor time of the process, which excludes other processes; wall time if the system does
    /// not report it.
    cpu_seconds: f64,
}

impl Import {
    fn better(self, other: Self) -> Self {
        match self.cpu_seconds < other.cpu_seconds {
            true => self,
            false => other,
        }
    }

    fn show(self, rows: usize) -> String {
        let Self {
            seconds,
            cpu_seconds,
            ..
        } = self;
        let rate = rows as f64 / seconds;
        format!("{rate:.0} rows/s in {seconds:.1} s ({cpu_seconds:.1} s of processor time)")
    }
}

fn imports(db: &Path, lines: &Path, written: &Written) -> Result<()> {
    let rows = written.lines;
    let without = db.with_extension("without.db");
    let mut with = import(db, lines, true)?;
    let mut dropped = import(&without, lines, false)?;
    dropped = dropped.better(import(&without, lines, false)?);
    with = with.better(import(db, lines, true)?);
    println!("import: {}", with.show(rows));
    println!(
        "import without counting: {}; ratio of processor time {:.2} (wanted: at most 1.5)",
        dropped.show(rows),
        with.cpu_seconds / dropped.cpu_seconds
    );
    println!(
        "database: {:.1} MB; without the contents of the aggregates {:.1} MB",
        megabytes(db)?,
        megabytes(&without)?
    );
    Ok(())
}

/// Imports into a new file.
fn import(db: &Path, lines: &Path, counts: bool) -> Result<Import> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = db.as_os_str().to_owned();
        name.push(suffix);
        if let Err(e) = std::fs::remove_file(&name)
            && e.kind() != std::io::ErrorKind::NotFound
        {
            return Err(Error::internal(format!("{}: {e}", db.display())));
        }
    }
    drop(open(db)?);
    if !counts {
        stop_counting(db)?;
    }
    let engine = open(db)?;
    let file = File::open(lines).map_err(|e| Error::internal(e.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .map_err(|e| Error::internal(e.to_string()))?;
    let (start, cpu_before) = (Instant::now(), cpu_seconds());
    runtime.block_on(engine.import_jsonl(BufReader::new(file)))?;
    let seconds = start.elapsed().as_secs_f64();
    let cpu = cpu_seconds().zip(cpu_before);
    Ok(Import {
        seconds,
        cpu_seconds: cpu.map_or(seconds, |(after, before)| after - before),
    })
}

/// Processor time of this process so far (Linux: user and system ticks of a hundredth of a second).
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name in parentheses, which may contain spaces; these are fields 14 and 15.
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

/// Removes everything from the file that records the writes that must be counted.
fn stop_counting(db: &Path) -> Result<()> {
    let connection = measure::bare_connection(db, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let names: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'stale%'")
        .and_then(|mut s| s.query_map([], |r| r.get(0))?.collect())
        .map_err(broken)?;
    for name in &names {
        connection
            .execute_batch(&format!("DROP TRIGGER \"{name}\""))
            .map_err(broken)?;
    }
    // A large import records what must be counted without triggers, so the tables are replaced by
    // ones that accept no rows.
    let never = "never INTEGER GENERATED ALWAYS AS (NULL) STORED NOT NULL ON CONFLICT IGNORE";
    connection
        .execute_batch(&format!(
            "UPDATE stat_state SET value = 9223372036854775807 WHERE key LIKE 'last_%_seq';
             DROP TABLE stale_claims; DROP TABLE stale_pages; DROP TABLE stale_task_pages;
             CREATE TABLE stale_claims (claim_seq INTEGER PRIMARY KEY, {never});
             CREATE TABLE stale_pages (page_id TEXT PRIMARY KEY, {never});
             CREATE TABLE stale_task_pages (
               task_id TEXT, page_id TEXT, {never}, PRIMARY KEY (task_id, page_id)
             )"
        ))
        .map_err(broken)
}

fn megabytes(db: &Path) -> Result<f64> {
    let connection = measure::bare_connection(db, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let bytes: i64 = connection
        .query_row(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            [],
            |row| row.get(0),
        )
        .map_err(broken)?;
    Ok(bytes as f64 / 1e6)
}

fn open(db: &Path) -> Result<Engine> {
    let mut config = EngineConfig::new(db);
    config.embedder = Some(Arc::new(NoVectors(EmbedderInfo {
        model_id: "none".to_owned(),
        dimension: 1,
        builtin: false,
        fusion_weight: 0.5,
        fusion_weight_cjk: 0.5,
        related_threshold: 1.0,
    })));
    Engine::open(config)
}

// ---------------------------------------------------------------- views

fn views(db: &Path, task_id: &str, cut_off: Duration, edges: usize) -> Result<Vec<String>> {
    println!(
        "{:<26}{:>5}{:>10}{:>10}{:>13}{:>12}{:>10}  equal",
        "view", "rows", "cold ms", "ms", "steps", "plain ms", "ratio"
    );
    let mut failures = Vec::new();
    for view in ViewCatalog::builtin()?.list() {
        let measured = measure_view(db, &view, task_id, cut_off)?;
        show(&measured, cut_off);
        let place = format!("{} at {edges} edges", measured.name);
        if measured.is_equal() == Some(false) {
            failures.push(format!("{place}: other rows than the plain SQL"));
        }
        if !measured.is_task_scoped {
            continue;
        }
        if measured.bare.steps > MOST_STEPS || !measured.bare.is_complete {
            let steps = measured.bare.steps;
            failures.push(format!("{place}: {steps} steps of {MOST_STEPS}"));
        }
        if let Err(reason) = &measured.warm {
            failures.push(format!("{place}: {reason}"));
        }
    }
    Ok(failures)
}

fn measure_view(db: &Path, view: &ViewInfo, task_id: &str, cut_off: Duration) -> Result<Measured> {
    let name = view.name.as_str();
    let year = SystemClock.year();
    let (mut request, mut params) = (ViewRequest::new(name), ViewParams::new(year));
    let task_id = view.is_task_scoped().then_some(task_id);
    if let Some(task_id) = task_id {
        request = request.for_task(task_id);
        params = params.with_task(task_id);
    }
    let engine = open(db)?;
    let (cold, warm) = measure::through_the_engine(&engine, &request);
    drop(engine);
    let mut bare = measure::bare_connection(db, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut plain = measure::plain_views(db, Path::new(PLAIN), year)?;
    Ok(Measured {
        name: name.to_owned(),
        is_task_scoped: task_id.is_some(),
        cold,
        warm,
        bare: measure::step_view(&mut bare, name, &params, cut_off)?,
        plain: measure::step_plain(&mut plain, name, task_id, cut_off)?,
    })
}

fn show(measured: &Measured, cut_off: Duration) {
    let time = |timed: &Timed<_>| match timed {
        Ok((milliseconds, _)) => format!("{milliseconds:.1}"),
        Err(_) => "stopped".to_owned(),
    };
    let stepped = |stepped: &Stepped, shown: String| match stepped.is_complete {
        true => shown,
        false => format!("> {shown}"),
    };
    let plain_ms = match measured.plain.is_complete {
        true => format!("{:.1}", measured.plain.milliseconds),
        false => format!("> {} s", cut_off.as_secs()),
    };
    let ratio = measured.warm.as_ref().map_or("-".to_owned(), |(ms, _)| {
        let ratio = format!("{:.1}", measured.plain.milliseconds / ms);
        stepped(&measured.plain, ratio)
    });
    println!(
        "{:<26}{:>5}{:>10}{:>10}{:>13}{:>12}{:>10}  {}",
        measured.name,
        measured
            .warm
            .as_ref()
            .map_or(0, |(_, reply)| reply.row_count),
        time(&measured.cold),
        time(&measured.warm),
        stepped(&measured.bare, measured.bare.steps.to_string()),
        plain_ms,
        ratio,
        match measured.is_equal() {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        }
    );
}
