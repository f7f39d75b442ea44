//! Restricts who may read the file: it contains data that only its owner may see, including login
//! cookies.

use std::path::Path;

/// Creates an empty file that only its owner may read, if there is none: SQLite treats it as a new
/// database, and gives the files beside it the same mode. Errors here are reported by SQLite.
#[cfg(unix)]
pub(super) fn make(path: &Path) {
    use std::os::unix::fs::OpenOptionsExt;
    if path.exists() {
        return;
    }
    let mut options = std::fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let _ = options.open(path);
}

#[cfg(not(unix))]
pub(super) fn make(_: &Path) {}

/// The mode of the file if others than its owner may read or write it.
#[cfg(unix)]
pub(crate) fn mode_for_others(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    let mode = path.metadata().ok()?.permissions().mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
pub(crate) fn mode_for_others(_: &Path) -> Option<u32> {
    None
}
