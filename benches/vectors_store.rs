//! Measures a semantic search among the claims of a graph, from the request to ten previews: the
//! first one of a process, the following ones, one within a task, and the first after a commit.
//!
//! `cargo bench -p lyra-core --no-default-features --bench vectors_store [-- 100000x384]`
//!
//! Prints median milliseconds. One claim in a hundred belongs to the task; a commit stores one
//! vector.

#![allow(clippy::print_stdout, reason = "the figures are what this is for")]
#![allow(clippy::unwrap_used, reason = "a benchmark may stop where it stands")]

use lyra_core::ports::{EmbedderInfo, SystemClock};
use lyra_core::store::graph::{EvidenceGraph, encode_vector};
use lyra_core::store::model::EmbeddingTarget;
use lyra_core::store::vectors::{SearchMode, VectorRequest, VectorStore};
use rusqlite::{Connection, params};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

const CASES: [(usize, usize); 2] = [(10_000, 768), (100_000, 384)];

fn main() {
    // `cargo test` also runs benchmarks, to check that they work.
    let measured = std::env::args().any(|a| a == "--bench");
    let only = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    println!(
        "{:<12} {:>9} {:>9} {:>9} {:>13}",
        "claims", "first", "warm", "in task", "after commit"
    );
    for (claims, dimension) in CASES {
        let name = format!("{claims}x{dimension}");
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        if measured {
            run(&name, claims, dimension, 51);
        } else {
            run(&name, claims / 100, dimension, 2);
        }
    }
}

fn run(name: &str, claims: usize, dimension: usize, turns: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.db");
    let graph = EvidenceGraph::open(&path, Arc::new(SystemClock)).unwrap();
    let mut noise = Noise(42);
    build(&path, claims, dimension, &mut noise);
    let model = EmbedderInfo {
        model_id: "m".into(),
        dimension,
        builtin: true,
        fusion_weight: 0.7,
        fusion_weight_cjk: 0.7,
        related_threshold: 0.3,
    };
    let all = request(None);
    let in_task = request(Some("task_1"));
    let mut search = |store: &VectorStore, request: &VectorRequest| {
        let query = noise.vector(dimension);
        let start = Instant::now();
        let reply = graph.read(|r| store.search(r, &model, &query, request));
        let time = start.elapsed().as_secs_f64() * 1e3;
        assert!(!black_box(reply.unwrap()).results.is_empty());
        time
    };
    let first = (0..3).map(|_| search(&VectorStore::new(), &all)).collect();
    let store = VectorStore::new();
    search(&store, &all);
    search(&store, &in_task);
    let (mut warm, mut task, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..turns {
        warm.push(search(&store, &all));
        task.push(search(&store, &in_task));
        let vector = Noise(turn as u64 + 7).vector(dimension);
        let id = format!("claim_{turn}");
        graph
            .write(|w| w.put_embedding(EmbeddingTarget::Claim, &id, "m", &vector))
            .unwrap();
        after.push(search(&store, &all));
        search(&store, &in_task);
    }
    let [first, warm, task, after] = [first, warm, task, after].map(median);
    println!("{name:<12} {first:>9.2} {warm:>9.3} {task:>9.3} {after:>13.2}");
}

fn request(task_id: Option<&str>) -> VectorRequest {
    VectorRequest {
        task_id: task_id.map(str::to_owned),
        min_similarity: Some(0.0),
        mode: SearchMode::Semantic,
        ..VectorRequest::new("anything")
    }
}

#[allow(clippy::disallowed_methods, reason = "rows put in without a pipeline")]
fn build(path: &Path, claims: usize, dimension: usize, noise: &mut Noise) {
    let mut connection = Connection::open(path).unwrap();
    let transaction = connection.transaction().unwrap();
    for task in 0..100 {
        let task = format!("task_{task}");
        let sql = "INSERT INTO tasks (id, hypothesis, created_at) VALUES (?1, 'h', '')";
        transaction.execute(sql, [task]).unwrap();
    }
    for claim in 0..claims {
        let id = format!("claim_{claim}");
        let text = format!("Claim {claim} says that a weekly dose of insulin lowers HbA1c");
        let task = format!("task_{}", claim * 7919 % 100);
        transaction
            .prepare_cached(
                "INSERT INTO claims (id, task_id, claim_text, created_at) VALUES (?1, ?2, ?3, '')",
            )
            .unwrap()
            .execute(params![id, task, text])
            .unwrap();
        let blob = encode_vector(&noise.vector(dimension));
        transaction
            .prepare_cached(
                "INSERT INTO embeddings (id, target_type, target_id, model_id, embedding_blob,
                   dimension, created_at) VALUES ('e' || ?1, 'claim', ?1, 'm', ?2, ?3, '')",
            )
            .unwrap()
            .execute(params![id, blob, dimension])
            .unwrap();
    }
    transaction.commit().unwrap();
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A deterministic pseudo-random number generator.
struct Noise(u64);

impl Noise {
    /// A vector of approximately normal deviates: sums of four uniform ones.
    fn vector(&mut self, dimension: usize) -> Vec<f32> {
        (0..dimension)
            .map(|_| (0..4).map(|_| self.next()).sum())
            .collect()
    }

    fn next(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
    }
}
