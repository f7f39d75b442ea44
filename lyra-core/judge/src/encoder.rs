//! The forward pass: word embeddings, transformer layers, pooled pair, scores of two heads.

use super::Scores;
use super::kernel::{LANES, OFFSET, Sums, Tier, Work};
use super::math;
use super::weights::{Classes, Head, Layer, Linear, Weights};

/// The words of a pair: the first marker, the context, the premise with its marker, the claim with its
/// marker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tokens<'t> {
    pub(crate) words: &'t [u32],
    /// Number of words after the first that belong to the context: they are attended to, but are not
    /// part of the premise's mean.
    pub(crate) context: usize,
    /// Number of words before the claim.
    pub(crate) premise: usize,
}

/// The scores of both heads, before they become probabilities.
pub(crate) fn scores(weights: &Weights<'_>, tokens: &Tokens<'_>, tier: Tier) -> Scores {
    tier.run(Forward { weights, tokens })
}

struct Forward<'f> {
    weights: &'f Weights<'f>,
    tokens: &'f Tokens<'f>,
}

impl Work for Forward<'_> {
    type Output = Scores;

    #[inline(always)]
    fn run<S: Sums>(self, tier: Tier) -> Scores {
        let Self { weights, tokens } = self;
        let mut pass = Pass::new(weights, tokens.words.len(), tier);
        pass.embed(weights, tokens);
        for layer in &weights.layers {
            pass.layer::<S>(layer);
        }
        classify(&weights.head, &pool(&pass.x, tokens, weights.shape.hidden))
    }
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

    #[inline(always)]
    fn layer<S: Sums>(&mut self, layer: &Layer<'_>) {
        let (count, hidden, tier) = (self.count, self.hidden, self.tier);
        linear(tier, &layer.qkv, &self.x, &mut self.wide, &mut self.rounded);
        let wide = &self.wide[..count * 3 * hidden];
        attend::<S>(wide, &mut self.mixed, hidden, self.heads);
        let (mixed, wide) = (&self.mixed, &mut self.wide);
        linear(tier, &layer.out, mixed, wide, &mut self.rounded);
        let norm = &layer.norm1;
        add_and_norm(&mut self.x, &self.wide, hidden, &norm.gain, &norm.shift);
        linear(tier, &layer.up, &self.x, &mut self.wide, &mut self.rounded);
        let inner = &mut self.wide[..count * layer.up.packed.outputs];
        for value in &mut *inner {
            *value = math::gelu(*value);
        }
        linear(tier, &layer.down, inner, &mut self.mixed, &mut self.rounded);
        let norm = &layer.norm2;
        add_and_norm(&mut self.x, &self.mixed, hidden, &norm.gain, &norm.shift);
    }
}

