//! The command line: flags, then one function per command. Standard output contains only data;
//! messages go to standard error. Exit codes: 0 done, 1 failed or violations found, 2 wrong usage
//! or configuration, 130 interrupted.

mod audit;
mod backup;
mod check;
mod config;
mod demo;
mod diff;
mod doctor;
mod embedder;
mod export;
mod feedback;
mod forget;
mod global;
mod http;
mod import;
mod init;
mod judge;
mod judging;
mod keys;
mod layout;
mod limits;
mod llm;
mod merge;
mod models;
mod output;
mod pack;
mod parser;
mod providers;
mod replay;
mod research;
mod review;
mod screen;
mod serve;
mod shell;
mod sources;
mod tasks;
mod token;
mod verify;
mod view;

use crate::log::Format;
use clap::{Parser, Subcommand, ValueEnum};
use config::Settings;
use global::Global;
use lyra_core::ports::DocumentParser;
use lyra_core::store::guard::QueryGuard;
use lyra_core::{Engine, EngineConfig};
use lyra_core::{Error, ErrorKind, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

#[derive(Parser)]
#[command(
    name = "lyra-mcp",
    version,
    about = "Lyra evidence graph: MCP server over stdio or HTTP, and command line",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP on standard input and output (the default), or over HTTP
    Serve(serve::Options),
    /// Manage the access tokens of the HTTP server
    #[command(subcommand)]
    Token(token::Command),
    /// Research an example hypothesis over the example documents and report what was found
    ///
    /// Without --db, the graph is a new file in the folder for temporary files, which the system
    /// may empty; the first line printed gives its path.
    Demo(demo::Options),
    /// Research your own hypothesis over your own documents, or continue a task
    Research(research::Options),
    /// List the tasks
    Tasks(tasks::Options),
    /// Print the tool calls of agents that were recorded while the audit was on
    Audit(audit::Options),
    /// Import a graph from a JSONL file or a folder of Parquet files; invalid input imports nothing
    Import {
        /// The file or folder; - for standard input
        file: PathBuf,
    },
    /// Repeat a recorded run without a network, in a new database
    ///
    /// With the database of an interrupted replay, the replay continues. The exit code is 1 if the
    /// result differs from that of the recorded run.
    Replay(replay::Options),
    /// Merge graphs into one, in any order and as often as you like
    Merge(merge::Options),
    /// Export the graph
    Export(export::Options),
    /// Put the evidence of a task into one signed file that others can check
    Pack(pack::Pack),
    /// Check a pack: its signature, every hash, every quote
    ///
    /// With --db, its rows are imported into that new database; with --out, its files are extracted
    /// into a folder.
    Unpack(pack::Unpack),
    /// Print a hash of the graph; graphs with the same evidence have the same hash
    Hash {
        /// Only this task and what belongs to it
        #[arg(long, value_name = "ID")]
        task: Option<String>,
    },
    /// Copy the database to a new file, as a consistent snapshot even while others write to it
    Backup {
        /// The new file
        to: PathBuf,
        /// Repeat the copy at this interval, replacing the older one, until a signal arrives: 30s,
        /// 5m, 1h
        #[arg(long, value_name = "TIME", value_parser = review::period)]
        every: Option<std::time::Duration>,
    },
    /// Correct errors of the models, using the ids that a report shows
    Feedback(feedback::Options),
    /// Record which sources of a task are included, and which are excluded and why
    Screen(screen::Options),
    /// Report what is new in a task and why, the flow of its records, its searches, and what
    /// machines did
    Review(review::Options),
    /// Research a task again at intervals, and report what is new each time
    Watch(review::WatchOptions),
    /// Judge pairs of passage and claim yourself, one per screen, the most important first
    Judge(judging::Options),
    /// Check a draft: compare every sentence with the sources that it cites
    ///
    /// With --corpus and without --db, the folder is read into a temporary graph, which is removed
    /// afterwards.
    Check(check::Options),
    /// Show which sources of the graph are for, against or silent on one statement
    Standing(check::StandingOptions),
    /// Show what changed, compared with another file or since a time
    Diff(diff::Options),
    /// Check the whole graph: every quote against its page, every reference
    Verify,
    /// Remove a task with its claims, edges and jobs
    Forget {
        /// The task
        #[arg(long, value_name = "ID")]
        task: String,
        /// Also remove pages, fragments and works that nothing else refers to
        #[arg(long)]
        orphans: bool,
    },
    /// List or add the models that produce vectors, claims and verdicts
    #[command(subcommand)]
    Models(Models),
    /// Show what is configured, what works, and what to do next
    Doctor,
    /// Add the server to the configuration of a client, or show what that would change
    ///
    /// The entry starts the server with the --db, --corpus, --config, --tools and --read-only that
    /// are given to this command.
    Init(init::Options),
    /// Print the script with which a shell completes the command line
    Completions(shell::Completions),
    /// Print the manual page, or write a page for each command
    Man(shell::Man),
    /// List the ready-made views, or print a script that creates them in another database
    Views(view::ListOptions),
    /// Print the rows of a ready-made view
    View(view::Options),
    /// Parse documents for another process of this program
    #[command(name = parser::COMMAND, hide = true)]
    ParseDocuments {
        /// Bytes of memory for a document
        memory: u64,
        /// Seconds of processor time for a document
        seconds: u64,
    },
}

