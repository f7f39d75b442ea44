//! Products of bytes: rows of signed activations with packed weights.
//!
//! Sums of products are exact 32-bit integers, so every tier gives the same result. A weight `w` is
//! stored as `w + 128`, because the instruction multiplies unsigned by signed bytes; the amount that
//! this adds to a sum, `128 * sum(activations)`, is subtracted afterwards.

#[cfg(target_arch = "x86_64")]
mod x86;

/// Number of outputs in one block of packed weights.
pub(crate) const BLOCK: usize = 16;
/// Number of floats that are processed together, whatever the processor.
pub(crate) const LANES: usize = 16;
/// Number of adjacent inputs of one output.
pub(crate) const GROUP: usize = 4;
/// Number of bytes in one group of inputs for a block of outputs.
pub(crate) const LINE: usize = BLOCK * GROUP;
/// Offset added to a weight to store it as an unsigned byte.
pub(crate) const OFFSET: i32 = 128;

/// The weights of a linear layer, in the order `[outputs / 16][inputs / 4][16][4]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packed<'w> {
    pub(crate) lines: &'w [u8],
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
}

/// The instruction set of the loops. A value other than the portable one is created only if the
/// processor was detected to support it, which makes calling the loops sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tier(Instructions);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Tier {
    /// The tiers that this processor supports, fastest first.
    pub(crate) fn available() -> Vec<Self> {
        let mut tiers = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vnni")
            {
                tiers.push(Self(Instructions::Avx512Vnni));
            }
            if is_x86_feature_detected!("avx2") {
                tiers.push(Self(Instructions::Avx2));
            }
        }
        tiers.push(Self(Instructions::Portable));
        tiers
    }

    /// The fastest tier that this processor supports.
    pub(crate) fn best() -> Self {
        Self::available()[0]
    }

    /// `sums[row][output] = sum(rows[row] * (weights[output] + 128))`, rows of `weights.inputs` bytes.
    #[allow(unsafe_code, reason = "calls code for instructions that were detected")]
    pub(crate) fn products(self, rows: &[i8], weights: Packed<'_>, sums: &mut [i32]) {
        let count = rows.len() / weights.inputs;
        assert_eq!(rows.len(), count * weights.inputs);
        assert_eq!(sums.len(), count * weights.outputs);
        assert_eq!(weights.lines.len(), weights.inputs * weights.outputs);
        assert!(weights.inputs.is_multiple_of(GROUP));
        assert!(weights.outputs.is_multiple_of(4 * BLOCK));
        match self.0 {
            // SAFETY: this tier exists only where the processor has AVX-512F, BW and VNNI.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Vnni => unsafe { x86::products_avx512(rows, weights, sums) },
            // SAFETY: this tier exists only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { x86::products_avx2(rows, weights, sums) },
            Instructions::Portable => products_portable(rows, weights, sums),
        }
    }

    /// Runs `work` with code for this tier's instructions. Floating-point results do not depend on the
    /// tier: the compiler neither reorders sums nor fuses them with products.
    #[allow(unsafe_code, reason = "calls code for instructions that were detected")]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self.0 {
            // SAFETY: this tier exists only where the processor has AVX-512F, BW and VNNI.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Vnni => unsafe { x86::run_avx512(work, self) },
            // SAFETY: this tier exists only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { x86::run_avx2(work, self) },
            Instructions::Portable => work.run::<[f32; LANES]>(self),
        }
    }
}

/// Work that is compiled for each tier. `run` and the functions that it calls must be
/// `#[inline(always)]`: only code that is inlined into a function with additional instructions uses
/// them. Closures need not be inlined.
pub(crate) trait Work {
    type Output;
    fn run<S: Sums>(self, tier: Tier) -> Self::Output;
}

/// Parallel sums in registers. Whether the compiler puts an array into registers depends on the build,
/// so the innermost loops request it explicitly.
pub(crate) trait Sums: Copy {
    fn zero() -> Self;
    /// Adds `factor * values`; products are rounded before they are added.
    fn add_scaled(&mut self, factor: f32, values: &[f32; LANES]);
    fn into_array(self) -> [f32; LANES];
}

impl Sums for [f32; LANES] {
    #[inline(always)]
    fn zero() -> Self {
        [0.0; LANES]
    }

    #[inline(always)]
    fn add_scaled(&mut self, factor: f32, values: &[f32; LANES]) {
        for (sum, value) in self.iter_mut().zip(values) {
            *sum += factor * value;
        }
    }

    #[inline(always)]
    fn into_array(self) -> [f32; LANES] {
        self
    }
}

fn products_portable(rows: &[i8], weights: Packed<'_>, sums: &mut [i32]) {
    let block_bytes = weights.inputs * BLOCK;
    for (row, sums) in rows
        .chunks_exact(weights.inputs)
        .zip(sums.chunks_exact_mut(weights.outputs))
    {
        for (block, sums) in weights
            .lines
            .chunks_exact(block_bytes)
            .zip(sums.chunks_exact_mut(BLOCK))
        {
            // A sum for each byte of a line; neighbours are added only once, at the end. Products of
            // bytes fit into 16 bits, so the compiler can use the available vector instructions.
            let mut lanes = [0_i32; LINE];
            for (line, group) in block.chunks_exact(LINE).zip(row.chunks_exact(GROUP)) {
                for (lanes, bytes) in lanes.chunks_exact_mut(GROUP).zip(line.chunks_exact(GROUP)) {
                    for i in 0..GROUP {
                        lanes[i] += i32::from(i16::from(bytes[i]) * i16::from(group[i]));
                    }
                }
            }
            for (sum, lanes) in sums.iter_mut().zip(lanes.chunks_exact(GROUP)) {
                *sum = lanes.iter().sum();
            }
        }
    }
}
