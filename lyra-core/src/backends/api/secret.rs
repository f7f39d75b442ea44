//! Keys that nobody gets to see.

use std::fmt;

/// A key for a service, with the name of the place that it came from.
///
/// Its `Debug` shows the place and never the key; nothing else gives the key out.
///
/// ```
/// use lyra_core::backends::ApiKey;
/// let key = ApiKey::new("LYRA_BRAVE_KEY", "secret");
/// assert_eq!(format!("{key:?}"), "ApiKey(from LYRA_BRAVE_KEY)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    origin: String,
    value: String,
}

impl ApiKey {
    /// A key, and where it was found: the name of a variable or of a file.
    pub fn new(origin: impl Into<String>, value: impl AsRef<str>) -> Self {
        Self {
            origin: origin.into(),
            value: value.as_ref().trim().to_owned(),
        }
    }

    /// Where it was found.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) fn expose(&self) -> &str {
        &self.value
    }

    /// The text without the key, where it quotes it.
    pub(crate) fn redact(&self, text: &str) -> String {
        if self.value.is_empty() {
            return text.to_owned();
        }
        text.replace(&self.value, "***")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey(from {})", self.origin)
    }
}
