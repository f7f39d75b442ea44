//! Scheduling of queries.
//!
//! A few queries run at a time. While there is a free place, a query gets it at once and for all of its
//! time. When all places but the last are taken, the last one is shared: each new query gets a slice of
//! its time there, so that a short one is answered however many long ones run and wait. A query that
//! does not finish in its slice waits for another place. The query with the least time left is always
//! next, and waiting counts towards a query's time.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Queries that run at the same time and may take all of their time.
const WHOLE: usize = 3;

/// Maximum number of queries past their deadline in an operation that cannot be interrupted. Above this,
/// no query gets a turn until one of them ends.
const MAX_ABANDONED: usize = 2;

/// How often a waiting caller is asked whether it still wants the answer.
pub(super) const LOOK: Duration = Duration::from_millis(20);

/// The shortest slice and the longest. Most honest queries take less than the shortest.
const SLICE: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(50));

/// Waiting queries, in the order of their turns: by deadline, then by arrival.
type Ticket = (Instant, u64);

/// The places of one guard.
#[derive(Debug)]
pub(super) struct Turns {
    state: Mutex<TurnQueue>,
    changed: Condvar,
}

#[derive(Debug)]
struct TurnQueue {
    whole_free: usize,
    slice_free: bool,
    abandoned: usize,
    waiting: BTreeSet<Ticket>,
    /// Those that have not had a slice yet.
    fresh: BTreeSet<Ticket>,
    next: u64,
}

