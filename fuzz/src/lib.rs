//! What the fuzz targets share. Here: a small, real graph for fuzzing the SQL guard, twice: the two
//! files differ in nothing but what is private. Whatever a query answers has to be the same on both.

pub mod checks;
pub mod shapes;
pub mod shapes_pdf;

use lyra_core::store::graph::EvidenceGraph;
use lyra_core::store::guard::{QueryGuard, TempView};
use lyra_core::ports::SystemClock;
use lyra_core::store::views::ViewCatalog;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Stands in every private value, so that it can be looked for in replies.
pub const CANARY: &str = "CANARY";

/// One file with its guard, and what is needed to see that the file stays as it is.
pub struct World {
    pub guard: QueryGuard,
    folder: PathBuf,
    path: PathBuf,
    watcher: Connection,
    data_version: i64,
    content: u64,
    files: BTreeSet<String>,
}

impl World {
    /// Puts a copy of a graph into a folder of its own; `secret` goes into all private values.
    pub fn build(template: &Path, folder: &Path, secret: &str) -> Self {
        std::fs::create_dir_all(folder).expect("a folder for the graph");
        let path = folder.join("graph.db");
        std::fs::copy(template, &path).expect("a copy of the graph");
        hide(&path, secret);
        let views = ViewCatalog::builtin().expect("the views").temp_views(2026);
        let views = views
            .into_iter()
            .map(|(name, select_sql)| TempView { name, select_sql });
        let guard = QueryGuard::open(&path, views.collect()).expect("a guard");
        let watcher =
            Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("a reader");
        let mut world = Self {
            guard,
            folder: folder.to_owned(),
            path,
            watcher,
            data_version: 0,
            content: 0,
            files: BTreeSet::new(),
        };
        world.data_version = world.read_data_version();
        world.content = world.read_content();
        world.files = list(&world.folder);
        world
    }

    /// Panics if another connection has written, or a file has appeared or gone.
    pub fn check(&self) {
        assert_eq!(
            self.read_data_version(),
            self.data_version,
            "the file was written to"
        );
        assert_eq!(list(&self.folder), self.files, "a file appeared or went");
    }

    /// Panics if a single byte of the file or its log has changed.
    pub fn check_content(&self) {
        assert_eq!(
            self.read_content(),
            self.content,
            "the file's bytes changed"
        );
    }

    fn read_data_version(&self) -> i64 {
        self.watcher
            .query_row("PRAGMA data_version", [], |row| row.get(0))
            .expect("a data version")
    }

    /// FNV-1a over the file and its write-ahead log.
    fn read_content(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for suffix in ["", "-wal"] {
            let mut name = self.path.clone().into_os_string();
            name.push(suffix);
            for byte in std::fs::read(name).unwrap_or_default() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        hash
    }
}

fn list(folder: &Path) -> BTreeSet<String> {
    std::fs::read_dir(folder)
        .expect("the folder")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect()
}

fn record<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a record")
}

/// Three tasks, 30 pages, 90 fragments, 45 claims, 120 edges, in one file.
pub fn template(path: &Path) {
    QueryGuard::cap_memory();
    let graph = EvidenceGraph::open(path, Arc::new(SystemClock)).expect("a graph");
    graph
        .write(|writer| {
            for i in 0..3 {
                writer.add_task(&record(json!({"id": format!("task_{i}"), "hypothesis": format!("Drug {i} lowers HbA1c"), "config_json": "{\"n\":1}", "created_at": "2026-01-01T00:00:00Z"})))?;
            }
            for i in 0..30 {
                let id = format!("page_{i}");
                writer.add_work(&record(json!({"canonical_id": format!("doi:10.1000/{i}"), "title": format!("Study {i}"), "year": 1990 + i, "venue": "BMJ", "citation_count": i * 7})))?;
                writer.put_page(&record(json!({"id": id, "url": format!("https://h{}.example.org/{i}", i % 5), "domain": format!("h{}.example.org", i % 5), "title": format!("page {i}"), "page_type": "html", "canonical_id": format!("doi:10.1000/{i}"), "language": "en", "fetched_at": "2026-01-01T00:00:00Z"})))?;
                let text = format!("In trial {i} insulin and glucose changed with a weekly dose; 血糖値 研究 café");
                let version = writer.add_page_text(&id, &text)?;
                for (k, (start, end)) in [(0, 20), (10, 40), (40, 60)].into_iter().enumerate() {
                    let piece: String = text.chars().skip(start).take(end - start).collect();
                    writer.add_fragment(&record(json!({"id": format!("frag_{}", i * 3 + k), "page_id": id, "page_version": version, "position": k, "text_content": piece, "heading_context": "Methods", "char_start": start, "char_end": end})), &text)?;
                }
                writer.add_task_page(&record(json!({"task_id": format!("task_{}", i % 3), "page_id": id, "reason": "search"})))?;
            }
            for i in 0..45 {
                writer.add_claim(&record(json!({"id": format!("claim_{i}"), "task_id": format!("task_{}", i % 3), "claim_text": format!("The drug lowers HbA1c by {i} percent"), "llm_claim_confidence": 0.5, "created_at": "2026-01-01T00:00:00Z"})))?;
            }
            for i in 0..90 {
                let relation = ["supports", "refutes", "neutral"][i % 3];
                writer.add_edge(&record(json!({"id": format!("edge_{i}"), "source_type": "fragment", "source_id": format!("frag_{i}"), "target_type": "claim", "target_id": format!("claim_{}", i % 45), "relation": relation, "nli_edge_confidence": 0.25, "created_at": "2026-01-01T00:00:00Z"})))?;
            }
            for i in 0..30 {
                writer.add_edge(&record(json!({"id": format!("cite_{i}"), "source_type": "page", "source_id": format!("page_{i}"), "target_type": "page", "target_id": format!("page_{}", (i + 1) % 30), "relation": "cites", "created_at": "2026-01-01T00:00:00Z"})))?;
            }
            Ok(())
        })
        .expect("the rows");
    drop(graph);
    let file = Connection::open(path).expect("the file");
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .expect("one file");
}

/// Puts the secret into private columns, and adds tables that another program might have put
/// into the file.
fn hide(path: &Path, secret: &str) {
    let file = Connection::open(path).expect("the file");
    let number: u32 = secret.bytes().map(u32::from).sum();
    file.execute_batch(&format!(
        "INSERT INTO auth_queue (id, task_id, url, domain, auth_type, queued_at, session_data) VALUES
           ('iq_1', 'task_0', 'https://x.example', 'x.example', 'login', '2026-01-01T00:00:00Z', '{secret}'),
           ('iq_2', 'task_1', 'https://y.example', 'y.example', 'captcha', '2026-01-01T00:00:00Z', '{secret}2');
         DELETE FROM sqlite_sequence;
         DROP TRIGGER event_log_is_append_only_u;
         DROP TRIGGER event_log_is_append_only_d;
         DELETE FROM event_log;
         INSERT INTO event_log (id, at, actor, action, details_json) VALUES
           (1, '2026-01-01T00:00:00Z', 'user', 'create_task', '{{\"secret\":\"{secret}\"}}');
         CREATE TABLE app_secrets (id INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT DEFAULT '{secret}');
         INSERT INTO app_secrets VALUES ({number}, '{secret}');
         CREATE INDEX app_secrets_by_value ON app_secrets (value);
         CREATE VIEW app_view AS SELECT value, '{secret}' AS label FROM app_secrets;
         PRAGMA wal_checkpoint(TRUNCATE);"
    ))
    .expect("the secrets");
}
