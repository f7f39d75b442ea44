//! When a service may be asked: a bucket of tokens, growing waits, a circuit breaker.
//!
//! All of it is arithmetic on a time that is handed in, so that tests need no waiting.

use std::time::{Duration, Instant};

/// A bucket that fills with `per_second` tokens up to `burst`; every request takes one.
#[derive(Debug)]
pub(super) struct TokenBucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled: Instant,
    /// The service itself said not to come back before.
    closed_until: Option<Instant>,
}

impl TokenBucket {
    pub(super) fn new(per_second: f64, burst: u32, now: Instant) -> Self {
        let burst = f64::from(burst.max(1));
        Self {
            per_second: per_second.max(1e-3),
            burst,
            tokens: burst,
            filled: now,
            closed_until: None,
        }
    }

    /// Takes a token and answers how long to wait before using it. Those who come while the
    /// bucket is empty queue up behind one another.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.filled).as_secs_f64();
        self.tokens = (self.tokens + since * self.per_second).min(self.burst);
        self.filled = now;
        self.tokens -= 1.0;
        let owed = Duration::from_secs_f64((-self.tokens / self.per_second).max(0.0));
        let closed = self
            .closed_until
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now));
        owed.max(closed)
    }

    /// Puts a token back that will not be used.
    pub(super) fn give_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.burst);
    }

    /// Nobody asks before `until`.
    pub(super) fn close_until(&mut self, until: Instant) {
        self.closed_until = self.closed_until.max(Some(until));
    }
}

/// Waits that double: `base · 2^attempt`, at most `max`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// Before the first retry, at most.
    pub base: Duration,
    /// Before any retry, at most.
    pub max: Duration,
}

impl Backoff {
    /// The longest wait before the retry with this number, 0 for the first.
    pub(super) fn ceiling(&self, attempt: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempt);
        self.base.saturating_mul(factor).min(self.max)
    }

    /// Full jitter: anything from nothing to the ceiling, so that clients that failed together
    /// do not come back together. `random` lies in 0..1.
    pub(super) fn delay(&self, attempt: u32, random: f64) -> Duration {
        self.ceiling(attempt).mul_f64(random.clamp(0.0, 1.0))
    }
}

/// How long a service rests after so many failures in a row: `base`, then twice and four times.
pub(super) fn cooldown(failures: u32, base: Duration) -> Duration {
    base.saturating_mul(1 << (failures / 3).min(2))
}

/// Stops asking a service that is down; after a rest, one request finds out whether it is back.
#[derive(Debug)]
pub(super) struct Breaker {
    opens_after: u32,
    rest: Duration,
    failures: u32,
    state: State,
    last: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Closed,
    Open { until: Instant },
    Probing { since: Instant },
}

impl Breaker {
    pub(super) fn new(opens_after: u32, rest: Duration) -> Self {
        Self {
            opens_after: opens_after.max(1),
            rest,
            failures: 0,
            state: State::Closed,
            last: String::new(),
        }
    }

    /// Whether a request may go out now; else the rest that is left and the last failure.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), (Duration, &str)> {
        let wait = match self.state {
            State::Closed => return Ok(()),
            State::Open { until } => until.saturating_duration_since(now),
            // A probe whose caller gave up never reports; after a rest another may try.
            State::Probing { since } => (since + self.rest).saturating_duration_since(now),
        };
        if wait.is_zero() {
            self.state = State::Probing { since: now };
            return Ok(());
        }
        Err((wait, &self.last))
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.state = State::Closed;
    }

    pub(super) fn failed(&mut self, now: Instant, why: &str) {
        self.failures = self.failures.saturating_add(1);
        why.clone_into(&mut self.last);
        let was_probe = matches!(self.state, State::Probing { .. });
        if was_probe || self.failures >= self.opens_after {
            let rounds = self.failures.saturating_sub(self.opens_after);
            let until = now + cooldown(rounds, self.rest);
            self.state = State::Open { until };
        }
    }
}

/// Reads `Retry-After`: seconds, or a date that is compared with the reply's own `Date`, else
/// with `now_ms` (milliseconds since 1970).
pub(super) fn retry_after(value: &str, date: Option<&str>, now_ms: i64) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let until = http_date(value)?;
    let now = date.and_then(http_date).unwrap_or(now_ms / 1000);
    Some(Duration::from_secs(u64::try_from(until - now).unwrap_or(0)))
}

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
fn http_date(text: &str) -> Option<i64> {
    let (_, rest) = text.trim().split_once(", ")?;
    let rest = rest.strip_suffix(" GMT")?;
    jiff::civil::DateTime::strptime("%d %b %Y %H:%M:%S", rest)
        .ok()?
        .to_zoned(jiff::tz::TimeZone::UTC)
        .ok()
        .map(|date| date.timestamp().as_second())
}

