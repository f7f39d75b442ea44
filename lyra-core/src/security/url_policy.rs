//! Which network addresses may be fetched (server-side request forgery).

use crate::error::{Error, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Whether an address belongs to the public internet: not to this machine, its networks or a
/// cloud's metadata service, and not reserved (RFC 6890 and its updates).
///
/// ```
/// use lyra_core::security::url_policy::is_public;
/// assert!(is_public("93.184.215.14".parse().unwrap()));
/// for private in ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "::ffff:192.168.0.1", "fd00::1"] {
///     assert!(!is_public(private.parse().unwrap()), "{private}");
/// }
/// ```
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        || address == AZURE_HOST;
    !reserved
}

/// Looks public but is not: inside a virtual machine of Azure it is the address of the host.
const AZURE_HOST: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

fn is_public_v6(address: Ipv6Addr) -> bool {
    // An IPv4 address embedded in IPv6 (mapped, NAT64, 6to4) is judged as an IPv4 address.
    if let Some(inner) = embedded_v4(address) {
        return is_public_v4(inner);
    }
    let segments = address.segments();
    let [first, second, ..] = segments;
    // Global unicast is 2000::/3 (RFC 4291); everything else is local, reserved or unassigned.
    let is_global = first & 0xe000 == 0x2000;
    let reserved = (first == 0x2001 && (second == 0x0db8 || second < 0x0200)) || first == 0x3fff;
    // ISATAP (RFC 5214) hides an IPv4 address in the last half of any prefix.
    let isatap = matches!(segments, [_, _, _, _, 0 | 0x0200, 0x5efe, high, low]
        if !is_public_v4(v4_of(high, low)));
    is_global && !reserved && !isatap
}

fn v4_of(high: u16, low: u16) -> Ipv4Addr {
    let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
    Ipv4Addr::new(a, b, c, d)
}

fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x0064, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => Some(v4_of(high, low)),
        _ => None,
    }
}

/// Ports above 1023 that are used by services other than web servers: those that browsers refuse
/// (WHATWG Fetch, "bad ports"), databases, caches and container control.
const OTHER_SERVICES: &[u16] = &[
    1719, 1720, 1723, 2049, 2375, 2376, 3306, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566,
    6665, 6666, 6667, 6668, 6669, 6679, 6697, 9200, 9300, 10080, 11211, 27017,
];

/// Whether a port is plausible for a web server: 80, 443, and all from 1024 upwards that are not
/// known for another service.
pub fn is_web_port(port: u16) -> bool {
    matches!(port, 80 | 443) || (port >= 1024 && !OTHER_SERVICES.contains(&port))
}

/// Why an address is not fetched. Such an error is a decision of this library, not a failure of a
/// server, and concerns only one address.
///
/// ```
/// use lyra_core::security::url_policy::{Refusal, check_url};
/// let error = check_url(&"http://10.0.0.1/".parse().unwrap(), false).unwrap_err();
/// assert_eq!(Refusal::of(&error), Some(Refusal::PrivateAddress));
/// assert_eq!(Refusal::PrivateAddress.to_string(), "private_address");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Neither `http` nor `https`.
    Scheme,
    /// It contains a user name or password.
    Credentials,
    /// It has no host.
    NoHost,
    /// It belongs to a private or reserved network.
    PrivateAddress,
    /// Its port belongs to another service.
    Port,
    /// The site's `robots.txt` disallows it.
    Robots,
    /// The site's `robots.txt` could not be read, which means "do not fetch" (RFC 9309, 2.3.1.4).
    RobotsUnreachable,
    /// A human blocked its domain.
    BlockedDomain,
}

impl Refusal {
    /// The refusal behind an error, if it is one.
    pub fn of(error: &Error) -> Option<Self> {
        std::error::Error::source(error)?.downcast_ref().copied()
    }

    /// The error that reports this refusal for an address.
    pub(crate) fn error(self, url: &Url, why: &str) -> Error {
        // Errors are stored and shown, so a password must be removed.
        let mut shown = url.clone();
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        let hint = match self {
            Self::Robots => {
                "the site asks programs not to read it; read it yourself, or save its text into the corpus"
            }
            Self::RobotsUnreachable => {
                "try again in some minutes: until its robots.txt answers, nothing of the site is read"
            }
            Self::Port => {
                "use port 80 or 443, or a port from 1024 upwards that is not known for another \
                 service"
            }
            Self::BlockedDomain => {
                "the feedback tool's domain_unblock or domain_clear_override lifts the block"
            }
            _ => {
                "only http and https on public addresses; --allow-private-hosts opens local networks"
            }
        };
        Error::new(
            ErrorKind::Backend,
            format!("{shown} may not be fetched: {why}"),
        )
        .with_hint(hint)
        .with_source(self)
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Scheme => "scheme",
            Self::Credentials => "credentials",
            Self::NoHost => "no_host",
            Self::PrivateAddress => "private_address",
            Self::Port => "port",
            Self::Robots => "robots",
            Self::RobotsUnreachable => "robots_unreachable",
            Self::BlockedDomain => "blocked_domain",
        })
    }
}

