//! A quota and a deadline for the temporary files of one query.
//!
//! Data that does not fit into memory is written by SQLite to temporary files, as fast as the disk
//! allows and without a limit. This is a thin VFS over SQLite's own, used only by guarded connections:
//! files that SQLite opens to delete on closing are wrapped, and their bytes are counted for the query
//! that this thread runs. All other files, including the database and its log, are opened by the
//! underlying VFS and not handled here afterwards.
#![allow(
    unsafe_code,
    reason = "SQLite takes a VFS only through its C interface"
)]

use crate::error::{Error, Result};
use rusqlite::ffi;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::time::Instant;
use std::{mem, ptr};

/// The name under which connections open the VFS.
pub(super) const VFS: &CStr = c"lyra-guard";

/// Maximum total size in bytes of a query's temporary files. A sort keeps up to two copies of its data,
/// rows and keys, so at least 32 MiB can be sorted.
pub(super) const QUOTA_BYTES: i64 = 64 << 20;

/// Current and maximum size of this thread's temporary files.
#[derive(Debug, Clone, Copy)]
struct TempFileAccount {
    used: i64,
    /// None while no query runs on this thread: nothing is refused.
    deadline: Option<Instant>,
    /// Whether the query has exceeded its quota.
    over: bool,
}

thread_local! {
    /// A guarded connection stays on one thread, and so do its files.
    static ACCOUNT: Cell<TempFileAccount> =
        const { Cell::new(TempFileAccount { used: 0, deadline: None, over: false }) };
}

/// Applies the quota and the deadline to one query on this thread, until it is dropped.
#[derive(Debug)]
pub(super) struct Quota(());

impl Quota {
    pub(super) fn start(deadline: Instant) -> Self {
        change(|account| {
            account.deadline = Some(deadline);
            account.over = false;
        });
        Self(())
    }

    /// Whether the quota, and not the disk, was too small for the current or last query.
    pub(super) fn is_over() -> bool {
        ACCOUNT.get().over
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        change(|account| account.deadline = None);
    }
}

fn change(how: impl FnOnce(&mut TempFileAccount)) {
    let mut account = ACCOUNT.get();
    how(&mut account);
    ACCOUNT.set(account);
}

fn is_late() -> bool {
    ACCOUNT
        .get()
        .deadline
        .is_some_and(|deadline| Instant::now() >= deadline)
}

/// Takes `bytes` from the quota, or returns false if too little is left.
fn admit(bytes: i64) -> bool {
    let mut account = ACCOUNT.get();
    if account.deadline.is_some() && account.used + bytes > QUOTA_BYTES {
        account.over = true;
        ACCOUNT.set(account);
        return false;
    }
    account.used += bytes;
    ACCOUNT.set(account);
    true
}

/// The VFS beneath ours.
struct Underlying(*mut ffi::sqlite3_vfs);

// SAFETY: SQLite keeps a registered VFS for ever and lets all threads call it; it is only read.
unsafe impl Send for Underlying {}
// SAFETY: as above.
unsafe impl Sync for Underlying {}

static UNDERLYING: OnceLock<Underlying> = OnceLock::new();

/// Registers the VFS with SQLite, once per process.
pub(super) fn register() -> Result<()> {
    static CODE: OnceLock<c_int> = OnceLock::new();
    match *CODE.get_or_init(register_once) {
        ffi::SQLITE_OK => Ok(()),
        code => Err(Error::internal(format!(
            "SQLite refused the files of the guard (code {code})"
        ))),
    }
}

fn register_once() -> c_int {
    // SAFETY: a null name selects the default VFS, which stays in place. The copy of its description
    // gets our name and xOpen, is of the same version, and lives for ever.
    unsafe {
        let found = ffi::sqlite3_vfs_find(ptr::null());
        if found.is_null() || (*found).xOpen.is_none() || (*found).szOsFile < 0 {
            return ffi::SQLITE_ERROR;
        }
        let mut ours = *found;
        ours.szOsFile += HEADER as c_int;
        ours.pNext = ptr::null_mut();
        ours.zName = VFS.as_ptr();
        ours.xOpen = Some(open);
        if UNDERLYING.set(Underlying(found)).is_err() {
            return ffi::SQLITE_ERROR;
        }
        ffi::sqlite3_vfs_register(Box::leak(Box::new(ours)), 0)
    }
}

