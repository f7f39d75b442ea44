//! Who may read the file: it holds what humans were let into, login cookies among it.

use std::path::Path;

/// Makes an empty file that only its owner may read, where there is none: SQLite takes it for a new
/// database, and gives what it puts beside it the same mode. What goes wrong here, SQLite says.
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

/// The mode of the file where others than its owner may read or write it.
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
