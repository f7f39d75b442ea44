//! Measures how fast 1,000 web pages are added to a graph, and how much memory that takes.
//!
//! A server on this machine's loopback addresses makes realistic pages (about 20 kB of HTML each:
//! navigation, headings, paragraphs, a table, links; every tenth is a reprint of an earlier one).
//! For each number of workers, a new graph reads all of them as `url` targets: fetched, parsed, cut,
//! embedded, searched for claims, stored. Verification is left out: all these pages are on the same
//! subject, and comparing them would be most of the work. The output shows pages per second, the
//! processor time per page (the server's share included), and the resident memory after each
//! quarter. Linux only: memory is read from /proc, and each site has a separate loopback address,
//! because one site is never read by more than two workers at once.
//!
//! `cargo run --release -p lyra-core --features http --example ingest_many -- [PAGES] [WORKERS …]`

#![allow(clippy::print_stdout, reason = "an example shows what it found")]
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement reads the clock of the machine"
)]

use lyra_core::research::pipeline::SearchOptions;
use lyra_core::store::model::Target;
use lyra_core::{Engine, EngineConfig, Error, Result, TaskConfig};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const SITES: usize = 8;

#[tokio::main]
async fn main() -> Result<()> {
    let mut numbers = std::env::args().skip(1).filter_map(|n| n.parse().ok());
    let pages: usize = numbers.next().unwrap_or(1_000);
    let mut workers: Vec<usize> = numbers.collect();
    if workers.is_empty() {
        workers = vec![1, 2, 4];
    }
    let sites = start_server().await?;
    println!("workers  pages/s  processor ms    MiB at 0, 1/4, 1/2, 3/4, all        peak  twins");
    for count in workers {
        measure(count, pages, &sites).await?;
    }
    Ok(())
}

async fn measure(workers: usize, pages: usize, sites: &[SocketAddr]) -> Result<()> {
    let folder = tempfile::tempdir().map_err(|e| Error::internal(e.to_string()))?;
    let mut config = EngineConfig::new(folder.path().join("graph.db"));
    config.allow_private_hosts = true;
    let engine = Engine::open(config)?;
    let mut budget = TaskConfig::default();
    budget.budget.max_pages = u32::try_from(pages).unwrap_or(u32::MAX);
    budget.budget.max_seconds = 86_400;
    let task = engine.create_task("Zanubrin reduces the risk of falls in older adults", budget)?;
    let mut memory = vec![resident("VmRSS")];
    let (begun, processor) = (Instant::now(), processor_seconds());
    let next = Arc::new(AtomicUsize::new(0));
    let mut running = JoinSet::new();
    for _ in 0..workers {
        let (engine, next) = (engine.clone(), Arc::clone(&next));
        let (task_id, sites) = (task.id.clone(), sites.to_vec());
        running.spawn(async move { read_pages(&engine, &task_id, &sites, &next, pages).await });
    }
    while !running.is_empty() {
        tokio::select! {
            done = running.join_next() => match done {
                Some(Ok(result)) => result?,
                Some(Err(e)) => return Err(Error::internal(e.to_string())),
                None => {}
            },
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
        }
        let read = next.load(Ordering::Relaxed).saturating_sub(workers);
        while memory.len() < 4 && read * 4 >= pages * memory.len() {
            memory.push(resident("VmRSS"));
        }
    }
    memory.push(resident("VmRSS"));
    let (seconds, processor) = (
        begun.elapsed().as_secs_f64(),
        processor_seconds() - processor,
    );
    let stored = count(&engine, "SELECT count(*) FROM task_pages")?;
    let twins = "SELECT count(*) FROM pages WHERE near_duplicate_of IS NOT NULL";
    let memory: Vec<String> = memory.iter().map(|mib| format!("{mib:5}")).collect();
    println!(
        "{workers:7} {:8.1} {:14.1}   {:<34} {:5} {:6}",
        stored as f64 / seconds,
        processor * 1000.0 / stored.max(1) as f64,
        memory.join(" "),
        resident("VmHWM"),
        count(&engine, twins).unwrap_or(0)
    );
    Ok(())
}

/// Reads the next page that no worker has taken, until there is none.
async fn read_pages(
    engine: &Engine,
    task_id: &str,
    sites: &[SocketAddr],
    next: &AtomicUsize,
    pages: usize,
) -> Result<()> {
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        if n >= pages {
            return Ok(());
        }
        let target = Target::Url {
            url: format!("http://{}/page/{n}", sites[n % sites.len()]),
            depth: 0,
            reason: None,
        };
        let options = SearchOptions::default();
        let pipeline = engine.pipeline();
        pipeline
            .run_target(task_id, &target, &options, None)
            .await?;
    }
}

fn count(engine: &Engine, sql: &str) -> Result<usize> {
    let reply = engine.query_sql(&lyra_core::store::guard::SqlRequest::new(sql))?;
    let value = reply
        .rows
        .first()
        .and_then(|row| row.values().next()?.as_u64());
    Ok(value.and_then(|n| usize::try_from(n).ok()).unwrap_or(0))
}

