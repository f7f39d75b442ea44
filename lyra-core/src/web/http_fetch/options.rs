//! How web pages are fetched.

use std::time::Duration;

/// How web pages are fetched.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Whether addresses on private networks may be fetched.
    pub allow_private_hosts: bool,
    /// Whether `robots.txt` is obeyed.
    pub obey_robots: bool,
    /// What the network may take for one document: redirects, retries and body together. Waiting
    /// for a site's turn is not counted.
    pub timeout: Duration,
    /// Longest pause in the middle of a body.
    pub idle_timeout: Duration,
    /// Of the decoded body.
    pub max_bytes: usize,
    /// Redirects followed.
    pub max_redirects: usize,
    /// How often a server that answers 429, 500, 502, 503 or 504 is asked again.
    pub max_retries: u32,
    /// The wait before the first retry; each further one doubles it. A server's `Retry-After`
    /// counts where it is longer.
    pub retry_base: Duration,
    /// A server that asks for a longer wait than this is given up.
    pub max_wait: Duration,
    /// Documents that are fetched from one site (registrable domain) at once.
    pub per_site: usize,
    /// Time between the beginnings of two visits to a site. `Crawl-delay` counts where it is
    /// longer (up to 20 s). Hosts on private networks are only paced by their own wish.
    pub site_interval: Duration,
    /// Longest wait for a site's turn.
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
