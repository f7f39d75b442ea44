//! Canonical addresses, and the part of an address that identifies its publisher.

use crate::error::{Error, Result};
use std::net::IpAddr;
use url::{Host, Url};

/// Longer addresses are refused: no server accepts them, and they would bloat every index.
const LONGEST: usize = 8_192;

/// Query parameters that track the visitor and do not select the page.
const TRACKERS: &[&str] = &[
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "dclid",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "igshid",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "twclid",
    "vero_id",
    "wbraid",
    "wickedid",
    "yclid",
];

/// The canonical form of an address; two forms of the same page's address get the same one.
///
/// - `http`, `https`: scheme and host in lower case, host in ASCII (punycode), default port and
///   fragment removed, `.` and `..` resolved, non-ASCII characters percent-encoded; user name and
///   password removed, because the result is stored where agents can read it; query sorted by name and
///   value, with `utm_*`, `gclid` and similar parameters removed. A missing path stays missing.
/// - `file`: `.` and `..` resolved; a fragment stays, because it names a line of a `.jsonl` file.
///
/// # Errors
/// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the text is not such an address.
///
/// ```
/// use lyra_core::store::text::url::normalize_url;
/// let url = normalize_url("HTTPS://Example.COM:443/a?utm_source=x&b=2&a=1#part")?;
/// assert_eq!(url, "https://example.com/a?a=1&b=2");
/// # Ok::<(), lyra_core::Error>(())
/// ```
pub fn normalize_url(text: &str) -> Result<String> {
    spelled(text, sorted_query)
}

/// An address in the form in which it is requested: its contents are kept, in their order and form, and
/// only parts that are never sent to a server or never stored are removed. [`normalize_url`] determines
/// which of them are the same page.
///
/// ```
/// use lyra_core::store::text::url::request_url;
/// assert_eq!(request_url(" HTTPS://E.org/a?b=2&a&utm_source=x#c ")?, "https://e.org/a?b=2&a&utm_source=x");
/// # Ok::<(), lyra_core::Error>(())
/// ```
pub fn request_url(text: &str) -> Result<String> {
    spelled(text, |query| Some(query.to_owned()))
}

fn spelled(text: &str, query: impl FnOnce(&str) -> Option<String>) -> Result<String> {
    let text = text.trim();
    if text.len() > LONGEST {
        return Err(
            Error::invalid(format!("a URL of {} bytes is too long", text.len()))
                .with_hint(format!("use at most {LONGEST} bytes")),
        );
    }
    let mut url = Url::parse(text).map_err(|reason| {
        Error::invalid(format!("{:?} is not a URL: {reason}", shown(text)))
            .with_hint("write the whole address, such as https://example.org/page")
    })?;
    match url.scheme() {
        "file" => return Ok(url.into()),
        "http" | "https" => {}
        other => {
            return Err(
                Error::invalid(format!("a URL with the scheme {other:?} cannot be read"))
                    .with_hint("use an http, https or file URL"),
            );
        }
    }
    url.set_fragment(None);
    // Both calls fail only for URLs without a host, and http URLs always have one.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let query = url.query().and_then(query);
    url.set_query(query.as_deref());
    let mut normal = String::from(url);
    if !has_path(text) {
        // The parser adds the slash; it is removed if the address was given without a path.
        let slash = normal
            .find("://")
            .and_then(|at| normal[at + 3..].find('/').map(|i| at + 3 + i));
        if let Some(slash) = slash {
            normal.remove(slash);
        }
    }
    Ok(normal)
}

/// The registrable domain: one label more than the public suffix.
///
/// Accepts a host name or a whole URL. IP addresses, and single names that are not on the public suffix
/// list (`localhost`), are returned as they are. `None` for a public suffix alone and for text that is
/// not a host.
///
/// ```
/// use lyra_core::store::text::url::registrable_domain;
/// assert_eq!(registrable_domain("https://www.who.int/a").as_deref(), Some("who.int"));
/// assert_eq!(registrable_domain("news.bbc.co.uk").as_deref(), Some("bbc.co.uk"));
/// assert_eq!(registrable_domain("co.uk"), None);
/// ```
pub fn registrable_domain(host_or_url: &str) -> Option<String> {
    let host = host_of(host_or_url)?;
    let Host::Domain(name) = host else {
        return Some(host.to_string());
    };
    if let Some(domain) = psl::domain_str(&name) {
        return Some(domain.to_owned());
    }
    (!name.contains('.') && !is_public_suffix(&name)).then_some(name)
}

/// Whether the name is itself a public suffix: `com`, `co.uk`, `github.io`; or one under which every
/// name is a suffix: `np`, of the rule `*.np`.
///
/// A rule for such a name would cover thousands of unrelated publishers.
pub fn is_public_suffix(host: &str) -> bool {
    let Some(Host::Domain(name)) = host_of(host) else {
        return false;
    };
    let is_suffix = |name: &str| {
        psl::suffix(name.as_bytes())
            .is_some_and(|suffix| suffix.is_known() && suffix.as_bytes() == name.as_bytes())
    };
    // The rule `*.np` does not include `np` itself, so any name below it is checked.
    is_suffix(&name) || is_suffix(&format!("any.{name}"))
}

