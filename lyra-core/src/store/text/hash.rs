//! Digests as lower-case hex.

use md5::Md5;
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

/// Lower-case hex digits, two per byte.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles
        .map(|nibble| char::from(DIGITS[usize::from(nibble)]))
        .collect()
}

/// MD5 (RFC 1321): for ids that must equal those of existing databases, never for security.
pub(super) fn md5(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
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
