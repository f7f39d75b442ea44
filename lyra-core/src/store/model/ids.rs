//! Ids of rows.
//!
//! Rows derived from content (pages, fragments, claims, edges, embeddings) get an id that is a hash of
//! that content, so that repeating the same work finds the existing row instead of creating a second
//! one. Rows created by a user's action (tasks, jobs, queries) get a random id.

use sha2::{Digest, Sha256};

/// `prefix` + 16 hex digits of the SHA-256 over `parts`, separated by zero bytes.
///
/// ```
/// let a = lyra_core::store::model::content_id("page_", &["https://example.org/"]);
/// assert_eq!(a, lyra_core::store::model::content_id("page_", &["https://example.org/"]));
/// assert_eq!(a.len(), "page_".len() + 16);
/// ```
pub fn content_id(prefix: &str, parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    let digest = hasher.finalize();
    let mut id = String::with_capacity(prefix.len() + 16);
    id.push_str(prefix);
    push_hex(&mut id, &digest[..8]);
    id
}

/// `prefix` + `digits` random hex digits from the operating system's generator.
pub fn random_id(prefix: &str, digits: usize) -> String {
    let mut bytes = [0_u8; 16];
    // The generator fails only if the system has none; a constant would then collide on the unique
    // primary key, which is reported, so nothing is silently merged.
    let _ = getrandom::fill(&mut bytes);
    let mut id = String::with_capacity(prefix.len() + 32);
    id.push_str(prefix);
    push_hex(&mut id, &bytes);
    id.truncate(prefix.len() + digits.min(32));
    id
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for b in bytes {
        out.push(char::from(HEX[usize::from(b >> 4)]));
        out.push(char::from(HEX[usize::from(b & 15)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_set_off() {
        assert_ne!(content_id("x", &["ab", "c"]), content_id("x", &["a", "bc"]));
    }

    #[test]
    fn random_ids_have_the_asked_length_and_differ() {
        let a = random_id("task_", 8);
        assert_eq!(a.len(), 13);
        assert_ne!(a, random_id("task_", 8));
    }
}
