//! Key files.

use super::sources::Sources;
use lyra_core::web::ApiKey;
use lyra_core::{Error, Result};
use std::path::Path;

/// The key of a server: from the variable `LYRA_<SERVER>_KEY`, or from the file named by
/// `<server>_key_file`, which is read only if the key is needed.
pub(super) fn key(sources: Sources<'_>, server: &str, is_needed: bool) -> Result<Option<ApiKey>> {
    let variable = format!("LYRA_{}_KEY", server.to_uppercase());
    if let Some(key) = sources.secret(&variable)? {
        return ApiKey::new(variable, &key).map(Some);
    }
    match sources.path(&format!("{server}_key_file"))? {
        Some(path) if is_needed => read_key(&path).map(Some),
        _ => Ok(None),
    }
}

/// The key in a separate file; warns if other users can read it.
fn read_key(path: &Path) -> Result<ApiKey> {
    let place = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|e| Error::invalid(format!("the key file {place} cannot be read: {e}")))?;
    if others_may_read(path) {
        crate::log::warn(&format!(
            "others may read the key file {place}; chmod 600 makes it readable only to you"
        ));
    }
    ApiKey::new(place.to_string(), &text)
}

#[cfg(unix)]
pub(super) fn others_may_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
pub(super) fn others_may_read(_path: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn loose_permissions_are_noticed() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().expect("a file");
        for (mode, expected) in [(0o600, false), (0o640, true), (0o604, true)] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(file.path(), permissions).expect("set");
            assert_eq!(others_may_read(file.path()), expected, "{mode:o}");
        }
    }
}
