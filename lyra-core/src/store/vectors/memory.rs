//! Requests large pages for large tables.

/// Tables smaller than this gain too little.
const LEAST_BYTES: usize = 4 << 20;

/// Asks the system to use large pages for the table's memory, whether filled or still empty: a
/// sequential read then causes far fewer TLB misses. This is only a hint, and is given only on Linux.
pub(super) fn prefer_large_pages<T>(table: &Vec<T>) {
    let bytes = table.capacity() * size_of::<T>();
    if bytes >= LEAST_BYTES {
        advise(table.as_ptr().cast(), bytes);
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a system call")]
fn advise(start: *const u8, bytes: usize) {
    use std::ffi::{c_int, c_void};
    /// The page size of Linux is between 4 KiB and 64 KiB; addresses must be aligned to it.
    const PAGE: usize = 65_536;
    const MADV_HUGEPAGE: c_int = 14;
    // SAFETY: the signature is that of madvise(2).
    unsafe extern "C" {
        fn madvise(start: *mut c_void, length: usize, advice: c_int) -> c_int;
    }
    let skipped = start.addr().next_multiple_of(PAGE) - start.addr();
    let inner = start.wrapping_add(skipped).cast_mut();
    let length = (bytes - skipped) / PAGE * PAGE;
    // SAFETY: the range lies within one allocation that the caller borrows, and this advice changes
    // neither its contents nor who may read it. A refusal is harmless.
    unsafe { madvise(inner.cast(), length, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_start: *const u8, _bytes: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_holds_what_it_held() {
        for length in [0, 10, LEAST_BYTES, LEAST_BYTES + 12_345] {
            let mut table: Vec<u8> = Vec::with_capacity(length + 3);
            prefer_large_pages(&table);
            table.extend((0..length).map(|i| i as u8));
            prefer_large_pages(&table);
            assert!(table.iter().enumerate().all(|(i, v)| *v == i as u8));
        }
    }
}
