//! The program: everything is in the library, which the Python package links in, too.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(lyra_mcp::run(std::env::args_os()))
}