impl Command {
    /// Whether the command is useless in a read-only graph.
    fn writes(&self) -> bool {
        match self {
            Self::Demo(_)
            | Self::Research(_)
            | Self::Replay(_)
            | Self::Import { .. }
            | Self::Merge(_)
            | Self::Feedback(_)
            | Self::Screen(_)
            | Self::Watch(_)
            | Self::Judge(_)
            | Self::Forget { .. } => true,
            Self::Serve(_)
            | Self::Token(_)
            | Self::Tasks(_)
            | Self::Audit(_)
            | Self::Backup { .. }
            | Self::Export(_)
            | Self::Hash { .. }
            | Self::Pack(_)
            | Self::Unpack(_)
            | Self::Check(_)
            | Self::Standing(_)
            | Self::Diff(_)
            | Self::Review(_)
            | Self::Verify
            | Self::Models(_)
            | Self::Doctor
            | Self::Init(_)
            | Self::Completions(_)
            | Self::Man(_)
            | Self::Views(_)
            | Self::View(_)
            | Self::ParseDocuments { .. } => false,
        }
    }
}

#[derive(Subcommand)]
enum Models {
    /// List the models in use, and those that were added
    List,
    /// Add a model in ONNX format, so that it can be selected as onnx:NAME
    Add(models::Add),
}

/// The words that start this program, if it is not started by its own file.
static LAUNCHER: OnceLock<Vec<String>> = OnceLock::new();

/// The exit code after Ctrl-C or SIGTERM.
const INTERRUPTED: u8 = 130;

/// Like [`run`], for a program that links the command line in. `launcher` are the words that start
/// it, such as `python -m lyra`, for the commands that users are told to type; `parser` are the
/// words that start a process that calls [`lyra_core::documents::serve_parser`].
pub fn run_as(
    launcher: Vec<String>,
    parser: Vec<OsString>,
    arguments: impl IntoIterator<Item = OsString>,
) -> u8 {
    // A process has one launcher; a second call passes the same.
    let _ = LAUNCHER.set(launcher);
    let _ = parser::PROGRAM.set(parser);
    run(arguments)
}

/// Runs the command line; `arguments` begin with the name of the program. Returns its exit code: 0
/// done, 1 failed or violations found, 2 wrong usage or configuration, 130 interrupted.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(answer) => {
            // If the reader has gone away, a failure to print does not matter.
            let _ = answer.print();
            return u8::try_from(answer.exit_code()).unwrap_or(2);
        }
    };
    if let Some(Command::ParseDocuments { memory, seconds }) = cli.command {
        // A panic is caused by a document and becomes its error. A hook that wrote would fill the pipe.
        std::panic::set_hook(Box::new(|_| {}));
        return lyra_core::documents::serve_parser(memory, seconds);
    }
    // SQLite accepts this only before the first connection of the process.
    QueryGuard::cap_memory();
    if let Err(error) = start_log(&cli) {
        // An error in the log settings is reported in the default format.
        let _ = crate::log::start(Format::Plain, "info");
        complain(&error);
        return 2;
    }
    if let Some(done) = without_settings(&cli) {
        return done.map_or_else(
            |error| {
                complain(&error);
                1
            },
            |()| 0,
        );
    }
    let settings = match config::settle(&cli.global) {
        Ok(settings) => settings,
        Err(error) => {
            complain(&error);
            return 2;
        }
    };
    for warning in &settings.providers.warnings {
        crate::log::warn(warning);
    }
    match dispatch(cli, &settings) {
        Ok(code) => code,
        Err(error) => {
            complain(&error);
            1
        }
    }
}

/// Runs commands that need no settings, and work even if the settings are invalid.
fn without_settings(cli: &Cli) -> Option<Result<()>> {
    match &cli.command {
        Some(Command::Init(options)) => Some(init::run(options, &cli.global)),
        Some(Command::Completions(options)) => Some(shell::completions(options)),
        Some(Command::Man(options)) => Some(shell::man(options)),
        _ => None,
    }
}