/// `out = x * weights + bias`, with each row of `x` quantized to bytes with its own step.
#[inline(always)]
fn linear(tier: Tier, layer: &Linear<'_>, x: &[f32], out: &mut [f32], rounded: &mut Rounded) {
    let (inputs, outputs) = (layer.packed.inputs, layer.packed.outputs);
    let steps = &mut rounded.steps;
    let count = steps.len();
    let bytes = &mut rounded.bytes[..count * inputs];
    let sums = &mut rounded.sums[..count * outputs];
    let rows = x.chunks_exact(inputs).zip(bytes.chunks_exact_mut(inputs));
    for (step, (row, bytes)) in steps.iter_mut().zip(rows) {
        *step = math::quantize(row, bytes);
    }
    tier.products(bytes, layer.packed, sums);
    let rows = out
        .chunks_exact_mut(outputs)
        .zip(sums.chunks_exact(outputs))
        .zip(bytes.chunks_exact(inputs));
    for (((row, sums), bytes), step) in rows.zip(steps) {
        let total: i32 = bytes.iter().map(|b| i32::from(*b)).sum();
        rescale(row, sums, OFFSET * total, *step, layer);
    }
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

/// Number of tokens whose attention is computed at once.
const QUERIES: usize = 4;

/// One head's keys, one dimension per row, so that the scores of sixteen tokens are computed at once;
/// its values, one token per row; and the weights of all tokens for a few.
struct Attention {
    /// The length of a row of keys.
    blocks: usize,
    /// The length of a row of values.
    parts: usize,
    keys: Vec<[f32; LANES]>,
    values: Vec<[f32; LANES]>,
    chances: Vec<[f32; LANES]>,
}

/// Attention of every head: `qkv` holds the queries, keys and values of each token next to each other.
#[inline(always)]
fn attend<S: Sums>(qkv: &[f32], mixed: &mut [f32], hidden: usize, heads: usize) {
    let width = hidden / heads;
    let count = qkv.len() / (3 * hidden);
    let (blocks, parts) = (count.div_ceil(LANES), width / LANES);
    let mut attention = Attention {
        blocks,
        parts,
        keys: vec![[0.0; LANES]; width * blocks],
        values: vec![[0.0; LANES]; count * parts],
        chances: vec![[0.0; LANES]; QUERIES * blocks],
    };
    for column in (0..hidden).step_by(width) {
        attention.read_head(qkv, hidden, column);
        let mut token = 0;
        while token < count {
            let queries = &qkv[token * 3 * hidden + column..];
            let out = &mut mixed[token * hidden + column..];
            token += match count - token {
                1..QUERIES => attention.mix::<S, 1>(queries, out, hidden, count),
                _ => attention.mix::<S, QUERIES>(queries, out, hidden, count),
            };
        }
    }
}

impl Attention {
    #[inline(always)]
    fn read_head(&mut self, qkv: &[f32], hidden: usize, column: usize) {
        let (blocks, width) = (self.blocks, self.parts * LANES);
        let keys = self.keys.as_flattened_mut();
        let values = self.values.as_flattened_mut().chunks_exact_mut(width);
        for (t, (row, value)) in qkv.chunks_exact(3 * hidden).zip(values).enumerate() {
            for (d, key) in row[hidden + column..][..width].iter().enumerate() {
                keys[d * blocks * LANES + t] = *key;
            }
            value.copy_from_slice(&row[2 * hidden + column..][..width]);
        }
    }

    /// Attention of `M` tokens to all tokens: their queries and results are one token apart. Returns
    /// `M`.
    #[inline(always)]
    fn mix<S: Sums, const M: usize>(
        &mut self,
        queries: &[f32],
        out: &mut [f32],
        hidden: usize,
        count: usize,
    ) -> usize {
        let (blocks, parts) = (self.blocks, self.parts);
        let queries: [&[f32]; M] =
            std::array::from_fn(|m| &queries[m * 3 * hidden..][..parts * LANES]);
        for block in 0..blocks {
            let mut sums = [S::zero(); M];
            for (d, keys) in self.keys.iter().skip(block).step_by(blocks).enumerate() {
                for (sums, query) in sums.iter_mut().zip(queries) {
                    sums.add_scaled(query[d], keys);
                }
            }
            for (m, sums) in sums.into_iter().enumerate() {
                self.chances[m * blocks + block] = sums.into_array();
            }
        }
        for row in self.chances.chunks_exact_mut(blocks).take(M) {
            math::softmax(&mut row.as_flattened_mut()[..count]);
        }
        let chances = self.chances.as_flattened();
        let chances: [&[f32]; M] = std::array::from_fn(|m| &chances[m * blocks * LANES..][..count]);
        for part in 0..parts {
            let mut sums = [S::zero(); M];
            for (s, values) in self.values.iter().skip(part).step_by(parts).enumerate() {
                for (sums, chances) in sums.iter_mut().zip(chances) {
                    sums.add_scaled(chances[s], values);
                }
            }
            for (m, sums) in sums.into_iter().enumerate() {
                let out = &mut out[m * hidden + part * LANES..][..LANES];
                out.copy_from_slice(&sums.into_array());
            }
        }
        M
    }
}

/// Factor by which the differences and products of the two means are scaled, as in training.
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

/// The mean of several rows.
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
