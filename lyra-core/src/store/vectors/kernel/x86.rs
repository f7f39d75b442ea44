//! The loops for x86-64 with AVX-512 VNNI, and with AVX2.

use super::super::block::{CHUNK_GROUPS, CacheLine, Lanes};
use super::first_pass::FirstPass;
use super::portable;
use crate::store::vectors::codes::ByteQuery;
use std::arch::x86_64::*;

/// How far ahead of its use a line is prefetched; the hardware prefetcher is too late.
const PREFETCH_BYTES: usize = 4096;

#[target_feature(enable = "avx512f")]
pub(super) fn dot_avx512(a: &[f32], b: &[f32]) -> f64 {
    portable::dot(a, b)
}

#[target_feature(enable = "avx2")]
pub(super) fn dot_avx2(a: &[f32], b: &[f32]) -> f64 {
    portable::dot(a, b)
}

#[target_feature(enable = "avx512f,avx512vnni")]
pub(super) fn first_pass_avx512(pass: &mut FirstPass<'_>) {
    pass.run(|lines, query| dots_avx512(lines, query));
}

#[target_feature(enable = "avx2")]
pub(super) fn first_pass_avx2(pass: &mut FirstPass<'_>) {
    pass.run(|lines, query| dots_avx2(lines, query));
}

/// One instruction multiplies a line by four of the query's bytes and sums each row's four products. The
/// query has sixteen bits per value: its high and low bytes are summed separately.
#[target_feature(enable = "avx512f,avx512vnni")]
#[inline]
fn dots_avx512(lines: &[CacheLine], query: &ByteQuery) -> Lanes {
    let zero = _mm512_setzero_si512();
    let mut high = [zero; 2];
    let mut low = [zero; 2];
    let (pairs, last) = lines.as_chunks::<2>();
    let (words, last_word) = query.bytes().as_chunks::<2>();
    for (pair, words) in pairs.iter().zip(words) {
        for place in 0..2 {
            let line = load_512(&pair[place]);
            let [h, l] = words[place];
            high[place] = _mm512_dpbusd_epi32(high[place], line, _mm512_set1_epi32(h));
            low[place] = _mm512_dpbusd_epi32(low[place], line, _mm512_set1_epi32(l));
        }
    }
    for (line, [h, l]) in last.iter().zip(last_word) {
        let line = load_512(line);
        high[0] = _mm512_dpbusd_epi32(high[0], line, _mm512_set1_epi32(*h));
        low[0] = _mm512_dpbusd_epi32(low[0], line, _mm512_set1_epi32(*l));
    }
    // A byte is its value plus 128; the excess is subtracted while the sums are integers.
    let [high_excess, low_excess] = query.excess();
    let exact = |sums: [__m512i; 2], excess: i32| {
        let sum = _mm512_add_epi32(sums[0], sums[1]);
        _mm512_cvtepi32_ps(_mm512_sub_epi32(sum, _mm512_set1_epi32(excess)))
    };
    let (high, low) = (exact(high, high_excess), exact(low, low_excess));
    store_512(_mm512_fmadd_ps(high, _mm512_set1_ps(256.0), low))
}

#[target_feature(enable = "avx512f")]
#[inline]
#[allow(unsafe_code, reason = "loads go through pointers")]
fn load_512(line: &CacheLine) -> __m512i {
    let start: *const CacheLine = line;
    // A prefetch hint reads nothing, so its address may be beyond the matrix.
    _mm_prefetch::<_MM_HINT_T0>(start.cast::<i8>().wrapping_add(PREFETCH_BYTES));
    // SAFETY: a `CacheLine` is 64 bytes, aligned to 64.
    unsafe { _mm512_load_si512(start.cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
#[allow(unsafe_code, reason = "stores go through pointers")]
fn store_512(values: __m512) -> Lanes {
    let mut lanes: Lanes = [0.0; 16];
    // SAFETY: sixteen floats are the 64 bytes that are written; no alignment is required.
    unsafe { _mm512_storeu_ps(lanes.as_mut_ptr(), values) };
    lanes
}

/// Bytes are widened to sixteen bits and multiplied by the query's sixteen-bit integers, one chunk of
/// groups at a time: a longer sum would overflow.
#[target_feature(enable = "avx2")]
#[inline]
fn dots_avx2(lines: &[CacheLine], query: &ByteQuery) -> Lanes {
    let mut totals = [_mm256_setzero_ps(); 2];
    let chunks = query.wide_words().chunks(CHUNK_GROUPS);
    let chunks = lines.chunks(CHUNK_GROUPS).zip(chunks);
    for ((lines, words), excess) in chunks.zip(query.chunk_excess()) {
        // Accumulator i has rows 4i to 4i+3, with two partial sums each.
        let mut sums = [_mm256_setzero_si256(); 4];
        for (line, word) in lines.iter().zip(words) {
            let word = _mm256_set1_epi64x(*word);
            for (sum, quarter) in sums.iter_mut().zip(quarters(line)) {
                let products = _mm256_madd_epi16(_mm256_cvtepu8_epi16(quarter), word);
                *sum = _mm256_add_epi32(*sum, products);
            }
        }
        let excess = _mm256_set1_epi32(*excess);
        for (half, total) in totals.iter_mut().enumerate() {
            // Adding neighbours gives rows 0 1 4 5 2 3 6 7; the permutation puts them in order.
            // Intermediate sums may wrap: the results fit once the excess is subtracted.
            let rows = _mm256_hadd_epi32(sums[2 * half], sums[2 * half + 1]);
            let rows = _mm256_permute4x64_epi64::<0b11_01_10_00>(rows);
            let exact = _mm256_cvtepi32_ps(_mm256_sub_epi32(rows, excess));
            *total = _mm256_add_ps(*total, exact);
        }
    }
    store_256(totals)
}

#[target_feature(enable = "avx2")]
#[inline]
#[allow(unsafe_code, reason = "loads go through pointers")]
fn quarters(line: &CacheLine) -> [__m128i; 4] {
    let start: *const __m128i = line.0.as_ptr().cast();
    // SAFETY: the four loads cover the 64 bytes of the line, which is aligned to 64.
    unsafe {
        [
            _mm_load_si128(start),
            _mm_load_si128(start.add(1)),
            _mm_load_si128(start.add(2)),
            _mm_load_si128(start.add(3)),
        ]
    }
}

#[target_feature(enable = "avx2")]
#[inline]
#[allow(unsafe_code, reason = "stores go through pointers")]
fn store_256([first, second]: [__m256; 2]) -> Lanes {
    let mut lanes: Lanes = [0.0; 16];
    let start = lanes.as_mut_ptr();
    // SAFETY: two times eight floats are the sixteen of `lanes`; no alignment is required.
    unsafe {
        _mm256_storeu_ps(start, first);
        _mm256_storeu_ps(start.add(8), second);
    }
    lanes
}