impl std::error::Error for Refusal {}

/// Checks the parts of an address that can be judged before its name is resolved.
///
/// # Errors
///
/// `Backend`, with the [`Refusal`] as its source.
pub fn check_url(url: &Url, allow_private_hosts: bool) -> Result<()> {
    let refused = |refusal: Refusal, why: &str| Err(refusal.error(url, why));
    if !matches!(url.scheme(), "http" | "https") {
        return refused(Refusal::Scheme, "its scheme is not http or https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused(Refusal::Credentials, "it carries a user name or password");
    }
    let address = match url.host() {
        Some(Host::Ipv4(v4)) => Some(IpAddr::V4(v4)),
        Some(Host::Ipv6(v6)) => Some(IpAddr::V6(v6)),
        Some(Host::Domain(_)) => None,
        None => return refused(Refusal::NoHost, "it names no host"),
    };
    if allow_private_hosts {
        // Users who allow private networks run their own servers, on any port.
        return Ok(());
    }
    if address.is_some_and(|address| !is_public(address)) {
        return refused(
            Refusal::PrivateAddress,
            "it leads into a private or reserved network",
        );
    }
    if !url.port_or_known_default().is_some_and(is_web_port) {
        return refused(Refusal::Port, "its port is not one of a web server");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_address_is_judged() {
        let cases: &[(&str, bool)] = &[
            ("8.8.8.8", true),
            ("100.63.255.255", true),
            ("100.128.0.1", true),
            ("172.15.0.1", true),
            ("172.32.0.1", true),
            ("192.0.1.1", true),
            ("198.17.0.1", true),
            ("223.255.255.1", true),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("10.0.0.1", false),
            ("100.64.0.1", false),
            ("100.100.100.200", false),
            ("100.127.255.255", false),
            ("127.0.0.1", false),
            ("127.255.0.1", false),
            ("168.63.129.16", false),
            ("169.254.169.254", false),
            ("172.16.0.1", false),
            ("172.31.255.255", false),
            ("192.0.0.192", false),
            ("192.0.2.1", false),
            ("192.88.99.1", false),
            ("192.168.1.1", false),
            ("198.18.0.1", false),
            ("198.51.100.1", false),
            ("203.0.113.1", false),
            ("224.0.0.1", false),
            ("240.0.0.1", false),
            ("255.255.255.255", false),
            ("2606:4700:4700::1111", true),
            ("2001:4860:4860::8888", true),
            ("::ffff:8.8.8.8", true),
            ("64:ff9b::8.8.8.8", true),
            ("2002:808:808::1", true),
            ("::", false),
            ("::1", false),
            ("::127.0.0.1", false),
            ("::8.8.8.8", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:0:127.0.0.1", false),
            ("64:ff9b::10.0.0.1", false),
            ("64:ff9b:1::1", false),
            ("100::1", false),
            ("2001::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::1", false),
            ("2002:a00:1::", false),
            ("2606:4700::5efe:10.0.0.1", false),
            ("2606:4700::200:5efe:127.0.0.1", false),
            ("3fff::1", false),
            ("4000::1", false),
            ("5f00::1", false),
            ("fc00::1", false),
            ("fd00:ec2::254", false),
            ("fe80::1", false),
            ("fec0::1", false),
            ("ff02::1", false),
        ];
        for (address, public) in cases {
            assert_eq!(is_public(address.parse().unwrap()), *public, "{address}");
        }
    }

    #[test]
    fn refuses_by_form() {
        let cases = [
            ("https://example.org/a", true),
            ("http://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", true),
            ("ftp://example.org/", false),
            ("http://user:pw@example.org/", false),
            ("http://127.0.0.1/", false),
            ("http://2130706433/", false),
            ("http://0x7f.1/", false),
            ("http://[::ffff:169.254.169.254]/latest/meta-data", false),
            ("http://[64:ff9b::a00:1]/", false),
            ("http://[2002:7f00:1::]/", false),
            ("http://100.64.0.1/", false),
            ("http://0.0.0.0/", false),
            ("https://example.org:8443/", true),
            ("https://example.org:25/", false),
            ("http://example.org:6379/", false),
        ];
        for (url, allowed) in cases {
            let parsed = Url::parse(url).unwrap();
            assert_eq!(check_url(&parsed, false).is_ok(), allowed, "{url}");
        }
        let secret = Url::parse("http://user:pw@example.org/").unwrap();
        let error = check_url(&secret, false).unwrap_err();
        assert!(
            error.message().starts_with("http://example.org/ may not"),
            "{error}"
        );
        assert!(check_url(&Url::parse("http://127.0.0.1:8080/").unwrap(), true).is_ok());
        assert!(check_url(&Url::parse("file:///etc/passwd").unwrap(), true).is_err());
    }
}