/// A wrapped file: this struct, with the underlying file [`HEADER`] bytes after its start.
#[repr(C)]
struct CountedFile {
    /// The part that SQLite uses.
    base: ffi::sqlite3_file,
    /// Number of bytes counted for this file.
    size: i64,
}

/// Size of the header before the underlying file: large enough to keep it aligned for any type.
const HEADER: usize = mem::size_of::<CountedFile>().next_multiple_of(16);

/// The methods of a wrapped file. Version 1: without shared memory and mappings, which temporary files
/// do not need.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// # Safety
/// Called by SQLite with a file of `szOsFile` bytes, as its documentation of `xOpen` says.
unsafe extern "C" fn open(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let Some(Underlying(underlying)) = UNDERLYING.get() else {
        return ffi::SQLITE_CANTOPEN;
    };
    // SAFETY: the underlying VFS gets itself, and a piece of memory of its own size: all of `file`, or
    // the part after the header. `pMethods` tells SQLite whether there is a file to close, also after an
    // error, so it is set only if the underlying one is.
    unsafe {
        let Some(open) = (**underlying).xOpen else {
            return ffi::SQLITE_CANTOPEN;
        };
        if flags & ffi::SQLITE_OPEN_DELETEONCLOSE == 0 {
            return open(*underlying, name, file, flags, out_flags);
        }
        let inner = inner(file);
        (*inner).pMethods = ptr::null();
        let code = open(*underlying, name, inner, flags, out_flags);
        let counted = file.cast::<CountedFile>();
        (*counted).size = 0;
        (*counted).base.pMethods = if (*inner).pMethods.is_null() {
            ptr::null()
        } else {
            &raw const METHODS
        };
        code
    }
}

/// The underlying file of a wrapped file.
///
/// # Safety
/// `file` has [`HEADER`] bytes and an underlying file after them.
unsafe fn inner(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: as the caller guarantees, the result is inside the same piece of memory.
    unsafe { file.byte_add(HEADER) }
}

