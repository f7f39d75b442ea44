//! The deadline and the step budget of the query that a connection is running.
//!
//! Three components check it: SQLite's progress handler every thousand steps, our SQL functions inside
//! their loops, and the caller's thread, which interrupts from outside.

use super::heap::{HeapSpent, Metering};
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Steps of the virtual machine between two clock checks: about 6 µs.
const STEPS_PER_CHECK: u64 = 1_000;

/// Steps of a query's first attempt on the caller's thread. They take about as long as two thread
/// switches, so a query that has to start again loses no more time than that.
pub(super) const BRIEF_STEPS: u64 = 2_000;

/// Steps between two clock checks in a first attempt. A step handles at most 256 KiB, some 20 µs.
const BRIEF_STEPS_PER_CHECK: u64 = 250;

/// Bytes that our functions process between two clock checks: a few µs.
const WORK_PER_CHECK: u32 = 64 * 1024;

/// The budget that ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    /// The deadline passed.
    Time,
    /// The virtual machine used all its steps.
    Steps,
    /// An allocation was refused. SQLite's aggregates report this only after their last row, which may
    /// never come.
    Memory,
}

impl std::error::Error for Spent {}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Time => "no time is left",
            Self::Steps => "no step is left",
            Self::Memory => "no memory is left",
        })
    }
}

/// Shared by a connection's callbacks; reset for each query.
#[derive(Debug)]
pub(super) struct QueryBudget {
    origin: Instant,
    deadline_us: AtomicU64,
    steps_left: AtomicI64,
    steps_per_check: AtomicI64,
    work: AtomicU32,
    spent: AtomicU8,
}

impl QueryBudget {
    pub(super) fn new() -> Self {
        Self {
            origin: Instant::now(),
            deadline_us: AtomicU64::new(u64::MAX),
            steps_left: AtomicI64::new(i64::MAX),
            steps_per_check: AtomicI64::new(STEPS_PER_CHECK as i64),
            work: AtomicU32::new(0),
            spent: AtomicU8::new(0),
        }
    }

    /// Starts a query's time, until `end`, and its steps. Returns the number of steps between two calls
    /// of the progress handler.
    pub(super) fn start(&self, steps: u64, end: Instant) -> i32 {
        self.start_with(steps, STEPS_PER_CHECK, end)
    }

    /// The same for a first attempt of a few steps. Only the progress handler checks the clock then, so
    /// it does so more often.
    pub(super) fn start_briefly(&self, steps: u64, end: Instant) -> i32 {
        self.start_with(steps.min(BRIEF_STEPS), BRIEF_STEPS_PER_CHECK, end)
    }

    fn start_with(&self, steps: u64, per_check: u64, end: Instant) -> i32 {
        let interval = steps.clamp(1, per_check);
        self.deadline_us
            .store(micros(end.saturating_duration_since(self.origin)), Relaxed);
        self.steps_left
            .store(i64::try_from(steps).unwrap_or(i64::MAX), Relaxed);
        self.steps_per_check.store(interval as i64, Relaxed);
        self.work.store(0, Relaxed);
        self.spent.store(0, Relaxed);
        interval as i32
    }

    /// The query's deadline.
    pub(super) fn deadline(&self) -> Instant {
        self.origin + Duration::from_micros(self.deadline_us.load(Relaxed))
    }

    /// Lifts all budgets, for the guard's statements between two queries.
    pub(super) fn stop(&self) {
        self.deadline_us.store(u64::MAX, Relaxed);
        self.steps_left.store(i64::MAX, Relaxed);
    }

    /// The progress handler: true interrupts. It must not panic, because SQLite's binding treats a panic
    /// as "continue".
    pub(super) fn on_progress(&self) -> bool {
        let steps = self.steps_per_check.load(Relaxed);
        if self
            .steps_left
            .fetch_sub(steps, Relaxed)
            .saturating_sub(steps)
            <= 0
        {
            self.spend(Spent::Steps);
            return true;
        }
        if Metering::spent() == Some(HeapSpent::Memory) {
            self.spend(Spent::Memory);
            return true;
        }
        self.is_late()
    }

    /// Whether the deadline has passed.
    pub(super) fn is_late(&self) -> bool {
        let late = micros(self.origin.elapsed()) >= self.deadline_us.load(Relaxed);
        if late {
            self.spend(Spent::Time);
        }
        late
    }

    /// Called by our functions for each `bytes` that they are about to process; checks the clock
    /// occasionally.
    pub(super) fn charge(&self, bytes: usize) -> rusqlite::Result<()> {
        let bytes = u32::try_from(bytes)
            .unwrap_or(u32::MAX)
            .clamp(64, WORK_PER_CHECK);
        if self.work.fetch_add(bytes, Relaxed) < WORK_PER_CHECK {
            return Ok(());
        }
        self.work.store(0, Relaxed);
        if self.is_late() {
            Err(interrupted())
        } else {
            Ok(())
        }
    }

    /// The budget that ran out first, if any.
    pub(super) fn spent(&self) -> Option<Spent> {
        match self.spent.load(Relaxed) {
            1 => Some(Spent::Time),
            2 => Some(Spent::Steps),
            3 => Some(Spent::Memory),
            _ => None,
        }
    }

    fn spend(&self, which: Spent) {
        let code = match which {
            Spent::Time => 1,
            Spent::Steps => 2,
            Spent::Memory => 3,
        };
        // Only the first one counts; a failed exchange means that another one was first.
        let _ = self.spent.compare_exchange(0, code, Relaxed, Relaxed);
    }
}

/// The error that a function returns after the deadline. It has no message, because SQLite would turn an
/// error with a message into a general error.
pub(super) fn interrupted() -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_INTERRUPT);
    rusqlite::Error::SqliteFailure(code, None)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(ms: u64) -> Instant {
        Instant::now() + Duration::from_millis(ms)
    }

    #[test]
    fn steps_run_out_after_as_many_checks_as_they_hold() {
        for (max_vm_steps, interval, checks_before) in [
            (1, 1, 0),
            (500, 500, 0),
            (1_000, 1_000, 0),
            (2_500, 1_000, 2),
            (5_000_000, 1_000, 4_999),
        ] {
            let budget = QueryBudget::new();
            assert_eq!(budget.start(max_vm_steps, within(2_000)), interval);
            let passed = (0..10_000).take_while(|_| !budget.on_progress()).count();
            assert_eq!(passed, checks_before, "{max_vm_steps}");
            assert_eq!(budget.spent(), Some(Spent::Steps));
        }
    }

    #[test]
    fn the_deadline_stops_progress_and_functions_until_the_next_start() {
        let budget = QueryBudget::new();
        budget.start(50_000_000, within(1));
        std::thread::sleep(Duration::from_millis(3));
        assert!(budget.on_progress());
        assert!((0..3).any(|_| budget.charge(1 << 20).is_err()));
        assert_eq!(budget.spent(), Some(Spent::Time));
        budget.start(50_000_000, within(2_000));
        assert_eq!(budget.spent(), None);
        assert!(!budget.on_progress());
        budget.stop();
        assert!(!budget.is_late());
    }
}
