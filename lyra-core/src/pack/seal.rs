//! The signature: an in-toto Statement in a DSSE envelope, signed with Ed25519, and the key for it.
//!
//! <https://github.com/secure-systems-lab/dsse>, <https://in-toto.io/Statement/v1>

use super::archive::ArchiveEntry;
use super::format::{ATTESTATION, broken};
use crate::error::{Error, ErrorKind, Result};
use crate::store::text::hash::sha256_hex;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
pub(super) const PREDICATE: &str = "urn:lyra:evidence-pack:v1";
/// The bytes before the 32 bytes of a key in PKCS #8 and in SPKI (RFC 8410).
const PRIVATE: [u8; 16] = [
    0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20,
];
const PUBLIC: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];

/// A key that signs packs, from a file that only its owner may read. Its `Debug` form does not
/// reveal it.
pub struct PackKey(SigningKey);

impl std::fmt::Debug for PackKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PackKey({})", self.id())
    }
}

impl PackKey {
    /// Reads a private key in PEM (PKCS #8), as written by `openssl genpkey -algorithm ed25519`. If
    /// the file does not exist, a key is created, with its public key next to it in `NAME.pub`.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if other users may read the file or it contains something else.
    ///
    /// ```
    /// use lyra_core::PackKey;
    /// let folder = tempfile::tempdir()?;
    /// let place = folder.path().join("key.pem");
    /// assert_eq!(PackKey::load_or_make(&place)?.id(), PackKey::load_or_make(&place)?.id());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_or_make(path: &Path) -> Result<Self> {
        if !path.exists() {
            return Self::make(path);
        }
        refuse_open(path)?;
        let bytes = key_in(path, "PRIVATE KEY", &PRIVATE)?;
        Ok(Self(SigningKey::from_bytes(&bytes)))
    }

    fn make(path: &Path) -> Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)
            .map_err(|e| Error::internal(format!("no random numbers for a key: {e}")))?;
        let key = Self(SigningKey::from_bytes(&seed));
        let failed = |e: std::io::Error| {
            let message = format!("the key {} cannot be written: {e}", path.display());
            Error::new(ErrorKind::Backend, message).with_source(e)
        };
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(failed)?;
        let pem = pem_of("PRIVATE KEY", &PRIVATE, &seed);
        file.write_all(pem.as_bytes()).map_err(failed)?;
        let mut public = path.as_os_str().to_owned();
        public.push(".pub");
        std::fs::write(public, key.public_pem()).map_err(failed)?;
        Ok(key)
    }

    /// The public key in PEM (SPKI), for verifiers.
    pub fn public_pem(&self) -> String {
        pem_of("PUBLIC KEY", &PUBLIC, self.0.verifying_key().as_bytes())
    }

    /// SHA-256 of the public key, in hex.
    pub fn id(&self) -> String {
        sha256_hex(self.0.verifying_key().as_bytes())
    }

    pub(super) fn public(&self) -> String {
        STANDARD.encode(self.0.verifying_key().as_bytes())
    }

    /// Creates the signed envelope for these files.
    pub(super) fn seal(&self, entries: &[ArchiveEntry], predicate: &Value) -> Result<Vec<u8>> {
        let mut subject: Vec<&ArchiveEntry> = entries.iter().collect();
        subject.sort_by(|a, b| a.name.cmp(&b.name));
        let subject = subject.into_iter();
        let subject = subject.map(|e| json!({"name": e.name, "digest": {"sha256": e.sha256}}));
        let statement = json!({
            "_type": STATEMENT, "subject": subject.collect::<Vec<_>>(),
            "predicateType": PREDICATE, "predicate": predicate,
        });
        let payload = statement.to_string();
        let signature = self.0.sign(&encoded(payload.as_bytes()));
        envelope(payload.as_bytes(), &self.id(), &signature.to_bytes())
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeSignature {
    keyid: String,
    sig: String,
}

fn envelope(payload: &[u8], keyid: &str, signature: &[u8]) -> Result<Vec<u8>> {
    let envelope = Envelope {
        payload: STANDARD.encode(payload),
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: vec![EnvelopeSignature {
            keyid: keyid.to_owned(),
            sig: STANDARD.encode(signature),
        }],
    };
    let mut bytes = serde_json::to_vec(&envelope)
        .map_err(|e| Error::internal(format!("an envelope is not JSON: {e}")))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The bytes that are signed: the pre-authentication encoding of DSSE.
fn encoded(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "DSSEv1 {} {PAYLOAD_TYPE} {} ",
        PAYLOAD_TYPE.len(),
        payload.len()
    )
    .into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// The statement of an envelope with a valid signature, and the id of the key. The key is the one
/// that the statement names, unless another one is expected.
pub(super) fn open(bytes: &[u8], expected: Option<&Path>) -> Result<(Value, String)> {
    let bad = |why: &str| broken(ATTESTATION, why);
    let sealed: Envelope =
        serde_json::from_slice(bytes).map_err(|_| bad("it is no envelope of a pack"))?;
    let [one] = sealed.signatures.as_slice() else {
        return Err(bad("it does not have exactly one signature"));
    };
    let payload = STANDARD.decode(&sealed.payload);
    let payload = payload.map_err(|_| bad("its payload is not base64"))?;
    let signature = STANDARD.decode(&one.sig).ok();
    let signature = signature.and_then(|bytes| Signature::from_slice(&bytes).ok());
    let signature = signature.ok_or_else(|| bad("its signature is not an Ed25519 signature"))?;
    let statement: Value =
        serde_json::from_slice(&payload).map_err(|_| bad("its payload is not JSON"))?;
    let named = statement["predicate"]["public_key"].as_str();
    let named = named.and_then(|text| STANDARD.decode(text).ok());
    let named: Option<[u8; 32]> = named.and_then(|bytes| bytes.try_into().ok());
    let named = named.ok_or_else(|| bad("it names no key"))?;
    if let Some(path) = expected
        && key_in(path, "PUBLIC KEY", &PUBLIC)? != named
    {
        let message = format!("it was not signed with the key of {}", path.display());
        return Err(bad(&message));
    }
    let key = VerifyingKey::from_bytes(&named).map_err(|_| bad("its key is not an Ed25519 key"))?;
    let holds = key.verify_strict(&encoded(&payload), &signature);
    let keyid = sha256_hex(&named);
    let again = envelope(&payload, &keyid, &signature.to_bytes())?;
    if holds.is_err() || again != bytes || sealed.payload_type != PAYLOAD_TYPE {
        return Err(bad("its signature is not valid"));
    }
    if statement["_type"] != STATEMENT || statement["predicateType"] != PREDICATE {
        return Err(bad(
            "it does not describe a pack of a version that this program knows",
        ));
    }
    Ok((statement, keyid))
}

fn pem_of(label: &str, before: &[u8], key: &[u8]) -> String {
    let body = STANDARD.encode([before, key].concat());
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

/// The 32 bytes of a key in a file.
fn key_in(path: &Path, label: &str, before: &[u8]) -> Result<[u8; 32]> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| Error::invalid(format!("the key {}: {e}", path.display())))?;
    let inner = text
        .trim()
        .strip_prefix(&format!("-----BEGIN {label}-----"));
    let inner = inner.and_then(|rest| rest.strip_suffix(&format!("-----END {label}-----")));
    let body: Option<String> = inner.map(|text| text.split_whitespace().collect());
    let bytes = body.and_then(|body| STANDARD.decode(body).ok());
    let key = bytes.and_then(|bytes| bytes.strip_prefix(before)?.try_into().ok());
    key.ok_or_else(|| {
        Error::invalid(format!(
            "{} holds no Ed25519 {label} in PEM",
            path.display()
        ))
        .with_hint("`openssl genpkey -algorithm ed25519` makes one")
    })
}

#[cfg(unix)]
fn refuse_open(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(path).map(|meta| meta.permissions().mode());
    match mode {
        Ok(mode) if mode & 0o077 != 0 => Err(Error::invalid(format!(
            "others may read the key {} (mode {:o})",
            path.display(),
            mode & 0o777
        ))
        .with_hint("chmod 600 makes it readable only to you")),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn refuse_open(_path: &Path) -> Result<()> {
    Ok(())
}
