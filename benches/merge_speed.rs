//! Measures the merging of graphs: `Engine::merge` of shards into a new file, with full text,
//! counts and copies; and checks the laws of docs/merge.md on them.
//!
//! ```sh
//! cargo run --release -p lyra-core --example merge_speed -- make FOLDER --documents 20000 --shards 16
//! cargo run --release -p lyra-core --example merge_speed -- merge FOLDER
//! cargo run --release -p lyra-core --example merge_speed -- laws FOLDER
//! ```
//!
//! `make` writes shards of invented documents: a page with its text, one passage, one claim, its
//! origin, a verdict and two vectors for each; one document in twenty is in two shards. It prints
//! the rows per second of the import, with which `merge` is compared. `merge` prints rows of the
//! sources per second of wall and processor time, and the peak memory. `laws` merges in reverse
//! order and twice, and compares hashes.

#![allow(clippy::print_stdout, reason = "a bench shows what it measured")]

use lyra_core::{Engine, EngineConfig, Error, Result};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, otherwise: u64| {
        let place = words.iter().position(|word| word == name);
        let value = place.and_then(|place| words.get(place + 1)?.parse().ok());
        value.unwrap_or(otherwise)
    };
    let [command, folder, ..] = words.as_slice() else {
        return Err(Error::invalid("give make, merge or laws, and a folder"));
    };
    let folder = Path::new(folder);
    match command.as_str() {
        "make" => make(
            folder,
            number("--documents", 20_000),
            number("--shards", 16),
        ),
        "merge" => merge(folder, "all.db", false).map(drop),
        _ => laws(folder),
    }
}

fn make(folder: &Path, documents: u64, shards: u64) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|e| Error::invalid(e.to_string()))?;
    let (mut rows, mut seconds) = (0, 0.0);
    for shard in 0..shards {
        let engine = Engine::open(EngineConfig::new(folder.join(format!("shard{shard}.db"))))?;
        let model = engine.models();
        let mine = (0..documents)
            .filter(|n| n % shards == shard || (n % 20 == 0 && (n / 20 + n) % shards == shard));
        let mine: Vec<u64> = mine.collect();
        for some in mine.chunks(50_000) {
            let mut lines = String::from(
                "{\"type\":\"task\",\"id\":\"task_0\",\"hypothesis\":\"Night work shortens sleep\"}\n",
            );
            for n in some {
                document(&mut lines, *n, &model.embedder, model.dimension);
            }
            let start = Instant::now();
            rows += runtime()?
                .block_on(engine.import_jsonl(lines.as_bytes()))?
                .total_inserted;
            seconds += start.elapsed().as_secs_f64();
        }
    }
    println!(
        "import: {rows} rows in {seconds:.1} s: {:.0} rows/s",
        rows as f64 / seconds
    );
    Ok(())
}

/// A text whose order of words is unique to the document.
fn story(n: u64) -> String {
    const WORDS: [&str; 16] = [
        "nurses", "sleep", "shifts", "hours", "night", "work", "light", "rest", "study", "weeks",
        "adults", "trial", "group", "duration", "quality", "ward",
    ];
    let mut state = n.wrapping_mul(6_364_136_223_846_793_005) | 1;
    let mut text = format!("Study {n} followed {} nurses.", 20 + n % 900);
    for _ in 0..60 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let word = WORDS.get((state >> 60) as usize).copied().unwrap_or("ward");
        let _ = write!(text, " {word}{}", (state >> 40) % 97);
    }
    text
}

