//! The quantized byte copy of the vectors, and bounds of the quantization error.
//!
//! A row x is stored as x = s·q + r: bytes q, a scale s and the length of the residual r. A query y is y
//! = t·v + u: integers v of sixteen bits, a scale t and the length of u. Then ⟨x, y⟩ = s·t·⟨q, v⟩ + ⟨r,
//! y⟩ + s·⟨q, u⟩, and by the Cauchy–Schwarz inequality the last two are at most |r|·|y| and |s·q|·|u|.
//! Each byte is rounded to the nearest value, so |r| ≤ |x| ≤ 1 and |s·q| ≤ 2.

use super::block::{BLOCK_ROWS, CHUNK_GROUPS, CacheLine, GROUP, Lanes};
use super::memory::prefer_large_pages;

/// Longer vectors get no byte copy: their sums would not fit into 32 bits.
pub(super) const MAX_DIMENSION: usize = 65_536;

/// Maximum absolute value of a row's byte.
const ROW_STEPS: f32 = 127.0;

/// Maximum integer of a query: both of its bytes then fit into a signed byte.
const QUERY_STEPS: f32 = 127.0 * 256.0;

/// Upper bound of the rounding error that single precision adds to an estimate. The error of six
/// operations on numbers below 2 is less than 2 · 6 · 2^-24, which is under 1e-6.
const ROUNDING: f32 = 4e-6;

/// Adding and subtracting this number rounds a float of less than 2^22 to an integer.
const ROUNDER: f32 = 12_582_912.0;

const ZERO_LINE: CacheLine = CacheLine([128; BLOCK_ROWS * GROUP]);

/// The bytes of all rows in blocks of sixteen, with the scale and residual of each row.
#[derive(Debug, Clone)]
pub(super) struct Codes {
    /// Number of lines in a block.
    groups: usize,
    lines: Vec<CacheLine>,
    scales: Vec<Lanes>,
    errors: Vec<Lanes>,
}

impl Codes {
    pub(super) fn new(dimension: usize) -> Self {
        Self {
            groups: dimension.div_ceil(GROUP),
            lines: Vec::new(),
            scales: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Reserves space for this total number of rows.
    pub(super) fn reserve(&mut self, rows: usize) {
        let more = rows.div_ceil(BLOCK_ROWS).saturating_sub(self.scales.len());
        self.lines.reserve_exact(more * self.groups);
        self.scales.reserve_exact(more);
        self.errors.reserve_exact(more);
        prefer_large_pages(&self.lines);
    }

    /// Writes an existing row or the next new one.
    pub(super) fn set(&mut self, row: usize, vector: &[f32]) {
        let (block, lane) = (row / BLOCK_ROWS, row % BLOCK_ROWS);
        if block == self.scales.len() {
            let length = self.lines.len() + self.groups;
            self.lines.resize(length, ZERO_LINE);
            self.scales.push([0.0; BLOCK_ROWS]);
            self.errors.push([0.0; BLOCK_ROWS]);
        }
        let scale = greatest(vector) / ROW_STEPS;
        let steps = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        let lines = &mut self.lines[block * self.groups..(block + 1) * self.groups];
        let mut residual = [0.0_f64; GROUP];
        for (line, values) in lines.iter_mut().zip(vector.chunks(GROUP)) {
            let bytes = &mut line.0[lane * GROUP..(lane + 1) * GROUP];
            for ((byte, value), residual) in bytes.iter_mut().zip(values).zip(&mut residual) {
                let step = (value * steps).clamp(-ROW_STEPS, ROW_STEPS) + ROUNDER - ROUNDER;
                let difference = f64::from(*value) - f64::from(step) * f64::from(scale);
                *residual += difference * difference;
                #[allow(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "1 to 255"
                )]
                let code = (step + 128.0) as u8;
                *byte = code;
            }
        }
        self.scales[block][lane] = scale;
        self.errors[block][lane] = rounded_up(residual.iter().sum::<f64>().sqrt());
    }

    /// Removes the last row; `rows` rows remain.
    pub(super) fn truncate(&mut self, rows: usize) {
        let blocks = rows.div_ceil(BLOCK_ROWS);
        self.lines.truncate(blocks * self.groups);
        self.scales.truncate(blocks);
        self.errors.truncate(blocks);
    }

    /// The lines of each block.
    #[inline(always)]
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[CacheLine]> {
        self.lines.chunks_exact(self.groups.max(1))
    }

    /// Scales and residual lengths of a block's rows.
    #[inline(always)]
    pub(super) fn bounds(&self, block: usize) -> (&Lanes, &Lanes) {
        (&self.scales[block], &self.errors[block])
    }

    /// Every line, in order.
    pub(super) fn lines(&self) -> &[CacheLine] {
        &self.lines
    }
}

