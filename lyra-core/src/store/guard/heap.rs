//! A limit on the memory that SQLite allocates for one query.
//!
//! SQLite's own heap limit applies to the whole process, including writers. This module instead puts a
//! thin layer over SQLite's allocator that counts per thread while a query runs: an allocation above the
//! limit fails, and SQLite turns that into a clean error. Since SQLite allocates during every long
//! operation, the layer also checks the deadline, and so ends operations in which the progress handler
//! is never called.
//!
//! The binding panics if SQLite has no memory to return a value. A value is therefore read with
//! [`read_value`], which requests the memory first. Memory that Rust holds for a query is counted as
//! well: see [`Held`].
#![allow(
    unsafe_code,
    reason = "SQLite takes an allocator only through its C interface"
)]

use super::limits::VALUE_BYTES;
use rusqlite::ffi;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::time::Instant;

/// Bytes that SQLite may hold for one query, in addition to those held when the query began.
pub(super) const QUERY_BYTES: i64 = 32 << 20;

/// Small allocations between two clock checks.
const ALLOCATIONS_PER_CHECK: u32 = 32;

/// Allocations of this size check the clock each time.
const LARGE: c_int = 4_096;

/// The counters of the query that this thread runs.
#[derive(Clone, Copy)]
struct HeapAccount {
    used: i64,
    deadline: Instant,
    allocations: u32,
    spent: Option<HeapSpent>,
    /// A value is being read whose memory was granted before.
    is_admitted: bool,
    #[cfg(test)]
    failing: injection::Failing,
}

/// Why an allocation was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeapSpent {
    /// The query has reached its memory limit.
    Memory,
    /// The deadline has passed.
    Time,
}

thread_local! {
    /// None while no query runs on this thread: everything is allowed and nothing is counted.
    static ACCOUNT: Cell<Option<HeapAccount>> = const { Cell::new(None) };
}

/// SQLite's own allocator, which this layer calls.
static UNDERLYING: OnceLock<Methods> = OnceLock::new();

/// Each function has the same contract as its namesake in `sqlite3_mem_methods`.
struct Methods {
    malloc: unsafe extern "C" fn(c_int) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    realloc: unsafe extern "C" fn(*mut c_void, c_int) -> *mut c_void,
    size: unsafe extern "C" fn(*mut c_void) -> c_int,
}

/// Puts the layer over SQLite's allocator. SQLite accepts it only before the process has opened its
/// first connection. Returns whether the layer is installed.
pub(super) fn install() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| {
        // SAFETY: both calls are made once, by one thread, with a struct that outlives them; SQLite
        // refuses them, with no effect, if it is in use already. Zero is a valid value of the struct,
        // whose fields are nullable function pointers and a pointer.
        unsafe {
            let mut methods: ffi::sqlite3_mem_methods = std::mem::zeroed();
            let got = ffi::sqlite3_config(ffi::SQLITE_CONFIG_GETMALLOC, &raw mut methods);
            let (Some(malloc), Some(free), Some(realloc), Some(size)) = (
                methods.xMalloc,
                methods.xFree,
                methods.xRealloc,
                methods.xSize,
            ) else {
                return false;
            };
            let underlying = Methods {
                malloc,
                free,
                realloc,
                size,
            };
            if got != ffi::SQLITE_OK || UNDERLYING.set(underlying).is_err() {
                return false;
            }
            methods.xMalloc = Some(counted_malloc);
            methods.xFree = Some(counted_free);
            methods.xRealloc = Some(counted_realloc);
            ffi::sqlite3_config(ffi::SQLITE_CONFIG_MALLOC, &raw mut methods) == ffi::SQLITE_OK
        }
    })
}

/// Counts for one query on this thread until it is dropped.
#[derive(Debug)]
pub(super) struct Metering(());

impl Metering {
    pub(super) fn start(deadline: Instant) -> Self {
        let account = HeapAccount {
            used: 0,
            deadline,
            allocations: 0,
            spent: None,
            is_admitted: false,
            #[cfg(test)]
            failing: injection::next(),
        };
        ACCOUNT.set(Some(account));
        Self(())
    }

