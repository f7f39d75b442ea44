//! Shared by all web clients: the cryptography provider and the user agent.

use reqwest::{Client, ClientBuilder};

/// A client builder with the user agent `lyra/VERSION (evidence engine)`. The caller sets
/// redirects, proxies and timeouts, which depend on the use.
pub(crate) fn builder() -> ClientBuilder {
    builder_for(None)
}

/// The same with a contact address, as scholarly services request.
pub(crate) fn builder_for(mailto: Option<&str>) -> ClientBuilder {
    // Another library in the process may have installed a provider; any of them is suitable.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let version = env!("CARGO_PKG_VERSION");
    let contact = mailto.map(|address| format!("; mailto:{address}"));
    let contact = contact.unwrap_or_default();
    Client::builder().user_agent(format!("lyra/{version} (evidence engine{contact})"))
}