/// Why a query got no turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoTurn {
    /// Its deadline passed first.
    Late,
    /// Its answer is no longer wanted.
    Unwanted,
    /// Its deadline passed while nothing could run.
    Stuck,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    /// The end of the slice, if it is before the query's deadline.
    pub(super) slice_end: Option<Instant>,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(TurnQueue {
                whole_free: WHOLE,
                slice_free: true,
                abandoned: 0,
                waiting: BTreeSet::new(),
                fresh: BTreeSet::new(),
                next: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits for a place until the deadline. While it waits, `is_unwanted` is called from time to time;
    /// after true, waiting ends.
    pub(super) fn wait(
        &self,
        deadline: Instant,
        had_slice: bool,
        is_unwanted: &dyn Fn() -> bool,
    ) -> Result<Turn<'_>, NoTurn> {
        let mut state = self.lock();
        let ticket = (deadline, state.next);
        state.next += 1;
        state.waiting.insert(ticket);
        if !had_slice {
            state.fresh.insert(ticket);
        }
        let turn = loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break Err(state.why_not());
            }
            if let Some(slice_end) = state.place_for(&ticket) {
                break Ok(slice_end);
            }
            let waited = self.changed.wait_timeout(state, left.min(LOOK));
            let (again, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            state = again;
            if waited.timed_out() {
                // Unlocked because the callback may run another query.
                drop(state);
                let unwanted = is_unwanted();
                state = self.lock();
                if unwanted {
                    break Err(NoTurn::Unwanted);
                }
            }
        };
        state.waiting.remove(&ticket);
        state.fresh.remove(&ticket);
        drop(state);
        // Another query is first now.
        self.changed.notify_all();
        turn.map(|slice_end| Turn {
            turns: self,
            slice_end,
        })
    }

    /// Counts an abandoned query; its place is free again.
    pub(super) fn abandon(&self) {
        self.lock().abandoned += 1;
    }

    /// An abandoned query has ended.
    pub(super) fn recover(&self) {
        self.lock().abandoned -= 1;
        self.changed.notify_all();
    }

    /// The counts are changed in single steps, so a panic elsewhere leaves them consistent.
    fn lock(&self) -> MutexGuard<'_, TurnQueue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnQueue {
    /// Takes a place for the ticket if there is one: for all of its time, or until the returned time.
    fn place_for(&mut self, ticket: &Ticket) -> Option<Option<Instant>> {
        if self.abandoned >= MAX_ABANDONED {
            return None;
        }
        if self.whole_free > 0 && self.waiting.first() == Some(ticket) {
            self.whole_free -= 1;
            return Some(None);
        }
        if self.slice_free && self.fresh.first() == Some(ticket) {
            self.slice_free = false;
            let now = Instant::now();
            // Half of the time is shared by all queries that wait for a first slice, as if they had
            // arrived together; the other half is for the time after the slice.
            let sharing = 2 * u32::try_from(self.fresh.len()).unwrap_or(u32::MAX / 2);
            let share = ticket.0.saturating_duration_since(now) / sharing;
            return Some(Some(now + share.clamp(SLICE.0, SLICE.1)));
        }
        None
    }

    fn why_not(&self) -> NoTurn {
        if self.abandoned >= MAX_ABANDONED {
            NoTurn::Stuck
        } else {
            NoTurn::Late
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        match self.slice_end {
            Some(_) => state.slice_free = true,
            None => state.whole_free += 1,
        }
        drop(state);
        self.turns.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn within(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    fn wanted() -> bool {
        false
    }

    #[test]
    fn the_last_place_goes_round_in_slices_and_who_had_one_waits_for_another_place() {
        let turns = Turns::new();
        let turn = |had_slice| turns.wait(within(60), had_slice, &wanted);
        let whole: Vec<_> = (0..WHOLE).map(|_| turn(false).unwrap()).collect();
        assert!(whole.iter().all(|turn| turn.slice_end.is_none()));
        let slice = turn(false).unwrap();
        let end = slice.slice_end.expect("a slice");
        assert!(end <= Instant::now() + SLICE.1);
        let soon = Instant::now() + Duration::from_millis(30);
        assert_eq!(turns.wait(soon, false, &wanted).unwrap_err(), NoTurn::Late);
        drop(slice);
        let soon = Instant::now() + Duration::from_millis(30);
        assert_eq!(turns.wait(soon, true, &wanted).unwrap_err(), NoTurn::Late);
        assert!(turn(false).unwrap().slice_end.is_some());
        drop(whole);
        assert!(turn(true).unwrap().slice_end.is_none());
    }

    #[test]
    fn who_has_the_least_time_is_next() {
        let turns = Turns::new();
        let mut all: Vec<_> = (0..=WHOLE)
            .map(|_| turns.wait(within(60), false, &wanted).unwrap())
            .collect();
        let (report, order) = channel();
        std::thread::scope(|scope| {
            for (waiting, seconds) in [50, 30, 40].into_iter().enumerate() {
                let (turns, report) = (&turns, report.clone());
                scope.spawn(move || {
                    let turn = turns.wait(within(seconds), true, &wanted).unwrap();
                    report.send(seconds).unwrap();
                    drop(turn);
                });
                while turns.lock().waiting.len() <= waiting {
                    std::thread::yield_now();
                }
            }
            // One place is free: the others follow one after the other.
            drop(all.remove(0));
            let order: Vec<_> = order.iter().take(3).collect();
            assert_eq!(order, [30, 40, 50]);
        });
    }

    #[test]
    fn many_who_wait_have_shorter_slices() {
        let mut state = Turns::new().state.into_inner().unwrap();
        state.whole_free = 0;
        let now = Instant::now();
        let deadline = now + Duration::from_millis(400);
        let mut slices = Vec::new();
        for number in 0..40 {
            state.fresh.insert((deadline, number));
            state.slice_free = true;
            let end = state.place_for(&(deadline, 0)).unwrap().unwrap();
            slices.push(end.saturating_duration_since(Instant::now()));
        }
        assert!(slices[0] > Duration::from_millis(40) && slices[0] <= SLICE.1);
        assert!(slices[4] <= Duration::from_millis(40));
        assert!(slices[39] <= Duration::from_millis(5));
    }

    #[test]
    fn nothing_runs_while_too_many_are_left_behind_and_nobody_waits_unwanted() {
        let turns = Turns::new();
        for _ in 0..MAX_ABANDONED {
            turns.abandon();
        }
        let soon = Instant::now() + Duration::from_millis(30);
        assert_eq!(turns.wait(soon, false, &wanted).unwrap_err(), NoTurn::Stuck);
        let unwanted = turns.wait(within(60), false, &|| true);
        assert_eq!(unwanted.unwrap_err(), NoTurn::Unwanted);
        turns.recover();
        assert!(turns.wait(within(60), false, &wanted).is_ok());
        assert!(turns.lock().waiting.is_empty());
    }
}