    /// The reason for the first refused allocation, if any.
    pub(super) fn spent() -> Option<HeapSpent> {
        ACCOUNT.get().and_then(|account| account.spent)
    }
}

impl Drop for Metering {
    fn drop(&mut self) {
        ACCOUNT.set(None);
    }
}

/// Reads one SQLite value through the binding. The required memory is requested beforehand and refused
/// here if necessary; after that, no allocation is refused.
pub(super) fn read_value<T>(read: impl FnOnce() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    if !admit(VALUE_BYTES as i64, 0) {
        return Err(out_of_memory());
    }
    set_admitted(true);
    let value = read();
    set_admitted(false);
    value
}

fn set_admitted(is_admitted: bool) {
    if let Some(account) = ACCOUNT.get() {
        ACCOUNT.set(Some(HeapAccount {
            is_admitted,
            ..account
        }));
    }
}

fn out_of_memory() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_NOMEM), None)
}

/// Rust memory that is counted for the query until this is dropped, which is before the query ends.
#[derive(Debug, Default)]
pub(super) struct Held(i64);

impl Held {
    /// Sets the counted bytes, or fails like an allocation of SQLite.
    pub(super) fn hold(&mut self, bytes: usize) -> rusqlite::Result<()> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX / 2);
        let extra = bytes - self.0;
        if extra > 0 && !admit(extra, 0) {
            return Err(out_of_memory());
        }
        count(extra);
        self.0 = bytes;
        Ok(())
    }

    /// Adds to the counted bytes.
    pub(super) fn hold_more(&mut self, bytes: usize) -> rusqlite::Result<()> {
        self.hold(usize::try_from(self.0).unwrap_or(0).saturating_add(bytes))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        count(-self.0);
    }
}

/// Whether this thread's query may use `extra` more bytes. `size` is the size of the allocation.
fn admit(extra: i64, size: c_int) -> bool {
    let Some(mut account) = ACCOUNT.get() else {
        return true;
    };
    if account.is_admitted {
        return true;
    }
    account.allocations = account.allocations.wrapping_add(1);
    let look = size >= LARGE || account.allocations % ALLOCATIONS_PER_CHECK == 0;
    let refused = if account.used + extra > QUERY_BYTES {
        Some(HeapSpent::Memory)
    } else if look && Instant::now() >= account.deadline {
        Some(HeapSpent::Time)
    } else {
        None
    };
    #[cfg(test)]
    let refused = refused.or_else(|| account.failing.refuse());
    account.spent = account.spent.or(refused);
    ACCOUNT.set(Some(account));
    refused.is_none()
}

fn count(bytes: i64) {
    if let Some(mut account) = ACCOUNT.get() {
        account.used += bytes;
        ACCOUNT.set(Some(account));
    }
}

/// # Safety
/// SQLite's `xMalloc`: any size above 0.
unsafe extern "C" fn counted_malloc(size: c_int) -> *mut c_void {
    let Some(underlying) = UNDERLYING.get() else {
        return ptr::null_mut();
    };
    if !admit(i64::from(size), size) {
        return ptr::null_mut();
    }
    // SAFETY: SQLite's own allocator is called as SQLite would call it.
    unsafe {
        let memory = (underlying.malloc)(size);
        if !memory.is_null() {
            count(i64::from((underlying.size)(memory)));
        }
        memory
    }
}

/// # Safety
/// SQLite's `xFree`: memory from `xMalloc` or `xRealloc`, once.
unsafe extern "C" fn counted_free(memory: *mut c_void) {
    let Some(underlying) = UNDERLYING.get() else {
        return;
    };
    // SAFETY: as above; the memory came from the same allocator.
    unsafe {
        if !memory.is_null() {
            count(-i64::from((underlying.size)(memory)));
        }
        (underlying.free)(memory);
    }
}