fn document(lines: &mut String, n: u64, model: &str, dimension: usize) {
    let text = story(n);
    let vector: Vec<String> = (0..dimension as u64)
        .map(|i| ((n * 31 + i * 7) % 17).to_string())
        .collect();
    let vector = vector.join(",");
    let relation = ["supports", "refutes", "neutral"][(n % 3) as usize];
    let at = "2026-01-01T00:00:00Z";
    let _ = write!(
        lines,
        "{{\"type\":\"page\",\"id\":\"page_{n}\",\"url\":\"https://site{}.example/{n}\",\"domain\":\"site{0}.example\",\"fetched_at\":\"{at}\"}}\n\
         {{\"type\":\"page_text\",\"page_id\":\"page_{n}\",\"text\":\"{text}\",\"fetched_at\":\"{at}\"}}\n\
         {{\"type\":\"task_page\",\"task_id\":\"task_0\",\"page_id\":\"page_{n}\",\"reason\":\"search\"}}\n\
         {{\"type\":\"fragment\",\"id\":\"frag_{n}\",\"page_id\":\"page_{n}\",\"text_content\":\"{text}\"}}\n\
         {{\"type\":\"claim\",\"id\":\"claim_{n}\",\"task_id\":\"task_0\",\"claim_text\":\"Nurses of study {n} slept less.\"}}\n\
         {{\"type\":\"edge\",\"source_type\":\"fragment\",\"source_id\":\"frag_{n}\",\"target_type\":\"claim\",\"target_id\":\"claim_{n}\",\"relation\":\"origin\"}}\n\
         {{\"type\":\"edge\",\"source_type\":\"fragment\",\"source_id\":\"frag_{n}\",\"target_type\":\"claim\",\"target_id\":\"claim_{n}\",\"relation\":\"{relation}\",\"nli_edge_confidence\":0.7,\"judge_id\":\"lyra-x\"}}\n\
         {{\"type\":\"verdict\",\"fragment_id\":\"frag_{n}\",\"claim_id\":\"claim_{n}\",\"judge_id\":\"lyra-x\",\"relation\":\"{relation}\",\"confidence\":0.7}}\n\
         {{\"type\":\"embedding\",\"target_type\":\"fragment\",\"target_id\":\"frag_{n}\",\"model_id\":\"{model}\",\"vector\":[{vector}]}}\n\
         {{\"type\":\"embedding\",\"target_type\":\"claim\",\"target_id\":\"claim_{n}\",\"model_id\":\"{model}\",\"vector\":[{vector}]}}\n",
        n % 5_000
    );
}

fn merge(folder: &Path, name: &str, backwards: bool) -> Result<String> {
    let mut shards: Vec<PathBuf> = (0..)
        .map(|n| folder.join(format!("shard{n}.db")))
        .take_while(|p| p.exists())
        .collect();
    if backwards {
        shards.reverse();
    }
    let target = folder.join(name);
    let _ = std::fs::remove_file(&target);
    let engine = Engine::open(EngineConfig::new(&target))?;
    let (start, cpu_before) = (Instant::now(), cpu_seconds());
    let report = runtime()?.block_on(engine.merge(&shards, false))?;
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
    let rows = report.inserted.values().sum::<usize>();
    println!(
        "merge of {}: {rows} rows in {seconds:.1} s: {:.0} rows/s; {cpu:.1} s of processor time: {:.0} rows/s; \
         at most {:.0} MiB held",
        shards.len(),
        rows as f64 / seconds,
        rows as f64 / cpu,
        most_memory()
    );
    engine.canonical_hash(None)
}

fn laws(folder: &Path) -> Result<()> {
    let forth = merge(folder, "all.db", false)?;
    let back = merge(folder, "back.db", true)?;
    println!("commutative and associative: {}", forth == back);
    let engine = Engine::open(EngineConfig::new(folder.join("all.db")))?;
    let again = runtime()?
        .block_on(engine.merge(&[folder.join("shard1.db"), folder.join("back.db")], false))?;
    // The log of the other merge is expected to be new.
    let same = again.inserted.keys().all(|table| table == "event_log")
        && engine.canonical_hash(None)? == forth;
    println!("idempotent: {same}");
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let built = builder.worker_threads(1).build();
    built.map_err(|e| Error::internal(e.to_string()))
}

/// Processor time of this process so far (Linux: user and system ticks of a hundredth of a second).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is a name in parentheses, which may contain spaces; these are fields 14 and 15.
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let ticks = fields
        .skip(11)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Peak memory of this process so far, in MiB (Linux).
fn most_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}
