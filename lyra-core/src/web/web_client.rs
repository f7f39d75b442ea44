//! Shared by all web clients: the cryptography provider, the user agent, and the errors.

use crate::error::{Error, ErrorKind, Result};
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

/// Builds the client. That reads the certificates of the system, and fails if there are none.
pub(crate) fn build(builder: ClientBuilder) -> Result<Client> {
    builder.build().map_err(|error| {
        let message = format!("no web client can be built: {}", cause(&error));
        Error::new(ErrorKind::Backend, message).with_hint(
            "the system must have the certificates of certificate authorities; most Linux systems \
             have them in the package ca-certificates",
        )
    })
}

/// The useful part of an error, which is at the end of its chain: "connection refused".
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut reason = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        reason = cause.to_string();
        source = cause.source();
    }
    reason
}
