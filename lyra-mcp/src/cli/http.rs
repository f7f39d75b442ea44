//! The settings of the HTTP server. Whether there is one is said by `serve --http` alone.

use super::config::wrong;
use lyra_core::{Error, Result};
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Requests of a token in a second.
const RATE: RangeInclusive<u64> = 1..=100_000;

/// Requests of a token at once.
const BURST: RangeInclusive<u64> = 1..=1_000_000;

/// MiB of a body. No tool takes more than the 4 MiB that standard input takes, too.
const MAX_BODY: RangeInclusive<u64> = 1..=64;

/// Seconds for the last answers.
const DRAIN: RangeInclusive<u64> = 0..=300;

/// What one source says about the HTTP server.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct HttpLayer {
    pub(super) tokens: Option<PathBuf>,
    pub(super) origins: Option<Vec<String>>,
    pub(super) hosts: Option<Vec<String>>,
    rate: Option<u64>,
    burst: Option<u64>,
    max_body: Option<u64>,
    drain: Option<u64>,
}

/// The settings in force.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HttpSettings {
    pub(super) tokens: Option<PathBuf>,
    pub(super) origins: Vec<String>,
    pub(super) hosts: Vec<String>,
    pub(super) per_second: u64,
    pub(super) burst: u64,
    /// Bytes.
    pub(super) max_body: u64,
    pub(super) drain: Duration,
}

impl HttpLayer {
    pub(super) fn from_env(env: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let text = |name: &str| env(name).map(|value| value.to_string_lossy().into_owned());
        let list = |name: &str| text(name).map(|text| parts(&text));
        let number = |name: &str, range: RangeInclusive<u64>| {
            let value = text(name).map(|text| {
                let number = text.trim().parse().ok().filter(|n| range.contains(n));
                number.ok_or_else(|| {
                    Error::invalid(format!("{name} is {text:?}; expected {}", expected(&range)))
                })
            });
            value.transpose()
        };
        Ok(Self {
            tokens: env("LYRA_HTTP_TOKENS").map(PathBuf::from),
            origins: list("LYRA_HTTP_ALLOW_ORIGINS"),
            hosts: list("LYRA_HTTP_ALLOW_HOSTS"),
            rate: number("LYRA_HTTP_RATE", RATE)?,
            burst: number("LYRA_HTTP_BURST", BURST)?,
            max_body: number("LYRA_HTTP_MAX_BODY", MAX_BODY)?,
            drain: number("LYRA_HTTP_DRAIN_SECONDS", DRAIN)?,
        })
    }

    pub(super) fn from_toml(table: &toml::Table, folder: &Path) -> Result<Self> {
        let number = |key: &str, range: RangeInclusive<u64>| {
            let value = table.get(key).map(|value| {
                let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
                let number = number.filter(|n| range.contains(n));
                number.ok_or_else(|| wrong(key, &expected(&range)))
            });
            value.transpose()
        };
        let list = |key: &str| {
            let value = table.get(key).map(|value| {
                let items = value.as_array().into_iter().flatten();
                let texts: Option<Vec<String>> =
                    items.map(|item| item.as_str().map(str::to_owned)).collect();
                let texts = texts.filter(|_| value.is_array());
                texts.ok_or_else(|| wrong(key, "an array of strings"))
            });
            value.transpose()
        };
        let tokens = match table.get("http_tokens") {
            None => None,
            Some(toml::Value::String(path)) => Some(folder.join(path)),
            Some(_) => return Err(wrong("http_tokens", "a string")),
        };
        Ok(Self {
            tokens,
            origins: list("http_allow_origins")?,
            hosts: list("http_allow_hosts")?,
            rate: number("http_rate", RATE)?,
            burst: number("http_burst", BURST)?,
            max_body: number("http_max_body", MAX_BODY)?,
            drain: number("http_drain_seconds", DRAIN)?,
        })
    }

    pub(super) fn overlay(&mut self, above: Self) {
        self.tokens = above.tokens.or(self.tokens.take());
        self.origins = above.origins.or(self.origins.take());
        self.hosts = above.hosts.or(self.hosts.take());
        self.rate = above.rate.or(self.rate);
        self.burst = above.burst.or(self.burst);
        self.max_body = above.max_body.or(self.max_body);
        self.drain = above.drain.or(self.drain);
    }

    pub(super) fn settle(self) -> HttpSettings {
        HttpSettings {
            tokens: self.tokens,
            origins: self.origins.unwrap_or_default(),
            hosts: self.hosts.unwrap_or_default(),
            per_second: self.rate.unwrap_or(50),
            burst: self.burst.unwrap_or(200),
            max_body: self.max_body.unwrap_or(4) * 1024 * 1024,
            drain: Duration::from_secs(self.drain.unwrap_or(10)),
        }
    }
}

fn parts(text: &str) -> Vec<String> {
    let parts = text.split(',').map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn expected(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settle(file: &str, env: &[(&str, &str)]) -> Result<HttpSettings> {
        let table = file.parse().expect("TOML");
        let mut layer = HttpLayer::from_toml(&table, Path::new("/etc/lyra"))?;
        layer.overlay(HttpLayer::from_env(&|name| {
            let found = env.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        })?);
        Ok(layer.settle())
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
            ("http_rate = 0", "X", "", "\"http_rate\" has the wrong type"),
            (
                "http_tokens = 5",
                "X",
                "",
                "\"http_tokens\" has the wrong type",
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
