//! `init`: adds the server to a client's configuration, or shows what that would change.

mod clients;
mod entry;
mod file;

pub(super) use clients::{Client, Places, System};

use super::Global;
use super::output::Output;
use super::research::started_by;
use clap::Args;
use entry::Server;
use lyra_core::{Error, Result};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct Options {
    /// The client; without it, the clients of this machine are listed
    #[arg(value_enum, value_name = "CLIENT")]
    client: Option<Client>,
    /// Change the configuration of the project in this folder instead of the user's
    #[arg(long, value_name = "DIR", requires = "client")]
    project: Option<PathBuf>,
    /// Write the file, and keep a copy of it as FILE.bak; without this flag, the change is only
    /// shown
    #[arg(long, requires = "client")]
    write: bool,
}

pub(super) fn run(options: &Options, flags: &Global) -> Result<()> {
    let env = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let places = Places {
        system: System::here(),
        env: &env,
    };
    let Some(client) = options.client else {
        return list(&places);
    };
    let file = match &options.project {
        None => places.of_user(client)?,
        Some(project) => Places::of_project(client, &whole(project)?)?,
    };
    let server = server(flags)?;
    let before = file::read(&file)?;
    let text = before.as_deref().unwrap_or_default();
    let mut out = Output::new();
    out.line(&file.display().to_string())?;
    let Some(after) = entry::added(&file, client.format(), text, &server)? else {
        out.finish()?;
        crate::log::line("the file has this entry already");
        return Ok(());
    };
    for line in file::difference(text, &after) {
        out.line(&line)?;
    }
    out.finish()?;
    if !options.write {
        crate::log::line("nothing was written; repeat the command with --write to write it");
        return Ok(());
    }
    match file::write(&file, before.as_deref(), &after)? {
        None => crate::log::line("written; restart the client"),
        Some(copy) => crate::log::line(&format!(
            "written; what was there is in {}; restart the client",
            copy.display()
        )),
    }
    Ok(())
}

/// The state of a client on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Its configuration contains the server.
    Configured,
    /// It is installed.
    Found,
    Missing,
}

/// Every client and its state. An unreadable file counts as not configured.
pub(super) fn clients(places: &Places<'_>) -> Vec<(Client, State)> {
    let state = |client: Client| {
        let file = places.of_user(client).ok();
        let text = file.and_then(|file| std::fs::read_to_string(file).ok());
        match text.is_some_and(|text| entry::is_in(client.format(), &text)) {
            true => State::Configured,
            false if places.has(client) => State::Found,
            false => State::Missing,
        }
    };
    Client::ALL.map(|client| (client, state(client))).to_vec()
}

fn list(places: &Places<'_>) -> Result<()> {
    let mut out = Output::new();
    for (client, state) in clients(places) {
        let words = match state {
            State::Configured => "configured",
            State::Found => "found",
            State::Missing => "not found",
        };
        let file = places.of_user(client)?;
        out.line(&format!("{}\t{words}\t{}", client.name(), file.display()))?;
    }
    out.finish()?;
    crate::log::line("`lyra-mcp init CLIENT` shows what would be written; add --write to write it");
    Ok(())
}

/// How a client starts the server: with the flags of this command. The client has another working
/// folder, so paths are absolute.
fn server(flags: &Global) -> Result<Server> {
    let mut words = started_by().into_iter();
    let command = words.next().unwrap_or_else(|| "lyra-mcp".to_owned());
    let mut arguments: Vec<String> = words.collect();
    let mut add = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
    if let Some(db) = &flags.db {
        let db = whole(db)?;
        if let Some(folder) = db.parent().filter(|folder| !folder.is_dir()) {
            return Err(
                Error::invalid(format!("there is no folder {}", folder.display()))
                    .with_hint("make it, or give --db another place"),
            );
        }
        add("--db", db.display().to_string());
    }
    for folder in &flags.corpus {
        let folder = whole(folder)?;
        if !folder.is_dir() {
            return Err(
                Error::invalid(format!("there is no folder {}", folder.display()))
                    .with_hint("--corpus names a folder of documents"),
            );
        }
        add("--corpus", folder.display().to_string());
    }
    if let Some(config) = &flags.config {
        add("--config", whole(config)?.display().to_string());
    }
    if let Some(set) = flags.tools {
        add("--tools", set.name().to_owned());
    }
    if flags.read_only {
        arguments.push("--read-only".to_owned());
    }
    Ok(Server { command, arguments })
}

fn whole(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path)
        .map_err(|error| Error::invalid(format!("the path {path:?} cannot be used: {error}")))
}