/// Numbers that look random and follow from a seed (splitmix64; Steele, Lea, Flood 2014).
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: Option<u64>) -> Self {
        // Without a seed and without randomness from the system, all clients wait alike; they
        // still wait.
        Self(seed.unwrap_or_else(|| getrandom::u64().unwrap_or(0)))
    }

    /// In 0..1.
    #[allow(
        clippy::cast_precision_loss,
        reason = "53 bits are what an f64 holds exactly"
    )]
    pub(super) fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        (z >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_bucket_lets_a_burst_through_and_then_paces() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(2.0, 2, start);
        let waits: Vec<u128> = (0..4).map(|_| bucket.take(start).as_millis()).collect();
        assert_eq!(waits, [0, 0, 500, 1000]);
        assert_eq!(bucket.take(start + 2 * SECOND).as_millis(), 0, "it fills");
        bucket.close_until(start + 10 * SECOND);
        assert_eq!(bucket.take(start + 4 * SECOND), 6 * SECOND, "it was told");
    }

    #[test]
    fn a_breaker_opens_probes_and_closes() {
        let start = Instant::now();
        let mut breaker = Breaker::new(2, SECOND);
        breaker.failed(start, "answered 500");
        assert!(breaker.admit(start).is_ok(), "one failure is an accident");
        breaker.failed(start, "answered 503");
        assert_eq!(breaker.admit(start), Err((SECOND, "answered 503")));
        let later = start + SECOND;
        assert!(breaker.admit(later).is_ok(), "the probe");
        assert!(breaker.admit(later).is_err(), "and only one");
        breaker.failed(later, "answered 502");
        assert!(breaker.admit(later).is_err(), "a failed probe opens again");
        assert!(breaker.admit(later + SECOND).is_ok());
        breaker.succeeded();
        assert!(breaker.admit(later + SECOND).is_ok());
        assert!(breaker.admit(later + SECOND).is_ok(), "closed for all");
    }

    #[test]
    fn a_probe_that_never_reports_is_followed_by_another() {
        let start = Instant::now();
        let mut breaker = Breaker::new(1, SECOND);
        breaker.failed(start, "down");
        assert!(breaker.admit(start + SECOND).is_ok());
        assert!(breaker.admit(start + SECOND).is_err());
        assert!(breaker.admit(start + 2 * SECOND).is_ok());
    }

    #[test]
    fn retry_after_in_both_forms() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (value, reply_date, expected) in [
            ("120", None, Some(120)),
            (" 0 ", None, Some(0)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(date), Some(30)),
            ("Sun, 06 Nov 1994 08:49:40 GMT", None, Some(3)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(date), Some(0)),
            ("soon", None, None),
            ("-5", None, None),
            ("", None, None),
        ] {
            let now_ms = 784_111_777_000;
            let found = retry_after(value, reply_date, now_ms).map(|d| d.as_secs());
            assert_eq!(found, expected, "{value}");
        }
    }

    /// Tables of known waits; see their README.
    fn table(name: &str) -> Vec<serde_json::Value> {
        let path = format!(
            "{}/../../shared/data/reference-cases/{name}.jsonl",
            env!("CARGO_MANIFEST_DIR")
        );
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: {path} is not there");
            return Vec::new();
        };
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    #[test]
    fn waits_grow_as_the_reference_has_them() {
        for row in table("backoff") {
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
        for row in table("cooldown") {
            let failures = u32::try_from(row["failures"].as_u64().unwrap()).unwrap();
            let rest = cooldown(failures, Duration::from_secs(30 * 60));
            assert_eq!(
                rest.as_secs() / 60,
                row["minutes"].as_u64().unwrap(),
                "{row}"
            );
        }
    }

    proptest! {
        #[test]
        fn jitter_stays_below_the_ceiling(attempt in 0_u32..80, seed: u64) {
            let backoff = Backoff { base: SECOND, max: 60 * SECOND };
            let mut dice = Dice::new(Some(seed));
            let delay = backoff.delay(attempt, dice.roll());
            prop_assert!(delay <= backoff.ceiling(attempt) && delay <= 60 * SECOND);
            let again = backoff.delay(attempt, Dice::new(Some(seed)).roll());
            prop_assert_eq!(delay, again);
        }
    }
}
