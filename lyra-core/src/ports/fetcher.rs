//! The port that fetches the bytes at an address.

use crate::error::Result;
use crate::store::model::DocumentMeta;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};
use std::time::Duration;

/// Validators that a server or file system gave for the stored copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`, or a file's modification time.
    pub last_modified: Option<String>,
}

/// The cookies of a human's browser for one site after passing a challenge there. The `Debug` form
/// does not show the cookies, so that they do not appear in logs or errors.
#[derive(Clone, PartialEq, Eq)]
pub struct SiteSession {
    /// Registrable domain; the session is not valid anywhere else.
    pub domain: String,
    /// A `Cookie` header: `name=value; name=value`.
    pub cookies: String,
    /// Whether it was granted over TLS and must not be sent over plain HTTP.
    pub secure_only: bool,
}

impl Debug for SiteSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiteSession")
            .field("domain", &self.domain)
            .field("secure_only", &self.secure_only)
            .finish_non_exhaustive()
    }
}

/// A request to fetch a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchRequest {
    /// `file:`, `http:` or `https:`.
    pub url: String,
    /// Validators of the stored copy.
    pub validators: Validators,
    /// Sessions that may be needed for the request, at most one per domain.
    pub sessions: Vec<SiteSession>,
}

/// The result of a fetch. Problems of a single document are values rather than errors, because they
/// are data for the pipeline (a queue item, an error column).
#[derive(Debug, Clone, PartialEq)]
pub enum FetchedDocument {
    /// The document was found.
    Found {
        /// The final address after redirects.
        final_url: String,
        /// HTTP status; `None` for files.
        status: Option<u16>,
        /// `Content-Type` as sent, or guessed from the name of a file.
        content_type: Option<String>,
        /// The decoded body.
        body: Vec<u8>,
        /// Metadata that the fetcher knows from elsewhere (a side file, a provider's record); it
        /// completes the document's own metadata and takes precedence where they differ.
        known: Box<DocumentMeta>,
        /// Validators for the next request.
        validators: Validators,
    },
    /// The stored copy is up to date.
    NotModified,
    /// A human must pass a challenge first.
    NeedsAuth {
        /// `cloudflare`, `js_challenge`, `turnstile`, `hcaptcha`, `recaptcha`, `captcha`, `login`,
        /// `cookie_consent`.
        auth_type: String,
        /// The page's registrable domain.
        domain: String,
    },
}

/// Fetches documents.
#[async_trait::async_trait]
pub trait Fetcher: Debug + Send + Sync + 'static {
    /// Short name: `file`, `http`. Stored as `pages.fetch_method`.
    fn name(&self) -> &str;

    /// Whether this fetcher can fetch this address.
    fn accepts(&self, url: &str) -> bool;

    /// Whether a copy that was fetched, or confirmed as current, `age` ago may be used without a
    /// request. By default a request is always made.
    fn may_reuse(&self, url: &str, age: Duration) -> bool {
        let _ = (url, age);
        false
    }

    /// How long the copy that was last fetched, or confirmed as current, may be used without a
    /// request, according to its server; `None` if it did not say.
    fn lifetime(&self, url: &str) -> Option<Duration> {
        let _ = url;
        None
    }

    /// Fetches one document within the fetcher's own limits of size and time. An address that may
    /// not be fetched (outside the corpus, a private network, `robots.txt`) gives an error with the
    /// reason (see [`Refusal`](crate::security::url_policy::Refusal)).
    async fn fetch(&self, request: &FetchRequest) -> Result<FetchedDocument>;
}