/// Starts the log before the configuration file is read, because its mistakes are logged.
fn start_log(cli: &Cli) -> Result<()> {
    let filter = cli.global.log.clone();
    let filter = filter
        .or_else(|| config::variable("LYRA_LOG"))
        .or_else(|| config::variable("RUST_LOG"));
    // A command reports failed jobs itself at its end.
    let (usual, usual_filter) = match cli.command {
        None | Some(Command::Serve(_)) => (Format::Text, "warn,lyra_mcp=info"),
        Some(_) => (Format::Plain, "lyra_mcp=info"),
    };
    let format = match (cli.global.log_format, config::variable("LYRA_LOG_FORMAT")) {
        (Some(format), _) => format,
        (None, Some(name)) => Format::from_str(&name, true).map_err(|_| {
            Error::invalid(format!("LYRA_LOG_FORMAT is {name:?}"))
                .with_hint("write plain, text or json")
        })?,
        (None, None) => usual,
    };
    crate::log::start(format, filter.as_deref().unwrap_or(usual_filter))
}

fn dispatch(cli: Cli, settings: &Settings) -> Result<u8> {
    let failed = |code| u8::from(code != ExitCode::SUCCESS);
    let command = cli
        .command
        .unwrap_or(Command::Serve(serve::Options::default()));
    if settings.read_only && command.writes() {
        return Err(Error::read_only());
    }
    match command {
        Command::Serve(options) => serve::run(settings, options)?,
        Command::Token(command) => token::run(settings, command)?,
        Command::Demo(options) => return demo::run(settings, &cli.global, &options),
        Command::Research(options) => return research::run(settings, &options),
        Command::Replay(options) => return replay::run(settings, &cli.global, &options),
        Command::Tasks(options) => tasks::run(&open(settings)?, &options)?,
        Command::Audit(options) => audit::run(&open(settings)?, &options)?,
        Command::Import { file } => import::run(settings, &file)?,
        Command::Merge(options) => merge::run(settings, &options)?,
        Command::Export(options) => export::run(&open(settings)?, &options)?,
        Command::Pack(options) => pack::pack(settings, options)?,
        Command::Unpack(options) => pack::unpack(&cli.global, &options)?,
        Command::Hash { task } => {
            let hash = open(settings)?.canonical_hash(task.as_deref())?;
            let mut out = output::Output::new();
            out.line(&hash)?;
            out.finish()?;
        }
        Command::Backup { to, every } => backup::run(settings, &to, every)?,
        Command::Feedback(options) => feedback::run(&open(settings)?, options)?,
        Command::Screen(options) => screen::run(&open(settings)?, options)?,
        Command::Review(options) => review::run(&open(settings)?, &options)?,
        Command::Watch(options) => return review::watch(settings, &options),
        Command::Judge(options) => judging::run(&open(settings)?, &options)?,
        Command::Check(options) => return check::run(settings, &options),
        Command::Standing(options) => check::standing(settings, &options)?,
        Command::Diff(options) => diff::run(settings, &options)?,
        Command::View(options) => view::run(&open(settings)?, &options)?,
        Command::Verify => return verify::run(&open(settings)?).map(failed),
        Command::Forget { task, orphans } => forget::run(&open(settings)?, &task, orphans)?,
        Command::Models(Models::List) => models::list(&open_or_make(settings)?, settings)?,
        Command::Models(Models::Add(add)) => return models::add(settings, &add),
        // These need no settings and have been run already.
        Command::ParseDocuments { .. }
        | Command::Init(_)
        | Command::Completions(_)
        | Command::Man(_) => {}
        Command::Doctor => return doctor::run(settings).map(failed),
        Command::Views(options) if options.is_script() => view::script(&options)?,
        Command::Views(_) => {
            make_folder(settings)?;
            let engine = Engine::open(plain_config(settings))?;
            complain_of_views(&engine);
            doctor::views(&engine)?;
        }
    }
    Ok(0)
}

/// The error for Parquet in a program that was built without it.
#[cfg(not(feature = "parquet"))]
fn without_parquet() -> Error {
    Error::invalid("this program was built without Parquet")
        .with_hint("build it with the feature `parquet`, or use the format jsonl")
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    runtime_of(2)
}

fn runtime_of(threads: usize) -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .map_err(|error| Error::internal("the runtime cannot start").with_source(error))
}

/// Opens the database with the configured embedder, creating the database if it does not exist.
fn open_or_make(settings: &Settings) -> Result<Engine> {
    make_folder(settings)?;
    Engine::open(engine_config(settings)?)
}

