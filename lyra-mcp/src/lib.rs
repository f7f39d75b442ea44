//! The MCP server and command line of the Lyra evidence engine.

mod cli;
mod error;
mod log;
mod server;
mod tools;
mod wire;

pub use cli::{run, run_as};
