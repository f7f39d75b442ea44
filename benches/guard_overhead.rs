//! Measures the cost of the guard: the same statements through [`QueryGuard`] and through a bare
//! connection that produces the same JSON rows, alternating, in one process.
//!
//! `cargo bench -p lyra-core --no-default-features --bench guard_overhead`
//!
//! Prints microseconds per query: the median of wall-clock time, and the mean of the CPU time of
//! all threads (Linux only). The bare connection prepares each statement anew, as the guard has to
//! do for a statement that it has not seen before.

#![allow(clippy::print_stdout, reason = "the figures are what this is for")]
#![allow(clippy::unwrap_used, reason = "a benchmark may stop where it stands")]

use lyra_core::ports::SystemClock;
use lyra_core::store::graph::EvidenceGraph;
use lyra_core::store::guard::{QueryGuard, SqlOptions, SqlRequest, TempView};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Number, Value};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One statement: its name, the number of runs per turn, and the SQL.
const CASES: [(&str, usize, &str); 5] = [
    (
        "point query",
        2_000,
        "SELECT id, claim_text, llm_claim_confidence FROM claims WHERE id = 'claim_77'",
    ),
    (
        "join, 50 rows",
        100,
        "SELECT c.id, c.claim_text, e.relation, e.nli_edge_confidence, f.text_content, p.title
         FROM claims c JOIN edges e ON e.target_type = 'claim' AND e.target_id = c.id
         JOIN fragments f ON e.source_type = 'fragment' AND f.id = e.source_id
         JOIN pages p ON p.id = f.page_id
         WHERE c.task_id = 'task_1' AND e.relation = 'supports' LIMIT 50",
    ),
    (
        "aggregate, 1M steps",
        3,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 55000)
         SELECT sum(i), avg(i), count(*) FROM n",
    ),
    (
        "view, 50 rows",
        20,
        "SELECT * FROM v_summary WHERE task_id = 'task_1' ORDER BY evidence_count DESC LIMIT 50",
    ),
    (
        "full text, 20 rows",
        20,
        "SELECT f.id, bm25(fragments_fts) AS r FROM fragments_fts
         JOIN fragments f ON f.seq = fragments_fts.rowid
         WHERE fragments_fts MATCH 'insulin AND trial' ORDER BY r LIMIT 20",
    ),
];

const VIEW: &str = "SELECT c.id AS claim_id, c.task_id, count(e.id) AS evidence_count,
     avg(e.nli_edge_confidence) AS strength FROM claims c
     LEFT JOIN edges e ON e.target_type = 'claim' AND e.target_id = c.id GROUP BY c.id";

/// Four tasks, 300 pages, 3,000 fragments, 600 claims, 6,000 edges.
const ROWS: &str = "
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3)
INSERT INTO tasks (id, hypothesis, created_at) SELECT 'task_' || i, 'hypothesis', '2026-01-01T00:00:00Z' FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
INSERT INTO pages (id, url, domain, title) SELECT 'page_' || i, 'https://example.org/' || i, 'example.org',
  'Page ' || i || ' of the trials' FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)
INSERT INTO fragments (seq, id, page_id, position, text_content, text_hash, created_at)
  SELECT i + 1, 'frag_' || i, 'page_' || (i % 300), i / 300, 'In trial ' || i || ' insulin and glucose in the '
    || 'kidney changed with a weekly dose of liraglutide, as they had done in an earlier study of cardiology '
    || 'patients whose weight was followed up over two years.', 'h', '2026-01-01T00:00:00Z' FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 599)
INSERT INTO claims (seq, id, task_id, claim_text, llm_claim_confidence, created_at)
  SELECT i + 1, 'claim_' || i, 'task_' || (i % 4), 'Claim ' || i || ' says that HbA1c drops with weight',
    i % 10 / 10.0, '2026-01-01T00:00:00Z' FROM n;
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5999)
INSERT INTO edges (id, source_type, source_id, target_type, target_id, relation, nli_edge_confidence, created_at)
  SELECT 'edge_' || i, 'fragment', 'frag_' || (i / 2), 'claim', 'claim_' || ((i * 7 + i / 600) % 600),
    CASE i % 3 WHEN 0 THEN 'supports' WHEN 1 THEN 'refutes' ELSE 'neutral' END, i % 100 / 100.0,
    '2026-01-01T00:00:00Z' FROM n;
