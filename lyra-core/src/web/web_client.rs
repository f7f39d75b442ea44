//! What all web clients have in common: the provider of cryptography and who they say they are.

use reqwest::{Client, ClientBuilder};

/// The beginning of a client that says `lyra/VERSION (evidence engine)`. Redirects, proxies and
/// times are for the caller to set: they differ with what is asked.
pub(crate) fn builder() -> ClientBuilder {
    builder_for(None)
}

/// The same with an address to write to, as scholarly services wish.
pub(crate) fn builder_for(mailto: Option<&str>) -> ClientBuilder {
    // Another library in the process may have chosen a provider; any of them will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let version = env!("CARGO_PKG_VERSION");
    let contact = mailto.map(|address| format!("; mailto:{address}"));
    let contact = contact.unwrap_or_default();
    Client::builder().user_agent(format!("lyra/{version} (evidence engine{contact})"))
}
