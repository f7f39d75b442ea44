//! When to ask again, and how long to wait before.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use std::time::Duration;

/// The pause after the first failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Whether the same request may succeed later.
pub(super) fn is_passing(status: StatusCode) -> bool {
    status == StatusCode::TOO_MANY_REQUESTS
        || status == StatusCode::REQUEST_TIMEOUT
        || status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
}

/// How long the server wants us to wait: seconds, or a date, read against the server's own clock.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::trim);
    let wanted = text(RETRY_AFTER)?;
    if let Ok(seconds) = wanted.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let instant = |text: &str| -> Option<Timestamp> {
        rfc2822::DateTimeParser::new().parse_timestamp(text).ok()
    };
    let wait = instant(wanted)?.duration_since(instant(text(DATE)?)?);
    Some(Duration::try_from(wait).unwrap_or_default())
}

/// The pause after the `failures`th failure in a row; none where the server wants more patience
/// than there is. `chance` lies in 0..1 and keeps many clients from asking at the same moment.
pub(super) fn pause(
    failures: u32,
    wanted: Option<Duration>,
    longest: Duration,
    chance: f64,
) -> Option<Duration> {
    match wanted {
        Some(wanted) if wanted > longest => None,
        Some(wanted) => Some(wanted + FIRST_PAUSE.mul_f64(chance)),
        None => {
            let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(16));
            Some(doubled.min(longest).mul_f64(0.5 + chance / 2.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn servers_say_when_in_two_ways() {
        for (after, date, expected) in [
            ("7", None, Some(7)),
            (
                "Wed, 21 Oct 2015 07:28:30 GMT",
                Some("Wed, 21 Oct 2015 07:28:00 GMT"),
                Some(30),
            ),
            (
                "Wed, 21 Oct 2015 07:27:00 GMT",
                Some("Wed, 21 Oct 2015 07:28:00 GMT"),
                Some(0),
            ),
            ("Wed, 21 Oct 2015 07:28:30 GMT", None, None),
            ("soon", None, None),
            ("-3", None, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(after));
            if let Some(date) = date {
                headers.insert(DATE, HeaderValue::from_static(date));
            }
            assert_eq!(
                retry_after(&headers),
                expected.map(Duration::from_secs),
                "{after} {date:?}"
            );
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }

    #[test]
    fn pauses_grow_and_have_an_end() {
        let longest = Duration::from_secs(20);
        let millis = |failures, wanted: Option<u64>, chance| {
            let wanted = wanted.map(Duration::from_secs);
            pause(failures, wanted, longest, chance).map(|pause| pause.as_millis())
        };
        for (failures, wanted, chance, expected) in [
            (1, None, 0.0, Some(250)),
            (1, None, 1.0, Some(500)),
            (3, None, 0.0, Some(1_000)),
            (40, None, 1.0, Some(20_000)),
            (1, Some(20), 0.0, Some(20_000)),
            (1, Some(2), 1.0, Some(2_500)),
            (1, Some(21), 0.5, None),
        ] {
            assert_eq!(
                millis(failures, wanted, chance),
                expected,
                "{failures} {wanted:?} {chance}"
            );
        }
    }

    #[test]
    fn only_what_passes_is_tried_again() {
        for (status, expected) in [
            (429, true),
            (500, true),
            (503, true),
            (408, true),
            (501, false),
            (400, false),
            (401, false),
            (404, false),
        ] {
            assert_eq!(
                is_passing(StatusCode::from_u16(status).unwrap()),
                expected,
                "{status}"
            );
        }
    }
}