/// A query as integers of sixteen bits, in the forms that the loops need.
#[derive(Debug)]
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "some forms are for x86-64 alone")
)]
pub(super) struct ByteQuery {
    scale: f32,
    length: f32,
    slack: f32,
    /// Four integers per group.
    words: Vec<[i16; GROUP]>,
    /// The same, as one number per group.
    wide_words: Vec<i64>,
    /// High bytes and low bytes of a group, as two numbers.
    bytes: Vec<[i32; 2]>,
    /// Amount that the offset of 128 in every byte adds to the sums of `bytes`.
    excess: [i32; 2],
    /// Amount that it adds to the sums of `words`, chunk by chunk.
    chunk_excess: Vec<i32>,
}

#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "some forms are for x86-64 alone")
)]
impl ByteQuery {
    /// `unit` has length 1 or 0.
    pub(super) fn new(unit: &[f32]) -> Self {
        let scale = greatest(unit) / QUERY_STEPS;
        let mut words = vec![[0_i16; GROUP]; unit.len().div_ceil(GROUP)];
        let (mut residual, mut square) = (0.0_f64, 0.0_f64);
        for (value, word) in unit.iter().zip(words.as_flattened_mut()) {
            let steps = if scale > 0.0 { value / scale } else { 0.0 };
            #[allow(clippy::cast_possible_truncation, reason = "32,512 at most")]
            let step = steps.round_ties_even().clamp(-QUERY_STEPS, QUERY_STEPS) as i16;
            *word = step;
            residual += (f64::from(*value) - f64::from(step) * f64::from(scale)).powi(2);
            square += f64::from(*value).powi(2);
        }
        let bytes: Vec<[i32; 2]> = words.iter().map(|word| split(*word)).collect();
        let sum = |half: usize| -> i32 {
            let bytes = bytes.iter().flat_map(|b| b[half].to_ne_bytes());
            bytes.map(|b| i32::from(b.cast_signed())).sum()
        };
        let chunk = |words: &[[i16; GROUP]]| -> i32 {
            let sum: i32 = words.as_flattened().iter().map(|w| i32::from(*w)).sum();
            sum.wrapping_mul(128)
        };
        Self {
            scale,
            length: rounded_up(square.sqrt()),
            slack: 2.01 * rounded_up(residual.sqrt()) + ROUNDING,
            wide_words: words.iter().map(|word| wide(*word)).collect(),
            excess: [sum(0) * 128, sum(1) * 128],
            chunk_excess: words.chunks(CHUNK_GROUPS).map(chunk).collect(),
            words,
            bytes,
        }
    }

    #[inline(always)]
    pub(super) fn scale(&self) -> f32 {
        self.scale
    }

    #[inline(always)]
    pub(super) fn length(&self) -> f32 {
        self.length
    }

    /// The part of the bound that is the same for every row.
    #[inline(always)]
    pub(super) fn slack(&self) -> f32 {
        self.slack
    }

    pub(super) fn words(&self) -> &[[i16; GROUP]] {
        &self.words
    }

    pub(super) fn wide_words(&self) -> &[i64] {
        &self.wide_words
    }

    #[inline(always)]
    pub(super) fn bytes(&self) -> &[[i32; 2]] {
        &self.bytes
    }

    pub(super) fn excess(&self) -> [i32; 2] {
        self.excess
    }

    pub(super) fn chunk_excess(&self) -> &[i32] {
        &self.chunk_excess
    }
}

/// The greatest absolute value of the vector's elements.
fn greatest(vector: &[f32]) -> f32 {
    let mut most = [0.0_f32; 16];
    for values in vector.chunks(most.len()) {
        for (most, value) in most.iter_mut().zip(values) {
            *most = most.max(value.abs());
        }
    }
    most.into_iter().fold(0.0, f32::max)
}

/// Splits each of the four into signed high and low bytes: 256·high + low.
fn split(word: [i16; GROUP]) -> [i32; 2] {
    let [mut high, mut low] = [[0_u8; GROUP]; 2];
    for place in 0..GROUP {
        let value = i32::from(word[place]);
        let least = ((value + 128) & 255) - 128;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "signed bytes, as bits"
        )]
        {
            low[place] = least as u8;
            high[place] = ((value - least) >> 8) as u8;
        }
    }
    [i32::from_ne_bytes(high), i32::from_ne_bytes(low)]
}

/// The four integers in their memory layout.
fn wide(word: [i16; GROUP]) -> i64 {
    let mut bytes = [0_u8; 2 * GROUP];
    for (place, value) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(word) {
        *place = value.to_ne_bytes();
    }
    i64::from_ne_bytes(bytes)
}

/// A float that is an upper bound, regardless of the rounding of the sum that led to `value`.
fn rounded_up(value: f64) -> f32 {
    #[allow(clippy::cast_possible_truncation, reason = "rounded up right after")]
    let single = (value * (1.0 + 1e-7)) as f32;
    single.next_up()
}