-- A tokenizer that a bare connection has; both sides read the file with it.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'tokenize = ''lyra''', 'tokenize = ''unicode61''')
  WHERE name IN ('fragments_fts', 'claims_fts');
PRAGMA writable_schema = RESET;
INSERT INTO fragments_fts (rowid, text_content) SELECT seq, text_content FROM fragments;
ANALYZE;
";

fn main() {
    // `cargo test` also runs benchmarks, to check that they work.
    let turns = if std::env::args().any(|a| a == "--bench") {
        61
    } else {
        1
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    QueryGuard::cap_memory();
    build(&path);
    let bare = open_bare(&path);
    let view = TempView {
        name: "v_summary".into(),
        select_sql: VIEW.into(),
    };
    let guard = QueryGuard::open(&path, vec![view]).unwrap();
    println!(
        "{:<20} {:>9} {:>9} {:>6}   {:>9} {:>9} {:>6}",
        "µs a query", "bare", "guard", "ratio", "bare CPU", "guard CPU", "ratio"
    );
    let only = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    for (name, runs, sql) in CASES {
        if only
            .as_ref()
            .is_some_and(|only| !name.contains(only.as_str()))
        {
            continue;
        }
        let request = SqlRequest {
            sql: sql.into(),
            options: SqlOptions {
                timeout_ms: 2_000,
                ..SqlOptions::default()
            },
            ..SqlRequest::default()
        };
        assert_eq!(ask_bare(&bare, sql), guard.query(&request).unwrap().rows);
        let mut of_bare = Times::default();
        let mut of_guard = Times::default();
        for _ in 0..turns {
            of_bare.turn(runs, || drop(black_box(ask_bare(&bare, sql))));
            of_guard.turn(runs, || drop(black_box(guard.query(&request).unwrap())));
        }
        let (b, g) = (of_bare.summary(), of_guard.summary());
        println!(
            "{name:<20} {:>9.1} {:>9.1} {:>6.3}   {:>9.1} {:>9.1} {:>6.3}",
            b.0,
            g.0,
            g.0 / b.0,
            b.1,
            g.1,
            g.1 / b.1
        );
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "a bare connection to compare with"
)]
fn build(path: &Path) {
    drop(EvidenceGraph::open(path, Arc::new(SystemClock)).unwrap());
    Connection::open(path).unwrap().execute_batch(ROWS).unwrap();
}

#[allow(
    clippy::disallowed_methods,
    reason = "a bare connection to compare with"
)]
fn open_bare(path: &Path) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).unwrap();
    connection
        .execute_batch(&format!("CREATE TEMP VIEW v_summary AS {VIEW}"))
        .unwrap();
    connection
}

fn ask_bare(connection: &Connection, sql: &str) -> Vec<Map<String, Value>> {
    let mut statement = connection.prepare(sql).unwrap();
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.raw_query();
    let mut answer = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let object = names
            .iter()
            .enumerate()
            .map(|(index, name)| (name.clone(), to_json(row.get_ref(index).unwrap())));
        answer.push(object.collect());
    }
    answer
}

fn to_json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(integer) => integer.into(),
        ValueRef::Real(real) => Number::from_f64(real).map_or(Value::Null, Value::Number),
        ValueRef::Text(text) => std::str::from_utf8(text).unwrap().into(),
        ValueRef::Blob(blob) => blob.iter().map(|b| format!("{b:02x}")).collect(),
    }
}

/// The measurements of one side.
#[derive(Default)]
struct Times {
    wall: Vec<Duration>,
    cpu: Duration,
}

impl Times {
    fn turn(&mut self, runs: usize, mut run: impl FnMut()) {
        let before = cpu_time();
        for _ in 0..runs {
            let start = Instant::now();
            run();
            self.wall.push(start.elapsed());
        }
        self.cpu += cpu_time().saturating_sub(before);
    }

    /// Wall-clock time of the median run and mean CPU time of the runs, in microseconds. CPU time
    /// is known in scheduler ticks only, so that a single run cannot be measured.
    fn summary(mut self) -> (f64, f64) {
        self.wall.sort_unstable();
        let middle = self.wall[self.wall.len() / 2];
        (
            middle.as_secs_f64() * 1e6,
            self.cpu.as_secs_f64() * 1e6 / self.wall.len() as f64,
        )
    }
}

/// CPU time of all threads of this process; zero if the system does not report it.
fn cpu_time() -> Duration {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return Duration::ZERO;
    };
    let nanos = threads.filter_map(|thread| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}