/// If the location of the database is the default, its folder may be missing.
fn make_folder(settings: &Settings) -> Result<()> {
    if settings.db_is_default
        && !settings.read_only
        && let Some(folder) = settings.db.parent()
    {
        make_private_folder(folder).map_err(|error| {
            Error::new(
                ErrorKind::Storage,
                format!("cannot make {}: {error}", folder.display()),
            )
            .with_hint("give another place with --db PATH")
        })?;
    }
    Ok(())
}

/// Opens a database that must already exist: an empty one would answer every query wrongly. The
/// commands that use it need no embedder, so no model is loaded and no server is queried.
fn open(settings: &Settings) -> Result<Engine> {
    if !settings.db.exists() {
        return Err(no_database(settings));
    }
    let mut config = plain_config(settings);
    // A corpus folder that no longer exists must not prevent access to what was read from it.
    config.corpus.retain(|folder| folder.exists());
    Engine::open(config)
}

fn no_database(settings: &Settings) -> Error {
    Error::not_found(format!("there is no database at {}", settings.db.display()))
        .with_hint("give its place with --db PATH or LYRA_DB")
}

/// The complete configuration: opens the models, or reports why they cannot be opened.
fn engine_config(settings: &Settings) -> Result<EngineConfig> {
    let mut config = plain_config(settings);
    open_embedder(settings, &mut config)?;
    open_language_model(settings, &mut config)?;
    open_judge(settings, &mut config)?;
    Ok(config)
}

fn open_embedder(settings: &Settings, config: &mut EngineConfig) -> Result<()> {
    let opened = runtime()?.block_on(settings.embedder.open());
    let which = &settings.embedder.choice;
    config.embedder = opened.map_err(|e| e.context(format!("the embedder {which}")))?;
    Ok(())
}

fn open_language_model(settings: &Settings, config: &mut EngineConfig) -> Result<()> {
    settings
        .llm
        .as_ref()
        .map_or(Ok(()), |llm| llm.apply(config))
}

/// Installs the configured judge; it is an error if another one is already set.
fn open_judge(settings: &Settings, config: &mut EngineConfig) -> Result<()> {
    let Some(judge) = &settings.judge else {
        return Ok(());
    };
    if config.stance_judge.is_some() {
        let message = format!("the judge is {}, and stance_judge is \"llm\"", judge.choice);
        return Err(Error::invalid(message).with_hint("leave one of the two out"));
    }
    let which = &judge.choice;
    let opened = judge.open();
    config.stance_judge = opened.map_err(|e| e.context(format!("the judge {which}")))?;
    Ok(())
}

/// The configuration with the built-in models.
fn plain_config(settings: &Settings) -> EngineConfig {
    let mut config = EngineConfig::new(&settings.db);
    config.read_only = settings.read_only;
    config.corpus.clone_from(&settings.corpus);
    config.allow_private_hosts = settings.allow_private_hosts;
    config.workers = settings.workers;
    config.limits = settings.limits;
    config.views_dir.clone_from(&settings.views_dir);
    let parser = settings.parser.open(settings.workers);
    config.parser = parser.map(|parser| parser as Arc<dyn DocumentParser>);
    let providers = &settings.providers;
    config
        .retractions_csv
        .clone_from(&providers.retractions_csv);
    config.search.clone_from(&providers.search);
    config
}

/// Warns about views that do not work and are left out.
fn complain_of_views(engine: &Engine) {
    for broken in engine.broken_views() {
        crate::log::warn(&format!("left out: {broken}"));
    }
}

/// Warns if others can read the database, as may be the case after an upgrade or a copy.
fn complain_of_exposure(engine: &Engine) {
    if let Some(exposed) = engine.exposure() {
        crate::log::warn(&exposed);
        crate::log::line("hint: chmod 600 makes a file readable only to its owner");
    }
}

/// Creates a folder that only its owner can access, and its parent folders.
fn make_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

fn complain(error: &Error) {
    crate::log::error(error.message());
    if let Some(hint) = error.hint() {
        crate::log::line(&format!("hint: {hint}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_may_stand_before_and_after_the_command() {
        for arguments in [
            ["lyra-mcp", "--db", "x.db", "verify"],
            ["lyra-mcp", "verify", "--db", "x.db"],
        ] {
            let cli = Cli::try_parse_from(arguments).expect("parses");
            assert_eq!(cli.global.db, Some(PathBuf::from("x.db")));
        }
        assert!(
            Cli::try_parse_from(["lyra-mcp"])
                .expect("parses")
                .command
                .is_none()
        );
    }
}
