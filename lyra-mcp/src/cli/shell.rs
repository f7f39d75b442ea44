//! `completions`, `man`: generates shell completions and manual pages.

use super::{Cli, output};
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use lyra_core::{Error, Result};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

#[derive(Args)]
pub(super) struct Man {
    /// Write a page for each command into this folder; without a folder, the first page is printed
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The command line without hidden items, which generators would include.
fn shown() -> Command {
    let whole = Cli::command();
    let commands = whole.get_subcommands().filter(|one| !one.is_hide_set());
    Command::new("lyra-mcp")
        .version(env!("CARGO_PKG_VERSION"))
        .about(whole.get_about().cloned().unwrap_or_default())
        .disable_help_subcommand(true)
        .args(whole.get_arguments().cloned())
        .subcommands(commands.cloned().collect::<Vec<_>>())
}

pub(super) fn completions(options: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut shown(), "lyra-mcp", &mut script);
    print(&script)
}

pub(super) fn man(options: &Man) -> Result<()> {
    let Some(folder) = &options.out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(shown())
            .render(&mut page)
            .map_err(|error| unwritable(Path::new("the page"), &error))?;
        return print(&page);
    };
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(shown(), folder))
        .map_err(|error| unwritable(folder, &error))?;
    crate::log::line(&format!("the pages are in {}", folder.display()));
    Ok(())
}

fn print(bytes: &[u8]) -> Result<()> {
    let mut out = output::for_export();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|error| unwritable(Path::new("standard output"), &error))
}

fn unwritable(place: &Path, error: &std::io::Error) -> Error {
    Error::invalid(format!("{} cannot be written: {error}", place.display()))
        .with_hint("check that you may write there")
}
