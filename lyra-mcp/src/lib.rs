//! The MCP server and command line of the Lyra evidence engine.

#![cfg_attr(
    test,
    allow(clippy::too_many_lines, reason = "cases of a test are a table")
)]

mod access;
mod cli;
mod error;
mod log;
mod server;
mod tools;
mod wire;
mod wording;

pub use cli::{run, run_as};
#[cfg(fuzzing)]
pub use server::answers_to;
