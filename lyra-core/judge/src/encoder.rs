//! The forward pass: word rows, transformer layers, pooled pair, scores of two heads.

use super::Scores;
use super::kernel::{OFFSET, Tier};
use super::math::{self, LANES};
use super::weights::{Classes, Head, Layer, Linear, Weights};

/// The words of a pair: the first mark, the context, the premise with its mark, the claim with its mark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tokens<'t> {
    pub(crate) words: &'t [u32],
    /// How many words after the first are the context's: attended to, and no part of the premise's mean.
    pub(crate) context: usize,
    /// How many words precede the claim.
    pub(crate) premise: usize,
}

/// The scores of both heads, before they become probabilities.
pub(crate) fn scores(weights: &Weights<'_>, tokens: &Tokens<'_>, tier: Tier) -> Scores {
    let mut pass = Pass::new(weights, tokens.words.len(), tier);
    let mut scores = Scores::default();
    tier.run(|| pass.embed(weights, tokens));
    for layer in &weights.layers {
        pass.layer(layer);
    }
    tier.run(|| scores = classify(&weights.head, &pool(&pass.x, tokens, weights.shape.hidden)));
    scores
}

/// The buffers of one pass over `count` tokens.
struct Pass {
    tier: Tier,
    count: usize,
    hidden: usize,
    heads: usize,
    x: Vec<f32>,
    wide: Vec<f32>,
    mixed: Vec<f32>,
    rounded: Rounded,
}

/// Buffers for the product of byte rows.
struct Rounded {
    bytes: Vec<i8>,
    steps: Vec<f32>,
    sums: Vec<i32>,
}

impl Pass {
    fn new(weights: &Weights<'_>, count: usize, tier: Tier) -> Self {
        let shape = weights.shape;
        let widest = shape.inner.max(3 * shape.hidden);
        Self {
            tier,
            count,
            hidden: shape.hidden,
            heads: shape.heads,
            x: vec![0.0; count * shape.hidden],
            wide: vec![0.0; count * widest],
            mixed: vec![0.0; count * shape.hidden],
            rounded: Rounded {
                bytes: vec![0; count * widest],
                steps: vec![0.0; count],
                sums: vec![0; count * widest],
            },
        }
    }

    #[inline(always)]
    fn embed(&mut self, weights: &Weights<'_>, tokens: &Tokens<'_>) {
        let hidden = self.hidden;
        for (position, (row, &word)) in self
            .x
            .chunks_exact_mut(hidden)
            .zip(tokens.words)
            .enumerate()
        {
            let kind = usize::from(position >= tokens.premise);
            row.copy_from_slice(&weights.kinds[kind * hidden..(kind + 1) * hidden]);
            weights.add_rows(word as usize, position, row);
            math::layer_norm(row, &weights.norm.gain, &weights.norm.shift);
        }
    }

    fn layer(&mut self, layer: &Layer<'_>) {
        let (count, hidden, heads) = (self.count, self.hidden, self.heads);
        let tier = self.tier;
        linear(tier, &layer.qkv, &self.x, &mut self.wide, &mut self.rounded);
        let (wide, mixed) = (&self.wide[..count * 3 * hidden], &mut self.mixed);
        tier.run(|| attend(wide, mixed, hidden, heads));
        linear(
            tier,
            &layer.out,
            &self.mixed,
            &mut self.wide,
            &mut self.rounded,
        );
        let (x, wide) = (&mut self.x, &mut self.wide);
        tier.run(|| add_and_norm(x, wide, hidden, &layer.norm1.gain, &layer.norm1.shift));
        linear(tier, &layer.up, &self.x, &mut self.wide, &mut self.rounded);
        let inner = &mut self.wide[..count * layer.up.packed.outputs];
        tier.run(|| inner.iter_mut().for_each(|v| *v = math::gelu(*v)));
        linear(tier, &layer.down, inner, &mut self.mixed, &mut self.rounded);
        let (x, mixed) = (&mut self.x, &mut self.mixed);
        tier.run(|| add_and_norm(x, mixed, hidden, &layer.norm2.gain, &layer.norm2.shift));
    }
}

/// `out = x * weights + bias`, with each row of `x` rounded to bytes by a step of its own.
fn linear(tier: Tier, layer: &Linear<'_>, x: &[f32], out: &mut [f32], rounded: &mut Rounded) {
    let (inputs, outputs) = (layer.packed.inputs, layer.packed.outputs);
    let steps = &mut rounded.steps;
    let count = steps.len();
    let bytes = &mut rounded.bytes[..count * inputs];
    let sums = &mut rounded.sums[..count * outputs];
    tier.run(|| {
        let rows = x.chunks_exact(inputs).zip(bytes.chunks_exact_mut(inputs));
        for (step, (row, bytes)) in steps.iter_mut().zip(rows) {
            *step = math::quantize(row, bytes);
        }
    });
    tier.products(bytes, layer.packed, sums);
    tier.run(|| {
        let rows = out
            .chunks_exact_mut(outputs)
            .zip(sums.chunks_exact(outputs));
        for (i, (row, sums)) in rows.enumerate().take(count) {
            let total: i32 = bytes[i * inputs..(i + 1) * inputs]
                .iter()
                .map(|b| i32::from(*b))
                .sum();
            rescale(row, sums, OFFSET * total, steps[i], layer);
        }
    });
}

