//! Options for fetching web pages.

use std::time::Duration;

/// Options for fetching web pages.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Whether addresses on private networks may be fetched.
    pub allow_private_hosts: bool,
    /// Whether `robots.txt` is obeyed.
    pub obey_robots: bool,
    /// Time limit of the network for one document, including redirects, retries and body. Waiting
    /// for a site's turn does not count.
    pub timeout: Duration,
    /// Maximum pause while a body is received.
    pub idle_timeout: Duration,
    /// Maximum size of the decoded body, in bytes.
    pub max_bytes: usize,
    /// Maximum number of redirects.
    pub max_redirects: usize,
    /// How often a request is retried if the server returns 429, 500, 502, 503 or 504.
    pub max_retries: u32,
    /// The wait before the first retry; it doubles for each further one. A longer `Retry-After`
    /// takes precedence.
    pub retry_base: Duration,
    /// If a server asks for a longer wait than this, the request fails.
    pub max_wait: Duration,
    /// Maximum number of concurrent fetches from one site (registrable domain).
    pub per_site: usize,
    /// Interval between the starts of two visits to a site. A longer `Crawl-delay` takes precedence
    /// (up to 20 s). Hosts on private networks are only limited by their own `Crawl-delay`.
    pub site_interval: Duration,
    /// Maximum wait for a site's turn.
    pub max_queueing: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            allow_private_hosts: false,
            obey_robots: true,
            timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(10),
            max_bytes: 16 * 1024 * 1024,
            max_redirects: 10,
            max_retries: 2,
            retry_base: Duration::from_millis(500),
            max_wait: Duration::from_secs(30),
            per_site: 2,
            site_interval: Duration::from_millis(500),
            max_queueing: Duration::from_secs(300),
        }
    }
}
