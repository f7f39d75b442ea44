//! Exact top-10 among vectors in memory, alternating with two baselines: reading the byte copy once
//! (the minimum time of a first pass), and a plain scan of dot products in single precision. One
//! thread, one process.
//!
//! `cargo bench -p lyra-core --no-default-features --bench vectors_scan [-- 100000x384]`
//!
//! Prints median milliseconds. Every answer is compared with a full scan in double precision.

#![allow(clippy::print_stdout, reason = "the figures are what this is for")]
#![allow(clippy::unwrap_used, reason = "a benchmark may stop where it stands")]

use lyra_core::store::vectors::{ExactIndex, Neighbour};
use std::hint::black_box;
use std::time::Instant;

const CASES: [(usize, usize); 2] = [(10_000, 768), (100_000, 384)];
const CLUSTERS: usize = 200;
const K: usize = 10;

fn main() {
    // `cargo test` also runs benchmarks, to check that they work.
    let measured = std::env::args().any(|a| a == "--bench");
    let only = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    println!(
        "{:<12} {:>8} {:>8} {:>7} {:>8} {:>7} {:>10} {:>7}",
        "rows", "exact", "stream", "ratio", "f32", "ratio", "survivors", "recall"
    );
    for (rows, dimension) in CASES {
        let name = format!("{rows}x{dimension}");
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        if measured {
            run(&name, rows, dimension, 101);
        } else {
            run(&name, rows / 100, dimension, 3);
        }
    }
}

fn run(name: &str, rows: usize, dimension: usize, queries: usize) {
    let mut noise = Noise(42);
    let centres: Vec<Vec<f32>> = (0..CLUSTERS).map(|_| noise.vector(dimension)).collect();
    let mut near = |cluster: usize| -> Vec<f32> {
        let centre = &centres[cluster % CLUSTERS];
        let mut vector = noise.vector(dimension);
        vector.iter_mut().zip(centre).for_each(|(v, c)| *v += c);
        unit(vector)
    };
    let mut index = ExactIndex::new(dimension);
    index.reserve(rows);
    for row in 0..rows {
        index.push(&near(row * 7919)).unwrap();
    }
    let flat: Vec<f32> = (0..rows)
        .flat_map(|row| index.row(row).unwrap())
        .copied()
        .collect();
    let queries: Vec<Vec<f32>> = (0..queries).map(near).collect();
    let (mut exact, mut stream, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let (mut survivors, mut right) = (Vec::new(), 0);
    for query in &queries {
        // The full scan has filled the cache with other data, so both sides start after a read of the copy.
        black_box(read_once(&index));
        stream.push(timed(|| read_once(&index)).1);
        let (found, time) = timed(|| index.nearest(query, K, -1.0));
        exact.push(time);
        scan_f32(&flat, dimension, query);
        plain.push(timed(|| scan_f32(&flat, dimension, query)).1);
        survivors.push(found.survivors.unwrap_or(rows) as f64);
        let expected = scan_f64(&flat, dimension, query);
        right += (0..K)
            .filter(|place| is_same(&found.neighbours[*place], expected[*place]))
            .count();
    }
    let recall = right as f64 / (K * queries.len()) as f64;
    let [exact, stream, plain, survivors] = [exact, stream, plain, survivors].map(median);
    println!(
        "{name:<12} {exact:>8.3} {stream:>8.3} {:>7.2} {plain:>8.3} {:>7.2} {survivors:>10.0} {recall:>7.4}",
        exact / stream,
        plain / exact
    );
    assert!((recall - 1.0).abs() < f64::EPSILON, "not exact");
}

/// Whether it is the same row, or one with the same score up to the last digits.
fn is_same(found: &Neighbour, (score, row): (f64, usize)) -> bool {
    found.row == row || (found.similarity - score).abs() < 1e-14
}

/// Reads every line of the byte copy and combines all of them into one number, so that no read is
/// optimised away.
fn read_once(index: &ExactIndex) -> u8 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
        #[target_feature(enable = "avx512f,avx512bw")]
        fn wide(index: &ExactIndex) -> u8 {
            // Prefetches at the same distance as the first pass.
            fold_lines(index, |line| {
                let ahead = line.as_ptr().cast::<i8>().wrapping_add(4096);
                std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(ahead);
            })
        }
        // SAFETY: both features were just detected.
        #[allow(unsafe_code, reason = "calls code for instructions that were detected")]
        return unsafe { wide(index) };
    }
    fold_lines(index, |_| {})
}

#[inline(always)]
fn fold_lines(index: &ExactIndex, prefetch: impl Fn(&[u8; 64])) -> u8 {
    let mut bits = [[0_u8; 64]; 4];
    let mut lines = index.first_pass_copy();
    while let (Some(a), Some(b), Some(c), Some(d)) =
        (lines.next(), lines.next(), lines.next(), lines.next())
    {
        for (bits, line) in bits.iter_mut().zip([a, b, c, d]) {
            prefetch(line);
            for place in 0..64 {
                bits[place] |= line[place];
            }
        }
    }
    bits.as_flattened().iter().fold(0, |all, b| all ^ b)
}

/// The top ten by a plain loop in single precision.
fn scan_f32(flat: &[f32], dimension: usize, query: &[f32]) -> Vec<(f32, usize)> {
    let mut best: Vec<(f32, usize)> = Vec::with_capacity(K + 1);
    for (row, values) in flat.chunks_exact(dimension).enumerate() {
        let score = dot_f32(values, query);
        if best.len() < K || score > best[K - 1].0 {
            let place = best.partition_point(|other| other.0 >= score);
            best.insert(place, (score, row));
            best.truncate(K);
        }
    }
    best
}

fn dot_f32(a: &[f32], b: &[f32]) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        #[target_feature(enable = "avx2,fma")]
        fn wide(a: &[f32], b: &[f32]) -> f32 {
            sum_of_products(a, b, f32::mul_add)
        }
        // SAFETY: both features were just detected.
        #[allow(unsafe_code, reason = "calls code for instructions that were detected")]
        return unsafe { wide(a, b) };
    }
    sum_of_products(a, b, |x, y, sum| x * y + sum)
}

#[inline(always)]
fn sum_of_products(a: &[f32], b: &[f32], multiply_add: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let mut sums = [0.0_f32; 64];
    let (a_chunks, a_rest) = a.as_chunks::<64>();
    let (b_chunks, b_rest) = b.as_chunks::<64>();
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..64 {
            sums[lane] = multiply_add(x[lane], y[lane], sums[lane]);
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f32>() + rest
}

/// The top ten in double precision: the expected answer.
fn scan_f64(flat: &[f32], dimension: usize, query: &[f32]) -> Vec<(f64, usize)> {
    // The index stores queries as it stores rows: of length 1, in single precision.
    let mut scored: Vec<(f64, usize)> = flat
        .chunks_exact(dimension)
        .map(|values| {
            let products = values.iter().zip(query);
            products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
        })
        .zip(0..)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.truncate(K);
    scored
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let answer = black_box(work());
    (answer, start.elapsed().as_secs_f64() * 1e3)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn unit(vector: Vec<f32>) -> Vec<f32> {
    let length = vector
        .iter()
        .map(|v| f64::from(*v).powi(2))
        .sum::<f64>()
        .sqrt();
    vector
        .iter()
        .map(|v| (f64::from(*v) / length) as f32)
        .collect()
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