/// The host of a URL or a bare host name: lower case, ASCII, without the final dot.
fn host_of(text: &str) -> Option<Host<String>> {
    let text = text.trim();
    let host = if text.contains("://") {
        Url::parse(text).ok()?.host()?.to_owned()
    } else if let Ok(address) = text.parse::<IpAddr>() {
        match address {
            IpAddr::V4(v4) => Host::Ipv4(v4),
            IpAddr::V6(v6) => Host::Ipv6(v6),
        }
    } else {
        Host::parse(text).ok()?
    };
    match host {
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let sound = !name.is_empty() && name.split('.').all(|label| !label.is_empty());
            sound.then_some(Host::Domain(name))
        }
        address => Some(address),
    }
}

/// The text in the form for error messages: short, and without anything that may be a password.
fn shown(text: &str) -> String {
    let without_user = text.rsplit('@').next().unwrap_or(text);
    without_user.chars().take(80).collect()
}

/// Whether the original text has anything that looks like a path after the host.
fn has_path(text: &str) -> bool {
    let Some((_, rest)) = text.split_once(':') else {
        return true;
    };
    let rest = rest.trim_start_matches(['/', '\\']);
    let authority_end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    rest[authority_end..].starts_with(['/', '\\'])
}

/// The query without trackers, sorted, with each name and value encoded in one way; `None` if empty.
fn sorted_query(query: &str) -> Option<String> {
    let mut pairs: Vec<(Vec<u8>, Vec<u8>)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode_form(name), decode_form(value))
        })
        .filter(|(name, _)| !is_tracker(name))
        .collect();
    pairs.sort();
    let encoded: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{}={}", encode_form(name), encode_form(value)))
        .collect();
    (!encoded.is_empty()).then(|| encoded.join("&"))
}

fn is_tracker(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| {
        let name = name.to_ascii_lowercase();
        name.starts_with("utm_") || TRACKERS.binary_search(&name.as_str()).is_ok()
    })
}

/// Decodes `+` and `%XX`, byte for byte, so that queries in encodings other than UTF-8 are preserved.
fn decode_form(text: &str) -> Vec<u8> {
    percent_decode(&text.replace('+', " "))
}

/// Decodes `%XX`; a `%` without two hex digits is kept.
pub(super) fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |i: usize| bytes.get(i).and_then(|b| char::from(*b).to_digit(16));
        if bytes[at] == b'%'
            && let (Some(high), Some(low)) = (hex(at + 1), hex(at + 2))
        {
            decoded.push((high * 16 + low) as u8);
            at += 3;
        } else {
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    decoded
}

fn encode_form(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut encoded = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b' ' => encoded.push('+'),
            b if b.is_ascii_alphanumeric() || b"-._~".contains(&b) => encoded.push(char::from(b)),
            b => {
                // Writing to a string cannot fail.
                let _ = write!(encoded, "%{b:02X}");
            }
        }
    }
    encoded
}

/// Whether an address is on one of the domains or a subdomain.
pub(crate) fn is_of_domains(address: &str, domains: &[String]) -> bool {
    let url = Url::parse(address).ok();
    let Some(host) = url.as_ref().and_then(Url::host_str) else {
        return false;
    };
    domains.iter().any(|domain| {
        let domain = domain.trim().to_ascii_lowercase();
        let below = host.strip_suffix(domain.as_str());
        below.is_some_and(|below| !domain.is_empty() && (below.is_empty() || below.ends_with('.')))
    })
}

/// The last part of a path; `None` for addresses that are neither file addresses nor paths.
pub fn file_name(address: &str) -> Option<String> {
    let path = match Url::parse(address) {
        Ok(url) if url.scheme() == "file" => match url.to_file_path() {
            Ok(path) => path.to_string_lossy().into_owned(),
            Err(()) => url.path().to_owned(),
        },
        // A scheme of a single letter is a drive.
        Ok(url) if url.scheme().len() > 1 => return None,
        _ => address.to_owned(),
    };
    let name = path.rsplit(['/', '\\']).find(|part| !part.is_empty());
    name.map(str::to_owned)
}

