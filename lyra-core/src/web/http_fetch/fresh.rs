//! How long a server allows a copy of a page to be used without a new request (RFC 9111).

use super::connect::text_header;
use crate::web::retry::http_date_ms;
use reqwest::header::{AGE, CACHE_CONTROL, DATE, EXPIRES, HeaderMap};
use std::time::Duration;

/// The lifetime if the server says nothing.
pub(super) const DEFAULT_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Maximum lifetime: servers declare "a year" for addresses whose content they will change.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The lifetime of a copy according to the headers; `None` if they say nothing.
///
/// `no-store` and `no-cache` make it zero: the text is kept, because it is evidence, but before
/// each use the server is asked whether it is still current.
pub(super) fn lifetime(headers: &HeaderMap) -> Option<Duration> {
    let control: Vec<String> = headers
        .get_all(CACHE_CONTROL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|directive| directive.trim().to_ascii_lowercase())
        .collect();
    let named = |name: &str| {
        control
            .iter()
            .find(|directive| directive.split('=').next().map(str::trim) == Some(name))
    };
    if named("no-store").is_some() || named("no-cache").is_some() {
        return Some(Duration::ZERO);
    }
    if let Some(directive) = named("max-age") {
        let seconds = directive.split('=').nth(1).unwrap_or_default();
        // An invalid age counts as zero, as RFC 9111 (4.2.1) recommends.
        let seconds: u64 = seconds.trim().trim_matches('"').parse().unwrap_or(0);
        let age: u64 = text_header(headers, AGE.as_str())
            .and_then(|age| age.trim().parse().ok())
            .unwrap_or(0);
        return Some(Duration::from_secs(seconds.saturating_sub(age)).min(LONGEST));
    }
    let expires = text_header(headers, EXPIRES.as_str())?;
    let sent = text_header(headers, DATE.as_str())
        .as_deref()
        .and_then(http_date_ms);
    // `Expires: 0` and other invalid dates mean "already expired".
    let left = http_date_ms(&expires)
        .zip(sent)
        .map_or(0, |(end, sent)| end - sent);
    let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
    Some(left.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    #[test]
    fn servers_say_how_long() {
        let day = 24 * 60 * 60;
        let cases: &[(&[&str], Option<u64>)] = &[
            (&[], None),
            (&["cache-control: public"], None),
            (&["cache-control: max-age=600"], Some(600)),
            (&["cache-control: public, MAX-AGE = \"600\""], Some(600)),
            (
                &["cache-control: public", "cache-control: max-age=60"],
                Some(60),
            ),
            (&["cache-control: max-age=600", "age: 500"], Some(100)),
            (&["cache-control: max-age=600", "age: 900"], Some(0)),
            (&["cache-control: max-age=soon"], Some(0)),
            (&["cache-control: s-maxage=600"], None),
            (
                &["cache-control: max-age=31536000, immutable"],
                Some(7 * day),
            ),
            (&["cache-control: no-store, max-age=600"], Some(0)),
            (
                &["cache-control: private, no-cache=\"set-cookie\""],
                Some(0),
            ),
            (&["expires: 0"], Some(0)),
            (
                &[
                    "date: Sun, 06 Nov 1994 08:49:37 GMT",
                    "expires: Sun, 06 Nov 1994 09:49:37 GMT",
                ],
                Some(3600),
            ),
            (
                &[
                    "date: Sun, 06 Nov 1994 08:49:37 GMT",
                    "expires: Sat, 05 Nov 1994 09:49:37 GMT",
                ],
                Some(0),
            ),
            (
                &[
                    "cache-control: max-age=5",
                    "expires: Sun, 06 Nov 2094 08:49:37 GMT",
                ],
                Some(5),
            ),
        ];
        for (lines, expected) in cases {
            let mut headers = HeaderMap::new();
            for line in *lines {
                let (name, value) = line.split_once(": ").unwrap();
                let name: HeaderName = name.parse().unwrap();
                headers.append(name, HeaderValue::from_str(value).unwrap());
            }
            let expected = expected.map(Duration::from_secs);
            assert_eq!(lifetime(&headers), expected, "{lines:?}");
        }
    }
}
