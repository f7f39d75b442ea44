//! `doctor`, `views`: the configuration and the available views.

use super::config::Settings;
use super::init::{self, Places, State, System};
use super::output::Output;
use super::research::quoted;
use lyra_core::Engine;
use lyra_core::{Error, ErrorKind, Result};
use std::path::Path;
use std::process::ExitCode;

pub(super) fn run(settings: &Settings) -> Result<ExitCode> {
    let mut out = Output::new();
    heading(&mut out, settings)?;
    let (failed, is_empty) = look(&mut out, settings)?;
    out.line("")?;
    out.line(&format!("Next: {}", next(settings, &failed, is_empty)))?;
    out.finish()?;
    Ok(match failed.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// What is configured.
fn heading(out: &mut Output, settings: &Settings) -> Result<()> {
    let file = settings
        .file
        .as_ref()
        .map_or("none".to_owned(), |path| path.display().to_string());
    out.line(&format!("config file    {file}"))?;
    out.line(&format!("database       {}", settings.db.display()))?;
    for folder in &settings.corpus {
        out.line(&format!("corpus         {}", folder.display()))?;
    }
    out.line(&format!("embedder       {}", settings.embedder.choice))?;
    if let Some(judge) = &settings.judge {
        out.line(&format!("judge          {}", judge.choice))?;
    }
    if let Some(llm) = &settings.llm {
        out.line(&format!("language model {}", llm.describe()))?;
    }
    out.line("")
}

/// Reports what works; returns what does not, and whether the graph has no task.
fn look(out: &mut Output, settings: &Settings) -> Result<(Vec<String>, bool)> {
    let mut failures = Vec::new();
    // If a model cannot be opened, everything else is checked with the built-in one.
    let mut config = super::plain_config(settings);
    for (what, opened) in [
        ("embedder", super::open_embedder(settings, &mut config)),
        (
            "language model",
            super::open_language_model(settings, &mut config),
        ),
        ("stance judge", super::open_judge(settings, &mut config)),
    ] {
        if let Err(error) = opened {
            failed(out, what, &error)?;
            failures.push(what.to_owned());
        }
    }
    for folder in settings.corpus.iter().filter(|folder| !folder.exists()) {
        let error = Error::not_found(format!("there is no folder {}", folder.display()))
            .with_hint("give the path of a folder of documents with --corpus DIR");
        failed(out, "corpus", &error)?;
        failures.push("corpus".to_owned());
    }
    config.corpus.retain(|folder| folder.exists());
    // A check must not create the database, so a missing one is replaced by a temporary one.
    let is_missing = !settings.read_only && !settings.db.exists();
    let folder = is_missing.then(tempfile::tempdir).transpose();
    let folder = folder.map_err(|error| unwritable("a temporary folder", &error))?;
    if let Some(folder) = &folder {
        config.db = folder.path().join("lyra.db");
    }
    let place = match is_missing {
        true => can_be_created(settings),
        false => Ok(()),
    };
    let engine = match place.and_then(|()| Engine::open(config)) {
        Ok(engine) => engine,
        Err(error) => {
            failed(out, "database", &error)?;
            failures.push("database".to_owned());
            return Ok((failures, true));
        }
    };
    for mut check in engine.doctor() {
        if is_missing && check.name == "database" {
            let path = settings.db.display();
            check.detail =
                format!("{path} does not exist yet; research, import or the server creates it");
        }
        let mark = if check.ok { "ok  " } else { "FAIL" };
        out.line(&format!("{mark}  {}: {}", check.name, check.detail))?;
        if let Some(advice) = &check.advice {
            out.line(&format!("      {advice}"))?;
        }
        if !check.ok {
            failures.push(check.name);
        }
    }
    Ok((failures, engine.tasks()?.is_empty()))
}

/// Whether the database can be created where it is to be; the default folder is created with it.
fn can_be_created(settings: &Settings) -> Result<()> {
    let existing = |folder: &&Path| folder.as_os_str().is_empty() || folder.is_dir();
    let mut folders = settings.db.ancestors().skip(1);
    let folder = match settings.db_is_default {
        true => folders.find(existing),
        false => folders.next().filter(existing),
    };
    let Some(folder) = folder else {
        let path = settings.db.display();
        return Err(Error::new(
            ErrorKind::Storage,
            format!("the folder of {path} does not exist"),
        )
        .with_hint("create it, or give another place with --db PATH"));
    };
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    match tempfile::tempfile_in(folder) {
        Ok(_) => Ok(()),
        Err(error) => Err(unwritable(&folder.display().to_string(), &error)),
    }
}

fn unwritable(place: &str, error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::Storage,
        format!("cannot write to {place}: {error}"),
    )
    .with_hint("give another place with --db PATH")
}

/// The next step on this machine.
fn next(settings: &Settings, failed: &[String], is_empty: bool) -> String {
    // Without documents nothing needs fixing: the step below names some.
    if failed.iter().any(|name| name != "search") {
        return "mend what is marked FAIL, then run `lyra-mcp doctor` again".to_owned();
    }
    let env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let places = Places {
        system: System::here(),
        env: &env,
    };
    let clients = init::clients(&places);
    let named = |wanted| {
        let fitting = clients.iter().filter(|(_, state)| *state == wanted);
        let names: Vec<&str> = fitting.map(|(client, _)| client.name()).collect();
        names
    };
    let (configured, found) = (named(State::Configured), named(State::Found));
    let db = match settings.db_is_default {
        true => String::new(),
        false => format!(" --db {}", quoted(&settings.db.display().to_string())),
    };
    let folders = settings.corpus.iter();
    let folders = folders.map(|folder| quoted(&folder.display().to_string()));
    let corpus: String = folders
        .map(|folder| format!(" --corpus {folder}"))
        .collect();
    match (is_empty, configured.as_slice(), found.as_slice()) {
        (true, [], _) => {
            let corpus = match corpus.as_str() {
                "" => " --corpus DIR",
                given => given,
            };
            format!(
                "`lyra-mcp demo` shows an example; \
                 `lyra-mcp research \"HYPOTHESIS\"{corpus}{db}` reads your own documents"
            )
        }
        (_, [_, ..], _) => format!(
            "ask {} to research a hypothesis with lyra",
            configured.join(" or ")
        ),
        (false, [], []) => "`lyra-mcp init` lists the clients that can be configured".to_owned(),
        (false, [], [first, rest @ ..]) => {
            let others = match rest {
                [] => String::new(),
                rest => format!(" (also found: {})", rest.join(", ")),
            };
            format!(
                "`lyra-mcp init {first} --write{db}{corpus}` lets {first} use this graph{others}"
            )
        }
    }
}

fn failed(out: &mut Output, what: &str, error: &Error) -> Result<()> {
    out.line(&format!("FAIL  {what}: {}", error.message()))?;
    match error.hint() {
        Some(hint) => out.line(&format!("      {hint}")),
        None => Ok(()),
    }
}

pub(super) fn views(engine: &Engine) -> Result<()> {
    let mut out = Output::new();
    for view in engine.list_views() {
        let names = view.parameters.iter().map(|one| one.name.as_str());
        let names: Vec<&str> = names.filter(|name| *name != "task_id").collect();
        let names = names.join(", ");
        out.line(&format!("{}\t{}\t{names}", view.name, view.description))?;
    }
    out.finish()
}
