//! Floating-point steps of the network, written to give the same bits everywhere: sums have sixteen
//! lanes on every processor, and the platform's libm is not used.

use super::kernel::LANES;

/// Adding 1.5 * 2^23 rounds to the nearest integer, ties to even: the integer is then in the low bits of
/// the sum, and subtracting the number again gives it as a float. Casts from floats are slower because
/// they saturate.
const ROUND: f32 = 12_582_912.0;

#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    let scaled = x.clamp(-87.0, 87.0) * std::f32::consts::LOG2_E;
    let shifted = scaled + ROUND;
    let f = scaled - (shifted - ROUND);
    // Taylor's series of 2^f; |f| <= 1/2, relative error below 2e-7.
    let mut y = 1.540_353e-4;
    for c in [
        1.333_355_8e-3,
        9.618_129e-3,
        5.550_411e-2,
        0.240_226_5,
        std::f32::consts::LN_2,
        1.0,
    ] {
        y = y * f + c;
    }
    // The exponent is between -126 and 126.
    let power = shifted.to_bits().wrapping_sub(ROUND.to_bits());
    y * f32::from_bits(power.wrapping_add(127) << 23)
}

#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    1.0 - 2.0 / (exp(2.0 * x) + 1.0)
}

/// The Gaussian error linear unit in its usual tanh approximation.
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let z = 1.595_769 * (x + 0.044_715 * x * x * x);
    x / (1.0 + exp(-z))
}

#[inline(always)]
fn lanes_sum(values: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += term(*value);
        }
    }
    for (lane, value) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane += term(*value);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[inline(always)]
fn largest(values: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let mut chunks = values.chunks_exact(LANES);
    for chunk in &mut chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane = lane.max(term(*value));
        }
    }
    for (lane, value) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = lane.max(term(*value));
    }
    lanes.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// Normalises a row in place: mean 0, variance 1, then `gain` and `shift`.
#[inline(always)]
pub(crate) fn layer_norm(row: &mut [f32], gain: &[f32], shift: &[f32]) {
    #[allow(clippy::cast_precision_loss, reason = "a few hundred dimensions")]
    let count = row.len() as f32;
    let mean = lanes_sum(row, |v| v) / count;
    let variance = lanes_sum(row, |v| (v - mean) * (v - mean)) / count;
    let factor = 1.0 / (variance + 1e-12).sqrt();
    for ((value, gain), shift) in row.iter_mut().zip(gain).zip(shift) {
        *value = (*value - mean) * factor * gain + shift;
    }
}

/// Softmax: turns scores into weights that add up to one.
#[inline(always)]
pub(crate) fn softmax(row: &mut [f32]) {
    let top = largest(row, |v| v);
    for value in row.iter_mut() {
        *value = exp(*value - top);
    }
    let factor = 1.0 / lanes_sum(row, |v| v);
    for value in row.iter_mut() {
        *value *= factor;
    }
}

/// Quantizes a row to signed bytes; returns the step size.
#[inline(always)]
pub(crate) fn quantize(row: &[f32], bytes: &mut [i8]) -> f32 {
    let top = largest(row, f32::abs);
    let step = if top > 0.0 { top / 127.0 } else { 1.0 };
    let factor = 1.0 / step;
    for (byte, value) in bytes.iter_mut().zip(row) {
        // The absolute value is at most 127.
        *byte = (value * factor + ROUND).to_bits().to_le_bytes()[0].cast_signed();
    }
    step
}