/// What a reader is shown as the name of a source: its title, otherwise the name of its file,
/// otherwise its address.
pub fn source_name(title: Option<&str>, url: &str) -> String {
    let title = title.filter(|title| !title.trim().is_empty());
    let name = title.map(str::to_owned).or_else(|| file_name(url));
    name.unwrap_or_else(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;
    use proptest::prelude::*;

    /// Addresses for which the reference is wrong: address, correct result, reason.
    const DIFFERENCES: &[(&str, &str, &str)] = &[
        (
            "http://example.com:80/a",
            "http://example.com/a",
            "the default port names no other page",
        ),
        (
            "https://example.com/a/../b",
            "https://example.com/b",
            "every client asks for /b",
        ),
        (
            "https://user:pw@example.com/a",
            "https://example.com/a",
            "agents read stored addresses",
        ),
        (
            "https://例え.jp/パス?q=値",
            "https://xn--r8jz45g.jp/%E3%83%91%E3%82%B9?q=%E5%80%A4",
            "the encoded and the plain spelling are one page",
        ),
    ];

    #[test]
    fn agrees_with_the_reference() {
        for case in reference_cases("url_normalize") {
            let url = case["url"].as_str().unwrap();
            let expected = DIFFERENCES
                .iter()
                .find(|difference| difference.0 == url)
                .map_or_else(
                    || case["normalized"].as_str().unwrap(),
                    |difference| difference.1,
                );
            assert_eq!(normalize_url(url).unwrap(), expected, "{url}");
        }
    }

    #[test]
    fn one_page_has_one_name() {
        for (spellings, name) in [
            (
                &[
                    "https://e.org/a?utm_source=x&fbclid=1&b=2",
                    "https://E.org:443/a?b=2#c",
                    " https://e.org/./a?b=2 ",
                ][..],
                "https://e.org/a?b=2",
            ),
            (
                &[
                    "https://e.org/a?",
                    "https://e.org/a?UTM_Campaign=1",
                    "https://e.org/a",
                ],
                "https://e.org/a",
            ),
            (
                &["https://e.org", "HTTPS://E.ORG#top", "https://e.org:443"],
                "https://e.org",
            ),
            (
                &["https://e.org?b=1&a=%2f", "https://e.org?a=/&b=1"],
                "https://e.org?a=%2F&b=1",
            ),
            (
                &["https://ja.wikipedia.org/wiki/糖尿病"],
                "https://ja.wikipedia.org/wiki/%E7%B3%96%E5%B0%BF%E7%97%85",
            ),
            (
                &["http://e.org/q?s=%93%FA%96{+x"],
                "http://e.org/q?s=%93%FA%96%7B+x",
            ),
            (
                &["file:///data/./a.jsonl#id-7"],
                "file:///data/a.jsonl#id-7",
            ),
            (&["http://[2001:DB8::1]:80/"], "http://[2001:db8::1]/"),
        ] {
            for spelling in spellings {
                assert_eq!(normalize_url(spelling).unwrap(), name, "{spelling}");
            }
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = format!("https://e.org/{}", "a".repeat(LONGEST));
        for bad in [
            "",
            "example.org/a",
            "ftp://e.org",
            "javascript:alert(1)",
            "https://",
            "http://[::1",
            &long,
        ] {
            let error = normalize_url(bad).unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidInput, "{bad}");
            assert!(error.hint().is_some());
        }
    }

    #[test]
    fn domains_follow_the_public_suffix_list() {
        for (input, expected) in [
            ("https://a.b.example.co.jp:8080/x", Some("example.co.jp")),
            ("WWW.Example.COM.", Some("example.com")),
            ("user.github.io", Some("user.github.io")),
            ("https://例え.jp/", Some("xn--r8jz45g.jp")),
            ("edureka.co", Some("edureka.co")),
            ("localhost", Some("localhost")),
            ("http://127.0.0.1:99/", Some("127.0.0.1")),
            ("2001:db8::1", Some("[2001:db8::1]")),
            ("com", None),
            ("co.uk", None),
            ("github.io", None),
            ("", None),
            ("a..b", None),
            ("not a host", None),
            ("file:///etc/hosts", None),
        ] {
            assert_eq!(registrable_domain(input).as_deref(), expected, "{input}");
        }
        for (host, expected) in [
            ("com", true),
            ("CO.UK", true),
            ("io", true),
            ("github.io", true),
            ("example.com", false),
            ("np", true),
            ("ck", true),
            ("kawasaki.jp", true),
            ("city.kawasaki.jp", false),
            ("www.ck", false),
            ("localhost", false),
            ("10.0.0.1", false),
        ] {
            assert_eq!(is_public_suffix(host), expected, "{host}");
        }
    }

    #[test]
    fn trackers_are_sorted_for_binary_search() {
        assert!(TRACKERS.is_sorted());
    }

    proptest! {
        #[test]
        fn normalizing_twice_changes_nothing(
            path in "[a-zA-Z0-9/.%?&=#+ \\\\:@~;ぁ-ん-]{0,60}", host in "[a-zA-Z0-9.-]{1,20}"
        ) {
            if let Ok(once) = normalize_url(&format!("https://{host}{path}")) {
                prop_assert_eq!(normalize_url(&once).unwrap(), once);
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = normalize_url(&text);
            let _ = normalize_url(&format!("http://{text}"));
            let _ = registrable_domain(&text);
            let _ = is_public_suffix(&text);
        }
    }

    #[test]
    fn a_preferred_domain_means_what_is_below_it_too() {
        let domains = ["WHO.int".to_owned(), " nih.gov ".to_owned(), String::new()];
        for (address, expected) in [
            ("https://who.int/news", true),
            ("https://www.who.int/news", true),
            ("https://pubmed.ncbi.nlm.nih.gov/1", true),
            ("https://notwho.int/news", false),
            ("https://example.org/?from=who.int", false),
            ("file:///who.int/a.md", false),
        ] {
            assert_eq!(is_of_domains(address, &domains), expected, "{address}");
        }
    }
}
