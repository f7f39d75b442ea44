//! The innermost loops: dot products of bytes, which bound a score, and of floats, which give the score.
//!
//! Each loop exists for several vector instruction sets, and once in portable code. Scores are summed in
//! one fixed order, so every tier gives the same bits; the estimates of the first pass may differ in
//! their last bit, which the bounds allow for.

mod first_pass;
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(super) use first_pass::{FirstPass, Survivor};

/// The instruction set of the loops. A value other than the portable one is created only if the
/// processor was detected to support it, which makes calling the loops sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tier(Instructions);

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
    pub(super) fn available() -> Vec<Self> {
        let mut tiers = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
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
    pub(super) fn best() -> Self {
        Self::available()[0]
    }

    /// The dot product in double precision: products are exact, and sums run in sixteen lanes.
    #[allow(unsafe_code, reason = "calls code for instructions that were detected")]
    pub(super) fn dot(self, a: &[f32], b: &[f32]) -> f64 {
        match self.0 {
            // SAFETY: this tier exists only where the processor has AVX-512F and AVX-512 VNNI.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Vnni => unsafe { x86::dot_avx512(a, b) },
            // SAFETY: this tier exists only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { x86::dot_avx2(a, b) },
            Instructions::Portable => portable::dot(a, b),
        }
    }

    /// Runs the first pass over every block.
    #[allow(unsafe_code, reason = "calls code for instructions that were detected")]
    pub(super) fn first_pass(self, pass: &mut FirstPass<'_>) {
        match self.0 {
            // SAFETY: this tier exists only where the processor has AVX-512F and AVX-512 VNNI.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512Vnni => unsafe { x86::first_pass_avx512(pass) },
            // SAFETY: this tier exists only where the processor has AVX2.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { x86::first_pass_avx2(pass) },
            Instructions::Portable => portable::first_pass(pass),
        }
    }
}
