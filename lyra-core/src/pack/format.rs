//! Names of the files of a pack, and the error for a broken one.

use crate::error::{Error, ErrorKind};

/// The signature.
pub(super) const ATTESTATION: &str = "attestation.dsse.json";
pub(super) const METADATA: &str = "ro-crate-metadata.json";
pub(super) const MANIFEST: &str = "manifest-sha256.txt";

/// The error for a pack that was changed: which file, and why.
pub(super) fn broken(file: &str, why: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("{file}: {why}"))
        .with_hint("the pack was changed or damaged after it was signed: ask for it again")
}
