//! The loops for AVX-512 VNNI and AVX2.

use super::{BLOCK, GROUP, LINE, Packed};
use std::arch::x86_64::*;

/// Blocks of outputs that are worked on at once: four registers of sums a row.
const BLOCKS: usize = 4;

/// # Safety
///
/// The processor has AVX-512F, AVX-512BW and AVX-512 VNNI.
#[allow(unsafe_code, reason = "vector instructions")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn run_avx512<W: FnOnce()>(work: W) {
    work();
}

/// # Safety
///
/// The processor has AVX2.
#[allow(unsafe_code, reason = "vector instructions")]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn run_avx2<W: FnOnce()>(work: W) {
    work();
}

/// # Safety
///
/// The processor has AVX-512F, AVX-512BW and AVX-512 VNNI.
#[allow(unsafe_code, reason = "vector instructions")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn products_avx512(rows: &[i8], weights: Packed<'_>, sums: &mut [i32]) {
    let count = rows.len() / weights.inputs;
    for first in (0..weights.outputs / BLOCK).step_by(BLOCKS) {
        let mut row = 0;
        while row < count {
            // SAFETY: rows `row..row + M` and blocks `first..first + BLOCKS` exist; the caller has
            // checked the lengths of all three slices.
            unsafe {
                row += match count - row {
                    1 => tile_avx512::<1>(rows, weights, sums, row, first),
                    2 => tile_avx512::<2>(rows, weights, sums, row, first),
                    3 => tile_avx512::<3>(rows, weights, sums, row, first),
                    4 => tile_avx512::<4>(rows, weights, sums, row, first),
                    5 => tile_avx512::<5>(rows, weights, sums, row, first),
                    _ => tile_avx512::<6>(rows, weights, sums, row, first),
                };
            }
        }
    }
}

/// The sums of `M` rows with four blocks of outputs; answers `M`.
///
/// # Safety
///
/// The processor has the instructions, and the rows and blocks lie within the slices.
#[allow(unsafe_code, reason = "vector instructions")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
unsafe fn tile_avx512<const M: usize>(
    rows: &[i8],
    weights: Packed<'_>,
    sums: &mut [i32],
    row: usize,
    first: usize,
) -> usize {
    let inputs = weights.inputs;
    let mut lanes = [[_mm512_setzero_si512(); BLOCKS]; M];
    // SAFETY: each pointer stays within the slice that it was made from: `row + M` rows of `inputs`
    // bytes, `first + BLOCKS` blocks of `inputs * BLOCK` bytes, and as many sums.
    unsafe {
        let values = rows.as_ptr().add(row * inputs);
        let lines = weights.lines.as_ptr().add(first * inputs * BLOCK);
        for group in 0..inputs / GROUP {
            let mut columns = [_mm512_setzero_si512(); BLOCKS];
            for (block, column) in columns.iter_mut().enumerate() {
                *column =
                    _mm512_loadu_si512(lines.add(block * inputs * BLOCK + group * LINE).cast());
            }
            for (m, sums) in lanes.iter_mut().enumerate() {
                let four = values
                    .add(m * inputs + group * GROUP)
                    .cast::<i32>()
                    .read_unaligned();
                let four = _mm512_set1_epi32(four);
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = _mm512_dpbusd_epi32(*sum, column, four);
                }
            }
        }
        for (m, lanes) in lanes.iter().enumerate() {
            let out = sums
                .as_mut_ptr()
                .add((row + m) * weights.outputs + first * BLOCK);
            for (block, lane) in lanes.iter().enumerate() {
                _mm512_storeu_si512(out.add(block * BLOCK).cast(), *lane);
            }
        }
    }
    M
}

/// # Safety
///
/// The processor has AVX2.
#[allow(unsafe_code, reason = "vector instructions")]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn products_avx2(rows: &[i8], weights: Packed<'_>, sums: &mut [i32]) {
    let inputs = weights.inputs;
    let count = rows.len() / inputs;
    let wide: Vec<i16> = rows.iter().map(|v| i16::from(*v)).collect();
    for block in 0..weights.outputs / BLOCK {
        let mut row = 0;
        while row < count {
            // SAFETY: the rows and the block exist; the caller has checked the lengths.
            unsafe {
                row += match count - row {
                    1 => tile_avx2::<1>(&wide, weights, sums, row, block),
                    _ => tile_avx2::<2>(&wide, weights, sums, row, block),
                };
            }
        }
    }
}

/// The sums of `M` rows, given as 16-bit numbers, with one block of outputs; answers `M`.
///
/// # Safety
///
/// The processor has AVX2, and the rows and the block lie within the slices.
#[allow(unsafe_code, reason = "vector instructions")]
#[target_feature(enable = "avx2")]
unsafe fn tile_avx2<const M: usize>(
    wide: &[i16],
    weights: Packed<'_>,
    sums: &mut [i32],
    row: usize,
    block: usize,
) -> usize {
    let inputs = weights.inputs;
    // Each register holds two partial sums of four outputs.
    let mut lanes = [[_mm256_setzero_si256(); 4]; M];
    // SAFETY: each pointer stays within the slice that it was made from.
    unsafe {
        let values = wide.as_ptr().add(row * inputs);
        let lines = weights.lines.as_ptr().add(block * inputs * BLOCK);
        for group in 0..inputs / GROUP {
            let mut fours = [_mm256_setzero_si256(); M];
            for (m, four) in fours.iter_mut().enumerate() {
                let at = values.add(m * inputs + group * GROUP).cast::<i64>();
                *four = _mm256_set1_epi64x(at.read_unaligned());
            }
            for quarter in 0..4 {
                let bytes = _mm_loadu_si128(lines.add(group * LINE + quarter * 16).cast());
                let column = _mm256_cvtepu8_epi16(bytes);
                for (sums, four) in lanes.iter_mut().zip(fours) {
                    let products = _mm256_madd_epi16(column, four);
                    sums[quarter] = _mm256_add_epi32(sums[quarter], products);
                }
            }
        }
        for (m, lanes) in lanes.iter().enumerate() {
            let out = sums
                .as_mut_ptr()
                .add((row + m) * weights.outputs + block * BLOCK);
            for (half, pair) in lanes.chunks_exact(2).enumerate() {
                // Adds neighbours within each half of a register; the permutation puts outputs in order.
                let added = _mm256_hadd_epi32(pair[0], pair[1]);
                let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(added);
                _mm256_storeu_si256(out.add(half * 8).cast(), ordered);
            }
        }
    }
    M
}
