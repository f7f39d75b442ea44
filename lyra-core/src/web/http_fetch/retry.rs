//! When a server that is busy or broken is asked again.

use super::connect::text_header;
use super::fresh::http_date_ms;
use reqwest::StatusCode;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use std::time::Duration;

/// Waits grow no longer than this.
const LONGEST_BACKOFF: Duration = Duration::from_secs(60);

/// Whether the same request may fare better later.
pub(super) fn is_transient(status: StatusCode) -> bool {
    matches!(status.as_u16(), 429 | 500 | 502 | 503 | 504)
}

/// The wait before try `attempt` + 1, without jitter: `base` doubled each time, up to `most`.
fn backoff(attempt: u32, base: Duration, most: Duration) -> Duration {
    base.saturating_mul(2_u32.saturating_pow(attempt)).min(most)
}

/// The same with jitter (half of it to all of it), so that those who failed together do not come
/// back together.
pub(super) fn backoff_with_jitter(attempt: u32, base: Duration) -> Duration {
    let share = f64::from(getrandom::u32().unwrap_or(u32::MAX)) / f64::from(u32::MAX);
    backoff(attempt, base, LONGEST_BACKOFF).mul_f64(0.5 + share / 2.0)
}

/// `Retry-After`: seconds, or a date against the server's own `Date`.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = text_header(headers, RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = http_date_ms(&value)?;
    let now = text_header(headers, "date").and_then(|date| http_date_ms(&date))?;
    Some(Duration::from_millis(
        u64::try_from(until - now).unwrap_or(0),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;

    #[test]
    fn waits_double_as_in_the_reference() {
        for row in reference_cases("backoff") {
            let seconds = |key: &str| Duration::from_secs_f64(row[key].as_f64().unwrap());
            let attempt = u32::try_from(row["attempt"].as_u64().unwrap()).unwrap();
            let wait = backoff(attempt, seconds("base"), seconds("max"));
            assert_eq!(wait, seconds("delay_no_jitter"), "{row}");
        }
        for attempt in [0, 3, 40] {
            let base = Duration::from_secs(1);
            let whole = backoff(attempt, base, LONGEST_BACKOFF);
            let wait = backoff_with_jitter(attempt, base);
            assert!(wait >= whole / 2 && wait <= whole, "{attempt}: {wait:?}");
        }
    }

    #[test]
    fn servers_say_when_to_come_back() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (value, expected) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sun, 06 Nov 1994 08:40:37 GMT", Some(0)),
            ("-5", None),
            ("soon", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, value.parse().unwrap());
            headers.insert("date", date.parse().unwrap());
            let expected = expected.map(Duration::from_secs);
            assert_eq!(retry_after(&headers), expected, "{value}");
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
