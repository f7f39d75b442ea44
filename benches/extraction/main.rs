//! Reads documents and writes their text: one JSON line a file, for `benches/extraction/compare.py`.
//!
//! Names of files come in on standard input, one a line; `{"file", "seconds", "text", "warnings"}` or
//! `{"file", "seconds", "error"}` goes out. The time is that of the reading alone, without the disk.

#![allow(
    clippy::print_stdout,
    reason = "standard output is what a program is for"
)]

use lyra_core::backends::documents::parse;
use serde_json::json;
use std::io::BufRead;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for name in std::io::stdin().lock().lines() {
        let name = name?;
        let bytes = std::fs::read(&name)?;
        let begun = Instant::now();
        let read = parse(&bytes, None, &name);
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