/// # Safety
/// SQLite's `xRealloc`: memory from either, and a size above 0.
unsafe extern "C" fn counted_realloc(memory: *mut c_void, size: c_int) -> *mut c_void {
    let Some(underlying) = UNDERLYING.get() else {
        return ptr::null_mut();
    };
    // SAFETY: as above; SQLite never passes null here, but the underlying allocator accepts it, and its
    // size is requested only if it is not null.
    unsafe {
        let old = if memory.is_null() {
            0
        } else {
            i64::from((underlying.size)(memory))
        };
        let extra = i64::from(size) - old;
        if extra > 0 && !admit(extra, size) {
            return ptr::null_mut();
        }
        let moved = (underlying.realloc)(memory, size);
        if !moved.is_null() {
            count(i64::from((underlying.size)(moved)) - old);
        }
        moved
    }
}

/// Simulated failures of allocations.
#[cfg(test)]
pub(super) mod injection {
    use super::HeapSpent;
    use std::cell::Cell;

    /// Which allocations of the next query on this thread fail.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(in super::super) enum Fail {
        None,
        /// Only the n-th, counted from 0, as at the limit.
        Only(u32),
        /// The n-th and all later ones, as after the deadline.
        From(u32),
    }

    thread_local! {
        static NEXT: Cell<Fail> = const { Cell::new(Fail::None) };
        static ASKED: Cell<u32> = const { Cell::new(0) };
    }

    #[derive(Debug, Clone, Copy)]
    pub(super) struct Failing(Fail);

    /// Sets which allocations fail in the queries that this thread starts from now on.
    pub(in super::super) fn fail(which: Fail) {
        NEXT.set(which);
    }

    /// Number of allocations of the latest query on this thread.
    pub(in super::super) fn asked() -> u32 {
        ASKED.get()
    }

    pub(super) fn next() -> Failing {
        ASKED.set(0);
        Failing(NEXT.get())
    }

    impl Failing {
        pub(super) fn refuse(self) -> Option<HeapSpent> {
            let number = ASKED.get();
            ASKED.set(number + 1);
            match self.0 {
                Fail::Only(n) if n == number => Some(HeapSpent::Memory),
                Fail::From(n) if n <= number => Some(HeapSpent::Time),
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_a_running_query_is_counted_and_it_is_refused_what_is_too_much() {
        assert!(admit(i64::MAX / 2, c_int::MAX));
        let metering = Metering::start(Instant::now() + Duration::from_secs(60));
        assert!(admit(QUERY_BYTES, 1));
        count(QUERY_BYTES - 10);
        assert!(admit(10, 1));
        assert!(!admit(11, 1));
        assert_eq!(Metering::spent(), Some(HeapSpent::Memory));
        count(-100);
        assert!(admit(11, 1));
        drop(metering);
        assert!(admit(i64::MAX / 2, 1));
        assert_eq!(Metering::spent(), None);
    }

    #[test]
    fn what_rust_holds_counts_until_it_is_dropped() {
        let _metering = Metering::start(Instant::now() + Duration::from_secs(60));
        let mut held = Held::default();
        held.hold(QUERY_BYTES as usize).unwrap();
        assert!(!admit(1, 1));
        assert!(Held::default().hold(1).is_err());
        held.hold(QUERY_BYTES as usize - 10).unwrap();
        assert!(admit(10, 1));
        drop(held);
        assert!(admit(QUERY_BYTES, 1));
    }

    #[test]
    fn a_value_is_read_only_where_there_is_memory_for_it_and_then_to_its_end() {
        let _metering = Metering::start(Instant::now() + Duration::from_secs(60));
        let mut held = Held::default();
        held.hold(QUERY_BYTES as usize - VALUE_BYTES).unwrap();
        let read = read_value(|| Ok(admit(QUERY_BYTES, 1)));
        assert!(read.unwrap());
        assert!(!admit(QUERY_BYTES, 1));
        held.hold(QUERY_BYTES as usize - VALUE_BYTES + 1).unwrap();
        assert!(read_value(|| Ok(())).is_err());
    }

    #[test]
    fn after_the_deadline_nothing_large_is_given_and_little_that_is_small() {
        let _metering = Metering::start(Instant::now());
        assert!(!admit(5_000, 5_000));
        assert_eq!(Metering::spent(), Some(HeapSpent::Time));
        let given = (0..320).filter(|_| admit(8, 8)).count();
        assert_eq!(given, 310);
    }
}