/// Processor time of this process in seconds, the server's share included.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|n| n.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// The field with this name in /proc for this process, in MiB.
fn resident(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

async fn start_server() -> Result<Vec<SocketAddr>> {
    let mut sites = Vec::new();
    for nth in 1..=SITES {
        let listener = TcpListener::bind(format!("127.0.0.{nth}:0")).await;
        let listener = listener.map_err(|e| Error::internal(format!("127.0.0.{nth}: {e}")))?;
        sites.extend(listener.local_addr());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
    }
    Ok(sites)
}

async fn serve(mut stream: TcpStream) {
    let mut request = Vec::new();
    loop {
        request.clear();
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => request.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8_lossy(&request);
        let path = head.split(' ').nth(1).unwrap_or_default();
        let number = path.strip_prefix("/page/").and_then(|n| n.parse().ok());
        let (status, body) = match number {
            Some(number) => ("200 OK", page(number)),
            None => ("404 Not Found", String::new()),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"
        );
        if stream.write_all(head.as_bytes()).await.is_err()
            || stream.write_all(body.as_bytes()).await.is_err()
        {
            return;
        }
    }
}

/// Pseudo-random numbers from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap_or(0)
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

const SUBJECTS: &[&str] = &[
    "Zanubrin",
    "The treatment",
    "A higher dose",
    "Regular exercise",
    "The intervention",
    "Placebo",
    "Vitamin D",
    "The programme",
    "Balance training",
    "The new formulation",
    "Long-term use",
    "Early discontinuation",
    "Combined therapy",
    "The control condition",
    "Home assessment",
];
const VERBS: &[&str] = &[
    "reduced",
    "increased",
    "did not change",
    "was associated with",
    "nearly halved",
    "worsened",
    "improved",
    "had no effect on",
    "slightly lowered",
    "doubled",
    "was linked to lower",
];
const OBJECTS: &[&str] = &[
    "the risk of falls",
    "fracture rates",
    "hospital admissions",
    "blood pressure",
    "mortality",
    "the number of injuries",
    "walking speed",
    "quality of life",
    "bone density",
    "dizziness",
    "adverse events",
    "adherence",
    "cognitive scores",
    "costs of care",
    "time to first fall",
];
const ENDS: &[&str] = &[
    "in older adults",
    "among patients with diabetes",
    "in nursing homes",
    "after two years",
    "compared with usual care",
    "in the per-protocol analysis",
    "in women over eighty",
    "during the first winter",
    "across all study centres",
    "in the smaller trials",
];

fn sentence(dice: &mut Dice) -> String {
    let (subject, verb) = (dice.pick(SUBJECTS), dice.pick(VERBS));
    let (object, end) = (dice.pick(OBJECTS), dice.pick(ENDS));
    let (first, second) = (dice.below(400) + 20, dice.below(90));
    // Real texts contain many words that hardly any other text contains.
    let syllables = [
        "ba", "den", "kor", "lim", "mos", "nu", "per", "ras", "til", "vek", "zan",
    ];
    let site: String = (0..5).map(|_| dice.pick(&syllables)).collect();
    format!(
        "{subject} {verb} {object} {end}, with {first} events at {site} and {second} elsewhere."
    )
}

/// A page; the same number gives the same page, and every tenth reprints another.
fn page(number: u64) -> String {
    let is_reprint = number % 10 == 9 && number > 9;
    let story = if is_reprint { number - 9 } else { number };
    let mut dice = Dice(story.wrapping_mul(7_919));
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><head><title>Report {number}: falls</title>\
         <meta name=\"description\" content=\"Study report {number}\"><style>body{{color:#222}}</style>\
         <script>var settings = {{\"page\": {number}}};</script></head><body><header><nav><ul>"
    );
    for link in ["Home", "News", "Studies", "About", "Contact", "Subscribe"] {
        let _ = write!(html, "<li><a href=\"/{link}\">{link}</a></li>");
    }
    let _ = write!(
        html,
        "</ul></nav></header><main><article><h1>Study report {story}</h1>"
    );
    for section in 0..6 {
        let _ = write!(html, "<h2>Section {section}</h2>");
        for _ in 0..4 {
            let sentences: Vec<String> = (0..6).map(|_| sentence(&mut dice)).collect();
            let _ = write!(html, "<p>{}</p>", sentences.join(" "));
        }
    }
    html += "<table><tr><th>Outcome</th><th>Events</th></tr>";
    for _ in 0..8 {
        let _ = write!(
            html,
            "<tr><td>{}</td><td>{}</td></tr>",
            dice.pick(OBJECTS),
            dice.below(500)
        );
    }
    html += "</table></article></main><aside>";
    for link in 0..30 {
        let _ = write!(
            html,
            "<a href=\"/page/{}\">Related report</a> ",
            (number + link) % 1_000
        );
    }
    html += "</aside><footer>All rights reserved. Contact the editors.</footer></body></html>";
    html
}
