//! The hosts and origins that a request may name.
//!
//! A page in a browser can send requests to a server on the same machine and, with a domain name
//! that resolves to it, read the answers (DNS rebinding). Such a request names the page's host or
//! origin, which is not on the list of allowed ones.

use http::uri::Authority;
use http::{HeaderMap, Uri, header};
use lyra_core::{Error, Result};
use std::net::{IpAddr, SocketAddr};

/// Names of this machine that are used locally.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// A host, with its port if it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    name: String,
    port: Option<u16>,
}

/// The allowed hosts and origins.
pub(crate) struct Hosts {
    hosts: Vec<Host>,
    origins: Vec<String>,
}

impl Hosts {
    /// Allows the loopback names, the bound address, and `hosts`: `name` for any port, or
    /// `name:port`. `origins` have the form that browsers send: `https://app.example.org`.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid host or origin.
    pub(crate) fn new(bound: SocketAddr, hosts: &[String], origins: &[String]) -> Result<Self> {
        let mut allowed: Vec<Host> = LOOPBACK.iter().filter_map(|name| host_of(name)).collect();
        if !bound.ip().is_unspecified() {
            allowed.push(Host {
                name: bound.ip().to_string(),
                port: None,
            });
        }
        for text in hosts {
            allowed.push(host_of(text).ok_or_else(|| {
                Error::invalid(format!("{text:?} is not a host"))
                    .with_hint("write lyra.example.org or lyra.example.org:8443, without https://")
            })?);
        }
        let origins: Result<Vec<String>> = origins.iter().map(|text| origin_of(text)).collect();
        Ok(Self {
            hosts: allowed,
            origins: origins?,
        })
    }

    /// Whether the request names an allowed host.
    pub(super) fn allow_host(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        named_host(uri, headers).is_some_and(|named| {
            let is_it = |host: &Host| {
                host.name == named.name && (host.port.is_none() || host.port == named.port)
            };
            self.hosts.iter().any(is_it)
        })
    }

    /// The origin of the request, if it is allowed. Only browsers send one. A page with the
    /// server's own host and port has the same origin.
    pub(super) fn allow_origin(&self, uri: &Uri, headers: &HeaderMap) -> Origin {
        let Some(origin) = headers.get(header::ORIGIN) else {
            return Origin::None;
        };
        let Ok(origin) = origin.to_str() else {
            return Origin::Refused;
        };
        let is_listed = self
            .origins
            .iter()
            .any(|listed| *listed == origin.to_ascii_lowercase());
        let is_own = || {
            let rest = origin.split_once("://").map(|(_, rest)| rest);
            rest.and_then(host_of)
                .is_some_and(|host| Some(host) == named_host(uri, headers))
        };
        match is_listed || is_own() {
            true => Origin::Allowed(origin.to_owned()),
            false => Origin::Refused,
        }
    }
}

/// The origin of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    None,
    Allowed(String),
    Refused,
}

fn named_host(uri: &Uri, headers: &HeaderMap) -> Option<Host> {
    let mut named = headers.get_all(header::HOST).iter();
    match (named.next(), named.next()) {
        (Some(host), None) => host_of(host.to_str().ok()?),
        (None, _) => host_of(uri.authority()?.as_str()),
        // With two hosts, a proxy in front may have checked the other one.
        (Some(_), Some(_)) => None,
    }
}

fn host_of(text: &str) -> Option<Host> {
    // A bare IPv6 address is not a valid authority without brackets.
    if let Ok(IpAddr::V6(address)) = text.parse::<IpAddr>() {
        return Some(Host {
            name: address.to_string(),
            port: None,
        });
    }
    let authority: Authority = text.parse().ok()?;
    if authority.as_str().contains('@') || authority.host().is_empty() {
        return None;
    }
    let name = authority.host().trim_matches(['[', ']']);
    Some(Host {
        name: name.to_ascii_lowercase(),
        port: authority.port_u16(),
    })
}

fn origin_of(text: &str) -> Result<String> {
    let trimmed = text.trim_end_matches('/');
    let (scheme, rest) = trimmed.split_once("://").unwrap_or_default();
    let is_scheme = scheme
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    if scheme.is_empty() || !is_scheme || rest.contains('/') || host_of(rest).is_none() {
        return Err(Error::invalid(format!("{text:?} is not an origin"))
            .with_hint("write https://app.example.org or http://localhost:3000, without a path"));
    }
    Ok(trimmed.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(bound: &str) -> Hosts {
        let allowed = ["Lyra.example.org".to_owned(), "b.org:8443".to_owned()];
        let origins = ["https://App.example.org/".to_owned()];
        Hosts::new(bound.parse().expect("an address"), &allowed, &origins).expect("good")
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().expect("a value"));
        }
        headers
    }

    #[test]
    fn only_known_hosts_are_allowed() {
        let uri: Uri = "/mcp".parse().expect("a path");
        for (host, is_allowed) in [
            ("localhost:8765", true),
            ("127.0.0.1:8765", true),
            ("[::1]:8765", true),
            ("LOCALHOST", true),
            ("10.0.0.5:8765", true),
            ("lyra.example.org", true),
            ("lyra.example.org:443", true),
            ("b.org:8443", true),
            ("b.org:80", false),
            ("b.org", false),
            ("evil.org", false),
            ("localhost.evil.org", false),
            ("evil.org@localhost", false),
            ("127.0.0.2", false),
            ("", false),
        ] {
            let given = headers(&[("host", host)]);
            let hosts = hosts("10.0.0.5:8765");
            assert_eq!(hosts.allow_host(&uri, &given), is_allowed, "{host}");
        }
        let hosts = hosts("0.0.0.0:8765");
        assert!(!hosts.allow_host(&uri, &headers(&[("host", "0.0.0.0:8765")])));
        let two = headers(&[("host", "localhost"), ("host", "evil.org")]);
        assert!(!hosts.allow_host(&uri, &two));
        assert!(!hosts.allow_host(&uri, &headers(&[])));
    }

    #[test]
    fn only_known_origins_are_allowed() {
        let uri: Uri = "/mcp".parse().expect("a path");
        for (host, origin, is_allowed) in [
            ("localhost:8765", "http://localhost:8765", true),
            ("localhost:8765", "http://localhost:3000", false),
            ("localhost:8765", "http://127.0.0.1:8765", false),
            ("lyra.example.org", "https://lyra.example.org", true),
            ("localhost:8765", "https://app.example.org", true),
            ("localhost:8765", "https://app.example.org:444", false),
            ("localhost:8765", "https://evil.org", false),
            ("localhost:8765", "null", false),
            ("localhost:8765", "", false),
        ] {
            let given = headers(&[("host", host), ("origin", origin)]);
            let origin_allowed = hosts("127.0.0.1:8765").allow_origin(&uri, &given);
            assert_eq!(
                origin_allowed != Origin::Refused,
                is_allowed,
                "{host} {origin}"
            );
        }
        let none = headers(&[("host", "localhost")]);
        assert_eq!(hosts("127.0.0.1:1").allow_origin(&uri, &none), Origin::None);
    }

    #[test]
    fn what_is_no_host_and_no_origin_is_named() {
        let bound = "127.0.0.1:1".parse().expect("an address");
        for host in ["https://a.org", "a b", "", "a.org/x"] {
            assert!(
                Hosts::new(bound, &[host.to_owned()], &[]).is_err(),
                "{host}"
            );
        }
        for origin in ["a.org", "https://a.org/x", "https://", "*", "null"] {
            assert!(
                Hosts::new(bound, &[], &[origin.to_owned()]).is_err(),
                "{origin}"
            );
        }
    }
}
