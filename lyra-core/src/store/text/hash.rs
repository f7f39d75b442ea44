//! Digests as lower-case hex.

use sha2::{Digest, Sha256};

/// SHA-256 as 64 lower-case hex digits.
///
/// ```
/// let digest = lyra_core::store::text::hash::sha256_hex(b"abc");
/// assert!(digest.starts_with("ba7816bf8f01cfea") && digest.len() == 64);
/// ```
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hex digits, two a byte.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(nibble), 16));
        }
    }
    text
}

/// MD5 (RFC 1321): for ids that must equal those of existing databases, never for security.
pub(super) fn md5(bytes: &[u8]) -> [u8; 16] {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - bytes.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let length_at = padded.len() - 8;
    padded[length_at..].copy_from_slice(&(bytes.len() as u64).wrapping_mul(8).to_le_bytes());

    let mut state = [0x6745_2301_u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in padded.chunks_exact(64) {
        md5_block(&mut state, block);
    }
    let mut digest = [0; 16];
    for (out, word) in digest.chunks_exact_mut(4).zip(state) {
        out.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

/// Rotations of the four rounds, in turn.
const MD5_SHIFTS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

fn md5_block(state: &mut [u32; 4], block: &[u8]) {
    let mut words = [0_u32; 16];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..64 {
        let round = step / 16;
        let (mix, word) = match round {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        // The constants of the standard are floor(2^32 · |sin(step + 1)|).
        let constant = (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a
            .wrapping_add(mix)
            .wrapping_add(constant)
            .wrapping_add(words[word]);
        (a, d, c) = (d, c, b);
        b = b.wrapping_add(sum.rotate_left(MD5_SHIFTS[round][step % 4]));
    }
    for (total, part) in state.iter_mut().zip([a, b, c, d]) {
        *total = total.wrapping_add(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_equal_the_published_ones() {
        for (text, expected) in [
            (
                "",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                "abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
        ] {
            assert_eq!(sha256_hex(text.as_bytes()), expected, "{text:?}");
        }
        // The test suite of RFC 1321.
        for (text, expected) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (
                "abcdefghijklmnopqrstuvwxyz",
                "c3fcd3d76192e4007dfb496cca67e13b",
            ),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "d174ab98d277d9f5a5611c2c9f419d9f",
            ),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            assert_eq!(hex(&md5(text.as_bytes())), expected, "{text:?}");
        }
    }

    #[test]
    fn md5_pads_every_length() {
        // Digests of n zero bytes around the block boundary, from Python's hashlib.
        for (length, expected) in [
            (55, "c9ea3314b91c9fd4e38f9432064fd1f2"),
            (56, "e3c4dd21a9171fd39d208efa09bf7883"),
            (63, "65cecfb980d72fde57d175d6ec1c3f64"),
            (64, "3b5d3c7d207e37dceeedd301e35e2e58"),
        ] {
            assert_eq!(hex(&md5(&vec![0; length])), expected, "{length}");
        }
    }
}
