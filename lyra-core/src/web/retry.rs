//! When a request to a busy or broken server is retried: the common policy of fetcher, search
//! services, embedding servers and language models.

use super::services::Backoff;
use fastrand::Rng;
use jiff::fmt::rfc2822;
use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use std::time::Duration;

/// Whether the same request may succeed later.
pub(crate) fn is_transient(status: StatusCode) -> bool {
    match status {
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS => true,
        StatusCode::NOT_IMPLEMENTED => false,
        _ => status.is_server_error(),
    }
}

/// The delay that the server requests with `Retry-After`: seconds, or a date that is compared with
/// the reply's own `Date`, otherwise with `now_ms` (milliseconds since 1970).
pub(crate) fn retry_after(headers: &HeaderMap, now_ms: Option<i64>) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name)?.to_str().ok().map(str::trim);
    let wanted = text(RETRY_AFTER)?;
    if let Ok(seconds) = wanted.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = http_date_ms(wanted)?;
    let now = text(DATE).and_then(http_date_ms).or(now_ms)?;
    Some(Duration::from_millis(
        u64::try_from(until - now).unwrap_or(0),
    ))
}

/// An HTTP date (`Sun, 06 Nov 1994 08:49:37 GMT`) as milliseconds since 1970.
pub(super) fn http_date_ms(text: &str) -> Option<i64> {
    static PARSER: rfc2822::DateTimeParser = rfc2822::DateTimeParser::new();
    let time = PARSER.parse_timestamp(text.trim()).ok()?;
    Some(time.as_millisecond())
}

impl Backoff {
    /// The maximum wait before the retry with this number, starting from 0.
    fn ceiling(&self, attempt: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempt);
        self.base.saturating_mul(factor).min(self.max)
    }

    /// The wait before the retry with this number: between half of the maximum and all of it, so
    /// that clients that failed together do not retry together; at least what the server requests.
    pub(crate) fn wait(
        &self,
        attempt: u32,
        wanted: Option<Duration>,
        random: &mut Rng,
    ) -> Duration {
        let wait = self.ceiling(attempt).mul_f64(0.5 + random.f64() / 2.0);
        wait.max(wanted.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;
    use proptest::prelude::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn servers_say_when_in_two_ways() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let now = Some(784_111_777_000);
        for (after, sent, now, expected) in [
            ("120", None, None, Some(120)),
            (" 0 ", None, None, Some(0)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(date), None, Some(30)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(date), None, Some(0)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", None, now, Some(3)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", None, None, None),
            ("soon", Some(date), now, None),
            ("-5", Some(date), now, None),
            ("", Some(date), now, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(after));
            if let Some(sent) = sent {
                headers.insert(DATE, HeaderValue::from_static(sent));
            }
            let expected = expected.map(Duration::from_secs);
            assert_eq!(retry_after(&headers, now), expected, "{after} {sent:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn only_what_passes_is_tried_again() {
        for (status, expected) in [
            (408, true),
            (425, true),
            (429, true),
            (500, true),
            (503, true),
            (522, true),
            (501, false),
            (400, false),
            (401, false),
            (404, false),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(is_transient(status), expected, "{status}");
        }
    }

    #[test]
    fn waits_double_as_in_the_reference() {
        for row in reference_cases("backoff") {
            let seconds = |key: &str| Duration::from_secs_f64(row[key].as_f64().unwrap());
            let backoff = Backoff {
                base: seconds("base"),
                max: seconds("max"),
            };
            let attempt = u32::try_from(row["attempt"].as_u64().unwrap()).unwrap();
            assert_eq!(
                backoff.ceiling(attempt),
                seconds("delay_no_jitter"),
                "{row}"
            );
        }
    }

    proptest! {
        #[test]
        fn waits_are_half_to_all_and_at_least_what_is_wanted(
            attempt in 0_u32..80, seed: u64, wanted in prop::option::of(0_u64..100),
        ) {
            let second = Duration::from_secs(1);
            let backoff = Backoff { base: second, max: 60 * second };
            let wanted = wanted.map(Duration::from_secs);
            let wait = backoff.wait(attempt, wanted, &mut fastrand::Rng::with_seed(seed));
            let ceiling = backoff.ceiling(attempt);
            prop_assert!(ceiling <= 60 * second && wait >= ceiling / 2);
            prop_assert!(wait >= wanted.unwrap_or_default());
            prop_assert!(wait <= ceiling.max(wanted.unwrap_or_default()));
            let again = backoff.wait(attempt, wanted, &mut fastrand::Rng::with_seed(seed));
            prop_assert_eq!(wait, again);
        }
    }
}
