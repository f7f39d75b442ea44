//! Secrets that are sent but never shown.

use crate::error::{Error, Result};
use std::fmt;

/// A key that is sent to a service and never shown, not in `Debug`, an error or a log. Only its
/// origin may be shown.
///
/// ```
/// use lyra_core::web::ApiKey;
/// let key = ApiKey::new("LYRA_BRAVE_KEY", "secret\n")?;
/// assert_eq!(format!("{key:?}"), "ApiKey(from LYRA_BRAVE_KEY)");
/// # Ok::<(), lyra_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    origin: String,
    value: String,
}

impl ApiKey {
    /// A key and its origin: the name of a variable or of a file. Blanks around the key are
    /// removed.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput), with the origin, if the value
    /// is not a valid key.
    pub fn new(origin: impl Into<String>, value: impl AsRef<str>) -> Result<Self> {
        let (origin, value) = (origin.into(), value.as_ref().trim());
        if value.is_empty() || !value.chars().all(|c| c.is_ascii_graphic()) {
            return Err(Error::invalid(format!(
                "{origin}: the key is empty or holds characters that no key has"
            ))
            .with_hint("a key is one line of plain letters, digits and signs"));
        }
        Ok(Self {
            origin,
            value: value.to_owned(),
        })
    }

    /// The origin of the key.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The key itself, for the header in which it is sent.
    #[cfg(feature = "http")]
    pub(crate) fn reveal(&self) -> &str {
        &self.value
    }

    /// The text with the key removed, plain or URL-encoded, in case a service repeats it. Call this
    /// before the text is cut: a part of the key would not be recognised.
    #[cfg(feature = "http")]
    pub(super) fn redact(&self, text: &str) -> String {
        let encoded: String = url::form_urlencoded::byte_serialize(self.value.as_bytes()).collect();
        text.replace(&self.value, "***").replace(&encoded, "***")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey(from {})", self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_to_nobody() {
        let key = ApiKey::new("KEY", " sk-verysecret\n").unwrap();
        assert_eq!(format!("{:?}", Some(&key)), "Some(ApiKey(from KEY))");
        for bad in ["", "  ", "two words", "ключ", "line\nline"] {
            let error = ApiKey::new("KEY", bad).unwrap_err();
            assert!(error.message().starts_with("KEY: "), "{error}");
            assert!(bad.trim().is_empty() || !format!("{error:?}").contains(bad));
        }
    }

    #[cfg(feature = "http")]
    #[test]
    fn what_a_service_repeats_is_redacted() {
        let key = ApiKey::new("KEY", "sk-verysecret").unwrap();
        assert_eq!(key.redact("bad key sk-verysecret!"), "bad key ***!");
    }
}