/// Calls a method of the underlying file; the fallback is used if the method is missing.
macro_rules! underlying {
    ($file:expr, $method:ident ( $($argument:expr),* ), $fallback:expr) => {{
        // SAFETY: SQLite calls only methods of files that `open` has wrapped, whose underlying file then
        // has methods; the arguments are passed on unchanged.
        unsafe {
            let inner = inner($file);
            match (*(*inner).pMethods).$method {
                Some(method) => method(inner $(, $argument)*),
                None => $fallback,
            }
        }
    }};
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: `open` has wrapped the file, so that it begins with a `CountedFile`.
    let size = unsafe { (*file.cast::<CountedFile>()).size };
    change(|account| account.used -= size);
    underlying!(file, xClose(), ffi::SQLITE_OK)
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    into: *mut c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    if is_late() {
        return ffi::SQLITE_INTERRUPT;
    }
    underlying!(file, xRead(into, bytes, offset), ffi::SQLITE_IOERR_READ)
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    from: *const c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    if is_late() {
        return ffi::SQLITE_INTERRUPT;
    }
    // SAFETY: `open` has wrapped the file; SQLite uses it only on this thread.
    let counted = unsafe { &mut *file.cast::<CountedFile>() };
    let end = offset.saturating_add(i64::from(bytes));
    let growth = (end - counted.size).max(0);
    if !admit(growth) {
        return ffi::SQLITE_FULL;
    }
    counted.size += growth;
    underlying!(file, xWrite(from, bytes, offset), ffi::SQLITE_IOERR_WRITE)
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    let code = underlying!(file, xTruncate(size), ffi::SQLITE_IOERR_TRUNCATE);
    // SAFETY: as in `write`.
    let counted = unsafe { &mut *file.cast::<CountedFile>() };
    if code == ffi::SQLITE_OK && (0..counted.size).contains(&size) {
        change(|account| account.used -= counted.size - size);
        counted.size = size;
    }
    code
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    underlying!(file, xSync(flags), ffi::SQLITE_OK)
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, size: *mut i64) -> c_int {
    underlying!(file, xFileSize(size), ffi::SQLITE_IOERR_FSTAT)
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    underlying!(file, xLock(level), ffi::SQLITE_OK)
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    underlying!(file, xUnlock(level), ffi::SQLITE_OK)
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn check_reserved_lock(file: *mut ffi::sqlite3_file, held: *mut c_int) -> c_int {
    underlying!(file, xCheckReservedLock(held), ffi::SQLITE_IOERR_LOCK)
}

/// Hints about the expected size are not passed on: the underlying VFS would allocate the space.
///
/// # Safety
/// Any arguments are allowed: they are ignored.
unsafe extern "C" fn file_control(
    _file: *mut ffi::sqlite3_file,
    _operation: c_int,
    _argument: *mut c_void,
) -> c_int {
    ffi::SQLITE_NOTFOUND
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    underlying!(file, xSectorSize(), 4_096)
}

/// # Safety
/// Called by SQLite with a file that [`open`] has wrapped, as its documentation says.
unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    underlying!(file, xDeviceCharacteristics(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::{Connection, ErrorCode, OpenFlags};
    use std::time::Duration;

    /// Rows of `bytes` bytes each, sorted by a computed key of the same length, which is stored with
    /// them.
    fn sort(rows: u32, bytes: u32) -> String {
        format!(
            "SELECT count(*) FROM (SELECT x FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL
             SELECT i + 1 FROM n WHERE i < {rows}) SELECT printf('%.*c', {bytes}, 'x') || i AS x FROM n)
             ORDER BY (x || 'y') DESC LIMIT -1 OFFSET 1)"
        )
    }

    #[allow(clippy::disallowed_methods, reason = "a file of the test's own")]
    fn connection(folder: &std::path::Path) -> Connection {
        register().unwrap();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection =
            Connection::open_with_flags_and_vfs(folder.join("t.db"), flags, VFS).unwrap();
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA temp_store = FILE; PRAGMA cache_size = -512;
                 CREATE TABLE t (x); INSERT INTO t VALUES ('in the log');",
            )
            .unwrap();
        connection
    }

    fn count(connection: &Connection, sql: &str) -> rusqlite::Result<i64> {
        connection.query_row(sql, [], |row| row.get(0))
    }

    #[test]
    fn a_sort_within_the_quota_works_and_gives_its_space_back() {
        let folder = tempfile::tempdir().unwrap();
        let connection = connection(folder.path());
        for _ in 0..3 {
            let _quota = Quota::start(Instant::now() + Duration::from_secs(120));
            assert_eq!(count(&connection, &sort(12_000, 1_000)).unwrap(), 11_999);
            assert!(!Quota::is_over());
            assert_eq!(ACCOUNT.get().used, 0);
        }
        // The database and its log are ordinary files.
        assert_eq!(count(&connection, "SELECT count(*) FROM t").unwrap(), 1);
        connection
            .execute_batch("INSERT INTO t VALUES (1)")
            .unwrap();
    }

    #[test]
    fn a_sort_beyond_the_quota_is_told_that_the_disk_is_full() {
        let folder = tempfile::tempdir().unwrap();
        let connection = connection(folder.path());
        let quota = Quota::start(Instant::now() + Duration::from_secs(120));
        let error = count(&connection, &sort(400_000, 1_000)).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DiskFull));
        assert!(Quota::is_over());
        assert_eq!(ACCOUNT.get().used, 0);
        drop(quota);
        let _quota = Quota::start(Instant::now() + Duration::from_secs(120));
        assert!(!Quota::is_over());
        assert_eq!(count(&connection, &sort(2_000, 1_000)).unwrap(), 1_999);
    }

    #[test]
    fn after_the_deadline_nothing_is_read_or_written() {
        let folder = tempfile::tempdir().unwrap();
        let connection = connection(folder.path());
        let quota = Quota::start(Instant::now());
        let error = count(&connection, &sort(20_000, 1_000)).unwrap_err();
        assert_eq!(
            error.sqlite_error_code(),
            Some(ErrorCode::OperationInterrupted)
        );
        assert!(!Quota::is_over());
        drop(quota);
        assert_eq!(count(&connection, &sort(12_000, 1_000)).unwrap(), 11_999);
        assert_eq!(ACCOUNT.get().used, 0);
    }
}
