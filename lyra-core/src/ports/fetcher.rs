//! Addresses to bytes.

use crate::error::Result;
use crate::store::model::DocumentMeta;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Debug};
use std::time::Duration;

/// What a server or file system said of the copy that we hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// `ETag`.
    pub etag: Option<String>,
    /// `Last-Modified`, or a file's modification time.
    pub last_modified: Option<String>,
}

/// What a human's browser holds of one site after a challenge was passed there. Its `Debug` form
/// does not show the cookies, so that no log and no error can.
#[derive(Clone, PartialEq, Eq)]
pub struct SiteSession {
    /// Registrable domain; the session is of use nowhere else.
    pub domain: String,
    /// A `Cookie` header: `name=value; name=value`.
    pub cookies: String,
    /// Whether it was granted over TLS and must not be sent without.
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

/// What to fetch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FetchRequest {
    /// `file:`, `http:` or `https:`.
    pub url: String,
    /// Of the copy that is already there.
    pub validators: Validators,
    /// Sessions that may be needed on the way, at most one for each domain.
    pub sessions: Vec<SiteSession>,
}

/// What came back. Trouble that belongs to one document is a value, because it is data for the
/// pipeline (a queue item, an error column), not a failure of the fetcher.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchedDocument {
    /// The bytes.
    Found {
        /// Where redirects led.
        final_url: String,
        /// HTTP status; none for files.
        status: Option<u16>,
        /// `Content-Type` as sent, or guessed from a file's name.
        content_type: Option<String>,
        /// The decoded body.
        body: Vec<u8>,
        /// What the fetcher knows of the document beside its body (a sidecar file, a provider's
        /// record); it completes what the document says about itself and wins where they differ.
        known: Box<DocumentMeta>,
        /// For the next request.
        validators: Validators,
    },
    /// The copy that is already there is current.
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

    /// Whether this fetcher takes such an address.
    fn accepts(&self, url: &str) -> bool;

    /// Whether a copy that was fetched, or found to be current, `age` ago may be used without
    /// asking. The default asks every time.
    fn may_reuse(&self, url: &str, age: Duration) -> bool {
        let _ = (url, age);
        false
    }

    /// How long the copy that was fetched last, or found to be current, may be used without asking,
    /// as its server said; none where it said nothing.
    fn lifetime(&self, url: &str) -> Option<Duration> {
        let _ = url;
        None
    }

    /// Fetches one document within the fetcher's own limits of size and time. An address that may
    /// not be fetched (outside the corpus, a private network, `robots.txt`) is an error that says so
    /// (see [`Refusal`](crate::security::url_policy::Refusal)).
    async fn fetch(&self, request: &FetchRequest) -> Result<FetchedDocument>;
}
