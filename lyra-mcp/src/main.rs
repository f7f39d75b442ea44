//! The program: everything is in the library, which the Python package also links in.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(lyra_mcp::run(std::env::args_os()))
}
