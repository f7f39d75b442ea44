//! Secrets that are sent and never shown.

use crate::error::{Error, Result};

/// A key that is sent to a server and shown to nobody: not in `Debug`, an error, or a log.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// A key; blanks around it are dropped.
    ///
    /// ```
    /// let key = lyra_core::backends::ApiKey::new("sk-secret\n")?;
    /// assert_eq!(format!("{key:?}"), "ApiKey(***)");
    /// # Ok::<(), lyra_core::Error>(())
    /// ```
    pub fn new(key: &str) -> Result<Self> {
        let key = key.trim();
        if key.is_empty() || !key.chars().all(|c| c.is_ascii_graphic()) {
            return Err(
                Error::invalid("the key is empty or holds characters that no key has")
                    .with_hint("a key is one line of plain letters, digits and signs"),
            );
        }
        Ok(Self(key.to_owned()))
    }

    /// The key itself, for the header that carries it.
    #[cfg(feature = "http")]
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// The text without the key, should a server repeat it.
    #[cfg(feature = "http")]
    pub(super) fn blot_out(&self, text: &str) -> String {
        text.replace(&self.0, "***")
    }
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApiKey(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_to_nobody() {
        let key = ApiKey::new(" sk-verysecret\n").unwrap();
        assert_eq!(format!("{:?}", Some(&key)), "Some(ApiKey(***))");
        for bad in ["", "  ", "two words", "ключ", "line\nline"] {
            let error = ApiKey::new(bad).unwrap_err();
            assert!(bad.trim().is_empty() || !format!("{error:?}").contains(bad));
        }
    }

    #[cfg(feature = "http")]
    #[test]
    fn what_a_server_repeats_is_blotted_out() {
        let key = ApiKey::new("sk-verysecret").unwrap();
        assert_eq!(key.blot_out("bad key sk-verysecret!"), "bad key ***!");
    }
}
