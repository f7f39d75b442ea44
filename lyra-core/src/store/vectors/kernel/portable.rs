//! The loops in portable Rust, used on every processor and as the reference for the others.

use super::super::block::{BLOCK_ROWS, CHUNK_GROUPS, CacheLine, GROUP, Lanes};
use super::first_pass::FirstPass;
use crate::store::vectors::codes::ByteQuery;

/// Number of partial sums of a dot product; their order is part of the definition of a score.
const SUMS: usize = 16;

/// The dot product in double precision. The products of two floats are exact, and the sums run in a
/// fixed order, so code compiled for wider registers gives the same bits.
#[inline(always)]
pub(super) fn dot(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0_f64; SUMS];
    let (a_chunks, a_rest) = a.as_chunks::<SUMS>();
    let (b_chunks, b_rest) = b.as_chunks::<SUMS>();
    for (x, y) in a_chunks.iter().zip(b_chunks) {
        for lane in 0..SUMS {
            sums[lane] += f64::from(x[lane]) * f64::from(y[lane]);
        }
    }
    for ((sum, x), y) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum += f64::from(*x) * f64::from(*y);
    }
    for width in [8, 4, 2, 1] {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
    }
    sums[0]
}

pub(super) fn first_pass(pass: &mut FirstPass<'_>) {
    pass.run(dots);
}

/// The products of a block's bytes with the query's integers, summed for each row.
fn dots(lines: &[CacheLine], query: &ByteQuery) -> Lanes {
    let mut totals: Lanes = [0.0; BLOCK_ROWS];
    let chunks = query.words().chunks(CHUNK_GROUPS);
    for (lines, words) in lines.chunks(CHUNK_GROUPS).zip(chunks) {
        let mut sums = [0_i32; BLOCK_ROWS];
        for (line, word) in lines.iter().zip(words) {
            let (rows, _) = line.0.as_chunks::<GROUP>();
            for (sum, row) in sums.iter_mut().zip(rows) {
                for (byte, factor) in row.iter().zip(word) {
                    *sum += (i32::from(*byte) - 128) * i32::from(*factor);
                }
            }
        }
        for (total, sum) in totals.iter_mut().zip(sums) {
            #[allow(
                clippy::cast_precision_loss,
                reason = "the slack of the bounds covers it"
            )]
            let sum = sum as f32;
            *total += sum;
        }
    }
    totals
}
