//! Reads documents and writes their text: one JSON line per file, for `benches/extraction/compare.py`.
//!
//! File names are read from standard input, one per line; the output is `{"file", "seconds",
//! "text", "warnings"}` or `{"file", "seconds", "error"}`. The time includes only the reading, not
//! disk access. With the argument `children`, child processes of this program read the files.

#![allow(
    clippy::print_stdout,
    reason = "standard output is what a program is for"
)]

use lyra_core::documents::{Documents, ParserProcess, serve_parser};
use lyra_core::ports::DocumentParser;
use serde_json::json;
use std::io::BufRead;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let parser: Box<dyn DocumentParser> = match arguments.as_slice() {
        [command, memory, seconds] if command == "child" => {
            std::process::exit(serve_parser(memory.parse()?, seconds.parse()?).into());
        }
        [command] if command == "children" => {
            Box::new(ParserProcess::new(std::env::current_exe()?, ["child"]))
        }
        _ => Box::new(Documents),
    };
    for name in std::io::stdin().lock().lines() {
        let name = name?;
        let bytes = std::fs::read(&name)?;
        let begun = Instant::now();
        let read = parser.parse(&bytes, None, &name);
        let seconds = begun.elapsed().as_secs_f64();
        let line = match read {
            Ok(document) => {
                let blocks: Vec<&str> = document.blocks.iter().map(|b| b.text.as_str()).collect();
                json!({ "file": name, "seconds": seconds, "text": blocks.join("\n\n"), "warnings": document.warnings })
            }
            Err(error) => json!({ "file": name, "seconds": seconds, "error": error.to_string() }),
        };
        println!("{line}");
    }
    Ok(())
}
