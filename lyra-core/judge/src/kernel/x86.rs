//! The loops for AVX-512 VNNI and AVX2.

use super::{BLOCK, GROUP, LANES, LINE, Packed, Sums, Tier, Work};
use std::arch::x86_64::*;

/// Number of output blocks that are processed at once: four registers of sums per row.
const BLOCKS: usize = 4;

/// Sixteen sums in an AVX-512 register. Created only by [`run_avx512`].
#[derive(Clone, Copy)]
struct Wide(__m512);

#[allow(unsafe_code, reason = "vector instructions")]
impl Sums for Wide {
    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: this type is used only if the processor has the instructions.
        Self(unsafe { _mm512_setzero_ps() })
    }

    #[inline(always)]
    fn add_scaled(&mut self, factor: f32, values: &[f32; LANES]) {
        // SAFETY: as above; an array of sixteen is read.
        unsafe {
            let products = _mm512_mul_ps(_mm512_set1_ps(factor), _mm512_loadu_ps(values.as_ptr()));
            self.0 = _mm512_add_ps(self.0, products);
        }
    }

    #[inline(always)]
    fn into_array(self) -> [f32; LANES] {
        let mut values = [0.0; LANES];
        // SAFETY: as above; an array of sixteen is written.
        unsafe { _mm512_storeu_ps(values.as_mut_ptr(), self.0) };
        values
    }
}

/// Sixteen sums in two AVX2 registers. Created only by [`run_avx2`].
#[derive(Clone, Copy)]
struct Pair([__m256; 2]);

#[allow(unsafe_code, reason = "vector instructions")]
impl Sums for Pair {
    #[inline(always)]
    fn zero() -> Self {
        // SAFETY: this type is used only if the processor has the instructions.
        Self(unsafe { [_mm256_setzero_ps(); 2] })
    }

    #[inline(always)]
    fn add_scaled(&mut self, factor: f32, values: &[f32; LANES]) {
        let [low, high] = &mut self.0;
        // SAFETY: as above; the halves of an array of sixteen are read.
        unsafe {
            let factor = _mm256_set1_ps(factor);
            let values = values.as_ptr();
            *low = _mm256_add_ps(*low, _mm256_mul_ps(factor, _mm256_loadu_ps(values)));
            let products = _mm256_mul_ps(factor, _mm256_loadu_ps(values.add(LANES / 2)));
            *high = _mm256_add_ps(*high, products);
        }
    }

    #[inline(always)]
    fn into_array(self) -> [f32; LANES] {
        let mut values = [0.0; LANES];
        // SAFETY: as above; the halves of an array of sixteen are written.
        unsafe {
            _mm256_storeu_ps(values.as_mut_ptr(), self.0[0]);
            _mm256_storeu_ps(values.as_mut_ptr().add(LANES / 2), self.0[1]);
        }
        values
    }
}

/// # Safety
///
/// The processor has AVX-512F, AVX-512BW and AVX-512 VNNI.
#[allow(unsafe_code, reason = "vector instructions")]
#[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
pub(super) unsafe fn run_avx512<W: Work>(work: W, tier: Tier) -> W::Output {
    work.run::<Wide>(tier)
}

/// # Safety
///
/// The processor has AVX2.
#[allow(unsafe_code, reason = "vector instructions")]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn run_avx2<W: Work>(work: W, tier: Tier) -> W::Output {
    work.run::<Pair>(tier)
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

/// The sums of `M` rows with four blocks of outputs; returns `M`.
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
    // SAFETY: each pointer stays within its slice: `row + M` rows of `inputs` bytes, `first + BLOCKS`
    // blocks of `inputs * BLOCK` bytes, and as many sums.
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
    let mut wide = vec![0_i16; rows.len()];
    for (wide, value) in wide.iter_mut().zip(rows) {
        *wide = i16::from(*value);
    }
    for half in 0..2 * weights.outputs / BLOCK {
        let mut row = 0;
        while row < count {
            // SAFETY: the rows and the block exist; the caller has checked the lengths.
            unsafe {
                row += match count - row {
                    1 => tile_avx2::<1>(&wide, weights, sums, row, half),
                    2 => tile_avx2::<2>(&wide, weights, sums, row, half),
                    3 => tile_avx2::<3>(&wide, weights, sums, row, half),
                    4 => tile_avx2::<4>(&wide, weights, sums, row, half),
                    5 => tile_avx2::<5>(&wide, weights, sums, row, half),
                    _ => tile_avx2::<6>(&wide, weights, sums, row, half),
                };
            }
        }
    }
}

/// The sums of `M` rows, given as 16-bit numbers, with half a block of outputs; returns `M`.
///
/// # Safety
///
/// The processor has AVX2, and the rows and the half block lie within the slices.
#[allow(unsafe_code, reason = "vector instructions")]
#[target_feature(enable = "avx2")]
unsafe fn tile_avx2<const M: usize>(
    wide: &[i16],
    weights: Packed<'_>,
    sums: &mut [i32],
    row: usize,
    half: usize,
) -> usize {
    let inputs = weights.inputs;
    // Each register holds two partial sums of four outputs.
    let mut lanes = [[_mm256_setzero_si256(); 2]; M];
    // SAFETY: each pointer stays within its slice.
    unsafe {
        let values = wide.as_ptr().add(row * inputs);
        let lines = weights
            .lines
            .as_ptr()
            .add(half / 2 * inputs * BLOCK + half % 2 * (LINE / 2));
        for group in 0..inputs / GROUP {
            let line = lines.add(group * LINE);
            let columns = [line, line.add(LINE / 4)]
                .map(|bytes| _mm256_cvtepu8_epi16(_mm_loadu_si128(bytes.cast())));
            for (m, sums) in lanes.iter_mut().enumerate() {
                let four = values.add(m * inputs + group * GROUP).cast::<i64>();
                let four = _mm256_set1_epi64x(four.read_unaligned());
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(column, four));
                }
            }
        }
        for (m, [left, right]) in lanes.into_iter().enumerate() {
            // Adds neighbours within each half of a register; the permutation puts outputs in order.
            let added = _mm256_hadd_epi32(left, right);
            let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(added);
            let out = (row + m) * weights.outputs + half * (BLOCK / 2);
            _mm256_storeu_si256(sums.as_mut_ptr().add(out).cast(), ordered);
        }
    }
    M
}
