//! Parses the addresses that users configure for model servers.

use crate::error::{Error, Result};
use url::Url;

/// One call of a server's API.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint {
    /// The name of the server for messages: `embedding server`.
    pub(crate) server: &'static str,
    /// An example address to show.
    pub(crate) example: &'static str,
    /// The path of the API on a server that was given without a path: `/v1`, or nothing.
    pub(crate) root: &'static str,
    /// The path of the call below that: `/embeddings`.
    pub(crate) call: &'static str,
}

impl Endpoint {
    /// The address of the call, given the address of a server, of its API root or of the call
    /// itself.
    pub(crate) fn at(&self, url: &str) -> Result<Url> {
        let wrong = |why: &str| {
            Error::invalid(format!("the address of the {} {why}", self.server))
                .with_hint(format!("for example {}", self.example))
        };
        // The address is not repeated: it may contain a password.
        let mut parsed =
            Url::parse(url.trim()).map_err(|e| wrong(&format!("is not valid: {e}")))?;
        if !["http", "https"].contains(&parsed.scheme()) || parsed.host_str().is_none() {
            return Err(wrong("must begin with http:// or https://"));
        }
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(wrong(
                "must not hold a user or a password; give the key in its own setting",
            ));
        }
        let path = parsed.path().trim_end_matches('/').to_owned();
        let path = match path.as_str() {
            "" => format!("{}{}", self.root, self.call),
            whole if whole.ends_with(self.call) => whole.to_owned(),
            root => format!("{root}{}", self.call),
        };
        parsed.set_path(&path);
        parsed.set_fragment(None);
        Ok(parsed)
    }

    /// The API root, for other calls of the same server.
    pub(crate) fn base(&self, url: &str) -> Result<Url> {
        let mut base = self.at(url)?;
        let path = base.path().to_owned();
        base.set_path(path.strip_suffix(self.call).unwrap_or(&path));
        Ok(base)
    }
}
