//! Decides when a service may be queried: a token bucket and a circuit breaker.
//!
//! Everything is computed from a time that is passed in, so that tests need not wait.

use std::time::{Duration, Instant};

/// A bucket that fills with `per_second` tokens up to `burst`; every request takes one.
#[derive(Debug)]
pub(super) struct TokenBucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled: Instant,
    /// Until when the service asked clients to stay away.
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

    /// Takes a token and returns how long to wait before using it. Callers that arrive while the
    /// bucket is empty queue up in order.
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

    /// Returns a token that will not be used.
    pub(super) fn give_back(&mut self) {
        self.tokens = (self.tokens + 1.0).min(self.burst);
    }

    /// Blocks all requests before `until`.
    pub(super) fn close_until(&mut self, until: Instant) {
        self.closed_until = self.closed_until.max(Some(until));
    }
}

/// How long a service is paused after this many consecutive failures: `base`, then twice and four
/// times.
pub(super) fn cooldown(failures: u32, base: Duration) -> Duration {
    base.saturating_mul(1 << (failures / 3).min(2))
}

/// Stops requests to a service that is down; after a pause, one request tests whether it is back.
#[derive(Debug)]
pub(super) struct Breaker {
    opens_after: u32,
    rest: Duration,
    failures: u32,
    state: BreakerState,
    last: String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum BreakerState {
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
            state: BreakerState::Closed,
            last: String::new(),
        }
    }

    /// Whether a request may be sent now; otherwise the remaining pause and the last failure.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), (Duration, &str)> {
        let wait = match self.state {
            BreakerState::Closed => return Ok(()),
            BreakerState::Open { until } => until.saturating_duration_since(now),
            // A probe whose caller gave up never reports; after a pause another one may be sent.
            BreakerState::Probing { since } => (since + self.rest).saturating_duration_since(now),
        };
        if wait.is_zero() {
            self.state = BreakerState::Probing { since: now };
            return Ok(());
        }
        Err((wait, &self.last))
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
        self.state = BreakerState::Closed;
    }

    pub(super) fn failed(&mut self, now: Instant, why: &str) {
        self.failures = self.failures.saturating_add(1);
        why.clone_into(&mut self.last);
        let was_probe = matches!(self.state, BreakerState::Probing { .. });
        if was_probe || self.failures >= self.opens_after {
            let rounds = self.failures.saturating_sub(self.opens_after);
            let until = now + cooldown(rounds, self.rest);
            self.state = BreakerState::Open { until };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::text::testing::reference_cases;

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
    fn rests_grow_as_the_reference_has_them() {
        for row in reference_cases("cooldown") {
            let failures = u32::try_from(row["failures"].as_u64().unwrap()).unwrap();
            let rest = cooldown(failures, Duration::from_secs(30 * 60));
            assert_eq!(
                rest.as_secs() / 60,
                row["minutes"].as_u64().unwrap(),
                "{row}"
            );
        }
    }
}