#[inline(always)]
fn rescale(row: &mut [f32], sums: &[i32], excess: i32, step: f32, layer: &Linear<'_>) {
    let factors = layer.scales.iter().zip(&layer.bias);
    for ((value, sum), (scale, bias)) in row.iter_mut().zip(sums).zip(factors) {
        #[allow(
            clippy::cast_precision_loss,
            reason = "sums of bytes stay below 2^25 or are rounded alike"
        )]
        let sum = (sum - excess) as f32;
        *value = sum * (step * scale) + bias;
    }
}

#[inline(always)]
fn add_and_norm(x: &mut [f32], change: &[f32], hidden: usize, gain: &[f32], shift: &[f32]) {
    for (row, change) in x.chunks_exact_mut(hidden).zip(change.chunks_exact(hidden)) {
        for (value, change) in row.iter_mut().zip(change) {
            *value += change;
        }
        math::layer_norm(row, gain, shift);
    }
}

/// Attention of every head: `qkv` holds queries, keys and values side by side for each token.
#[inline(always)]
fn attend(qkv: &[f32], mixed: &mut [f32], hidden: usize, heads: usize) {
    let width = hidden / heads;
    let count = qkv.len() / (3 * hidden);
    let padded = count.next_multiple_of(LANES);
    // Keys of one head, a dimension a row, so that scores of sixteen tokens are computed at once.
    let mut keys = vec![0.0_f32; width * padded];
    let mut chances = vec![0.0_f32; padded];
    for head in 0..heads {
        let column = head * width;
        for (t, row) in qkv.chunks_exact(3 * hidden).enumerate() {
            for (d, key) in row[hidden + column..hidden + column + width]
                .iter()
                .enumerate()
            {
                keys[d * padded + t] = *key;
            }
        }
        for t in 0..count {
            let query = &qkv[t * 3 * hidden + column..][..width];
            for (block, chances) in chances.chunks_exact_mut(LANES).enumerate() {
                let mut lanes = [0.0_f32; LANES];
                for (d, q) in query.iter().enumerate() {
                    let keys = &keys[d * padded + block * LANES..][..LANES];
                    for (lane, key) in lanes.iter_mut().zip(keys) {
                        *lane += q * key;
                    }
                }
                chances.copy_from_slice(&lanes);
            }
            math::softmax(&mut chances[..count]);
            for (part, out) in mixed[t * hidden + column..][..width]
                .chunks_exact_mut(LANES)
                .enumerate()
            {
                let mut lanes = [0.0_f32; LANES];
                for (s, chance) in chances[..count].iter().enumerate() {
                    let values =
                        &qkv[s * 3 * hidden + 2 * hidden + column + part * LANES..][..LANES];
                    for (lane, value) in lanes.iter_mut().zip(values) {
                        *lane += chance * value;
                    }
                }
                out.copy_from_slice(&lanes);
            }
        }
    }
}

/// How much the differences and products of the two means are scaled up, as in training.
const PAIR_SCALE: f32 = 4.0;

/// `[first, u, v, |u - v|, u * v]` of the means `u` of the premise and `v` of the claim.
#[inline(always)]
fn pool(x: &[f32], tokens: &Tokens<'_>, hidden: usize) -> Vec<f32> {
    let (before, claim) = x.split_at(tokens.premise * hidden);
    let (first, rest) = before.split_at(hidden);
    let u = mean(&[first, &rest[tokens.context * hidden..]], hidden);
    let v = mean(&[claim], hidden);
    let mut pooled = x[..hidden].to_vec();
    pooled.extend_from_slice(&u);
    pooled.extend_from_slice(&v);
    pooled.extend(u.iter().zip(&v).map(|(a, b)| (a - b).abs() * PAIR_SCALE));
    pooled.extend(u.iter().zip(&v).map(|(a, b)| a * b * PAIR_SCALE));
    pooled
}

/// The mean of some rows.
#[inline(always)]
fn mean(parts: &[&[f32]], hidden: usize) -> Vec<f32> {
    let mut total = vec![0.0_f32; hidden];
    let mut count = 0;
    for part in parts {
        for row in part.chunks_exact(hidden) {
            for (sum, value) in total.iter_mut().zip(row) {
                *sum += value;
            }
        }
        count += part.len() / hidden;
    }
    #[allow(clippy::cast_precision_loss, reason = "a few hundred tokens")]
    let factor = 1.0 / count as f32;
    total.iter_mut().for_each(|v| *v *= factor);
    total
}

#[inline(always)]
fn classify(head: &Head<'_>, pooled: &[f32]) -> Scores {
    let width = head.pool_scales.len();
    let mut sums = vec![0.0_f32; width];
    for (value, row) in pooled.iter().zip(head.pool.chunks_exact(width)) {
        for (sum, weight) in sums.iter_mut().zip(row) {
            *sum += value * f32::from(*weight);
        }
    }
    for ((sum, scale), bias) in sums.iter_mut().zip(&head.pool_scales).zip(&head.pool_bias) {
        *sum = math::tanh(*sum * scale + bias);
    }
    Scores {
        stance: of_classes(&head.stance, &sums),
        reading: of_classes(&head.reading, &sums),
    }
}

#[inline(always)]
fn of_classes(classes: &Classes, hidden: &[f32]) -> [f32; 3] {
    let mut scores = [0.0; 3];
    let rows = classes.weights.chunks_exact(hidden.len());
    for ((score, row), bias) in scores.iter_mut().zip(rows).zip(&classes.bias) {
        let products = hidden.iter().zip(row).map(|(a, b)| a * b);
        *score = products.sum::<f32>() + bias;
    }
    scores
}
