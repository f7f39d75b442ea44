//! The one place that knows what time it is.

use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};

/// Tells the time. Everything that needs it takes a clock, so that a test can set it.
pub trait Clock: Debug + Send + Sync + 'static {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> i64;

    /// The current time as RFC 3339 in UTC with milliseconds: `2026-03-01T12:00:00.000Z`.
    fn now(&self) -> String {
        format_ms(self.now_ms())
    }

    /// The current year in UTC.
    fn year(&self) -> i32 {
        self.now()
            .get(..4)
            .and_then(|y| y.parse().ok())
            .unwrap_or(1970)
    }
}

/// Formats milliseconds since the epoch as RFC 3339 in UTC.
pub(crate) fn format_ms(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .unwrap_or(jiff::Timestamp::UNIX_EPOCH)
        .strftime("%Y-%m-%dT%H:%M:%S%.3fZ")
        .to_string()
}

/// Parses RFC 3339 into milliseconds since the epoch.
pub(crate) fn parse_ms(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>()
        .ok()
        .map(|t| t.as_millisecond())
}

/// The system's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(
        clippy::disallowed_methods,
        reason = "this is the clock port's real implementation"
    )]
    fn now_ms(&self) -> i64 {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands still until it is moved; for tests and for reproducible runs.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows `ms` milliseconds since the epoch.
    pub fn new(ms: i64) -> Self {
        Self(AtomicI64::new(ms))
    }

    /// Moves the clock by `ms` milliseconds.
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_and_parses() {
        let clock = ManualClock::new(1_700_000_000_123);
        assert_eq!(clock.now(), "2023-11-14T22:13:20.123Z");
        assert_eq!(parse_ms(&clock.now()), Some(1_700_000_000_123));
        assert_eq!(clock.year(), 2023);
        clock.advance(86_400_000 * 365);
        assert_eq!(clock.year(), 2024);
    }
}
