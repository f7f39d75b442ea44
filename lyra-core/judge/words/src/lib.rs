//! The first part of the weights of `lyra-judge`: word rows, positions and the lowest layer. It is a crate
//! of its own because a registry takes crates of up to 10 MB. `MODEL.md` of `lyra-judge` tells where
//! the weights come from.
#![no_std]

/// At an address that a cache line begins at.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!("../models/judge-minilm-1.lyj"));

/// The bytes, at an address that is a multiple of 64.
pub fn bytes() -> &'static [u8] {
    &FILE.0
}
