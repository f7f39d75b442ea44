//! The settings of the HTTP server. Only `serve --http` starts it.

use super::sources::Sources;
use lyra_core::Result;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Allowed requests per second for a token.
const RATE: RangeInclusive<u64> = 1..=100_000;

/// Allowed burst of requests for a token.
const BURST: RangeInclusive<u64> = 1..=1_000_000;

/// Allowed size of a body, in MiB. No tool accepts more than 4 MiB, which is also the limit on
/// standard input.
const MAX_BODY: RangeInclusive<u64> = 1..=64;

/// Allowed seconds for finishing the last requests.
const DRAIN: RangeInclusive<u64> = 0..=300;

/// The effective settings.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HttpSettings {
    pub(super) tokens: Option<PathBuf>,
    pub(super) origins: Vec<String>,
    pub(super) hosts: Vec<String>,
    pub(super) per_second: u64,
    pub(super) burst: u64,
    /// In bytes.
    pub(super) max_body: u64,
    pub(super) drain: Duration,
}

/// The effective settings.
pub(super) fn settle(sources: Sources<'_>) -> Result<HttpSettings> {
    let number = |name, range, usual| Ok(sources.number(name, range)?.unwrap_or(usual));
    Ok(HttpSettings {
        tokens: sources.path("http_tokens")?,
        origins: sources.list("http_allow_origins")?.unwrap_or_default(),
        hosts: sources.list("http_allow_hosts")?.unwrap_or_default(),
        per_second: number("http_rate", RATE, 50)?,
        burst: number("http_burst", BURST, 200)?,
        max_body: number("http_max_body", MAX_BODY, 4)? * 1024 * 1024,
        drain: Duration::from_secs(number("http_drain_seconds", DRAIN, 10)?),
    })
}

#[cfg(test)]
mod tests {
    use super::super::Global;
    use super::super::sources::settled;
    use super::*;

    fn settle(file: &str, env: &[(&str, &str)]) -> Result<HttpSettings> {
        settled((file, "/etc/lyra"), env, &Global::default(), super::settle)
    }

    #[test]
    fn the_later_source_wins_key_by_key() {
        let file = "http_tokens = \"tokens\"\nhttp_allow_hosts = [\"a.org\"]\nhttp_rate = 5\nhttp_max_body = 1";
        let env = [
            ("LYRA_HTTP_RATE", "7"),
            ("LYRA_HTTP_ALLOW_ORIGINS", "https://a.org, https://b.org"),
        ];
        let settings = settle(file, &env).expect("good");
        assert_eq!(settings.tokens, Some(PathBuf::from("/etc/lyra/tokens")));
        assert_eq!(settings.hosts, ["a.org"]);
        assert_eq!(settings.origins, ["https://a.org", "https://b.org"]);
        assert_eq!((settings.per_second, settings.burst), (7, 200));
        assert_eq!(settings.max_body, 1024 * 1024);
        assert_eq!(settings.drain, Duration::from_secs(10));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (file, name, value, message) in [
            (
                "http_rate = 0",
                "X",
                "",
                "\"http_rate\" is 0; expected an integer",
            ),
            (
                "http_tokens = 5",
                "X",
                "",
                "\"http_tokens\" is 5; expected a string",
            ),
            (
                "http_allow_hosts = \"a\"",
                "X",
                "",
                "expected an array of strings",
            ),
            (
                "http_allow_hosts = [5]",
                "X",
                "",
                "expected an array of strings",
            ),
            ("", "LYRA_HTTP_BURST", "many", "LYRA_HTTP_BURST is \"many\""),
        ] {
            let error = settle(file, &[(name, value)]).expect_err(message);
            assert!(error.message().contains(message), "{}", error.message());
        }
    }
}
