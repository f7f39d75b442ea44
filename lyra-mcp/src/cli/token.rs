//! `token`: manages access to the HTTP server.

use super::config::Settings;
use super::output::Output;
use crate::access::{self, Access, Scope};
use clap::{Args, Subcommand};
use lyra_core::{Error, Result};
use std::path::PathBuf;

#[derive(Subcommand)]
pub(super) enum Command {
    /// Create a token and print it once; the file stores its hash
    Add {
        /// The holder of the token; the log of the graph uses this name
        name: String,
        /// What the token allows
        #[arg(long, value_enum)]
        scope: Scope,
        /// A task to which the token is limited; may be given several times
        #[arg(long, value_name = "ID")]
        task: Vec<String>,
        #[command(flatten)]
        file: File,
    },
    /// List the tokens: name, scope, tasks
    List {
        #[command(flatten)]
        file: File,
    },
    /// Remove a token; a running server refuses it within a second or two
    Remove {
        /// The name of the token
        name: String,
        #[command(flatten)]
        file: File,
    },
}

#[derive(Args)]
pub(super) struct File {
    /// The token file [env: LYRA_HTTP_TOKENS]
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
}

impl File {
    fn path(self, settings: &Settings) -> Result<PathBuf> {
        let path = self.tokens.or_else(|| settings.http.tokens.clone());
        path.ok_or_else(|| {
            Error::invalid("no token file is named")
                .with_hint("name it with --tokens FILE, LYRA_HTTP_TOKENS or http_tokens")
        })
    }
}

pub(super) fn run(settings: &Settings, command: Command) -> Result<()> {
    let mut out = Output::new();
    match command {
        Command::Add {
            name,
            scope,
            task,
            file,
        } => {
            let path = file.path(settings)?;
            let access = Access::new(&name, scope, task)?;
            let token = access::add(&path, &access)?;
            out.line(&token)?;
            crate::log::line(&format!(
                "this is the only time that the token is shown; {} keeps its hash",
                path.display()
            ));
        }
        Command::List { file } => {
            for token in access::list(&file.path(settings)?)? {
                out.line(&token.access.to_string())?;
            }
        }
        Command::Remove { name, file } => {
            let path = file.path(settings)?;
            access::remove(&path, &name)?;
            crate::log::line(&format!("removed {name} from {}", path.display()));
        }
    }
    out.finish()
}
