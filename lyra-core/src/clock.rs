//! The clock port, the only source of the current time.

use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Tells the time. Code that needs the time takes a clock, so that tests can control it.
pub trait Clock: Debug + Send + Sync + 'static {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> i64;

    /// Milliseconds on a monotonic clock whose origin is arbitrary. Setting the system time does
    /// not change it, so durations are measured with it.
    fn elapsed_ms(&self) -> i64 {
        static BEGAN: OnceLock<Instant> = OnceLock::new();
        let elapsed = BEGAN.get_or_init(Instant::now).elapsed();
        i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
    }

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

/// A clock that advances only when told to; for tests and for reproducible runs.
#[derive(Debug)]
pub struct ManualClock {
    now_ms: AtomicI64,
    elapsed_ms: AtomicI64,
}

impl ManualClock {
    /// A clock that starts at `ms` milliseconds since the epoch.
    pub fn new(ms: i64) -> Self {
        Self {
            now_ms: AtomicI64::new(ms),
            elapsed_ms: AtomicI64::new(0),
        }
    }

    /// Advances the time by `ms` milliseconds.
    pub fn advance(&self, ms: i64) {
        self.jump(ms);
        self.elapsed_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Sets the time of day forward or back by `ms` milliseconds; the elapsed time does not change.
    pub fn jump(&self, ms: i64) {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    fn elapsed_ms(&self) -> i64 {
        self.elapsed_ms.load(Ordering::Relaxed)
    }
}

/// A clock that follows another one at an offset. A replay uses it to run at the time of the
/// recorded run.
#[derive(Debug)]
pub(crate) struct ShiftedClock {
    clock: std::sync::Arc<dyn Clock>,
    shift_ms: AtomicI64,
}

impl ShiftedClock {
    /// A clock that now shows `ms`.
    pub(crate) fn beginning(clock: std::sync::Arc<dyn Clock>, ms: i64) -> Self {
        let shift_ms = AtomicI64::new(ms - clock.now_ms());
        Self { clock, shift_ms }
    }

    /// Moves the clock forward to a time, unless it is already later.
    pub(crate) fn reach(&self, ms: i64) {
        let behind = (ms - self.now_ms()).max(0);
        self.shift_ms.fetch_add(behind, Ordering::Relaxed);
    }
}

impl Clock for ShiftedClock {
    fn now_ms(&self) -> i64 {
        self.clock.now_ms() + self.shift_ms.load(Ordering::Relaxed)
    }

    fn elapsed_ms(&self) -> i64 {
        self.clock.elapsed_ms()
    }
}

/// By how much the time of day and the elapsed time may diverge before the clock counts as set:
/// more than slewing and a busy machine cause between two observations.
pub(crate) const JUMP_MS: i64 = 2_000;

/// Detects that the system time was set between two observations.
#[derive(Debug, Default)]
pub(crate) struct JumpWatch(Mutex<Option<ClockState>>);

#[derive(Debug, Clone, Copy)]
struct ClockState {
    now_ms: i64,
    elapsed_ms: i64,
    since: i64,
    has_jumped: bool,
}

/// How far the clock can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// It has not been watched for long enough to tell.
    New,
    /// It was set a short time ago.
    Jumped,
    /// It has not been set within the requested span.
    Steady,
}

impl JumpWatch {
    /// Observes the clock and returns whether it was set within the last `span_ms`.
    pub(crate) fn look(&self, clock: &dyn Clock, span_ms: i64) -> Trust {
        let (now_ms, elapsed_ms) = (clock.now_ms(), clock.elapsed_ms());
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = watched.unwrap_or(ClockState {
            now_ms,
            elapsed_ms,
            since: elapsed_ms,
            has_jumped: false,
        });
        let moved = (now_ms - next.now_ms) - (elapsed_ms - next.elapsed_ms);
        if moved.abs() > JUMP_MS {
            (next.since, next.has_jumped) = (elapsed_ms, true);
        }
        (next.now_ms, next.elapsed_ms) = (now_ms, elapsed_ms);
        *watched = Some(next);
        match (elapsed_ms - next.since >= span_ms, next.has_jumped) {
            (true, _) => Trust::Steady,
            (false, true) => Trust::Jumped,
            (false, false) => Trust::New,
        }
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
