//! Lyra's side of `compare.py`: reads vectors from a file and questions from standard input, writes
//! times and answers to standard output, one line of JSON each.
//!
//! `vectors_peers FILE ROWS DIMENSION QUERIES` reads ROWS + QUERIES vectors of little-endian f32
//! from FILE; the last QUERIES of them are the queries. Lines of standard input:
//!
//! | line | answer |
//! |---|---|
//! | `one I` | `{"ms", "rows"}`: the ten nearest to query I |
//! | `scope I STEP` | the same among every STEP-th row |
//! | `insert I` | the same after a new row has been added |
//! | `stream` | `{"ms"}`: reading the byte copy once |

#![allow(clippy::print_stdout, reason = "another program reads it")]
#![allow(clippy::unwrap_used, reason = "a benchmark may stop where it stands")]

use lyra_core::store::vectors::{ExactIndex, Found, RowSet};
use std::hint::black_box;
use std::io::BufRead;
use std::time::Instant;

const K: usize = 10;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, sizes @ ..] = arguments.as_slice() else {
        panic!("expected FILE ROWS DIMENSION QUERIES");
    };
    let sizes: Vec<usize> = sizes.iter().map(|s| s.parse().unwrap()).collect();
    let [rows, dimension, queries] = sizes[..] else {
        panic!("expected FILE ROWS DIMENSION QUERIES");
    };
    let bytes = std::fs::read(file).unwrap();
    let (values, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty() && values.len() == (rows + queries) * dimension);
    let vectors: Vec<f32> = values.iter().map(|v| f32::from_le_bytes(*v)).collect();
    drop(bytes);
    let mut vectors = vectors.chunks_exact(dimension);
    let start = Instant::now();
    let mut index = ExactIndex::new(dimension);
    index.reserve(rows + rows / 8);
    for vector in vectors.by_ref().take(rows) {
        index.push(vector).unwrap();
    }
    println!("{{\"ms\":{}}}", milliseconds(start));
    let queries: Vec<&[f32]> = vectors.collect();
    let mut scope = (0, RowSet::default());
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let number = |place: usize| words[place].parse::<usize>().unwrap();
        match words[0] {
            "one" => answer(|| index.nearest(queries[number(1)], K, -1.0)),
            "scope" => {
                if scope.0 != number(2) {
                    scope = (number(2), (0..rows).step_by(number(2)).collect());
                }
                answer(|| index.nearest_among(&scope.1, queries[number(1)], K, -1.0));
            }
            "insert" => answer(|| {
                let next = (number(1) + 1) % queries.len();
                index.push(queries[next]).unwrap();
                index.nearest(queries[number(1)], K, -1.0)
            }),
            _ => {
                let start = Instant::now();
                black_box(read_once(&index));
                println!("{{\"ms\":{}}}", milliseconds(start));
            }
        }
    }
}

fn answer(search: impl FnOnce() -> Found) {
    let start = Instant::now();
    let found = black_box(search());
    let time = milliseconds(start);
    let rows: Vec<usize> = found.neighbours.iter().map(|n| n.row).collect();
    println!("{{\"ms\":{time},\"rows\":{rows:?}}}");
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// Loads every line of the byte copy into a register.
fn read_once(index: &ExactIndex) -> u64 {
    let mut bits = [0_u64; 8];
    for line in index.first_pass_copy() {
        for (sum, eight) in bits.iter_mut().zip(line.as_chunks::<8>().0) {
            *sum ^= u64::from_le_bytes(*eight);
        }
    }
    bits.iter().fold(0, |all, b| all ^ b)
}
