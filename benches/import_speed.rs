//! Measures the import of a JSONL file: `Engine::import_jsonl` into a new file, with full text,
//! counts and the vectors contained in the file.
//!
//! `cargo run --release -p lyra-core --example import_speed -- FILE [--times N]`
//!
//! FILE is an export of a graph with vectors of the built-in model; without them, the time to
//! compute vectors would be included. Measured: rows per second of wall time, from the first line
//! read to the end of the commit and what it writes back; rows per second of the processor time of
//! all threads; and the peak memory. N imports (1), each into a new file in the temporary folder
//! (TMPDIR); each is shown.
//!
//! Not measured: opening the target file, a cold system cache of FILE.

#![allow(clippy::print_stdout, reason = "a bench shows what it measured")]

use lyra_core::{Engine, EngineConfig, Error, Result};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let (mut file, mut times) = (None, 1_u32);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--times" => times = words.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            _ => file = Some(PathBuf::from(word)),
        }
    }
    let file = file.ok_or_else(|| Error::invalid("give a JSONL file"))?;
    (0..times).try_for_each(|_| import(&file))
}

/// Imports into a new graph, which is deleted with its folder.
fn import(file: &Path) -> Result<()> {
    let folder = tempfile::tempdir().map_err(|e| Error::internal(e.to_string()))?;
    let engine = Engine::open(EngineConfig::new(folder.path().join("graph.db")))?;
    let reader =
        File::open(file).map_err(|e| Error::invalid(format!("{}: {e}", file.display())))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .map_err(|e| Error::internal(e.to_string()))?;
    let (start, cpu_before) = (Instant::now(), cpu_seconds());
    let report = runtime.block_on(engine.import_jsonl(BufReader::new(reader)))?;
    let seconds = start.elapsed().as_secs_f64();
    let rows = report.total_inserted;
    let per = |seconds: f64| rows as f64 / seconds;
    print!("{rows} rows in {seconds:.2} s: {:.0} rows/s", per(seconds));
    if let Some((after, before)) = cpu_seconds().zip(cpu_before) {
        let used = after - before;
        print!("; {used:.2} s of processor time: {:.0} rows/s", per(used));
    }
    if let Some(most) = most_memory() {
        print!("; at most {most:.0} MiB held");
    }
    println!();
    Ok(())
}

/// Processor time of this process so far (Linux: user and system ticks of a hundredth of a second).
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name in parentheses, which may contain spaces; these are fields 14 and 15.
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / 100.0)
}

/// Peak memory of this process so far, in MiB (Linux).
fn most_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
