//! Which network addresses may be fetched (server-side request forgery).

use crate::error::{Error, ErrorKind, Result};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::{Host, Url};

/// Whether an address leads to the public internet: not this machine, not its networks, not a
/// cloud's metadata service, nothing reserved (RFC 6890 and its updates).
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
        || (a == 198 && (b == 18 || b == 19));
    !reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    // An IPv4 address in IPv6 clothes (mapped, NAT64, 6to4) is judged as what it is.
    if let Some(inner) = embedded_v4(address) {
        return is_public_v4(inner);
    }
    let [first, second, ..] = address.segments();
    let reserved = address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || (first & 0xfe00) == 0xfc00
        || (first & 0xffc0) == 0xfe80
        || (first & 0xffc0) == 0xfec0
        || (first == 0x2001 && (second == 0x0db8 || second < 0x0200))
        || first == 0x0100
        || first == 0x3fff
        || first == 0x5f00;
    !reserved
}

fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let from = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x0064, 0xff9b, 0, 0, 0, 0, high, low] => {
            from(high, low)
        }
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => from(high, low),
        [0x2002, high, low, ..] => from(high, low),
        _ => None,
    }
}

/// Checks the parts of an address that can be judged before its name is resolved.
pub fn check_url(url: &Url, allow_private_hosts: bool) -> Result<()> {
    let refused = |why: &str| {
        // Errors are stored and shown; a password is not.
        let mut shown = url.clone();
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        Err(Error::new(
            ErrorKind::Backend,
            format!("{shown} may not be fetched: {why}"),
        )
        .with_hint(
            "only http and https on public addresses; --allow-private-hosts opens local networks",
        ))
    };
    if !matches!(url.scheme(), "http" | "https") {
        return refused("its scheme is not http or https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("it carries a user name or password");
    }
    let address = match url.host() {
        Some(Host::Ipv4(v4)) => Some(IpAddr::V4(v4)),
        Some(Host::Ipv6(v6)) => Some(IpAddr::V6(v6)),
        Some(Host::Domain(_)) => None,
        None => return refused("it names no host"),
    };
    match address {
        Some(address) if !allow_private_hosts && !is_public(address) => {
            refused("it leads into a private or reserved network")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
